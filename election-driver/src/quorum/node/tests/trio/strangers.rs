//! What a stranger says in a member's name to two that need each other. It need not prove who it is,
//! but what it says once does not cost them each other's voice.

use super::*;

/// A whole heartbeat as an older version says it, and the beginning of another. Then it is silent.
fn forged(of: &str) -> Vec<u8> {
    let whole = format!("*5\r\n$2\r\nHB\r\n$1\r\n0\r\n$1\r\n{of}\r\n$7\r\nreplica\r\n$1\r\n0\r\n");
    [whole.as_bytes(), &whole.as_bytes()[..20]].concat()
}

/// Two of three.
struct Pair {
    trio: Trio,
    leads: usize,
    follows: usize,
    epoch: Epoch,
    strangers: Vec<Remote>,
}

impl Pair {
    fn new() -> Self {
        let mut trio = Trio::settled();
        let (leads, epoch) = trio.leader();
        let [follows, dies] = [(leads + 1) % 3, (leads + 2) % 3];
        trio.nodes[dies] = None;
        let since = trio.network.now();
        let network = trio.network.clone();
        trio.until(|_| (network.now() > since + 2 * DOWN_AFTER).then_some(()));
        Self { trio, leads, follows, epoch, strangers: Vec::new() }
    }

    /// So many strangers say the same in the name of each of the two to the other.
    fn is_lied_to(&mut self, times: usize) {
        for [to, other] in [[self.leads, self.follows], [self.follows, self.leads]] {
            for _ in 0..times {
                let address = self.trio.addresses[to];
                self.strangers.push(self.trio.network.calls(address, &forged(IDS[other])));
            }
        }
        self.trio.poll();
    }

    /// Each hears the other all the time, until the strangers are hung up on and for as long again.
    #[track_caller]
    fn goes_on(mut self) {
        let since = self.trio.network.now();
        while self.trio.network.now() < since + 2 * DOWN_AFTER {
            self.trio.network.pass();
            self.trio.poll();
            let [leads, follows] = [self.leads, self.follows].map(|it| &self.trio.members[it]);
            let after = self.trio.network.now().since(since);
            let lease = leads.handle().lease().map(|lease| lease.epoch());
            assert_eq!(lease, Some(self.epoch), "the leader, after {after:?}");
            assert!(follows.follows(self.epoch), "the follower, after {after:?}");
        }
        assert!(self.strangers.iter().all(|it| !it.is_open()));
    }
}

/// It comes before the member's own next connection.
#[test]
fn a_forged_frame_between_connections_leaves_a_member_heard() {
    let mut pair = Pair::new();
    for to in [pair.leads, pair.follows] {
        pair.trio.network.cuts(pair.trio.addresses[to]);
    }
    pair.trio.poll();
    pair.is_lied_to(1);
    pair.goes_on();
}

/// All of them have spoken since the member spoke last.
#[test]
fn strangers_do_not_displace_a_members_own_connection() {
    let mut pair = Pair::new();
    let dialed = pair.trio.network.dialed().len();
    pair.is_lied_to(8);
    pair.trio.poll();
    let to = [pair.leads, pair.follows].map(|it| pair.trio.addresses[it]);
    let anew = pair.trio.network.dialed().split_off(dialed);
    assert!(!anew.iter().any(|it| to.contains(it)), "the member's own connection has ended");
    pair.goes_on();
}
