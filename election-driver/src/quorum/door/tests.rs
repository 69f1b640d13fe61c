mod crowd;

use super::*;
use crate::{
    Runtime,
    quorum::tls::{
        Credentials, Keyring, News, Tls,
        tests::{A, Authority, B, End, identity, pair, places},
    },
};
use election_core::Timestamp;
use futures_lite::future::{block_on, pending, ready};
use std::{
    future::Future,
    net::TcpListener,
    os::fd::BorrowedFd,
    sync::atomic::{AtomicBool, Ordering},
    task::Waker,
    thread,
};

/// A runtime whose tasks are threads, and whose time passes at once or never.
#[derive(Clone)]
enum Threads {
    Late,
    Timeless,
}

impl Runtime for Threads {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn now(&self) -> Timestamp {
        Timestamp::ZERO
    }

    fn sleep(&self, span: Duration) -> Self::Sleep {
        match self {
            Self::Late if span == LIMIT => Box::pin(ready(())),
            _ => Box::pin(pending()),
        }
    }

    fn spawn<F>(&self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        thread::spawn(|| block_on(future));
    }
}

impl Network for Threads {
    type Stream = End;
    type Listener = ();

    fn listener(&self, _: TcpListener) -> io::Result<()> {
        Ok(())
    }

    fn poll_accept(&self, (): &mut (), _: &mut Context<'_>) -> Poll<io::Result<(End, SocketAddr)>> {
        Poll::Pending
    }

    async fn connect(&self, _: SocketAddr) -> io::Result<End> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn descriptor(_: &End) -> BorrowedFd<'_> {
        unreachable!("nothing is set on a connection in memory")
    }
}

const THERE: &str = "127.0.0.1:1";
const LIMIT: Duration = Duration::from_secs(5);

/// Who has come in at the door of b when a has connected, which b perhaps accepts no more once the
/// handshake is under way.
fn enters(refuses_meanwhile: bool) -> Option<Option<Peer>> {
    let authority = Arc::new(Authority::new());
    let strict = Arc::new(AtomicBool::new(false));
    let a = identity("a", &authority.of("a"));
    let source = {
        let (authority, strict) = (authority.clone(), strict.clone());
        let own = authority.signed("b");
        Tls::source(move || {
            let read: Credentials = authority.credentials(&own);
            Ok(if strict.load(Ordering::SeqCst) { read.accept("a", []) } else { read })
        })
    };
    let keyring = Keyring::open(source, places("b")).expect("credentials");
    let news = keyring.news();
    let security = Security::Tls(keyring.clone());
    let mut door = Door::new(Threads::Timeless, security, LIMIT);
    let (near, far) = pair();
    assert!(door.knock(far, THERE.parse().expect("an address"), 4).is_none());
    let _near = block_on(a.connect(near, B)).expect("a handshake");
    if refuses_meanwhile {
        strict.store(true, Ordering::SeqCst);
        keyring.ask();
        let renewed = news.recv_blocking().expect("news");
        assert!(matches!(renewed, News::Renewed { judges: true }), "{renewed:?}");
    }
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match door.poll(&mut cx) {
            Poll::Ready(Ok(entered)) => return Some(entered.proved),
            Poll::Ready(Err((_, refusal))) => panic!("{refusal}"),
            Poll::Pending if door.under_way.is_empty() => return None,
            Poll::Pending => thread::yield_now(),
        }
    }
}

#[test]
fn who_is_refused_by_now_does_not_enter() {
    assert_eq!(enters(false), Some(Some(A)));
    assert_eq!(enters(true), None, "its handshake had begun before it was taken off the list");
}

/// However few there are, and however little each of them costs.
#[test]
fn a_handshake_has_a_bounded_time() {
    let authority = Authority::new();
    let own = authority.signed("b");
    let source = Tls::source(move || Ok(authority.credentials(&own)));
    let keyring = Keyring::open(source, places("b")).expect("credentials");
    let mut door = Door::new(Threads::Late, Security::Tls(keyring), LIMIT);
    let (_near, far) = pair();
    assert!(door.knock(far, THERE.parse().expect("an address"), 4).is_none());
    let mut cx = Context::from_waker(Waker::noop());
    let outcome = loop {
        match door.poll(&mut cx) {
            Poll::Ready(outcome) => break outcome,
            Poll::Pending => thread::yield_now(),
        }
    };
    let refusal = outcome.map(drop).expect_err("it has said nothing").1;
    assert_eq!(refusal.as_str(), "tls_slow", "{refusal}");
}
