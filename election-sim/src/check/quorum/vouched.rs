//! What the peers of a node have vouched for, by the frames alone.

use super::{Heard, WorldState};
use election_core::{
    Epoch, Timestamp,
    quorum::{Event, Message, Peer},
};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    /// When this node first asked for votes, in the elections of this life.
    offered: BTreeMap<Epoch, Timestamp>,
    /// By member: the newest instant that it has vouched for.
    vouched: Vec<Timestamp>,
    /// The peers without stamps whose frames a paused process has not taken yet.
    waits: Vec<Peer>,
}

impl Books {
    pub(super) fn offer(&mut self, epoch: Epoch, at: Timestamp) {
        self.offered.entry(epoch).or_insert(at);
    }

    pub(super) fn hear(&mut self, world: &WorldState<'_>, heard: &Heard<'_>) {
        let Event::Received { from, message, .. } = heard.event else { return };
        let there = &world.nodes[heard.node];
        match message {
            Message::Heartbeat(heartbeat) => {
                let Some(extension) = heartbeat.extension else {
                    return self.waits.push(*from);
                };
                let own = there.state.incarnation;
                let echo = extension.attestation.echo().copied();
                if let Some(echo) = echo.filter(|echo| echo.incarnation == own) {
                    self.vouch(*from, echo.at);
                }
            }
            Message::Accept { epoch, .. } => {
                if let Some(at) = self.offered.get(epoch).copied() {
                    self.vouch(*from, at);
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

    fn vouch(&mut self, by: Peer, at: Timestamp) {
        if self.vouched.len() <= by.index() {
            self.vouched.resize(by.index() + 1, Timestamp::ZERO);
        }
        let newest = &mut self.vouched[by.index()];
        *newest = at.max(*newest);
    }

    /// The instant that a majority has vouched for, if `needed` others and this node make one.
    pub(super) fn majority(&self, needed: usize) -> Timestamp {
        let as_new = |at: &Timestamp| self.vouched.iter().filter(|other| *other >= at).count();
        let agreed = self.vouched.iter().filter(|at| as_new(at) >= needed);
        agreed.copied().max().unwrap_or_default()
    }

    /// The members that have vouched for that instant or a later one.
    pub(super) fn voters(&self, needed: usize) -> impl Iterator<Item = Peer> {
        let majority = self.majority(needed);
        let peers = (0..u8::MAX).map(Peer::new).zip(&self.vouched);
        let vouches = move |at: Timestamp| at >= majority && at > Timestamp::ZERO;
        peers.filter(move |(_, at)| vouches(**at)).map(|(peer, _)| peer)
    }
}
