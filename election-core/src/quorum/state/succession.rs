//! Who should lead next: the handover, as both ends of it see it.

use crate::quorum::places::Peer;

/// How many staggers everybody else leaves to the nominee: as long as a slow disk takes to save its
/// vote, and not as long as it takes to find out that the nominee has died.
pub(crate) const FOR_NOMINEE: u64 = 10;

/// The nominee of the primary that this node followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Nomination {
    pub(crate) by: Peer,
    pub(crate) nominee: Peer,
}

/// The node that should follow a primary which steps down. It counts only until somebody leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Succession {
    /// What the last primary said.
    pub(crate) heard: Option<Nomination>,
    /// The member that this node, as the last primary, nominated.
    pub(crate) own: Option<Peer>,
}

impl Succession {
    /// Somebody leads: the nomination is settled.
    pub(crate) fn settled(&mut self) {
        *self = Self::default();
    }

    /// Whether the last primary made room for another on purpose.
    pub(crate) fn is_ordered(&self) -> bool {
        self.nominee().is_some()
    }

    /// Whether the last primary nominated this node.
    pub(crate) fn names(&self, me: Peer) -> bool {
        self.heard.is_some_and(|nomination| nomination.nominee == me)
    }

    /// The nominee.
    pub(crate) fn nominee(&self) -> Option<Peer> {
        self.heard.map(|nomination| nomination.nominee).or(self.own)
    }

    /// The primary that has handed over. Nobody waits for it.
    pub(crate) fn past(&self) -> Option<Peer> {
        self.heard.map(|nomination| nomination.by)
    }
}
