//! Members that prove who they are.

use super::Stream;
use crate::quorum::{
    security::Security,
    tls::{
        Credentials, Keyring, News, Tls,
        tests::{Authority, identity, own},
    },
    transport::Transport,
};
use futures_lite::future::{block_on, poll_once};
use std::{
    future::Future,
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The credentials of b, and who gives certificates out.
pub(in crate::quorum) struct Secured {
    authority: Arc<Authority>,
    pub(in crate::quorum) keyring: Keyring,
    strict: Arc<AtomicBool>,
}

impl Secured {
    pub(in crate::quorum) fn new() -> Self {
        let authority = Arc::new(Authority::new());
        let strict = Arc::new(AtomicBool::new(false));
        let source = {
            let (authority, strict) = (authority.clone(), strict.clone());
            let own = authority.signed("b");
            Tls::source(move || {
                let read: Credentials = authority.credentials(&own);
                Ok(if strict.load(Ordering::SeqCst) { read.accept("a", []) } else { read })
            })
        };
        let keyring = Keyring::open(source, own("b")).expect("credentials");
        Self { authority, keyring, strict }
    }

    pub(in crate::quorum) fn security(&self) -> Security {
        Security::Tls(self.keyring.clone())
    }

    /// From the next reading on, b accepts a only with another key than it has.
    pub(in crate::quorum) fn becomes_strict(&self) {
        self.strict.store(true, Ordering::SeqCst);
    }

    /// From now on, b does.
    pub(in crate::quorum) fn is_strict(&self) {
        let news = self.keyring.news();
        self.becomes_strict();
        self.keyring.ask();
        let renewed = news.recv_blocking().expect("news");
        assert!(matches!(renewed, News::Renewed { recheck: true }), "{renewed:?}");
    }

    /// The member a connects to another, while others do what they can do.
    pub(in crate::quorum) fn a_connects(
        &self,
        to: Stream,
        others: impl FnMut(),
    ) -> io::Result<Transport<Stream>> {
        let a = identity("a", &self.authority.of("a"));
        meanwhile(a.connect(to, own("b").id), others)
    }

    /// Another connects to the member a.
    pub(in crate::quorum) fn a_accepts(
        &self,
        from: Stream,
        others: impl FnMut(),
    ) -> Transport<Stream> {
        let a = identity("a", &self.authority.of("a"));
        let (transport, peer) = meanwhile(a.accept(from), others).expect("a handshake");
        assert_ne!(peer, own("a").id);
        transport
    }
}

/// What becomes of something while others do what they can do.
pub(in crate::quorum) fn meanwhile<T>(
    done: impl Future<Output = T>,
    mut others: impl FnMut(),
) -> T {
    let mut done = pin!(done);
    for _ in 0..100 {
        if let Some(done) = block_on(poll_once(done.as_mut())) {
            return done;
        }
        others();
    }
    panic!("it comes to no end");
}
