//! What the world sees of the driver, and what it puts in the place of chance and of the disk.

use super::{
    cell::{Act, Cell},
    life::Life,
};
use crate::deed::Deed;
use election_core::{
    Candidate, Change, Incarnation, Input, lease,
    lease::Lease,
    quorum::{self, Action, Ballot, Quorum, Restored, UnixMillis},
};
use election_driver::{MemberObserver, Observer, Saved};
use std::sync::Arc;

const OTHER_TIMING: &str = "the timing of a simulated election is the schedule's: begin with \
                            `Node::election` or `Node::cluster`, and set what you need with `Sim`";

/// The driver of one life, as the world sees it.
pub(super) struct Watched {
    cell: Cell,
    life: Arc<Life>,
}

impl Watched {
    pub(super) fn new(cell: Cell, life: Arc<Life>) -> Self {
        Self { cell, life }
    }

    pub(super) fn life(&self) -> &Life {
        &self.life
    }

    fn lease(&self, deed: Deed<Lease>) {
        self.cell.state().done.push(Act::Lease(deed));
    }

    fn quorum(&self, deed: Deed<Quorum>) {
        self.cell.state().done.push(Act::Quorum(deed));
    }
}

/// The driver may save ballots while it has this.
struct Saves(Cell);

impl Drop for Saves {
    fn drop(&mut self) {
        self.0.state().save_no_more();
    }
}

impl Observer for Watched {
    fn candidate(&self) -> Candidate {
        self.life.candidate.clone()
    }

    fn starts(
        &self,
        config: &lease::Config,
        order: Box<dyn Fn(Input<lease::Event>) + Send + Sync>,
    ) {
        let own = self.life.lease().config.clone().build();
        assert!(own.as_ref() == Ok(config), "{OTHER_TIMING}");
        self.cell.state().lease_orders.go_to(order);
    }

    fn takes(&self, input: &Input<lease::Event>) {
        self.lease(Deed::Took(input.clone()));
    }

    fn stepped(&self, lease: &Lease, change: Option<&Change>) {
        self.lease(Deed::Stepped(Box::new(lease.clone()), change.cloned()));
    }

    fn asks(&self, action: &lease::Action) {
        self.cell.state().asks(action);
    }
}

impl MemberObserver for Watched {
    fn incarnation(&self) -> Incarnation {
        self.life.candidate.incarnation
    }

    fn seed(&self) -> u64 {
        self.life.quorum().seed
    }

    fn wall_clock(&self) -> UnixMillis {
        UnixMillis(self.cell.state().wall_clock(self.life.quorum().wall_clock))
    }

    fn restored(&self) -> Restored {
        self.life.quorum().restored.clone()
    }

    fn keeps_ballots(&self, saved: Saved) -> Box<dyn Fn(Ballot) + Send> {
        self.cell.state().saved = Some(saved);
        let saves = Saves(self.cell.clone());
        Box::new(move |ballot| saves.0.state().begin(Action::Save(ballot)))
    }

    fn starts(
        &self,
        config: &quorum::Config,
        order: Box<dyn Fn(Input<quorum::Event>) + Send + Sync>,
    ) {
        let own = self.life.quorum().config.clone().build();
        assert!(own.as_ref() == Ok(config), "{OTHER_TIMING}");
        self.cell.state().quorum_orders.go_to(order);
    }

    fn takes(&self, input: &Input<quorum::Event>) {
        self.quorum(Deed::Took(input.clone()));
    }

    fn stepped(&self, quorum: &Quorum, change: Option<&Change>) {
        self.quorum(Deed::Stepped(Box::new(quorum.clone()), change.cloned()));
    }

    fn asks(&self, action: &Action) {
        self.quorum(Deed::Requested(action.clone()));
        if let Action::Send { .. } = action {
            self.cell.state().begin(action.clone());
        }
    }
}
