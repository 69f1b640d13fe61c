//! Members whose driver is the real one.

use super::{
    environment::{Heard, QuorumEnvironment},
    faults::wall_clock_begins,
    machine::Machine,
};
use crate::{
    deed::{Deed, Process},
    draw::Stream,
    service::{Act, Life, Part, QuorumPart, Simulated, State},
    simulator::{CheckerSet, Simulator, WorldState, world_state},
};
use election_core::{
    Candidate, Input, NodeId,
    quorum::{Event, Peer},
};
use std::io;

impl Simulated for Machine {
    fn receive(state: &mut State, input: Input<Event>) {
        match input {
            Input::Event(Event::Saved(_)) => state.saved(Ok(())),
            Input::Event(Event::SaveFailed(_)) => {
                state.saved(Err(io::Error::other("the simulated disk fails")));
            }
            // The driver looks at the wall clock itself.
            Input::Event(Event::WallClock(_)) => {}
            order => state.quorum_orders.put(order),
        }
    }

    fn deed(act: Act) -> Option<Deed<Self>> {
        Some(match act {
            Act::Quorum(Deed::Took(input)) => Deed::Took(input),
            Act::Quorum(Deed::Stepped(quorum, change)) => {
                Deed::Stepped(Box::new(Self::Own(*quorum)), change)
            }
            Act::Quorum(Deed::Requested(action)) => Deed::Requested(action),
            Act::Quorum(Deed::Acted(action, at)) => Deed::Acted(action, at),
            Act::Quorum(Deed::Did(effect)) | Act::Did(effect) => Deed::Did(effect),
            Act::Lease(_) => return None,
        })
    }
}

impl Simulator<QuorumEnvironment> {
    /// The code of this life of a node.
    pub(super) fn start_service(&mut self, node: usize) -> Option<Box<dyn Process<Machine>>> {
        let make = self.workload.service()?.clone();
        let cluster = self.schedule.cluster.as_ref()?;
        let members = self.members_of(node);
        let drift = self.schedule.timing.drift_ppm;
        let config = cluster.builder(&members, node, drift).ok()?;
        let listed = self.environment.config(node).members();
        let places = (0..listed.count()).filter_map(|place| u8::try_from(place).ok());
        let peers = places.map(Peer::new);
        let member = |peer| Some((listed.id(peer)?.clone(), listed.is_witness(peer)));
        let listed = peers.filter_map(member).collect();
        let there = &self.nodes[node].state;
        Some(Box::new(make(Life {
            node,
            life: self.nodes[node].life,
            names: self.names(),
            candidate: Candidate {
                id: NodeId::new(&self.schedule.nodes[node].name).ok()?,
                incarnation: there.incarnation,
            },
            part: Part::Quorum(Box::new(QuorumPart {
                config,
                members: listed,
                restored: there.disk.durable().restored(),
                position: (!there.loads).then(|| there.data.position()),
                seed: self.word(Stream::Jitter, node, 0),
                wall_clock: wall_clock_begins(node),
            })),
        })))
    }

    /// The driver of a member hands this in.
    pub(super) fn driver_takes(&mut self, node: usize, input: &Input<Event>) {
        let Input::Event(event) = input else { return };
        if let Event::Received { from, message, .. } = event {
            let Some(from) = self.environment.host(node, *from) else { return };
            let sent = self.environment.sockets.last_sent(from, node);
            self.trace.heard(self.now, (from, sent), node, message);
        }
        let world = world_state!(self);
        self.checkers.heard(&world, &Heard { node, event });
    }
}
