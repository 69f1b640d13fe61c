//! How the members change: what an operator does, what the files of the nodes say, and what a driver
//! does when its node goes by other members.

use super::{
    disk::Stored,
    environment::QuorumEnvironment,
    in_force::{InForce, Nodes, hosts, nodes_of},
    links::Links,
    machine::Machine,
};
use crate::{schedule::Schedule, simulator::Simulator};
use election_core::{
    Input, NodeId, Protocol,
    quorum::{Config, Event, MemberChange, Members, Peer, Quorum, wire::Encoder},
};

impl Simulator<QuorumEnvironment> {
    /// Tells every node to change the list. Whoever does not lead will not.
    fn order_change(&mut self, change: &MemberChange) {
        for node in 0..self.nodes.len() {
            self.input(node, Input::Event(Event::ChangeMembers(change.clone())));
        }
    }

    fn id_of(&self, node: usize) -> Option<NodeId> {
        NodeId::new(&self.schedule.nodes[node].name).ok()
    }

    pub(super) fn remove_member(&mut self, node: usize) {
        let Some(id) = self.id_of(node) else { return };
        self.order_change(&MemberChange::Remove(id));
    }

    pub(super) fn add_member(&mut self, node: usize) {
        let Some(id) = self.id_of(node) else { return };
        let change = MemberChange::Add { id, witness: self.schedule.nodes[node].witness };
        let ready = self.nodes.iter().find_map(|leader| match &leader.machine {
            Some(Machine::Own(quorum)) if !leader.paused => {
                let may = quorum.is_leader(leader.read(self.now));
                (may && quorum.change_members(&change).is_ok()).then_some(quorum)
            }
            _ => None,
        });
        let list = |quorum: &Quorum| {
            let lists = quorum.lists();
            nodes_of(&self.schedule, lists, lists.established())
        };
        if let Some(mut file) = ready.map(list) {
            file.insert(node);
            self.prepare(node, file);
        }
        self.order_change(&change);
    }

    /// An operator starts a new member with this file, and without the ballot of an earlier membership.
    fn prepare(&mut self, node: usize, file: Nodes) {
        let state = &self.nodes[node].state;
        if state.is_called && *state.disk.durable() == Stored::Nothing {
            return; // it runs already
        }
        self.kill(node);
        let (now, state) = (self.now, &mut self.nodes[node].state);
        state.disk.lose(now);
        state.data.roll_back(now, None);
        (state.is_called, state.file) = (true, Some(file));
        self.revive(node);
    }

    /// The file of a node names the list in force, by its disk, if the node is in that, or else the one
    /// that is to be, or was.
    pub(super) fn update_file(&mut self, node: usize) {
        let state = &mut self.nodes[node].state;
        let Stored::Ballot(ballot) = state.disk.durable() else { return };
        if !self.environment.lists_change {
            return;
        }
        let lists = &ballot.lists;
        let accepted = lists.accepted().map(|(_, list)| list);
        let all = [Some(lists.established()), accepted, lists.parent()];
        let mut all = all.into_iter().flatten().map(|list| nodes_of(&self.schedule, lists, list));
        state.file = all.find(|list| list.contains(&state.member)).or(state.file.take());
    }

    /// A disk has changed: it may have a newer list than all others.
    pub(super) fn note_lists(&mut self, node: usize) {
        let Stored::Ballot(ballot) = self.nodes[node].state.disk.durable() else { return };
        let (lists, known) = (&ballot.lists, &mut self.environment.in_force);
        let generation = lists.established().generation;
        if generation > known.generation {
            let voters = nodes_of(&self.schedule, lists, lists.established());
            *known = InForce { generation, voters };
        }
    }

    /// A driver looks after every step whether its node goes by other members.
    pub(super) fn look_after_members(&mut self, node: usize) {
        let there = &mut self.nodes[node];
        let Some(Machine::Own(quorum)) = &there.machine else { return };
        let before = self.environment.configs[node].members();
        if !self.environment.lists_change || quorum.config().members() == before {
            return;
        }
        let (config, before) = (quorum.config().clone(), before.clone());
        if config.members().fingerprint() != before.fingerprint() {
            let lists = quorum.lists();
            let members = nodes_of(&self.schedule, lists, lists.established());
            let generation = lists.established().generation;
            self.trace.goes_by(
                self.now,
                node,
                generation,
                &members.into_iter().collect::<Vec<_>>(),
            );
        }
        let (members, moved) = (config.members().clone(), config.members().me() != before.me());
        // What came in from a place that another member has now, or nobody, came on a connection
        // that has ended.
        let stays = |peer: Peer| !moved && members.id(peer) == before.id(peer);
        there.inbox.retain(|input| match input {
            Input::Event(Event::Received { from, .. } | Event::Disconnected { from, .. }) => {
                stays(*from)
            }
            _ => true,
        });
        self.environment.go_by(node, config, &self.schedule);
        there.state.peer = members.me();
        self.tell_links(node, &members, moved);
    }

    /// Gives the links the members of a node. Dials whoever is new, and leaves whoever is gone.
    fn tell_links(&mut self, node: usize, members: &Members, moved: bool) {
        let Ok(encoder) = Encoder::new(members.clone()) else { return };
        self.environment.links.go_by(node, members, &encoder);
        for other in (0..self.nodes.len()).filter(|other| *other != node) {
            let knows = self.environment.knows(node, other);
            let link = self.environment.links.link_mut(node, other);
            let (is_open, dials) = (link.number.is_some(), link.dials);
            if is_open && (moved || !knows) {
                self.break_link(node, other, false);
            } else if knows && !is_open && !dials {
                self.redial(node, other);
            }
            if moved {
                self.environment.links.link_mut(other, node).lines.clear();
                self.break_link(other, node, true);
            }
        }
    }
}

impl QuorumEnvironment {
    /// The process of a node goes by this from now on.
    pub(super) fn go_by(&mut self, node: usize, config: Config, schedule: &Schedule) {
        self.hosts[node] = hosts(&schedule.nodes, config.members());
        self.configs[node] = config;
    }

    /// Whether one node knows another as a member, or as one that is to be.
    pub(super) fn knows(&self, node: usize, other: usize) -> bool {
        !self.lists_change || self.hosts[node].contains(&Some(other))
    }
}

impl Links {
    fn go_by(&mut self, node: usize, members: &Members, encoder: &Encoder) {
        for other in 0..self.nodes() {
            if let Some(outbox) = &mut self.link_mut(node, other).outbox {
                outbox.encode_by(encoder.clone());
            }
            for line in &mut self.link_mut(other, node).lines {
                line.decoder.decode_by(members.clone());
            }
        }
    }
}
