//! election-core as a driver uses it: the quorum machine, woken when it asks for that, and its wire
//! format.

use crate::{BATCH, Cluster, Mail, Play, timed};
use election_core::{
    Incarnation, Input, Label, NodeId, Protocol as _, Timestamp,
    quorum::{
        Action, Attestation, Audience, Config, Connection, Event, Message, Peer, Position, Quorum,
        Restored,
        wire::{Decoder, Dialect, Encoder, Frame},
    },
};
use std::{hint::black_box, time::Duration};

/// The default interval.
const BEAT: Duration = Duration::from_millis(200);

pub(crate) struct Ours {
    nodes: Vec<Node>,
    now: Timestamp,
    mail: Mail,
    /// Indexed by receiver, then by sender.
    decoders: Vec<Vec<Decoder>>,
}

#[derive(Clone)]
struct Node {
    machine: Quorum,
    wake_at: Timestamp,
    encoder: Encoder,
    frame: Frame,
}

fn node(count: usize, me: usize) -> Node {
    let ids = (0..count).map(|n| NodeId::new(&format!("node-{n}")).expect("an id"));
    let address = Label::new("10.0.0.42:6004").expect("an address");
    let config = Config::builder(ids.clone().nth(me).expect("a member"), ids, address);
    let config = config.hb_interval(BEAT).build().expect("a configuration");
    let encoder = Encoder::new(config.members().clone()).expect("ids");
    let life = Incarnation::from_random_bytes((me as u128).to_be_bytes());
    let position = Some(Position::default());
    let machine = Quorum::new(config, life, &Restored::Nothing, position, 42);
    let wake_at = Timestamp::ZERO + Duration::from_secs(86_400);
    Node { machine, wake_at, encoder, frame: Frame::new() }
}

fn peer(place: usize) -> Peer {
    Peer::new(u8::try_from(place).expect("a small cluster"))
}

/// Reads a frame like a driver; the copy stands for the kernel's copy in a read.
fn read(decoder: &mut Decoder, from: usize, bytes: &[u8]) -> Input<Event> {
    decoder.space()[..bytes.len()].copy_from_slice(bytes);
    decoder.filled(bytes.len());
    let message = decoder.message().expect("a frame").expect("a whole frame");
    Input::Event(Event::Received { from: peer(from), connection: Connection(1), message })
}

/// Makes a heartbeat the next one of its sender.
fn restamp(message: &mut Message) {
    let later = Duration::from_nanos(1);
    let Message::Heartbeat(heartbeat) = message else { panic!("{message:?}") };
    let extension = heartbeat.extension.as_mut().expect("a peer of this protocol");
    extension.stamp.at = extension.stamp.at + later;
    if let Attestation::Echo(echo) = &mut extension.attestation {
        echo.at = echo.at + later;
    }
}

impl Ours {
    /// Gives one input and performs the actions, until nothing is due.
    fn step(&mut self, place: usize, input: Input<Event>) {
        let mut next = Some(input);
        while let Some(input) = next {
            let step = self.nodes[place].machine.step(self.now, input);
            let wake_at = step.wake_at.unwrap_or(Timestamp::MAX);
            self.nodes[place].wake_at = wake_at;
            next = (wake_at <= self.now).then_some(Input::Tick);
            match step.action {
                Some(Action::Save(ballot)) => {
                    next = Some(Input::Event(Event::Saved(ballot.promised)));
                }
                Some(Action::Send { to, message }) => self.send(place, to, &message),
                None => {}
            }
        }
    }

    /// A frame to all members is written once.
    fn send(&mut self, from: usize, to: Audience, message: &Message) {
        let to = match to {
            Audience::All => 0..self.nodes.len(),
            Audience::One(peer) => peer.index()..peer.index() + 1,
        };
        let Node { encoder, frame, .. } = &mut self.nodes[from];
        let frame = encoder.encode(message, Dialect::Extended, frame);
        self.mail.send(from, to, |to| to.extend_from_slice(frame));
    }

    fn leader(&self) -> Option<usize> {
        self.nodes.iter().position(|node| node.machine.is_leader(self.now))
    }

    /// The next instant at which some node asks to be called.
    fn next(&self) -> Timestamp {
        self.nodes.iter().map(|node| node.wake_at).min().unwrap_or(Timestamp::MAX)
    }

    /// Goes on until a node is elected, and returns the nodes and the time just before that.
    fn until_led(&mut self) -> (Vec<Node>, Timestamp) {
        loop {
            let before = (self.nodes.clone(), self.now);
            self.wake();
            self.settle();
            if self.is_led() {
                return before;
            }
        }
    }

    /// The next frame of this node to all members.
    fn next_heartbeat(&mut self, from: usize) -> Message {
        let node = &mut self.nodes[from];
        self.now = node.wake_at.max(self.now);
        let step = node.machine.step(self.now, Input::Tick);
        let Some(Action::Send { message, .. }) = step.action else { panic!("{step:?}") };
        message
    }
}

impl Cluster for Ours {
    const NAME: &'static str = "election-core";

    /// The first leader has resigned. The others have stood aside before, or they would elect in
    /// the instant in which it lets go. The next of them stands again when no heartbeat is due.
    fn leaderless(count: usize) -> Self {
        let nodes: Vec<_> = (0..count).map(|me| node(count, me)).collect();
        let decoder = |of: &Node| Decoder::new(of.machine.config().members().clone());
        let decoders = |of| (0..count).map(|_| decoder(of)).collect();
        let decoders = nodes.iter().map(decoders).collect();
        let (now, mail) = (Timestamp::ZERO, Mail::new());
        let mut cluster = Self { nodes, now, mail, decoders };
        cluster.until_led();
        let leader = cluster.leader().expect("a leader");
        for place in (0..count).filter(|place| *place != leader) {
            cluster.step(place, Input::Resign);
            cluster.beat();
        }
        cluster.now = cluster.now + BEAT / 10;
        let epoch = cluster.nodes[leader].machine.promised();
        cluster.step(leader, Input::Resign);
        cluster.step(leader, Input::Stopped(epoch));
        cluster.settle();
        (cluster.nodes, cluster.now) = cluster.until_led();
        cluster
    }

    /// A node also supports the candidate that it votes for. It follows from the announcement on.
    fn is_led(&self) -> bool {
        let Some(leader) = self.leader() else { return false };
        let led = Some((peer(leader), self.nodes[leader].machine.promised()));
        let follows = |node: &Quorum| node.supported() == led && node.followed().is_some();
        let mut others = (0..self.nodes.len()).filter(|place| *place != leader);
        others.all(|place| follows(&self.nodes[place].machine))
    }

    fn wake(&mut self) {
        self.now = self.next().max(self.now);
        for place in 0..self.nodes.len() {
            if self.nodes[place].wake_at <= self.now {
                self.step(place, Input::Tick);
            }
        }
    }

    fn deliver_one(&mut self) -> bool {
        let Some((from, to, frame)) = self.mail.take() else { return false };
        let input = read(&mut self.decoders[to][from], from, frame);
        self.step(to, input);
        true
    }

    fn beat(&mut self) -> usize {
        let end = self.now + BEAT;
        let mut frames = 0;
        while self.next() <= end {
            self.wake();
            frames += self.settle();
        }
        self.now = end;
        frames
    }

    /// A heartbeat that is heard twice is an old one. So each is written with a stamp of its own.
    fn hearing(mut self, by_leader: bool) -> Play {
        let leader = self.leader().expect("a leader");
        let follower = (leader + 1) % self.nodes.len();
        let (from, to) = if by_leader { (follower, leader) } else { (leader, follower) };
        let mut heartbeat = self.next_heartbeat(from);
        // What the hearer has sent meanwhile can be echoed.
        self.next_heartbeat(to);
        let now = self.now + Duration::from_millis(1);
        let mut frames = Vec::new();
        Box::new(move || {
            frames.clear();
            let Node { encoder, frame, .. } = &mut self.nodes[from];
            for _ in 0..BATCH {
                restamp(&mut heartbeat);
                frames.extend_from_slice(encoder.encode(&heartbeat, Dialect::Extended, frame));
            }
            let (machine, decoder) = (&mut self.nodes[to].machine, &mut self.decoders[to][from]);
            timed(BATCH, || {
                for frame in frames.chunks_exact(frames.len() / BATCH) {
                    let input = read(decoder, from, black_box(frame));
                    let _ = black_box(machine.step(now, input));
                }
                BATCH
            })
        })
    }
}
