//! The quorum.

use election_core::{
    Alert, Change, Epoch, Incarnation, Input, Label, Loss, NodeId, Protocol, Step, Timestamp,
    quorum::{
        Action, Audience, Config, Connection, Event, Heartbeat, Message, Peer, Position, Quorum,
        Restored, Role,
    },
};
use std::collections::VecDeque;
use uuid::Uuid;

const MS: u64 = 1_000_000;

/// Nodes whose steps are all counted, on a network without delay. Inputs are made, and outputs
/// dropped, outside the count.
struct Counted {
    nodes: Vec<Quorum>,
    now: u64,
    frames: VecDeque<(usize, usize, Message)>,
    /// Nodes that neither send nor receive.
    cut: Vec<bool>,
    changes: Vec<(usize, Change)>,
}

impl Counted {
    fn new(count: usize) -> Self {
        let ids = || (0..count).map(|n| NodeId::new(&format!("n{n}")).unwrap());
        let node = |n: usize| {
            let address = Label::new("10.0.0.1:6004").unwrap();
            let config = Config::builder(ids().nth(n).unwrap(), ids(), address).build().unwrap();
            let incarnation = Incarnation::new(Uuid::from_u128(n as u128 + 1));
            let position = Some(Position::default());
            Quorum::new(config, incarnation, &Restored::Nothing, position, 42)
        };
        Self {
            nodes: (0..count).map(node).collect(),
            now: 1_000 * MS,
            frames: VecDeque::new(),
            cut: vec![false; count],
            changes: Vec::new(),
        }
    }

    fn step(&mut self, node: usize, input: Input<Event>) {
        let told = format!("{input:?}");
        let now = Timestamp::from_nanos(self.now);
        let machine = &mut self.nodes[node];
        let mut step = None;
        let count = allocation_counter::measure(|| step = Some(machine.step(now, input)));
        assert_eq!(count.count_total, 0, "{told} allocated");

        let mut tenure = None;
        let count = allocation_counter::measure(|| tenure = machine.tenure(now));
        assert_eq!(count.count_total, 0, "tenure after {told} allocated");

        let Step { change, action, wake_at } = step.unwrap();
        self.changes.extend(change.map(|change| (node, change)));
        match action {
            None => {}
            Some(Action::Save(ballot)) => {
                return self.step(node, Input::Event(Event::Saved(ballot.promised)));
            }
            Some(Action::Send { to, message }) => {
                for target in (0..self.nodes.len()).filter(|target| *target != node) {
                    let meant = match to {
                        Audience::All => true,
                        Audience::One(one) => one.index() == target,
                    };
                    if meant && !self.cut[node] && !self.cut[target] {
                        self.frames.push_back((node, target, message.clone()));
                    }
                }
            }
        }
        if wake_at.is_some_and(|wake_at| wake_at <= now) {
            self.step(node, Input::Tick);
        }
    }

    fn hear(&mut self, from: usize, to: usize, message: Message) {
        let from = Peer::new(u8::try_from(from).unwrap());
        let connection = Connection(1);
        self.step(to, Input::Event(Event::Received { from, connection, message }));
    }

    fn run(&mut self, millis: u64) {
        for _ in 0..millis / 50 {
            self.now += 50 * MS;
            for node in 0..self.nodes.len() {
                self.step(node, Input::Tick);
            }
            while let Some((from, to, message)) = self.frames.pop_front() {
                self.hear(from, to, message);
            }
        }
    }

    #[track_caller]
    fn leader(&self) -> usize {
        let now = Timestamp::from_nanos(self.now);
        let leads = |node: &Quorum| node.is_leader(now);
        self.nodes.iter().position(leads).expect("a leader")
    }

    /// Ends the work that the last loss told to stop.
    #[track_caller]
    fn stop(&mut self, because: Loss) {
        let lost = self.changes.iter().rev().find_map(|(node, change)| match change {
            Change::Lost { term, reason, .. } => Some((*node, term.epoch, *reason)),
            _ => None,
        });
        let (node, epoch, reason) = lost.expect("a loss");
        assert_eq!(reason, because);
        self.step(node, Input::Stopped(epoch));
    }
}

#[test]
fn electing_following_and_every_kind_of_loss_allocate_nothing() {
    let mut counted = Counted::new(3);
    counted.run(1_000);
    let first = counted.leader();
    for node in 0..3 {
        counted.step(node, Input::Event(Event::Position(Position { history: 1, offset: 9 })));
    }
    counted.run(500);

    let heir = Peer::new(u8::try_from((first + 1) % 3).unwrap());
    counted.step(first, Input::Event(Event::HandOver(heir)));
    counted.stop(Loss::Resigned);
    counted.run(2_000);
    assert_eq!(counted.leader(), heir.index());

    counted.step(heir.index(), Input::Event(Event::Health(false)));
    counted.stop(Loss::Unhealthy);
    counted.run(5_000);
    counted.step(heir.index(), Input::Event(Event::Health(true)));
    let third = counted.leader();

    counted.cut[third] = true;
    counted.run(5_000);
    counted.stop(Loss::Expired);
    counted.run(5_000);
    let fourth = counted.leader();
    assert_ne!(third, fourth);
    counted.cut[third] = false;
    counted.run(1_000);

    counted.step(fourth, Input::Resign);
    counted.stop(Loss::Resigned);
    counted.run(4_000);
    let fifth = counted.leader();
    counted.step(fifth, Input::Withdraw);
    counted.stop(Loss::Withdrawn);
    counted.run(500);
    assert!(counted.nodes[fifth].is_finished());
    let followed = |(_, change): &(usize, Change)| matches!(change, Change::Followed { .. });
    assert!(counted.changes.iter().any(followed));
}

#[test]
fn bumps_and_faults_allocate_nothing() {
    let mut counted = Counted::new(3);
    counted.run(1_000);
    let leader = counted.leader();
    let other = (leader + 1) % 3;
    let beat = |epoch, role| {
        let (epoch, position) = (Epoch::new(epoch), Position::default());
        Message::Heartbeat(Heartbeat { epoch, role, position, extension: None })
    };
    // A peer that is bound to a higher epoch, as a legacy peer would show it, and then as a
    // restarted node of this protocol does.
    counted.hear(other, leader, beat(u64::MAX, Role::Replica));
    counted.hear(leader, leader, beat(7, Role::Replica));
    counted.step(leader, Input::Event(Event::SaveFailed(Epoch::new(1))));
    let epoch = counted.nodes[leader].promised();
    counted.hear(leader, other, beat(epoch.get(), Role::Primary));
    counted.run(1_000);
    let alerts = counted.changes.iter().filter(|(_, change)| {
        matches!(change, Change::Alert(Alert::EpochJump { .. } | Alert::DuplicateId { .. }))
    });
    assert_eq!(alerts.count(), 2);

    // A candidate that nobody heard has promised its own epoch.
    let third = (leader + 2) % 3;
    counted.cut[third] = true;
    counted.run(5_500);
    counted.cut[third] = false;
    counted.step(third, Input::Event(Event::HandOver(Peer::new(9))));
    counted.run(1_000);
    assert_eq!(counted.leader(), leader);
}
