//! What a member runs: this protocol, or kevy-elect's.

use super::legacy::Legacy;
use election_core::{
    Epoch, Input, Label, Protocol, Step, Tenure, Term, Timestamp,
    quorum::{Action, Event, MaintenanceStatus, Quorum, Role},
};

/// The state machine of one process.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // one for each node, and never moved
pub(crate) enum Machine {
    Own(Quorum),
    Legacy(Legacy),
}

impl Machine {
    pub(crate) fn is_legacy(&self) -> bool {
        matches!(self, Self::Legacy(_))
    }

    /// The epoch that binds it.
    pub(crate) fn promised(&self) -> Epoch {
        match self {
            Self::Own(quorum) => quorum.promised(),
            Self::Legacy(legacy) => legacy.epoch(),
        }
    }

    pub(crate) fn maintenance(&self) -> Option<MaintenanceStatus> {
        match self {
            Self::Own(quorum) => quorum.maintenance(),
            Self::Legacy(_) => None,
        }
    }

    pub(crate) fn role(&self) -> Role {
        match self {
            Self::Own(quorum) => quorum.role(),
            Self::Legacy(legacy) => legacy.role(),
        }
    }

    pub(crate) fn followed(&self) -> Option<(Term, Option<Label>)> {
        match self {
            Self::Own(quorum) => quorum.followed(),
            Self::Legacy(legacy) => legacy.followed(),
        }
    }
}

impl Protocol for Machine {
    type Event = Event;
    type Action = Action;

    #[inline]
    fn step(&mut self, now: Timestamp, input: Input<Event>) -> Step<Action> {
        match self {
            Self::Own(quorum) => quorum.step(now, input),
            Self::Legacy(legacy) => legacy.step(now, input),
        }
    }

    #[inline]
    fn tenure(&self, now: Timestamp) -> Option<Tenure> {
        match self {
            Self::Own(quorum) => quorum.tenure(now),
            Self::Legacy(legacy) => legacy.tenure(now),
        }
    }

    #[inline]
    fn is_leader(&self, now: Timestamp) -> bool {
        match self {
            Self::Own(quorum) => quorum.is_leader(now),
            Self::Legacy(legacy) => legacy.tenure(now).is_some(),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Self::Own(quorum) => quorum.is_finished(),
            Self::Legacy(legacy) => legacy.is_finished(),
        }
    }
}
