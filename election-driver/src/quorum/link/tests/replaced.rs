//! A connection that was under way when other credentials came into use.

use super::*;
use crate::{
    Runtime,
    quorum::tls::{
        Keyring, News as KeyNews, Tls,
        tests::{Authority, B, End, identity, pair, places},
    },
};
use futures_lite::future::{Pending, block_on, pending};
use std::{
    net::TcpListener,
    os::fd::{AsFd as _, BorrowedFd},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// A network with one connection, on which no time passes.
#[derive(Clone)]
struct Wire(Arc<Mutex<Option<End>>>);

impl Runtime for Wire {
    type Sleep = Pending<()>;

    fn now(&self) -> Timestamp {
        Timestamp::ZERO
    }

    fn sleep(&self, _: Duration) -> Self::Sleep {
        pending()
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, _: F) {
        unreachable!("a link has no tasks of its own")
    }
}

impl Network for Wire {
    type Stream = End;
    type Listener = ();

    fn listener(&self, _: TcpListener) -> io::Result<()> {
        Ok(())
    }

    fn poll_accept(&self, (): &mut (), _: &mut Context<'_>) -> Poll<io::Result<(End, SocketAddr)>> {
        Poll::Pending
    }

    async fn connect(&self, _: SocketAddr) -> io::Result<End> {
        let near = self.0.lock().expect("a lock").take();
        near.ok_or_else(|| io::ErrorKind::ConnectionRefused.into())
    }

    /// What is set on it has no meaning here.
    fn descriptor(_: &End) -> BorrowedFd<'_> {
        static SOCKET: OnceLock<TcpListener> = OnceLock::new();
        SOCKET.get_or_init(|| TcpListener::bind("127.0.0.1:0").expect("a socket")).as_fd()
    }
}

/// What becomes of the link from a to b, which a perhaps accepts no more once the handshake is under
/// way.
fn links(refuses_meanwhile: bool) -> Result<(), String> {
    let authority = Arc::new(Authority::new());
    let strict = Arc::new(AtomicBool::new(false));
    let b = identity("b", &authority.of("b"));
    let source = {
        let (strict, own) = (strict.clone(), authority.signed("a"));
        Tls::source(move || {
            let read = authority.credentials(&own);
            Ok(if strict.load(Ordering::SeqCst) { read.accept("b", []) } else { read })
        })
    };
    let keyring = Keyring::open(source, places("a")).expect("credentials");
    let news = keyring.news();
    let (near, far) = pair();
    let wire = Wire(Arc::new(Mutex::new(Some(near))));
    let outbox = Outbox::new(Encoder::new(members("a")).expect("short ids"), DOWN_AFTER);
    let pace = Pace::new(Duration::from_millis(200), DOWN_AFTER);
    let address = Address::parse("127.0.0.1:1").expect("an address");
    let security = Security::Tls(keyring.clone());
    let mut link: Link<Wire> = Link::new(B, address, security, outbox, pace);
    let mut random = Random::new(1);
    let mut poll = || link.poll(&mut cx(), at(0), &wire, &mut random);
    assert!(poll().is_none(), "b has not answered");
    if refuses_meanwhile {
        strict.store(true, Ordering::SeqCst);
        keyring.ask();
        let renewed = news.recv_blocking().expect("news");
        assert!(matches!(renewed, KeyNews::Renewed { judges: true }), "{renewed:?}");
    }
    let answers = thread::spawn(move || drop(block_on(b.accept(far))));
    let outcome = loop {
        match poll() {
            Some(News::Connected) => break Ok(()),
            Some(News::Failed(error, _)) => break Err(error.to_string()),
            Some(News::Hears) => unreachable!("nobody speaks"),
            None => thread::yield_now(),
        }
    };
    drop(link);
    answers.join().expect("b");
    outcome
}

#[test]
fn who_is_refused_by_now_is_not_linked_to() {
    assert_eq!(links(false), Ok(()));
    let said = links(true).expect_err("it was taken off the list while it answered");
    assert!(said.contains("the certificates in use have changed meanwhile"), "{said}");
}
