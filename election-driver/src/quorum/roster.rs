//! What a node has around it follows the lists of members: connections come and go with them.
//!
//! A member keeps its place as long as it is one. Only a node that has just joined, and was given another
//! list, finds others at other places: what it has of these begins anew.

use super::{
    link::{Link, Pace},
    node::Net,
    node_state::LinkState,
};
use crate::Network;
use election_core::quorum::{
    Members,
    wire::{Encoder, InvalidId, Outbox},
};

impl<R: Network> Net<R> {
    /// Takes up the lists that the protocol goes by now, and the addresses that are known.
    pub(super) fn regroup(&mut self) {
        let (members, lists) = {
            let quorum = self.state.quorum();
            (quorum.config().members().clone(), quorum.lists().clone())
        };
        if lists != self.lists {
            self.log.regrouped(&members, &self.lists, &lists);
            self.lists = lists;
            // The protocol takes no list up that cannot be sent.
            if self.follow(&members).is_err() {
                return;
            }
        }
        self.connect(&members);
    }

    /// Speaks to and listens to these members.
    ///
    /// # Errors
    /// If an id cannot stand in a frame.
    pub(super) fn follow(&mut self, members: &Members) -> Result<(), InvalidId> {
        let encoder = Encoder::new(members.clone())?;
        self.links.retain(|link| members.id(link.peer) == Some(&link.id));
        for link in &mut self.links {
            link.outbox.encode_by(encoder.clone());
        }
        self.inbound.regroup(members);
        self.metrics.regroup(members);
        self.state.links().retain(|id, _| members.find(id.as_str()).is_some());
        self.encoder = encoder;
        Ok(())
    }

    /// Looks for these members at the addresses that they have now.
    pub(super) fn connect(&mut self, members: &Members) {
        for peer in members.others() {
            let Some(id) = members.id(peer) else { continue };
            let (home, others) = {
                let known = self.state.addresses();
                (known.of(id).cloned(), known.but(id))
            };
            let Some(home) = home else {
                // Who was removed is told of it where it was last reached.
                if !self.lists.wants(peer) {
                    continue;
                }
                let error = Some("its address is unknown; add it to the cluster file".to_owned());
                let state = LinkState { error, ..LinkState::default() };
                if self.state.links().insert(id.clone(), state).is_none() {
                    self.log.address_unknown(id);
                }
                continue;
            };
            match self.links.iter_mut().find(|link| link.peer == peer) {
                Some(link) => {
                    if link.relocate(&home, &others) {
                        self.log.relocated(id, &home);
                    }
                }
                None => {
                    home.number().into_iter().for_each(|it| self.inbound.expects(peer, it.ip()));
                    let address = home.to_string();
                    let state = LinkState { address, ..LinkState::default() };
                    self.state.links().insert(id.clone(), state);
                    let outbox = Outbox::new(self.encoder.clone(), self.down_after);
                    let pace = Pace::new(self.longest_wait, self.down_after);
                    let whose = (peer, id.clone());
                    let link = Link::new(whose, home, self.security.clone(), outbox, pace);
                    self.links.push(link);
                }
            }
        }
    }
}
