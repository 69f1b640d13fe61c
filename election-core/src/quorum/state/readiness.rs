//! Whether this node could give its vote, and whether the others know.

use crate::quorum::message::Availability;

/// What this node last told the others about that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Readiness {
    pub(crate) availability: Availability,
    disclosure: Disclosure,
}

/// Whether the others know that this node may vote, since it may. It makes no offer before they
/// know. An offer would raise its epoch. Other nodes that also start for the first time, and have
/// not heard it at epoch 0, would then see a member that has been in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Disclosure {
    /// They know.
    Told,
    /// This step's heartbeat tells them.
    JustTold,
    /// They do not know.
    Untold,
}

impl Readiness {
    pub(crate) const fn new() -> Self {
        Self { availability: Availability::Waiting, disclosure: Disclosure::Told }
    }

    /// Takes in this step's availability. Returns whether this node has become free to vote, so
    /// that the others must be told.
    pub(crate) fn update(&mut self, availability: Availability) -> bool {
        if self.disclosure == Disclosure::JustTold {
            self.disclosure = Disclosure::Told;
        }
        let before = core::mem::replace(&mut self.availability, availability);
        let waited = matches!(before, Availability::Waiting | Availability::Loading);
        let freed = waited && availability.is_free();
        if freed {
            self.disclosure = Disclosure::Untold;
        }
        freed
    }

    /// This step sends a heartbeat to all members.
    pub(crate) fn tell(&mut self) {
        if self.disclosure == Disclosure::Untold {
            self.disclosure = Disclosure::JustTold;
        }
    }

    pub(crate) fn is_told(&self) -> bool {
        self.disclosure == Disclosure::Told
    }

    /// Whether this step's heartbeat tells them.
    pub(crate) fn is_just_told(&self) -> bool {
        self.disclosure == Disclosure::JustTold
    }
}
