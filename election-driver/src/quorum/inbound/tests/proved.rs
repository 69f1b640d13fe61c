//! Inbound that prove who they are.

use super::*;
use crate::quorum::{
    fake::{Secured, Stream, meanwhile},
    transport::Transport,
};
use futures_lite::AsyncWriteExt as _;

struct Proving {
    b: Secured,
    desk: Desk,
}

impl Proving {
    fn new() -> Self {
        let b = Secured::new();
        Self { desk: Desk::of("b", b.security()), b }
    }

    /// All that comes in, handshakes included.
    fn poll(&mut self, millis: u64) -> Vec<String> {
        let mut told = self.desk.poll(millis);
        self.desk.network.run();
        told.extend(self.desk.poll(millis));
        told
    }

    /// The member a connects.
    fn a_calls(&mut self) -> Transport<Stream> {
        let near = self.desk.calls(b"").into_stream();
        let desk = &mut self.desk;
        let connected = self.b.a_connects(near, || {
            assert_eq!(desk.poll(0), [""; 0]);
            desk.network.run();
        });
        connected.expect("a handshake")
    }
}

fn says(transport: &mut Transport<Stream>, bytes: &[u8]) {
    meanwhile(
        async {
            transport.write_all(bytes).await.expect("room");
            transport.flush().await.expect("room");
        },
        || (),
    );
}

#[test]
fn who_has_proved_to_be_a_member_speaks_in_its_own_name_only() {
    let mut proving = Proving::new();
    let mut a = proving.a_calls();
    says(&mut a, &frame("a"));
    assert_eq!(proving.poll(0), ["1 speaks"]);
    let mut impostor = proving.a_calls();
    says(&mut impostor, &frame("c"));
    assert_eq!(proving.poll(0), ["refused", "2 ended"]);
}

#[test]
fn who_proves_nothing_is_refused() {
    let mut proving = Proving::new();
    let _plain = proving.desk.calls(&frame("a"));
    assert_eq!(proving.poll(0), ["refused"]);
}

/// Whoever is on no list any more does not go on speaking.
#[test]
fn connections_that_other_credentials_do_not_admit_end() {
    let mut proving = Proving::new();
    let mut a = proving.a_calls();
    says(&mut a, &frame("a"));
    assert_eq!(proving.poll(0), ["1 speaks"]);
    proving.desk.inbound.recheck();
    says(&mut a, &frame("a"));
    assert_eq!(proving.poll(1), ["1 speaks"], "it is still a member");
    proving.b.is_strict();
    proving.desk.inbound.recheck();
    says(&mut a, &frame("a"));
    assert_eq!(proving.poll(2), ["1 ended"]);
}

/// Strangers shake hands as slowly as they like. There are so many at once, as many again that have
/// to end, and no more.
#[test]
fn no_number_of_handshakes_takes_more_than_their_places() {
    let mut proving = Proving::new();
    let strangers: Vec<_> = (0..2 * UNKNOWN + 3).map(|_| proving.desk.calls(b"")).collect();
    for _ in 0..3 {
        assert_eq!(proving.desk.poll(0), [""; 0]);
    }
    assert_eq!(proving.desk.network.waiting(HERE), 3);
    proving.desk.network.run();
    let open = || strangers.iter().filter(|it| it.is_open()).count();
    assert_eq!(open(), UNKNOWN + 3, "those that had to go, have gone");
    assert_eq!(proving.desk.poll(0), [""; 0]);
    assert_eq!(proving.desk.network.waiting(HERE), 0);
    proving.desk.network.run();
    assert_eq!(open(), UNKNOWN);
}
