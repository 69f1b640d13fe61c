//! What a quorum adds to the simulator: connections, disks and data.

#[cfg(feature = "service")]
use super::sockets::Sockets;
use super::{
    data::Data,
    disk::{Disk, Saves, Stored},
    happening::Happening,
    in_force::{InForce, Nodes, hosts},
    legacy::Legacy,
    links::Links,
    machine::Machine,
};
use crate::{
    draw::Stream,
    fault::{DiskFault, FaultKind},
    schedule::{Member, Schedule, ScheduleError},
    simulator::{Environment, Simulator, Told},
    span::{between, nanos},
};
use election_core::{
    Incarnation, Timestamp,
    quorum::{Action, Ballot, Config, Event, Peer, Position, Quorum},
};
#[cfg(feature = "service")]
use {
    crate::{deed::Process, socket::SocketDeed},
    election_core::Input,
};

/// The quorum's part of a world.
#[derive(Debug)]
pub(crate) struct QuorumEnvironment {
    /// The configuration of each node, with the members that its newest process goes by.
    pub(super) configs: Vec<Config>,
    /// By node, and by the places of those members: the node that answers at the member's address. A
    /// second process under a member's id can speak to the other members, but they do not speak to
    /// it.
    pub(super) hosts: Vec<Vec<Option<usize>>>,
    /// By node: the one that answers in its name.
    answering: Vec<usize>,
    /// The list of members may change.
    pub(crate) lists_change: bool,
    pub(crate) in_force: InForce,
    pub(crate) links: Links,
    #[cfg(feature = "service")]
    pub(super) sockets: Sockets,
    pub(super) save: (u64, u64),
    pub(super) load: (u64, u64),
    pub(super) growth: u64,
    pub(crate) history: bool,
    /// Copies of data under way.
    pub(super) copies: Vec<Option<(usize, usize, Position)>>,
    pub(super) free_copies: Vec<usize>,
    pub(super) crashes: Vec<(usize, u64, u64)>,
}

/// The quorum's part of a node.
#[derive(Debug)]
pub(crate) struct QuorumNodeState {
    /// The node's place among the members that it goes by.
    pub(crate) peer: Peer,
    /// The node that answers in the name of the process.
    pub(crate) member: usize,
    /// The members by its file, once that is another than at first.
    pub(super) file: Option<Nodes>,
    /// It is no spare node, or an operator has started it.
    pub(super) is_called: bool,
    pub(crate) incarnation: Incarnation,
    pub(crate) disk: Disk,
    /// Its process runs kevy-elect.
    legacy: bool,
    is_witness: bool,
    /// Its newest process was given a file that lists one member more.
    pub(crate) wrong_file: bool,
    pub(crate) data: Data,
    /// The number of actions requested, over all lives.
    pub(super) asked: u64,
    /// What damaged the disk while a process had it open, and when.
    pub(super) damages: Vec<(u64, DiskFault)>,
    pub(super) lags: bool,
    /// The application of the present life does not know yet how far the data have come.
    pub(super) loads: bool,
    pub(super) saving: Saves,
    /// Saves that wait until the disk goes on.
    pub(super) hung: Vec<u64>,
}

/// An input that a node is about to get.
pub(crate) struct Heard<'a> {
    pub(crate) node: usize,
    pub(crate) event: &'a Event,
}

impl QuorumNodeState {
    /// How far a witness has recorded that its primaries have come; `None` for a node with data.
    pub(crate) fn recorded(&self) -> Option<Position> {
        self.is_witness.then(|| self.floor())
    }

    /// The data below which the node votes for nobody, by its ballot: what a witness has recorded, and
    /// what a node that has lost its data once had or heard of.
    pub(crate) fn floor(&self) -> Position {
        match self.disk.durable() {
            Stored::Ballot(ballot) => ballot.floor,
            Stored::Nothing | Stored::Torn => Position::default(),
        }
    }

    /// Whether the node has the data up to this position, or has recorded it.
    pub(crate) fn has(&self, position: Position) -> bool {
        let known = self.recorded().unwrap_or(self.data.position());
        known.history == position.history && known.offset >= position.offset
    }

    /// Whether the node runs kevy-elect in this life.
    pub(crate) fn is_legacy(&self) -> bool {
        self.legacy
    }
}

impl QuorumEnvironment {
    /// The settings of a node.
    pub(crate) fn config(&self, node: usize) -> &Config {
        &self.configs[node]
    }

    /// The number of places that the process of this node knows.
    pub(super) fn places(&self, node: usize) -> u8 {
        u8::try_from(self.hosts[node].len()).unwrap_or(u8::MAX)
    }

    /// The node that answers at the address of a member, by the places that the process of `node` knows.
    pub(crate) fn host(&self, node: usize, peer: Peer) -> Option<usize> {
        self.hosts[node].get(peer.index()).copied().flatten()
    }

    /// The place of a member, by the process of `node`.
    pub(super) fn place(&self, node: usize, member: usize) -> Option<Peer> {
        let place = self.hosts[node].iter().position(|host| *host == Some(member))?;
        u8::try_from(place).ok().map(Peer::new)
    }

    /// Whether a node answers at the address of its member.
    pub(super) fn answers(&self, node: usize) -> bool {
        self.answering[node] == node
    }
}

impl Environment for QuorumEnvironment {
    type Machine = Machine;
    type NodeState = QuorumNodeState;
    type Happening = Happening;
    type Asked = Action;
    type Heard<'a> = Heard<'a>;
    type Done<'a> = usize;

    /// A candidate of seven that sends every 20 ms asks most often, if it must not show all peers the
    /// same offset: six heartbeats and six offers each time, as many frames as if it told all at once.
    const MOST_QUESTIONS: u32 = 700;
    const WRITES_WHEN_EXTENDED: bool = false;

    fn new(schedule: &Schedule) -> Result<Self, ScheduleError> {
        let cluster = schedule.cluster.as_ref().ok_or(ScheduleError::NoNodes)?;
        let nodes = &schedule.nodes;
        let drift = schedule.timing.drift_ppm;
        let configs = (0..nodes.len()).map(|node| cluster.config(nodes, node, drift));
        let configs: Vec<Config> = configs.collect::<Result<_, _>>()?;
        let first = |node: &Member| nodes.iter().position(|other| other.name == node.name);
        let answering: Vec<_> = nodes.iter().filter_map(first).collect();
        let crashes = schedule.faults.iter().filter_map(|fault| match fault.kind {
            FaultKind::CrashAfter(node, nth, down) => Some((node, nth, nanos(down))),
            _ => None,
        });
        Ok(Self {
            hosts: configs.iter().map(|config| hosts(nodes, config.members())).collect(),
            lists_change: schedule.changes_lists(),
            in_force: InForce::first(nodes, &answering),
            answering,
            links: Links::new(nodes.len(), schedule.faults.iter().map(|fault| fault.kind.clone())),
            #[cfg(feature = "service")]
            sockets: Sockets::new(nodes.len()),
            save: between(cluster.save),
            load: between(cluster.load),
            growth: nanos(cluster.growth),
            history: cluster.history,
            copies: Vec::new(),
            free_copies: Vec::new(),
            crashes: crashes.collect(),
            configs,
        })
    }

    fn state(&self, schedule: &Schedule, node: usize) -> QuorumNodeState {
        // A witness has no data.
        let member = &schedule.nodes[node];
        let (history, offset) = if member.witness { (0, 0) } else { member.data };
        QuorumNodeState {
            peer: self.configs[node].members().me(),
            member: self.answering[node],
            file: None,
            is_called: !member.spare,
            incarnation: Incarnation::new(uuid::Uuid::nil()),
            disk: Disk::default(),
            legacy: schedule.nodes[node].software.is_legacy(1),
            is_witness: member.witness,
            wrong_file: false,
            data: Data::new(Position { history, offset }),
            asked: 0,
            damages: Vec::new(),
            lags: false,
            loads: false,
            saving: Saves::default(),
            hung: Vec::new(),
        }
    }

    fn birth(simulator: &mut Simulator<Self>, node: usize) -> Option<Machine> {
        if !simulator.nodes[node].state.is_called {
            return None;
        }
        simulator.read_file(node);
        let config = simulator.environment.configs[node].clone();
        let legacy = simulator.schedule.nodes[node].software.is_legacy(simulator.nodes[node].life);
        let incarnation = Incarnation::new(uuid::Uuid::from_u128(simulator.incarnation(node)));
        let seed = simulator.word(Stream::Jitter, node, 0);
        // kevy-elect starts with a position.
        let loads = simulator.environment.load.1 > 0 && !legacy;
        let state = &mut simulator.nodes[node].state;
        (state.incarnation, state.legacy, state.loads) = (incarnation, legacy, loads);
        // The two protocols keep their ballots in different files.
        let finds = |ballot: &Ballot| Legacy::wrote(ballot) == legacy;
        if matches!(state.disk.durable(), Stored::Ballot(ballot) if !finds(ballot)) {
            state.disk.lose(simulator.now);
        }
        let restored = state.disk.durable().restored();
        if legacy {
            return Some(Machine::Legacy(Legacy::new(&config, &restored)));
        }
        let position = (!loads).then(|| state.data.position());
        let quorum = Quorum::new(config, incarnation, &restored, position, seed);
        if simulator.environment.lists_change {
            simulator.nodes[node].state.peer = quorum.config().members().me();
            simulator.environment.go_by(node, quorum.config().clone(), &simulator.schedule);
        }
        Some(Machine::Own(quorum))
    }

    #[cfg(feature = "service")]
    fn service(simulator: &mut Simulator<Self>, node: usize) -> Option<Box<dyn Process<Machine>>> {
        simulator.start_service(node)
    }

    #[cfg(feature = "service")]
    fn elector_born(simulator: &mut Simulator<Self>, node: usize) {
        simulator.load_soon(node);
        simulator.next_turn(node);
    }

    #[cfg(feature = "service")]
    fn takes(simulator: &mut Simulator<Self>, node: usize, input: &Input<Event>) {
        simulator.driver_takes(node, input);
    }

    #[cfg(feature = "service")]
    fn socket(simulator: &mut Simulator<Self>, node: usize, deed: SocketDeed) {
        simulator.socket_deed(node, deed);
    }

    fn born(simulator: &mut Simulator<Self>, node: usize) {
        simulator.empty_outboxes(node);
        simulator.load(node);
        simulator.connect_all(node);
        simulator.tell_wall_clock(node);
        simulator.next_turn(node);
    }

    fn died(simulator: &mut Simulator<Self>, node: usize) {
        simulator.cut_power(node);
    }

    fn cloned(simulator: &mut Simulator<Self>, from: usize, onto: usize) {
        let original = &simulator.nodes[from].state;
        let (disk, data) = (original.disk.clone(), original.data.clone());
        let (incarnation, peer, member) = (original.incarnation, original.peer, original.member);
        let (loads, legacy) = (original.loads, original.legacy);
        let copy = &mut simulator.nodes[onto].state;
        (copy.disk, copy.data, copy.incarnation) = (disk, data, incarnation);
        (copy.peer, copy.member, copy.loads, copy.legacy) = (peer, member, loads, legacy);
        simulator.empty_outboxes(onto);
        simulator.load(onto);
        simulator.connect_all(onto);
        simulator.next_turn(onto);
    }

    fn requested(simulator: &mut Simulator<Self>, node: usize, action: &Action) {
        simulator.request(node, action);
    }

    fn perform(simulator: &mut Simulator<Self>, node: usize, action: Action, _: Timestamp) {
        simulator.carry_out(node, action);
    }

    fn happen(simulator: &mut Simulator<Self>, what: Happening) {
        match what {
            Happening::Piece(slot) => simulator.arrive(slot),
            Happening::Connect { from, to, attempt } => simulator.connect(from, to, attempt),
            Happening::Ended { from, to, number } => simulator.end_connection(from, to, number),
            Happening::Watched { from, to } => simulator.watched(from, to),
            #[cfg(feature = "service")]
            Happening::Dialed { from, life, to, dial } => simulator.dialed(from, life, to, dial),
            #[cfg(feature = "service")]
            Happening::Flows { connection, end } => simulator.flows(connection, end),
            Happening::Saved { node, life, nth } => simulator.finish_save(node, life, nth),
            Happening::Loaded { node, life } => simulator.loaded(node, life),
            Happening::Turn { node, life } => simulator.turn(node, life),
            Happening::Copy(slot) => simulator.arrive_copy(slot),
            Happening::Kill(node) => simulator.kill(node),
            Happening::Revive(node) => simulator.revive(node),
        }
    }

    fn settle(_: &mut Simulator<Self>) {}

    fn stepped(simulator: &mut Simulator<Self>, node: usize) {
        simulator.look_after_members(node);
    }

    fn begin(simulator: &mut Simulator<Self>, _: usize, kind: &FaultKind) {
        simulator.begin_member_fault(kind);
    }

    fn recompute(simulator: &mut Simulator<Self>, kind: &FaultKind) {
        simulator.recompute_member_fault(kind);
    }

    fn health(healthy: bool) -> Event {
        Event::Health(healthy)
    }

    fn told(event: &Event) -> Option<Told> {
        match event {
            Event::Health(healthy) => Some(Told::Healthy(*healthy)),
            Event::HandOver(_) => Some(Told::Resign),
            _ => None,
        }
    }

    fn extends(event: &Event) -> bool {
        matches!(event, Event::Received { .. } | Event::Saved(_))
    }

    fn coalesces(last: &mut Event, next: &Event) -> bool {
        matches!((&*last, next), (Event::Position(_), Event::Position(_))) && *last == *next
    }
}
