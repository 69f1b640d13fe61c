//! election-core: the quorum machine, woken when it asks for that, and its wire format.

use crate::{
    contender::{BATCH, Cluster, Letter, Mail, PATIENT, Patience, Play},
    watch::Watch,
};
use election_core::{
    Change, Incarnation, Input, Label, NodeId, Protocol, Step, Timestamp,
    quorum::{
        Action, Attestation, Audience, Ballot, Config, Connection, Event, Message, Peer, Position,
        Quorum, Restored,
        wire::{Decoder, Dialect, Encoder, Frame},
    },
};
use std::{hint::black_box, ops::Range, time::Duration};
use uuid::Uuid;

const BEAT: Duration = Duration::from_millis(200);

#[derive(Clone)]
pub(crate) struct Ours {
    nodes: Vec<Node>,
    now: Timestamp,
    leader: usize,
    lives: u64,
}

#[derive(Clone)]
struct Node {
    machine: Quorum,
    wake_at: Timestamp,
    alive: bool,
    life: u64,
    disk: Option<Ballot>,
}

pub(crate) struct Post {
    /// A plain letter is the place of its frame in `sent`, as a coded one is a range of bytes.
    mail: Mail<usize>,
    sent: Vec<Message>,
    frames: Vec<Frame>,
    encoders: Vec<Encoder>,
    /// Indexed by receiver, then by sender.
    decoders: Vec<Vec<Decoder>>,
}

fn peer(place: usize) -> Peer {
    Peer::new(u8::try_from(place).expect("a small cluster"))
}

fn config(count: usize, me: usize, patience: Patience) -> Config {
    let ids = || (0..count).map(|n| NodeId::new(&format!("node-{n}")).expect("an id"));
    let address = Label::new("10.0.0.42:6004").expect("an address");
    let id = ids().nth(me).expect("a member");
    let down_after = BEAT * patience.0;
    let builder = Config::builder(id, ids(), address).hb_interval(BEAT).down_after(down_after);
    builder.build().expect("a configuration")
}

fn machine(config: Config, life: u64, disk: Option<&Ballot>) -> Quorum {
    let incarnation =
        Incarnation::new(Uuid::from_u128(0x0123_4567_89ab_4def_u128 << 64 | u128::from(life)));
    let restored = disk.map_or(Restored::Nothing, |ballot| Restored::Ballot(ballot.clone()));
    Quorum::new(config, incarnation, &restored, Some(Position::default()), 42)
}

impl Ours {
    fn fresh(count: usize, patience: Patience) -> Self {
        let node = |place: usize| Node {
            machine: machine(config(count, place, patience), place as u64 + 1, None),
            wake_at: Timestamp::ZERO,
            alive: true,
            life: 1,
            disk: None,
        };
        let now = Timestamp::ZERO + Duration::from_secs(86_400);
        Self { nodes: (0..count).map(node).collect(), now, leader: 0, lives: 1_000 }
    }

    /// Gives one input and performs the actions, until nothing is due.
    fn step(&mut self, place: usize, input: Input<Event>, post: &mut Post) {
        let step = self.nodes[place].machine.step(self.now, input);
        self.perform(place, step, post);
    }

    #[inline(always)]
    fn tick(&mut self, place: usize, post: &mut Post) {
        let step = self.nodes[place].machine.step(self.now, Input::Tick);
        self.perform(place, step, post);
    }

    fn perform(&mut self, place: usize, step: Step<Action>, post: &mut Post) {
        let count = self.nodes.len();
        let node = &mut self.nodes[place];
        if let Some(Change::Elected(_)) = &step.change {
            self.leader = place;
        }
        node.wake_at = step.wake_at.unwrap_or(Timestamp::MAX);
        let is_due = node.wake_at <= self.now;
        match step.action {
            None => {}
            Some(Action::Save(ballot)) => {
                let saved = Event::Saved(ballot.promised);
                node.disk = Some(ballot);
                return self.step(place, Input::Event(saved), post);
            }
            Some(Action::Send { to, message }) => post.send(place, to, count, message),
        }
        if is_due {
            self.tick(place, post);
        }
    }

    #[inline(always)] // the loops around it do little else
    fn deliver_one(&mut self, post: &mut Post) -> bool {
        let Some((from, to, letter)) = post.mail.pop() else { return false };
        if !self.nodes[to].alive {
            return true;
        }
        let connection = Connection(self.nodes[from].life);
        let machine = &mut self.nodes[to].machine;
        let mut hear = |message: &Message| {
            let message = message.clone();
            machine.step(self.now, Input::Event(Event::Received { from: peer(from), connection, message }))
        };
        let heard = match &letter {
            Letter::Plain(place) => hear(&post.sent[*place]),
            Letter::Coded(place) => {
                hear(read(&mut post.decoders[to][from], post.mail.bytes(place.clone())))
            }
        };
        self.perform(to, heard, post);
        true
    }

    /// The next instant at which some node asks to be called.
    fn next(&self) -> Timestamp {
        let wakes = self.nodes.iter().filter(|node| node.alive).map(|node| node.wake_at);
        wakes.min().unwrap_or(Timestamp::MAX)
    }

    /// Goes to an instant, calls every node that asks for it, and delivers all frames.
    fn at(&mut self, instant: Timestamp, post: &mut Post) {
        self.now = instant;
        for place in 0..self.nodes.len() {
            if self.nodes[place].alive && self.nodes[place].wake_at <= instant {
                self.tick(place, post);
            }
        }
        while self.deliver_one(post) {}
    }

    fn is_led(&self) -> bool {
        let leader = &self.nodes[self.leader];
        if !leader.alive || !leader.machine.is_leader(self.now) {
            return false;
        }
        let supported = Some((peer(self.leader), leader.machine.promised()));
        self.nodes.iter().enumerate().all(|(place, node)| {
            // A node also supports the candidate it votes for; it follows from the announcement on.
            let follows = |node: &Node| {
                node.machine.supported() == supported && node.machine.followed().is_some()
            };
            place == self.leader || !node.alive || follows(node)
        })
    }

    fn until_led(&mut self, post: &mut Post) {
        while !self.is_led() {
            self.at(self.next(), post);
        }
    }

    /// Starts a node that is not running.
    fn start(&mut self, place: usize, post: &mut Post) {
        self.lives += 1;
        let node = &mut self.nodes[place];
        let config = node.machine.config().clone();
        node.machine = machine(config, self.lives, node.disk.as_ref());
        (node.alive, node.life) = (true, self.lives);
        self.tick(place, post);
        while self.deliver_one(post) {}
    }
}

impl Post {
    fn send(&mut self, from: usize, to: Audience, count: usize, message: Message) {
        let letter = if self.mail.is_coded() {
            Letter::Coded(self.written(from, &message))
        } else {
            if self.mail.letters.is_empty() {
                self.sent.clear();
            }
            self.sent.push(message);
            Letter::Plain(self.sent.len() - 1)
        };
        match to {
            Audience::One(to) => self.mail.push(from, to.index(), letter),
            Audience::All => {
                for to in (0..count).filter(|to| *to != from) {
                    self.mail.push(from, to, letter.clone());
                }
            }
        }
    }

    /// A frame to all members is written once.
    fn written(&mut self, from: usize, message: &Message) -> Range<usize> {
        let (encoder, frame) = (&self.encoders[from], &mut self.frames[from]);
        let bytes = encoder.encode(message, Dialect::Extended, frame);
        self.mail.written(|to| to.extend_from_slice(bytes))
    }
}

/// Like a driver; the copy stands for the kernel's copy in a read.
fn read<'d>(decoder: &'d mut Decoder, bytes: &[u8]) -> &'d Message {
    decoder.space()[..bytes.len()].copy_from_slice(bytes);
    decoder.filled(bytes.len());
    decoder.message().expect("a frame").expect("a whole frame")
}

/// Looks at a step as a driver does: whether there is anything to do.
fn look_at(step: Step<Action>) {
    black_box(&step);
}

impl Cluster for Ours {
    const NAME: &'static str = "election-core";
    const CODED: bool = true;
    type Post = Post;

    fn post(count: usize, coded: bool) -> Post {
        let members = |me| config(count, me, PATIENT).members().clone();
        let decoders = |me| (0..count).map(|_| Decoder::new(members(me))).collect();
        Post {
            mail: Mail::new(coded),
            sent: Vec::with_capacity(1_024),
            frames: vec![Frame::new(); count],
            encoders: (0..count).map(|me| Encoder::new(members(me)).expect("ids")).collect(),
            decoders: (0..count).map(decoders).collect(),
        }
    }

    fn led(count: usize, patience: Patience, post: &mut Post) -> Self {
        let mut cluster = Self::fresh(count, patience);
        cluster.at(cluster.now, post);
        cluster.until_led(post);
        for _ in 0..10 {
            cluster.beat(post);
        }
        cluster
    }

    fn leaderless(count: usize, post: &mut Post) -> Self {
        let mut cluster = Self::led(count, PATIENT, post);
        let leader = cluster.leader;
        // All stand aside for a while, or they would elect in the instant in which it lets go. The
        // first of them stands again before the others do, and when no heartbeat is due.
        for place in (0..count).filter(|place| *place != leader) {
            cluster.step(place, Input::Resign, post);
            cluster.beat(post);
        }
        cluster.at(cluster.now + BEAT / 10, post);
        let epoch = cluster.nodes[leader].machine.promised();
        cluster.step(leader, Input::Resign, post);
        cluster.step(leader, Input::Stopped(epoch), post);
        while cluster.deliver_one(post) {}
        // The instant before a node is elected.
        loop {
            let before = cluster.clone();
            cluster.at(cluster.next(), post);
            if cluster.is_led() {
                return before;
            }
        }
    }

    fn elect(&mut self, post: &mut Post) -> u64 {
        self.now = self.next();
        for place in 0..self.nodes.len() {
            if self.nodes[place].wake_at <= self.now {
                self.tick(place, post);
            }
        }
        let mut frames = 0;
        while !self.is_led() {
            assert!(self.deliver_one(post), "nobody was elected");
            frames += 1;
        }
        post.mail.clear();
        frames
    }

    fn beat(&mut self, post: &mut Post) -> u64 {
        let end = self.now + BEAT;
        let mut frames = 0;
        loop {
            let next = self.next();
            if next > end {
                break;
            }
            self.now = next;
            for place in 0..self.nodes.len() {
                if self.nodes[place].wake_at <= next {
                    self.tick(place, post);
                }
            }
            while self.deliver_one(post) {
                frames += 1;
            }
        }
        self.now = end;
        frames
    }

    fn replace_leader(&mut self, post: &mut Post) {
        let crashed = self.leader;
        self.nodes[crashed].alive = false;
        self.until_led(post);
        self.start(crashed, post);
    }

    fn hearing(by_leader: bool, coded: bool) -> Option<Play> {
        let mut post = Self::post(3, false);
        let mut cluster = Self::led(3, PATIENT, &mut post);
        let leader = cluster.leader;
        let follower = (0..3).find(|place| *place != leader).expect("a follower");
        let (from, to) = if by_leader { (follower, leader) } else { (leader, follower) };
        let template = cluster.next_heartbeat(from, &mut post);
        // Frames that it has sent meanwhile can be echoed.
        cluster.next_heartbeat(to, &mut post);
        let life = cluster.nodes[from].life;
        let mut node = cluster.nodes[to].clone();
        let mut post = Self::post(3, true);
        let now = cluster.now + Duration::from_millis(1);
        let mut messages = Vec::new();
        let mut bytes = Vec::new();
        let mut nanos = 0;
        Some(Box::new(move |watch: &mut Watch| {
            let Post { encoders, frames, decoders, .. } = &mut post;
            let (peer, connection) = (peer(from), Connection(life));
            messages.clear();
            bytes.clear();
            let mut len = 0;
            for _ in 0..BATCH {
                nanos += 1;
                let message = restamped(&template, nanos);
                let frame = &mut frames[from];
                let coded = encoders[from].encode(&message, Dialect::Extended, frame);
                bytes.extend_from_slice(coded);
                len = coded.len();
                messages.push(message);
            }
            if coded {
                let decoder = &mut decoders[to][from];
                watch.measure(BATCH, || {
                    for frame in bytes.chunks_exact(len) {
                        let message = read(decoder, black_box(frame));
                        let message = message.clone();
look_at(node.machine.step(now, Input::Event(Event::Received { from: peer, connection, message })));
                    }
                });
            } else {
                watch.measure(BATCH, || {
                    for message in &messages {
                        let message = black_box(message);
                        let message = message.clone();
look_at(node.machine.step(now, Input::Event(Event::Received { from: peer, connection, message })));
                    }
                });
            }
        }))
    }

    fn idling(leader: bool) -> Play {
        let mut post = Self::post(3, false);
        let cluster = Self::led(3, PATIENT, &mut post);
        let place = (cluster.leader + usize::from(!leader)) % 3;
        let mut machine = cluster.nodes[place].machine.clone();
        let now = cluster.now + Duration::from_nanos(1);
        Box::new(move |watch: &mut Watch| {
            watch.measure(BATCH, || {
                for _ in 0..BATCH {
                    look_at(machine.step(black_box(now), Input::Tick));
                }
            });
        })
    }
}

impl Ours {
    /// The next frame of this node to all members.
    fn next_heartbeat(&mut self, from: usize, post: &mut Post) -> Message {
        let node = &mut self.nodes[from];
        let step = node.machine.step(node.wake_at, Input::Tick);
        let Some(Action::Send { message, .. }) = step.action else { panic!("{step:?}") };
        post.mail.clear();
        self.now = node.wake_at.max(self.now);
        message
    }
}

/// A heartbeat like the next ones will be, each with a new stamp.
fn restamped(message: &Message, nanos: u64) -> Message {
    let mut message = message.clone();
    if let Message::Heartbeat(heartbeat) = &mut message {
        let extension = heartbeat.extension.as_mut().expect("a peer of this protocol");
        let later = Duration::from_nanos(nanos);
        extension.stamp.at = extension.stamp.at + later;
        if let Attestation::Echo(echo) = &mut extension.attestation {
            echo.at = echo.at + later;
        }
    }
    message
}
