//! Whoever else reaches a port, and what a member's own connection may bring: what makes no sense
//! costs the connection that it came on, and nothing else.

use super::{DOWN_AFTER, IDS, OnNothing, Place, first, followed, leads_on, mortals, shut_down};
use crate::{Member, Network};
use election_core::Epoch;
use futures_lite::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// No member sends any of this.
const NONSENSE: [&[u8]; 7] = [
    b"GET / HTTP/1.1\r\nHost: election\r\n\r\n",
    b"*0\r\n",
    b"*1\r\n$2\r\nno\r\n",
    b"\0",
    b"*99999999999\r\n$",
    b"*5\r\n$2\r\nHB\r\n$18446744073709551615\r\n",
    &[b'*'; 100_000],
];

/// A frame that any member could send.
fn greeting(id: &str) -> Vec<u8> {
    format!("*5\r\n$2\r\nHB\r\n$1\r\n0\r\n$2\r\n{id}\r\n$7\r\nreplica\r\n$1\r\n0\r\n").into_bytes()
}

/// Two of three: each needs the other, and what is done to their connections is seen.
struct Pair<R: Network> {
    place: Place,
    members: Vec<Member<R>>,
    leads: usize,
    follows: usize,
    epoch: Epoch,
}

impl<R: Network + Default> Pair<R> {
    async fn new() -> Self {
        let place = Place::new(3);
        let (members, tasks) = mortals::<R>(&place).await;
        let (leads, epoch) = first(&members).await;
        let [follows, dies] = [(leads + 1) % 3, (leads + 2) % 3];
        assert_eq!(followed(members[follows].handle(), Epoch::NONE).await.1, epoch);
        tasks[dies].abort();
        members[dies].handle().watch().until(|status| status.closed).await;
        Self { place, members, leads, follows, epoch }
    }

    /// Each of the two, and the other.
    fn ways(&self) -> [[usize; 2]; 2] {
        [[self.leads, self.follows], [self.follows, self.leads]]
    }

    async fn says(&self, to: usize, bytes: &[u8]) -> R::Stream {
        let address = self.place.address(to).parse().expect("an address");
        let mut stream = R::default().connect(address).await.expect("a port");
        let _ = stream.write_all(bytes).await; // it may have hung up
        stream
    }

    /// Says this to a member and waits until it hangs up. It answers nothing.
    async fn is_cut_off(&self, to: usize, bytes: &[u8]) {
        let mut heard = Vec::new();
        let mut stream = self.says(to, bytes).await;
        let _ = stream.read_to_end(&mut heard).await; // a reset is an end, too
        assert_eq!(heard, b"", "an answer to {:?}", String::from_utf8_lossy(bytes));
    }

    async fn goes_on(self) {
        leads_on(&self.members[self.leads], self.epoch, DOWN_AFTER / 2).await;
        assert!(self.members[self.follows].follows(self.epoch));
        shut_down(&self.members).await;
    }
}

/// A stranger who talks nonsense is hung up on.
pub async fn nonsense_costs_its_own_connection<R: Network + Default>(_: OnNothing<R>) {
    let pair = Pair::<R>::new().await;
    for bytes in NONSENSE {
        for [to, _] in pair.ways() {
            pair.is_cut_off(to, bytes).await;
        }
    }
    pair.goes_on().await;
}

/// Half of a frame, from a stranger or in a member's name: whoever says no more is hung up on once
/// it counts as silent, and nobody minds who hangs up in the middle.
pub async fn half_a_frame_costs_its_own_connection<R: Network + Default>(_: OnNothing<R>) {
    let pair = Pair::<R>::new().await;
    let whole = greeting(IDS[1]);
    for [to, other] in pair.ways() {
        for length in 1..whole.len() {
            drop(pair.says(to, &whole[..length]).await);
            drop(pair.says(to, &[&greeting(IDS[other]), &whole[..length]].concat()).await);
        }
    }
    let began = R::default().now();
    let mut silent = Vec::new();
    for [to, other] in pair.ways() {
        silent.push(pair.says(to, &whole[..20]).await);
        silent.push(pair.says(to, &[&greeting(IDS[other]), &whole[..20]].concat()).await);
    }
    for mut stream in silent {
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard).await;
        assert_eq!(heard, b"");
        // A node counts from when its turn began.
        assert!(R::default().now().since(began) > DOWN_AFTER * 9 / 10, "it may be slow");
    }
    pair.goes_on().await;
}
