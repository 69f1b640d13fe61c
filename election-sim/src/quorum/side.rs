//! What a quorum brings to the stage: connections, disks and data.

use super::{data::Data, disk::Disk, happening::Happening, links::Links, strike::Saves};
use crate::{
    check::{QuorumChecks, Told},
    draw::Stream,
    fault::{Damage, What},
    schedule::{Impossible, Schedule},
    span::{between, nanos},
    stage::{Side, Stage},
};
use election_core::{
    Incarnation, NodeId, Timestamp,
    quorum::{Action, Config, Event, Peer, Position, Quorum},
};

/// The quorum's part of a world.
#[derive(Debug)]
pub(crate) struct QuorumSide {
    /// One for each node.
    pub(super) configs: Vec<Config>,
    /// The node that answers at the address of each member. A second process under a member's id
    /// can speak to the others, and nobody speaks to it.
    pub(crate) hosts: Vec<usize>,
    pub(crate) links: Links,
    pub(super) save: (u64, u64),
    pub(super) growth: u64,
    pub(crate) history: bool,
    /// Copies of data under way.
    pub(super) copies: Vec<Option<(usize, usize, Position)>>,
    pub(super) free_copies: Vec<usize>,
    pub(super) crashes: Vec<(usize, u64, u64)>,
}

/// A node's part of it.
#[derive(Debug)]
pub(crate) struct QuorumKit {
    /// Its place among the members.
    pub(crate) peer: Peer,
    pub(crate) incarnation: Incarnation,
    pub(crate) disk: Disk,
    pub(crate) data: Data,
    /// Things asked for, over all lives.
    pub(super) asked: u64,
    /// What befell the disk while a process had it open, and when.
    pub(super) damages: Vec<(u64, Damage)>,
    pub(super) lags: bool,
    pub(super) saving: Saves,
    /// Saves that wait for the disk to go on.
    pub(super) hung: Vec<u64>,
}

/// Something that is about to be handed to a node.
pub(crate) struct Heard<'a> {
    pub(crate) node: usize,
    pub(crate) event: &'a Event,
}

impl QuorumSide {
    /// The settings of a node.
    pub(crate) fn config(&self, node: usize) -> &Config {
        &self.configs[node]
    }

    /// How many members there are.
    pub(crate) fn count(&self) -> usize {
        self.hosts.len()
    }

    /// How many make a majority.
    pub(crate) fn quorum(&self) -> usize {
        self.hosts.len() / 2 + 1
    }

    /// The member with this id.
    pub(crate) fn peer(&self, id: &NodeId) -> Option<Peer> {
        self.configs[0].members().find(id.as_str())
    }
}

impl Side for QuorumSide {
    type Machine = Quorum;
    type Kit = QuorumKit;
    type Happening = Happening;
    type Asked = Action;
    type Heard<'a> = Heard<'a>;
    type Done<'a> = usize;
    type Checks = QuorumChecks;

    const WRITES_WHEN_EXTENDED: bool = false;

    fn new(schedule: &Schedule) -> Result<Self, Impossible> {
        let cluster = schedule.cluster.as_ref().ok_or(Impossible::NoNodes)?;
        let nodes = &schedule.nodes;
        let drift = schedule.timing.drift_ppm;
        let configs = (0..nodes.len()).map(|node| cluster.config(nodes, node, drift));
        let configs: Vec<Config> = configs.collect::<Result<_, _>>()?;
        let members = configs[0].members();
        let host = |peer: Peer| {
            let id = members.id(peer).map(NodeId::as_str);
            nodes.iter().position(|node| Some(node.name.as_str()) == id).unwrap_or(0)
        };
        let peers = (0..members.count()).filter_map(|place| u8::try_from(place).ok());
        let hosts = peers.map(|place| host(Peer::new(place))).collect();
        let crashes = schedule.faults.iter().filter_map(|fault| match fault.what {
            What::CrashAfter(node, nth, down) => Some((node, nth, nanos(down))),
            _ => None,
        });
        Ok(Self {
            hosts,
            links: Links::new(nodes.len(), schedule.faults.iter().map(|fault| fault.what.clone())),
            save: between(cluster.save),
            growth: nanos(cluster.growth),
            history: cluster.history,
            copies: Vec::new(),
            free_copies: Vec::new(),
            crashes: crashes.collect(),
            configs,
        })
    }

    fn kit(&self, schedule: &Schedule, node: usize) -> QuorumKit {
        let (history, offset) = schedule.nodes[node].data;
        QuorumKit {
            peer: self.configs[node].members().me(),
            incarnation: Incarnation::new(uuid::Uuid::nil()),
            disk: Disk::default(),
            data: Data::new(Position { history, offset }),
            asked: 0,
            damages: Vec::new(),
            lags: false,
            saving: Saves::default(),
            hung: Vec::new(),
        }
    }

    fn birth(stage: &mut Stage<Self>, node: usize) -> Option<Quorum> {
        let config = stage.side.configs[node].clone();
        let incarnation = Incarnation::new(uuid::Uuid::from_u128(stage.incarnation(node)));
        let kit = &mut stage.nodes[node].kit;
        kit.incarnation = incarnation;
        let restored = kit.disk.durable().restored();
        Some(Quorum::new(config, incarnation, &restored, stage.word(Stream::Jitter, node, 0)))
    }

    fn born(stage: &mut Stage<Self>, node: usize) {
        stage.report_position(node);
        stage.connect_all(node);
        stage.next_turn(node);
    }

    fn died(stage: &mut Stage<Self>, node: usize) {
        stage.cut_power(node);
    }

    fn cloned(stage: &mut Stage<Self>, from: usize, onto: usize) {
        let original = &stage.nodes[from].kit;
        let (disk, data) = (original.disk.clone(), original.data.clone());
        let (incarnation, peer) = (original.incarnation, original.peer);
        let copy = &mut stage.nodes[onto].kit;
        (copy.disk, copy.data, copy.incarnation) = (disk, data, incarnation);
        copy.peer = peer;
        stage.connect_all(onto);
        stage.next_turn(onto);
    }

    fn perform(stage: &mut Stage<Self>, node: usize, action: Action, at: Timestamp) {
        stage.carry_out(node, action, at);
    }

    fn happen(stage: &mut Stage<Self>, what: Happening) {
        match what {
            Happening::Frame(slot) => stage.arrive(slot),
            Happening::Connect { from, to, attempt } => stage.connect(from, to, attempt),
            Happening::Ended { from, to, number } => stage.end_connection(from, to, number),
            Happening::Saved { node, life, nth } => stage.finish_save(node, life, nth),
            Happening::Turn { node, life } => stage.turn(node, life),
            Happening::Copy(slot) => stage.arrive_copy(slot),
            Happening::Kill(node) => stage.kill(node),
            Happening::Revive(node) => stage.revive(node),
        }
    }

    fn settle(_: &mut Stage<Self>) {}

    fn begin(stage: &mut Stage<Self>, _: usize, what: &What) {
        stage.strike(what);
    }

    fn end(_: &mut Stage<Self>, _: &What) {}

    fn recompute(stage: &mut Stage<Self>, what: &What) {
        stage.recompute_quorum(what);
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
        matches!(event, Event::Received { .. })
    }

    fn coalesces(last: &mut Event, next: &Event) -> bool {
        matches!((&*last, next), (Event::Position(_), Event::Position(_))) && *last == *next
    }
}
