//! The invariants that hold at every instant, whatever the network does.

use super::node::Node;
use election_core::{
    Change,
    quorum::{Audience, Message, Position},
};
use std::collections::BTreeMap;

pub(super) struct Checks {
    /// The winner of each epoch, as elected or as announced.
    pub(super) winners: BTreeMap<u64, usize>,
    announced: BTreeMap<u64, usize>,
    /// The vote of each node in each epoch; a node that made an offer voted for itself.
    votes: BTreeMap<(usize, u64), usize>,
    /// Each node's last heartbeat: life and epoch.
    heartbeats: Vec<(u64, u64)>,
    leading: Vec<Option<u64>>,
}

impl Checks {
    pub(super) fn new(count: usize) -> Self {
        Self {
            winners: BTreeMap::new(),
            announced: BTreeMap::new(),
            votes: BTreeMap::new(),
            heartbeats: vec![(0, 0); count],
            leading: vec![None; count],
        }
    }

    pub(super) fn changed(
        &mut self,
        node: usize,
        change: &Change,
        nodes: &[Node],
    ) -> Result<(), String> {
        match change {
            Change::Elected(tenure) => {
                let epoch = tenure.term.epoch.get();
                if let Some(other) = self.winners.insert(epoch, node) {
                    return Err(format!("n{other} and n{node} both won epoch {epoch}"));
                }
                if self.winners.keys().next_back() != Some(&epoch) {
                    return Err(format!("epoch {epoch} was won after a higher one"));
                }
                if self.leading[node].replace(epoch).is_some() {
                    return Err(format!("n{node} was elected twice"));
                }
                let voters = self.voters(epoch, node, nodes);
                let newest = voters.iter().map(|voter| nodes[*voter].position.history).max();
                if newest > Some(nodes[node].position.history) {
                    return Err(format!("n{node} won epoch {epoch} with old data"));
                }
                Ok(())
            }
            Change::Lost { term, .. } => {
                if self.leading[node].take() != Some(term.epoch.get()) {
                    return Err(format!("n{node} lost what it did not have"));
                }
                Ok(())
            }
            Change::Followed { .. } | Change::Vacant if self.leading[node].is_some() => {
                Err(format!("n{node} follows while it leads"))
            }
            Change::Followed { .. } | Change::Vacant | Change::Alert(_) => Ok(()),
        }
    }

    pub(super) fn died(&mut self, node: usize) {
        self.leading[node] = None;
    }

    fn voters(&self, epoch: u64, candidate: usize, nodes: &[Node]) -> Vec<usize> {
        let voted = |node: &usize| self.votes.get(&(*node, epoch)) == Some(&candidate);
        (0..nodes.len()).filter(voted).collect()
    }

    pub(super) fn sent(
        &mut self,
        from: usize,
        to: Audience,
        message: &Message,
        nodes: &[Node],
    ) -> Result<(), String> {
        match message {
            Message::Heartbeat(heartbeat) => {
                let (life, last) = self.heartbeats[from];
                let epoch = heartbeat.epoch.get();
                let primary = heartbeat.role == election_core::quorum::Role::Primary;
                if life == nodes[from].life && epoch < last && !primary {
                    return Err(format!("n{from} went back from epoch {last} to {epoch}"));
                }
                self.heartbeats[from] = (nodes[from].life, epoch);
                if primary { self.claims(from, epoch) } else { Ok(()) }
            }
            Message::Maintenance { .. } => Ok(()),
            Message::Announce { epoch, .. } => self.claims(from, epoch.get()),
            Message::Offer { epoch, position, .. } => {
                self.votes(from, from, epoch.get(), nodes)?;
                own_position(*position, nodes[from].position)
            }
            Message::Accept { epoch, .. } => {
                let Audience::One(candidate) = to else {
                    return Err("a vote for everybody".into());
                };
                self.votes(from, candidate.index(), epoch.get(), nodes)
            }
        }
    }

    fn claims(&mut self, node: usize, epoch: u64) -> Result<(), String> {
        let first = *self.announced.entry(epoch).or_insert(node);
        if first == node {
            Ok(())
        } else {
            Err(format!("n{first} and n{node} both claim epoch {epoch}"))
        }
    }

    fn votes(
        &mut self,
        node: usize,
        for_: usize,
        epoch: u64,
        nodes: &[Node],
    ) -> Result<(), String> {
        let ballot = nodes[node].disk.as_ref();
        if ballot.is_none_or(|ballot| ballot.promised.get() < epoch) {
            return Err(format!("n{node} voted in epoch {epoch} before that was durable"));
        }
        // A candidate that yields to a better one takes its own vote back first.
        let before = self.votes.insert((node, epoch), for_);
        if before.is_some_and(|before| before != for_ && before != node) {
            return Err(format!("n{node} voted for n{before:?} and n{for_} in epoch {epoch}"));
        }
        Ok(())
    }

    /// At most one node leads, and the work of at most one runs, at any true time.
    pub(super) fn exclusion(&self, nodes: &[Node], now: u64) -> Result<(), String> {
        if nodes.iter().any(Node::is_legacy) {
            return Ok(()); // best effort
        }
        let mut works = (0..nodes.len()).filter(|node| nodes[*node].works(now));
        match (works.next(), works.next()) {
            (Some(one), Some(other)) => Err(format!(
                "n{one} (leads: {}) and n{other} (leads: {}) act at once",
                nodes[one].leads(now),
                nodes[other].leads(now)
            )),
            _ => Ok(()),
        }
    }
}

fn own_position(offered: Position, own: Position) -> Result<(), String> {
    if offered.history > own.history {
        return Err("an offer claims data that is not there".into());
    }
    Ok(())
}
