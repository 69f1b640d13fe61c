//! Whether this node could give its vote, and whether the others know.

use super::message::Availability;

/// What this node last told the others about that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Readiness {
    pub(super) availability: Availability,
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
    pub(super) const fn new() -> Self {
        Self { availability: Availability::Waiting, disclosure: Disclosure::Told }
    }

    /// Takes in this step's availability. Returns whether this node has become free to vote, so
    /// that the others must be told.
    pub(super) fn update(&mut self, availability: Availability) -> bool {
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
    pub(super) fn tell(&mut self) {
        if self.disclosure == Disclosure::Untold {
            self.disclosure = Disclosure::JustTold;
        }
    }

    pub(super) fn is_told(&self) -> bool {
        self.disclosure == Disclosure::Told
    }

    /// Whether this step's heartbeat tells them.
    pub(super) fn is_just_told(&self) -> bool {
        self.disclosure == Disclosure::JustTold
    }
}
