//! What the peers of a node have vouched for, by the frames alone.

use super::{Heard, WorldState};
use crate::quorum::Nodes;
use election_core::{
    Epoch, Timestamp,
    quorum::{Event, Message},
};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    /// When this node first asked for votes, in the elections of this life.
    offered: BTreeMap<Epoch, Timestamp>,
    /// By the node that answers for a member: the newest instant that it has vouched for.
    vouched: Vec<Timestamp>,
    /// The peers without stamps whose frames a paused process has not taken yet.
    waits: Vec<usize>,
}

impl Books {
    pub(super) fn offer(&mut self, epoch: Epoch, at: Timestamp) {
        self.offered.entry(epoch).or_insert(at);
    }

    pub(super) fn hear(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        let Event::Received { from, message, .. } = heard.event else { return };
        let there = &world.nodes[heard.node];
        let Some(from) = world.environment.host(heard.node, *from) else { return };
        match message {
            Message::Heartbeat(heartbeat) => {
                let Some(extension) = heartbeat.extension else {
                    return self.waits.push(from);
                };
                let own = there.state.incarnation;
                let echo = extension.attestation.echo().copied();
                if let Some(echo) = echo.filter(|echo| echo.incarnation == own) {
                    self.vouch(from, echo.at);
                }
            }
            Message::Accept { epoch, .. } => {
                if let Some(at) = self.offered.get(epoch).copied() {
                    self.vouch(from, at);
                }
            }
            Message::Offer { .. }
            | Message::Maintenance { .. }
            | Message::Lists { .. }
            | Message::Announce { .. } => {}
        }
    }

    /// The node takes what it has heard: a heartbeat without a stamp vouches for this instant.
    pub(super) fn take(&mut self, now: Timestamp) {
        for peer in std::mem::take(&mut self.waits) {
            self.vouch(peer, now);
        }
    }

    fn vouch(&mut self, by: usize, at: Timestamp) {
        if self.vouched.len() <= by {
            self.vouched.resize(by + 1, Timestamp::ZERO);
        }
        let newest = &mut self.vouched[by];
        *newest = at.max(*newest);
    }

    /// The instant that a majority of this list has vouched for, if the node `me` belongs to it.
    pub(super) fn majority(&self, list: &Nodes, me: usize) -> Timestamp {
        let needed = list.len() / 2 + 1 - usize::from(list.contains(&me));
        let known = || self.vouched.iter().enumerate().filter(|(node, _)| list.contains(node));
        let as_new = |at: &Timestamp| known().filter(|(_, other)| *other >= at).count();
        let agreed = known().map(|(_, at)| at).filter(|at| as_new(at) >= needed);
        agreed.copied().max().unwrap_or_default()
    }

    /// The nodes that have vouched for this instant or a later one.
    pub(super) fn voters(&self, majority: Timestamp) -> impl Iterator<Item = usize> {
        let vouches = move |at: Timestamp| at >= majority && at > Timestamp::ZERO;
        self.vouched.iter().enumerate().filter(move |(_, at)| vouches(**at)).map(|(node, _)| node)
    }
}
