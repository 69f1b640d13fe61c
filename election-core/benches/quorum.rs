//! What a step costs, in nanoseconds, and what an exchange among three and five nodes costs.
//!
//! A node of a cluster steps for every heartbeat of every other, and the simulator takes millions
//! of such steps a second.

#![allow(clippy::unwrap_used, missing_docs)] // the macros of criterion document nothing

use core::{hint::black_box, time::Duration};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use election_core::{
    Epoch, Incarnation, Input, Label, NodeId, Protocol, Step, Timestamp,
    quorum::{
        Action, Audience, Config, Connection, Event, Message, Peer, Position, Quorum, Restored,
        Role,
    },
};
use std::collections::VecDeque;
use uuid::Uuid;

const MS: u64 = 1_000_000;

fn peer(place: usize) -> Peer {
    Peer::new(u8::try_from(place).unwrap())
}

fn received(from: usize, message: Message) -> Input<Event> {
    let from = peer(from);
    Input::Event(Event::Received { from, connection: Connection(1), message })
}

/// Nodes on a network without delay: the others receive each frame in the instant of sending.
#[derive(Clone)]
struct Round {
    nodes: Vec<Quorum>,
    now: u64,
    /// Frames in transit. The queue is reused, so that nothing is allocated while measuring.
    queue: VecDeque<(usize, usize, Message)>,
    delivered: u64,
}

impl Round {
    fn new(count: usize) -> Self {
        let ids: Vec<NodeId> = (0..count).map(|n| NodeId::new(&format!("n{n}")).unwrap()).collect();
        let node = |n: usize| {
            let address = Label::new("10.0.0.1:6004").unwrap();
            let config = Config::builder(ids[n].clone(), ids.clone(), address).build().unwrap();
            let incarnation = Incarnation::new(Uuid::from_u128(n as u128 + 1));
            let position = Some(Position::default());
            Quorum::new(config, incarnation, &Restored::Nothing, position, 42)
        };
        let nodes = (0..count).map(node).collect();
        let mut round =
            Self { nodes, now: 1_000 * MS, queue: VecDeque::with_capacity(1_024), delivered: 0 };
        while round.leader().is_none() {
            round.beat();
        }
        for _ in 0..10 {
            round.beat();
        }
        round
    }

    fn leader(&self) -> Option<usize> {
        let now = Timestamp::from_nanos(self.now);
        self.nodes.iter().position(|node| node.is_leader(now))
    }

    /// One heartbeat interval: all nodes hear all others.
    fn beat(&mut self) {
        self.now += 200 * MS;
        for node in 0..self.nodes.len() {
            self.step(node, Input::Tick);
        }
        while let Some((from, to, message)) = self.queue.pop_front() {
            self.delivered += 1;
            self.step(to, received(from, message));
        }
    }

    fn step(&mut self, node: usize, input: Input<Event>) {
        let now = Timestamp::from_nanos(self.now);
        let mut input = Some(input);
        loop {
            let Step { action, wake_at, .. } =
                self.nodes[node].step(now, input.take().unwrap_or(Input::Tick));
            match action {
                None => {}
                Some(Action::Save(ballot)) => {
                    input = Some(Input::Event(Event::Saved(ballot.promised)));
                    continue;
                }
                Some(Action::Send { to, message }) => self.send(node, to, message),
            }
            if wake_at.is_none_or(|wake_at| now < wake_at) {
                return;
            }
        }
    }

    fn send(&mut self, from: usize, to: Audience, message: Message) {
        match to {
            Audience::One(to) => self.queue.push_back((from, to.index(), message)),
            Audience::All => {
                for to in (0..self.nodes.len()).filter(|to| *to != from) {
                    self.queue.push_back((from, to, message.clone()));
                }
            }
        }
    }

    /// The next heartbeat that `from` sends.
    fn heartbeat(&mut self, from: usize) -> Message {
        let now = Timestamp::from_nanos(self.now + 200 * MS);
        let step = self.nodes[from].step(now, Input::Tick);
        let Some(Action::Send { message, .. }) = step.action else { panic!("{step:?}") };
        assert!(matches!(message, Message::Heartbeat(_)), "{message:?}");
        message
    }
}

/// A heartbeat that can be heard again and again, each time with a new stamp.
fn restamped(message: &Message, nanos: u64) -> Message {
    let mut message = message.clone();
    if let Message::Heartbeat(heartbeat) = &mut message {
        let extension = heartbeat.extension.as_mut().unwrap();
        extension.stamp.at = extension.stamp.at + Duration::from_nanos(nanos);
    }
    message
}

fn heard(criterion: &mut Criterion, name: &str, count: usize, by_leader: bool) {
    let mut round = Round::new(count);
    let leader = round.leader().unwrap();
    let follower = (0..count).find(|node| *node != leader).unwrap();
    let (from, to) = if by_leader { (follower, leader) } else { (leader, follower) };
    let message = round.heartbeat(from);
    let mut node = round.nodes[to].clone();
    let now = Timestamp::from_nanos(round.now + MS);
    let mut nanos = 0;
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            nanos += 1;
            node.step(black_box(now), received(from, restamped(&message, nanos)))
        });
    });
    assert_eq!(node.role(), if by_leader { Role::Primary } else { Role::Replica });
}

fn quorum(criterion: &mut Criterion) {
    heard(criterion, "quorum/follower hears its primary, N=3", 3, false);
    heard(criterion, "quorum/primary hears an echo, N=3", 3, true);
    heard(criterion, "quorum/primary hears an echo, N=5", 5, true);

    let mut idle = Round::new(3);
    let leader = idle.leader().unwrap();
    let quiet = Timestamp::from_nanos(idle.now + MS);
    criterion.bench_function("quorum/idle tick", |bencher| {
        bencher.iter(|| idle.nodes[leader].step(black_box(quiet), Input::Tick).wake_at);
    });
    criterion.bench_function("quorum/is_leader", |bencher| {
        bencher.iter(|| idle.nodes[leader].is_leader(black_box(quiet)));
    });

    for count in [3, 5] {
        let mut round = Round::new(count);
        let frames = u64::try_from(count * (count - 1)).unwrap();
        let before = round.delivered;
        round.beat();
        assert_eq!(round.delivered - before, frames, "one heartbeat from each to each");
        criterion.bench_function(&format!("quorum/heartbeat round, N={count}"), |bencher| {
            bencher.iter(|| round.beat());
        });
        assert!(round.leader().is_some());

        let fresh = fresh(count);
        criterion.bench_function(&format!("quorum/election, N={count}"), |bencher| {
            bencher.iter_batched(|| fresh.clone(), elect, BatchSize::SmallInput);
        });
    }
}

/// A cluster that has heard nothing yet.
fn fresh(count: usize) -> Round {
    let mut round = Round::new(count);
    for (place, node) in round.nodes.iter_mut().enumerate() {
        let incarnation = Incarnation::new(Uuid::from_u128(place as u128 + 1));
        let (config, position) = (node.config().clone(), Some(Position::default()));
        *node = Quorum::new(config, incarnation, &Restored::Nothing, position, 42);
    }
    round
}

/// Boots the cluster and elects its first primary.
fn elect(mut round: Round) -> Round {
    round.beat();
    assert!(round.leader().is_some());
    assert!(round.nodes.iter().all(|node| node.promised() == Epoch::new(1)));
    round
}

criterion_group!(benches, quorum);
criterion_main!(benches);
