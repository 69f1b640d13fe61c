//! Some nodes, their disks and the network between them, in virtual time: for what takes more than one
//! node to see. Frames arrive a millisecond after they were sent, and disks answer at once.

use election_core::{
    Change, Drift, Epoch, Incarnation, Input, Label, NodeId, Protocol, Random, Timestamp,
    quorum::{
        Action, Audience, Ballot, Config, Connection, Event, Fingerprint, MemberChange, Membership,
        Message, Position, Quorum, Restored,
    },
};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// A node that runs, or has run.
pub(crate) struct Node {
    pub(crate) id: &'static str,
    /// What it is given at every start.
    file: Vec<&'static str>,
    pub(crate) disk: Option<Ballot>,
    pub(crate) quorum: Option<Quorum>,
    wake_at: Option<Timestamp>,
    connection: u64,
}

pub(crate) struct Net {
    pub(crate) now: u64,
    pub(crate) nodes: Vec<Node>,
    lives: u128,
    frames: Vec<(u64, usize, usize, u64, Message)>,
    /// Saves that are not done: when they will be, whose they are, and of which life.
    saves: Vec<(u64, usize, u64, Ballot)>,
    /// How long frames and saves take at most, in milliseconds.
    pub(crate) delays: (u64, u64),
    random: Random,
    /// Pairs that do not reach each other: from, to.
    pub(crate) cut: BTreeSet<(usize, usize)>,
    /// Who won which epoch, and which list has which generation.
    winners: BTreeMap<Epoch, usize>,
    lists: BTreeMap<u64, Fingerprint>,
}

pub(crate) fn id(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

impl Net {
    /// Nodes that are given one list each, and run.
    pub(crate) fn new(nodes: &[(&'static str, &[&'static str])]) -> Self {
        let nodes = nodes.iter().map(|(id, file)| Node {
            id,
            file: file.to_vec(),
            disk: None,
            quorum: None,
            wake_at: None,
            connection: 0,
        });
        let mut net = Self {
            now: 1_000,
            nodes: nodes.collect(),
            lives: 0,
            frames: Vec::new(),
            saves: Vec::new(),
            delays: (1, 0),
            random: Random::new(0),
            cut: BTreeSet::new(),
            winners: BTreeMap::new(),
            lists: BTreeMap::new(),
        };
        (0..net.nodes.len()).for_each(|node| net.start(node));
        net
    }

    /// Nodes of one list.
    pub(crate) fn of(ids: &[&'static str]) -> Self {
        Self::new(&ids.iter().map(|id| (*id, ids)).collect::<Vec<_>>())
    }

    /// Another node, which does not run yet.
    pub(crate) fn with(mut self, id: &'static str, file: &[&'static str]) -> Self {
        let file = file.to_vec();
        let node = Node { id, file, disk: None, quorum: None, wake_at: None, connection: 0 };
        self.nodes.push(node);
        self
    }

    fn at(&self) -> Timestamp {
        Timestamp::from_nanos(self.now * 1_000_000)
    }

    pub(crate) fn node(&self, name: &str) -> usize {
        self.nodes.iter().position(|node| node.id == name).unwrap()
    }

    pub(crate) fn quorum(&self, name: &str) -> &Quorum {
        self.nodes[self.node(name)].quorum.as_ref().unwrap()
    }

    /// A number below `bound`.
    pub(crate) fn draw(&mut self, bound: u64) -> u64 {
        self.random.up_to(bound.saturating_sub(1))
    }

    pub(crate) fn seeded(mut self, seed: u64) -> Self {
        self.random = Random::new(seed);
        self
    }

    pub(crate) fn start(&mut self, node: usize) {
        self.lives += 1;
        self.distribute(node);
        let Node { id: name, file, disk, .. } = &self.nodes[node];
        let config =
            Config::builder(id(name), file.iter().map(|it| id(it)), Label::new("a").unwrap());
        let config = config.drift(Drift::from_ppm(10_000).unwrap());
        let restored = disk.clone().map_or(Restored::Nothing, Restored::Ballot);
        let life = Incarnation::new(Uuid::from_u128(self.lives));
        let position = Some(Position::default());
        let quorum = Quorum::new(
            config.build().unwrap(),
            life,
            &restored,
            position,
            u64::try_from(self.lives).unwrap(),
        );
        self.nodes[node].quorum = Some(quorum);
        self.nodes[node].connection += 1;
        self.step(node, Input::Tick);
    }

    /// Gives a node the newest list that it knows, as an operator does.
    fn distribute(&mut self, node: usize) {
        if let Some(ballot) = &self.nodes[node].disk {
            self.nodes[node].file = newest(&ballot.lists, self.nodes[node].id);
        }
    }

    /// A node that is down loses its disk, unless it is the only member. Returns whether it did.
    pub(crate) fn wipe(&mut self, node: usize) -> bool {
        self.distribute(node);
        let members = |ballot: &Ballot| ballot.lists.established().voters.members().count();
        let is_alone = self.nodes[node].disk.as_ref().is_some_and(|ballot| members(ballot) == 1);
        self.nodes[node].disk.take_if(|_| !is_alone);
        !is_alone
    }

    pub(crate) fn kill(&mut self, node: usize) {
        self.nodes[node].quorum = None;
        // What was being written is on the disk, or is not.
        if let Some(place) = self.saves.iter().position(|(_, of, ..)| *of == node) {
            let (.., ballot) = self.saves.remove(place);
            if self.draw(2) == 0 {
                self.nodes[node].disk = Some(ballot);
            }
        }
        self.nodes[node].wake_at = None;
        for other in 0..self.nodes.len() {
            let connection = Connection(self.nodes[node].connection);
            let from = self.known(other, node);
            if let Some(from) = from.filter(|_| other != node) {
                self.step(other, Input::Event(Event::Disconnected { from, connection }));
            }
        }
    }

    /// The place that `other` has among the members of `node`, which runs.
    fn known(&self, node: usize, other: usize) -> Option<election_core::quorum::Peer> {
        self.nodes[node].quorum.as_ref()?.config().members().find(self.nodes[other].id)
    }

    fn step(&mut self, node: usize, input: Input<Event>) {
        let now = self.at();
        let mut stopped = None;
        let mut input = Some(input);
        while let Some(next) = input.take().or_else(|| stopped.take()) {
            let Some(quorum) = &mut self.nodes[node].quorum else { return };
            let step = quorum.step(now, next);
            if let Some(Change::Elected(tenure)) = &step.change {
                let winner = *self.winners.entry(tenure.term.epoch).or_insert(node);
                assert_eq!(winner, node, "two winners of {:?}", tenure.term.epoch);
            }
            if let Some(Change::Lost { term, .. }) = &step.change {
                stopped = Some(Input::Stopped(term.epoch));
            }
            let more = step.wake_at.is_some_and(|at| at <= now);
            self.nodes[node].wake_at = step.wake_at;
            match step.action {
                Some(Action::Save(ballot)) if self.delays.1 == 0 => {
                    input = Some(Input::Event(Event::Saved(ballot.promised)));
                    self.nodes[node].disk = Some(ballot);
                }
                Some(Action::Save(ballot)) => {
                    let at = self.now + 1 + self.draw(self.delays.1);
                    self.saves.push((at, node, self.nodes[node].connection, ballot));
                    input = more.then_some(Input::Tick);
                }
                Some(Action::Send { to, message }) => {
                    self.send(node, to, &message);
                    input = more.then_some(Input::Tick);
                }
                None => input = more.then_some(Input::Tick),
            }
        }
        self.check(node);
    }

    fn check(&mut self, node: usize) {
        let acting = self.leaders();
        assert!(acting.len() <= 1, "{acting:?} act");
        let Some(quorum) = &self.nodes[node].quorum else { return };
        let members = quorum.config().members();
        let (generation, list) = (quorum.lists().established().generation, members.fingerprint());
        if generation > 0 {
            let known = *self.lists.entry(generation).or_insert(list);
            assert_eq!(known, list, "two lists of generation {generation}");
        }
    }

    fn send(&mut self, from: usize, to: Audience, message: &Message) {
        let members = self.nodes[from].quorum.as_ref().unwrap().config().members().clone();
        let targets: Vec<_> = match to {
            Audience::All => members.others().collect(),
            Audience::One(peer) => vec![peer],
        };
        for target in targets.into_iter().filter_map(|peer| members.id(peer)) {
            let target = self.nodes.iter().position(|node| node.id == target.as_str());
            let Some(target) = target.filter(|to| !self.cut.contains(&(from, *to))) else {
                continue;
            };
            let connection = self.nodes[from].connection;
            let delay = self.draw(self.delays.0);
            self.frames.push((self.now + 1 + delay, from, target, connection, message.clone()));
        }
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, millis: u64) {
        for _ in 0..millis {
            self.now += 1;
            let (due, later): (Vec<_>, _) =
                self.frames.drain(..).partition(|(at, ..)| *at <= self.now);
            self.frames = later;
            for (_, from, to, connection, message) in due {
                if self.cut.contains(&(from, to)) {
                    continue;
                }
                if let Some(place) = self.known(to, from) {
                    let connection = Connection(connection);
                    let event = Event::Received { from: place, connection, message };
                    self.step(to, Input::Event(event));
                }
            }
            let (due, later): (Vec<_>, _) =
                self.saves.drain(..).partition(|(at, ..)| *at <= self.now);
            self.saves = later;
            for (_, node, life, ballot) in due {
                if self.nodes[node].quorum.is_some() && self.nodes[node].connection == life {
                    let saved = Event::Saved(ballot.promised);
                    self.nodes[node].disk = Some(ballot);
                    self.step(node, Input::Event(saved));
                }
            }
            for node in 0..self.nodes.len() {
                if self.nodes[node].wake_at.is_some_and(|at| at <= self.at()) {
                    self.step(node, Input::Tick);
                }
            }
        }
    }

    pub(crate) fn leaders(&self) -> Vec<&'static str> {
        let now = self.at();
        let leads = |node: &&Node| node.quorum.as_ref().is_some_and(|quorum| quorum.is_leader(now));
        self.nodes.iter().filter(leads).map(|node| node.id).collect()
    }

    /// Waits until somebody leads.
    #[track_caller]
    pub(crate) fn lead(&mut self) -> &'static str {
        let found = self.wait(30_000, |net| net.leaders().len() == 1);
        assert!(found, "nobody leads");
        self.leaders()[0]
    }

    /// Waits until that is so, at most so many milliseconds.
    pub(crate) fn wait(&mut self, millis: u64, is_so: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..millis {
            if is_so(self) {
                return true;
            }
            self.run(1);
        }
        is_so(self)
    }

    /// What every node says of itself.
    pub(crate) fn told(&self) -> String {
        let told = self.nodes.iter().map(|node| {
            let quorum = node.quorum.as_ref();
            let status = quorum.map(|quorum| (quorum.status(self.at()), quorum.lists()));
            format!(
                "{}: {:?}\n",
                node.id,
                status.map(|(status, lists)| (
                    status.hindrance,
                    status.unready,
                    status.promised,
                    lists.clone()
                ))
            )
        });
        told.collect()
    }

    /// Gives a node an order.
    pub(crate) fn order(&mut self, node: usize, input: Input<Event>) {
        self.step(node, input);
    }

    /// Asks the leader to change the list, as soon as it would.
    #[track_caller]
    pub(crate) fn change(&mut self, change: &MemberChange) {
        let leader = self.lead();
        let may = |net: &Self| net.quorum(leader).change_members(change).is_ok();
        assert!(self.wait(2_000, may), "{:?}", self.quorum(leader).change_members(change));
        self.step(self.node(leader), Input::Event(Event::ChangeMembers(change.clone())));
    }

    /// The generation of the list that each of these nodes has recorded.
    pub(crate) fn generations(&self, names: &[&str]) -> Vec<u64> {
        let generation = |name: &&str| self.quorum(name).lists().established().generation;
        names.iter().map(generation).collect()
    }

    /// Has everybody cut off from a node, in both directions.
    pub(crate) fn isolate(&mut self, node: usize) {
        for other in 0..self.nodes.len() {
            self.cut.extend([(node, other), (other, node)]);
        }
    }
}

/// The members of the newest list that has this one.
fn newest(lists: &Membership, me: &str) -> Vec<&'static str> {
    let accepted = lists.accepted().map(|(_, list)| list);
    let newest_first = accepted.into_iter().chain([lists.established()]).chain(lists.parent());
    let names = newest_first.map(|list| {
        let ids = list.voters.members().map(|peer| lists.ids()[peer.index()].clone().unwrap());
        ids.map(|id| &*id.as_str().to_owned().leak()).collect::<Vec<_>>()
    });
    names.into_iter().find(|names| names.contains(&me)).unwrap_or_else(|| panic!("{me}: {lists:?}"))
}

pub(crate) fn add(name: &str) -> MemberChange {
    MemberChange::Add { id: id(name), witness: false }
}

pub(crate) fn remove(name: &str) -> MemberChange {
    MemberChange::Remove(id(name))
}
