//! A connection to a member that has to prove who it is.

use super::{kept::Desk, *};
use crate::quorum::{
    fake::{Secured, Stream},
    transport::Transport,
};

/// A link of b to the member a, a's end of the connection, and what the link told when the handshake
/// was over, before which something happened.
fn shaken(b: &Secured, before: impl Fn()) -> (Desk, Transport<Stream>, Option<News>) {
    let mut desk = Desk::with(Peer::new(0), b.security());
    let remote = desk.accepts();
    assert!(desk.poll(at(0)).is_none(), "it shakes hands");
    let mut news = None;
    let a = b.a_accepts(remote.into_stream(), || {
        if news.is_none() {
            before();
            news = desk.poll(at(0));
        }
    });
    (desk, a, news)
}

#[test]
fn a_member_that_proves_to_be_one_is_connected_to() {
    let b = Secured::new();
    let (mut desk, _a, news) = shaken(&b, || ());
    assert!(matches!(news, Some(News::Connected)));
    desk.link.recheck();
    assert!(desk.link.outbox.is_open(), "it is still a member");
    b.is_strict();
    desk.link.recheck();
    assert!(!desk.link.outbox.is_open());
    assert_eq!(desk.deadline(), Timestamp::ZERO, "another attempt is due at once");
    desk.link.recheck();
    assert_eq!(desk.deadline(), Timestamp::ZERO);
}

#[test]
fn who_is_refused_by_now_is_not_connected_to() {
    let b = Secured::new();
    let (desk, _a, news) = shaken(&b, || b.is_strict());
    let Some(News::Failed(error, _)) = news else { panic!("it is connected") };
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    assert!(!desk.link.outbox.is_open());
}
