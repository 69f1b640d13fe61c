//! Whether this node could give its vote, and whether the others know.

use super::message::Availability;

/// What the others were told of it last.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Readiness {
    pub(super) availability: Availability,
    disclosure: Disclosure,
}

/// Whether the others know that this node may vote, since it may. It asks for no votes of its own
/// before: that would raise its epoch, and to others that start for the first time as well, a
/// member that has not yet told them what it was before has been in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Disclosure {
    /// They do.
    Told,
    /// They will from the heartbeat that this step sends.
    JustTold,
    /// They do not.
    Untold,
}

impl Readiness {
    pub(super) const fn new() -> Self {
        Self { availability: Availability::Waiting, disclosure: Disclosure::Told }
    }

    /// Takes note of how it is in this step; whether the others wait to be told.
    pub(super) fn update(&mut self, availability: Availability) -> bool {
        if self.disclosure == Disclosure::JustTold {
            self.disclosure = Disclosure::Told;
        }
        let before = core::mem::replace(&mut self.availability, availability);
        let freed = (before, availability) == (Availability::Waiting, Availability::Free);
        if freed {
            self.disclosure = Disclosure::Untold;
        }
        freed
    }

    /// A heartbeat goes to everybody.
    pub(super) fn tell(&mut self) {
        if self.disclosure == Disclosure::Untold {
            self.disclosure = Disclosure::JustTold;
        }
    }

    pub(super) fn is_told(&self) -> bool {
        self.disclosure == Disclosure::Told
    }

    /// Whether the next step finds it told.
    pub(super) fn is_just_told(&self) -> bool {
        self.disclosure == Disclosure::JustTold
    }
}
