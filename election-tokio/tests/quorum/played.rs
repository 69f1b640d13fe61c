//! A member that the test itself plays, frame by frame.

use crate::{
    cluster::{Nodes, place_of},
    role,
};
use election_core::{
    NodeId,
    quorum::{
        Availability, Heartbeat, Members, Message, Role,
        wire::{Decoder, Incoming},
    },
};
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

/// One of three members, as another sees it.
struct Played {
    heard: TcpStream,
    decoder: Decoder,
    _rest: (TcpListener, Vec<TcpStream>),
}

/// Longer than any node should take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

impl Played {
    /// Waits for the call of a node to a member that does not run.
    fn dialled_by(nodes: &Nodes, caller: usize, own: usize) -> Self {
        let port = TcpListener::bind(nodes.address(own)).expect("a free port");
        let ids = ["n1", "n2", "n3"].map(|id| NodeId::new(id).expect("a short id"));
        let members = Members::new(ids.to_vec(), &ids[own]).expect("three members");
        let mut others = Vec::new();
        loop {
            let (mut heard, _) = port.accept().expect("a call");
            let mut decoder = Decoder::new(members.clone());
            while decoder.peer().is_none() {
                let count = heard.read(decoder.space()).expect("a frame");
                decoder.filled(count);
                decoder.incoming().expect("a member's frames");
            }
            if decoder.peer().is_some_and(|peer| peer.index() == caller) {
                return Self { heard, decoder, _rest: (port, others) };
            }
            others.push(heard);
        }
    }

    /// The next frame that is no greeting, within this time; or the end.
    fn next(&mut self, patience: Duration) -> Result<Option<Message>, ErrorKind> {
        self.heard.set_read_timeout(Some(patience)).expect("our own socket");
        loop {
            match self.decoder.incoming().expect("a member's frames") {
                Incoming::Message(message) => return Ok(Some(message)),
                Incoming::Greeting => continue,
                Incoming::Incomplete => {}
            }
            match self.heard.read(self.decoder.space()) {
                Ok(0) => return Ok(None),
                Ok(count) => self.decoder.filled(count),
                Err(error) => return Err(error.kind()),
            }
        }
    }
}

/// What a member says before it knows that it is understood.
fn greeting(own: usize) -> Vec<u8> {
    let id = format!("n{}", own + 1);
    format!("*5\r\n$2\r\nhb\r\n$1\r\n0\r\n$2\r\n{id}\r\n$7\r\nreplica\r\n$1\r\n0\r\n").into_bytes()
}

fn greet(nodes: &Nodes, whom: usize, own: usize) -> TcpStream {
    let mut stream = TcpStream::connect(nodes.address(whom)).expect("a port");
    stream.write_all(&greeting(own)).expect("a connection");
    stream
}

/// Who greets on a new connection learns at once, and not a heartbeat later, that it is understood.
#[test]
fn a_greeting_is_answered_at_once() {
    let mut nodes = Nodes::new(3);
    // A heartbeat every two seconds and a half.
    nodes.environment(role::DOWN_AFTER, "60000");
    const SOON: Duration = Duration::from_millis(1_000);
    nodes.start(0);
    let mut played = Played::dialled_by(&nodes, 0, 2);
    let first = greet(&nodes, 0, 2);
    played.next(PATIENCE).expect("an answer").expect("a frame");
    // A heartbeat by the clock, so that the next is far.
    while played.next(SOON) != Err(ErrorKind::WouldBlock) {}
    played.next(PATIENCE).expect("a heartbeat").expect("a frame");
    drop(first);
    let began = Instant::now();
    let mut again = greet(&nodes, 0, 2);
    // As a node does, lest the end of the first connection was seen after the greeting.
    while played.next(Duration::from_millis(50)) == Err(ErrorKind::WouldBlock) {
        again.write_all(&greeting(2)).expect("a connection");
    }
    let took = began.elapsed();
    println!("answered after {took:?}");
    assert!(took < SOON, "{took:?}");
}

/// A primary that leaves says so last of all, and then ends the connection as one does who has said
/// all.
#[test]
fn a_farewell_is_the_last_frame() {
    let (mut nodes, leader) = Nodes::started(3);
    nodes.all_follow(&leader);
    let old = place_of(&leader.node);
    let own = (old + 1) % 3;
    nodes.kill(own);
    let mut played = Played::dialled_by(&nodes, old, own);
    let _greets = greet(&nodes, old, own);
    played.next(PATIENCE).expect("an answer").expect("a frame");
    nodes.order(old, "withdraw");
    let mut last = None;
    while let Some(frame) = played.next(PATIENCE).expect("an end, and no reset") {
        last = Some(frame);
    }
    let Some(Message::Heartbeat(Heartbeat { role: Role::Replica, extension, .. })) = last else {
        panic!("{last:?}");
    };
    assert_eq!(extension.expect("an extended frame").availability, Availability::Leaving);
    played.decoder.ended().expect("no half of a frame");
    assert_eq!(nodes.exit(old), Some(0));
    nodes.check();
}
