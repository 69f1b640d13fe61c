//! Whoever cannot prove to be the member whose words it brings gets nothing, and changes nothing.

use crate::on::OnNothing;
use election_driver::{
    conformance::{
        certificates::{Authority, Pair, shakes_hands},
        cluster::{
            IDS, leads_on,
            secured::{DOWN_AFTER, Trio},
            shut_down,
        },
    },
    now,
};
use election_tokio::Tokio;
use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};
use tokio::task::spawn_blocking;

/// A leader's heartbeat under an epoch that nobody has reached.
fn usurps(id: &str) -> Vec<u8> {
    format!("*5\r\n$2\r\nHB\r\n$3\r\n999\r\n$2\r\n{id}\r\n$7\r\nprimary\r\n$1\r\n0\r\n")
        .into_bytes()
}

/// Whom a stranger calls, and with what. Making the call gives what it has heard when the other end has
/// hung up.
struct Call {
    to: String,
    words: Vec<u8>,
}

impl Call {
    /// In plain TCP.
    fn plainly(self) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.to).expect("a port");
        stream.set_read_timeout(Some(DOWN_AFTER * 2)).expect("our own socket");
        let _ = stream.write_all(&self.words); // it may have hung up
        let mut heard = Vec::new();
        hung_up(stream.read_to_end(&mut heard));
        heard
    }

    /// Within TLS, presenting this certificate.
    fn presenting(self, pair: Option<&Pair>) -> Vec<u8> {
        let stream = TcpStream::connect(&self.to).expect("a port");
        let mut heard = Vec::new();
        if let Ok(mut session) = shakes_hands(stream, pair) {
            let _ = session.write_all(&self.words).and_then(|()| session.flush());
            hung_up(session.read_to_end(&mut heard));
        }
        heard
    }
}

fn hung_up(read: io::Result<usize>) {
    let kind = read.err().map(|error| error.kind());
    let silent = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
    assert!(!kind.is_some_and(|kind| silent.contains(&kind)), "it stays connected");
}

/// Has a stranger usurp leadership in the name of another member, at each of them.
async fn is_refused(trio: Trio<Tokio>, call: impl Fn(Call) -> Vec<u8> + Clone + Send + 'static) {
    for to in 0..3 {
        let words = usurps(IDS[(to + 1) % 3]);
        let (call, to) = (call.clone(), trio.place.address(to).to_owned());
        let began = now();
        // Beside the nodes, which may have only this thread.
        let heard = spawn_blocking(move || call(Call { to, words })).await.expect("a thread");
        let took = now().since(began);
        assert!(took < DOWN_AFTER / 2, "for its silence, after {took:?}");
        let alert = heard.first() == Some(&0x15) && heard.len() == 7; // TLS, which says no
        assert!(heard.is_empty() || alert, "a member answers: {heard:?}");
    }
    leads_on(&trio.members[trio.leads], trio.epoch, Duration::from_secs(1)).await;
    for member in &trio.members {
        let term = member.handle().leader().expect("a leader that goes on");
        assert_eq!(term.epoch, trio.epoch, "somebody was believed");
    }
    shut_down(&trio.members).await;
}

async fn who_has_no_certificate_gets_nothing(_: OnNothing) {
    is_refused(Trio::<Tokio>::new().await, |call| call.presenting(None)).await;
}

async fn who_speaks_no_tls_gets_nothing(_: OnNothing) {
    is_refused(Trio::<Tokio>::new().await, Call::plainly).await;
}

/// Its name is right, and another authority has signed it.
async fn who_has_a_foreign_certificate_gets_nothing(_: OnNothing) {
    let foreign = Authority::new().member(1);
    is_refused(Trio::<Tokio>::new().await, move |call| call.presenting(Some(&foreign))).await;
}

/// What is left of a member's certificate once it is stolen: nobody else can be spoken for.
async fn the_certificate_of_another_member_speaks_for_nobody_else(_: OnNothing) {
    let trio = Trio::<Tokio>::new().await;
    // Of neither the one that is called nor the one in whose name it speaks.
    let third =
        |to: usize| (trio.place.address(to).to_owned(), trio.authority.member((to + 2) % 3));
    let pairs: Vec<_> = (0..3).map(third).collect();
    is_refused(trio, move |call| {
        let (_, pair) = pairs.iter().find(|(to, _)| *to == call.to).expect("a member");
        call.presenting(Some(pair))
    })
    .await;
}

tests! {
    who_has_no_certificate_gets_nothing: by_itself;
    who_speaks_no_tls_gets_nothing: by_itself;
    who_has_a_foreign_certificate_gets_nothing: by_itself;
    the_certificate_of_another_member_speaks_for_nobody_else: by_itself;
}
