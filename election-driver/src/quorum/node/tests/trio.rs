//! Three nodes that have each other, in virtual time.

mod strangers;

use super::*;
use crate::ChangeError;
use crate::StartError;
use election_core::{
    Loss, Term,
    quorum::{ChangeRefusal, Hindrance, MemberChange},
};

const IDS: [&str; 3] = ["a", "b", "c"];

struct Trio {
    network: FakeNetwork,
    place: tempfile::TempDir,
    addresses: [SocketAddr; 3],
    members: Vec<Member<FakeNetwork>>,
    nodes: Vec<Option<Node>>,
}

impl Trio {
    fn new() -> Self {
        let (network, place) = (FakeNetwork::new(), tempfile::tempdir().unwrap());
        // What a node says later has to be later.
        network.goes_on_with_each_reading(Duration::from_micros(1));
        let addresses = IDS.map(|_| free());
        let (mut members, mut nodes) = (Vec::new(), Vec::new());
        for me in IDS {
            let (member, node) = started(&network, place.path(), me, &addresses);
            members.push(member);
            nodes.push(Some(node));
        }
        Self { network, place, addresses, members, nodes }
    }

    /// Lets all nodes do what they can do now, their disks included.
    fn poll(&mut self) {
        let saves = |it: &Member<_>| !it.status().is_durable;
        for _ in 0..10 {
            for (member, slot) in self.members.iter().zip(&mut self.nodes) {
                let Some(node) = slot else { continue };
                let mut over = block_on(poll_once(&mut *node)).is_some();
                while !over && saves(member) {
                    std::thread::yield_now();
                    over = block_on(poll_once(&mut *node)).is_some();
                }
                if over {
                    *slot = None;
                }
            }
        }
    }

    /// Lets time pass until something is so.
    #[track_caller]
    fn until<T>(&mut self, find: impl Fn(&[Member<FakeNetwork>]) -> Option<T>) -> T {
        for _ in 0..10_000 {
            self.poll();
            if let Some(found) = find(&self.members) {
                return found;
            }
            self.network.pass();
        }
        panic!("that never happens");
    }

    /// Waits until a node that leaves has come to its end: for its disk, and no longer by its clock.
    fn ends(&mut self, node: usize) {
        while self.nodes[node].is_some() {
            self.poll();
            std::thread::yield_now();
        }
    }

    /// Three members that have run for so long that each knows what it may promise.
    fn settled() -> Self {
        let mut trio = Self::new();
        let network = trio.network.clone();
        trio.until(|_| (network.now() > at(20_000)).then_some(()));
        trio
    }

    /// Which member leads, once all know it, and in which epoch.
    #[track_caller]
    fn leader(&mut self) -> (usize, Epoch) {
        self.until(|members| {
            let leader = members.iter().position(|it| it.handle().is_leader())?;
            let epoch = members[leader].handle().lease()?.epoch();
            let follows = |it: &Member<_>| it.handle().leader().is_some_and(|it| it.epoch == epoch);
            members.iter().all(follows).then_some((leader, epoch))
        })
    }
}

fn started(
    network: &FakeNetwork,
    place: &Path,
    me: &str,
    addresses: &[SocketAddr; 3],
) -> (Member<FakeNetwork>, Node) {
    loop {
        let builder = Cluster::builder_on(network.clone(), "x").node(me);
        let builder = builder.ballot(place.join(me)).without_data();
        let all = IDS.iter().zip(addresses);
        let builder = all.fold(builder, |it, (id, address)| it.member(*id, address.to_string()));
        match block_on(builder.down_after(DOWN_AFTER).build().unwrap().open()) {
            Ok(started) => return started,
            // The thread of an earlier life keeps it locked for a moment.
            Err(StartError::Ballot { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// What becomes of an order, as long as others let it come to an end.
fn done<T>(trio: &mut Trio, order: impl Future<Output = T>) -> T {
    let mut order = pin!(order);
    for _ in 0..10_000 {
        if let Some(done) = block_on(poll_once(order.as_mut())) {
            return done;
        }
        trio.poll();
        trio.network.pass();
    }
    panic!("it comes to no end");
}

#[test]
fn an_order_for_all_is_done_once_a_majority_has_recorded_it() {
    let mut trio = Trio::settled();
    let (leader, _) = trio.leader();
    let follower = trio.members[(leader + 1) % 3].clone();
    while let Err(refused) = done(&mut trio, follower.pause(None)) {
        assert!(matches!(refused, PauseError::Refused(_)), "{refused}");
    }
    assert!(follower.maintenance().is_some_and(|known| known.is_paused && known.recorded >= 2));
    done(&mut trio, follower.resume()).expect("a majority agrees");
    assert!(follower.maintenance().is_some_and(|known| !known.is_paused));
}

/// A node starts with a list that has it, where the others look for it.
#[test]
fn a_member_joins_and_another_leaves_while_all_run() {
    let mut trio = Trio::settled();
    let (leader, epoch) = trio.leader();
    let primary = trio.members[leader].clone();
    let add = MemberChange::Add { id: id("d"), witness: false };
    let at_d = [("d", free().to_string())];
    trio.members.iter().for_each(|it| it.set_addresses(at_d.clone()).expect("an address"));
    let follower = trio.members[(leader + 1) % 3].clone();
    let refused = done(&mut trio, follower.change_members(add.clone()));
    assert_eq!(refused, Err(ChangeError::Refused(ChangeRefusal::NotLeading)));
    let builder = Cluster::builder_on(trio.network.clone(), "x").node("d").without_data();
    let all = IDS.iter().copied().zip(trio.addresses.map(|it| it.to_string())).chain(at_d.clone());
    let builder = all.fold(builder, |it, (id, address)| it.member(id, address));
    let builder = builder.ballot(trio.place.path().join("d")).down_after(DOWN_AFTER);
    let (member, node) = block_on(builder.build().unwrap().open()).unwrap();
    trio.members.push(member);
    trio.nodes.push(Some(node));
    done(&mut trio, primary.change_members(add)).expect("a new member");
    trio.until(|members| members.iter().all(|it| it.members().count() == 4).then_some(()));
    trio.until(|members| {
        let connected = |it: &Member<_>| it.peers().iter().filter(|it| it.connected).count() == 3;
        members.iter().all(connected).then_some(())
    });
    assert_eq!(trio.leader(), (leader, epoch), "one leadership");
    let gone = done(&mut trio, primary.change_members(MemberChange::Remove(id("d"))));
    gone.expect("three members again");
    assert_eq!(primary.members().count(), 3);
    trio.until(|members| members[3].status().unready.filter(|it| *it == Hindrance::NotAMember));
}

#[test]
fn a_leader_that_hands_over_is_succeeded_by_whom_it_has_named() {
    let mut trio = Trio::settled();
    let (leader, _) = trio.leader();
    let heir = (leader + 1) % 3;
    let old = trio.members[leader].clone();
    let lease = old.handle().lease().expect("it leads");
    while let Err(refused) = done(&mut trio, old.hand_over(&id(IDS[heir]))) {
        assert!(matches!(refused, crate::HandOverError::Refused(_)), "{refused}");
    }
    assert!(!lease.is_held(), "its work is told before whoever ordered it");
    drop(lease);
    trio.until(|members| members[heir].handle().is_leader().then_some(()));
    assert!(!old.handle().is_leader());
}

/// Whether it has connections to all others.
fn reaches_all(member: &Member<FakeNetwork>) -> bool {
    member.peers().iter().all(|peer| peer.connected && peer.error.is_none())
}

impl Trio {
    fn tells_where_all_are(&self) {
        for peer in self.members.iter().flat_map(Member::peers) {
            let place = IDS.iter().position(|id| *id == peer.id.as_str()).unwrap();
            assert_eq!(peer.address, self.addresses[place].to_string());
        }
    }
}

#[test]
fn a_member_that_moves_is_heard_again_under_the_same_leadership() {
    Trio::new().tells_where_all_are();
    let mut trio = Trio::settled();
    let (leader, epoch) = trio.leader();
    let moves = (leader + 1) % 3;
    trio.nodes[moves] = None; // as if killed
    trio.addresses[moves] = free();
    let (member, node) = started(&trio.network, trio.place.path(), IDS[moves], &trio.addresses);
    (trio.members[moves], trio.nodes[moves]) = (member, Some(node));
    let since = trio.network.now();
    for place in (0..3).filter(|place| *place != moves) {
        let moved = [(IDS[moves], trio.addresses[moves].to_string())];
        trio.members[place].set_addresses(moved.clone()).unwrap();
        trio.members[place].set_addresses(moved).unwrap();
    }
    let told = capture::told(|| {
        trio.until(|members| members.iter().all(reaches_all).then_some(()));
    });
    assert!(trio.network.now().since(since) < DOWN_AFTER);
    assert_eq!(told.iter().filter(|name| **name == "relocated").count(), 2, "{told:?}");
    trio.tells_where_all_are();
    assert_eq!(trio.leader(), (leader, epoch));
}

/// The others elect at once, and do not wait until it counts as silent.
#[test]
fn a_leader_that_leaves_is_succeeded_at_once() {
    let mut trio = Trio::settled();
    let (leader, epoch) = trio.leader();
    let left = trio.network.now();
    trio.members[leader].handle().withdraw();
    let next = trio.until(|members| {
        members.iter().position(|it| it.handle().lease().is_some_and(|it| it.epoch() > epoch))
    });
    assert_ne!(next, leader);
    assert!(trio.network.now() < left + DOWN_AFTER / 2);
    trio.ends(leader); // its disk may have been busy until then
}

/// Each failover begins so, and most of them end within a second.
#[test]
fn until_a_failover_is_over_the_silent_primary_is_named() {
    let mut trio = Trio::settled();
    let (leader, _) = trio.leader();
    trio.nodes[leader] = None;
    // So one of the others notices before the other does.
    trio.network.goes_on_with_each_reading(Duration::from_nanos(1));
    let why = trio.until(|members| {
        let mut others = members.iter().enumerate().filter(|(place, _)| *place != leader);
        others.find_map(|(_, member)| member.unknown_leader())
    });
    assert_eq!(why.to_string(), format!("the primary {} is silent", IDS[leader]));
}

#[test]
fn three_nodes_elect_one_and_the_others_follow_it() {
    let mut trio = Trio::new();
    assert!(!trio.members[0].handle().status().reached, "nobody has answered yet");
    let mut leads = (0, Epoch::NONE);
    let told = capture::told(|| leads = trio.leader());
    let (leader, epoch) = leads;
    assert!(["elected", "following"].iter().all(|it| told.iter().any(|told| told == it)));
    let term = Term { epoch, leader: id(IDS[leader]) };
    for (member, me) in trio.members.iter().zip(IDS) {
        assert_eq!(member.handle().leader().as_ref(), Some(&term));
        assert_eq!(member.handle().is_leader(), term.leader == id(me));
        let status = member.handle().status();
        assert!(status.reached);
        assert_eq!(status.leader.map(|it| it.own), Some(term.leader == id(me)));
    }
}

/// A handover of which the node hears only when its leadership has run out.
#[test]
fn a_handover_that_comes_too_late_says_why() {
    let mut trio = Trio::settled();
    let (leader, _) = trio.leader();
    let old = trio.members[leader].clone();
    let until = old.handle().lease().expect("it leads").until();
    let heir = id(IDS[(leader + 1) % 3]);
    let mut ordered = pin!(old.hand_over(&heir));
    assert_eq!(block_on(poll_once(ordered.as_mut())), None, "the node stands still");
    trio.network.set_now(until);
    assert_eq!(done(&mut trio, ordered), Err(crate::HandOverError::Lost(Loss::Expired)));
}
