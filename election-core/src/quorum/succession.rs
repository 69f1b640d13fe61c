//! Who is wanted next: the handover, as both ends of it see it.

use super::members::Peer;

/// What the primary that was followed wants to come after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Nomination {
    pub(super) by: Peer,
    pub(super) nominee: Peer,
}

/// Whom a primary that has stepped down, or is about to, wants to be followed by. Only until
/// somebody leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Succession {
    /// What the last primary has said.
    pub(super) heard: Option<Nomination>,
    /// Whom this node, having led, has said.
    pub(super) own: Option<Peer>,
}

impl Succession {
    /// Somebody leads: nobody is wanted any more.
    pub(super) fn settled(&mut self) {
        *self = Self::default();
    }

    /// Whether the last primary wants to be followed by this node.
    pub(super) fn names(&self, me: Peer) -> bool {
        self.heard.is_some_and(|nomination| nomination.nominee == me)
    }

    /// Who is wanted.
    pub(super) fn nominee(&self) -> Option<Peer> {
        self.heard.map(|nomination| nomination.nominee).or(self.own)
    }

    /// Who has had its turn, and is waited for by nobody.
    pub(super) fn past(&self) -> Option<Peer> {
        self.heard.map(|nomination| nomination.by)
    }
}
