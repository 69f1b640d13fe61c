//! What happened to leadership.

use crate::{Alert, Label, Tenure, Term, Timestamp};
use core::fmt;

/// Something that happened to leadership, reported once and in order.
///
/// [`Elected`](Change::Elected) and [`Lost`](Change::Lost) alternate strictly, beginning with
/// `Elected`: they are the ordered `true`/`false` of the lease package this library models.
/// [`Followed`](Change::Followed) and [`Vacant`](Change::Vacant) tell a follower where to turn,
/// [`Alert`](Change::Alert) tells an operator what to look at.
///
/// The enum is exhaustive on purpose: a new kind of change has to break the build of everything
/// that handles changes, rather than vanish in a `_ =>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// This process leads from now on. The tenure's end moves with every renewal; ask
    /// [`Protocol::tenure`](crate::Protocol::tenure) for the current one.
    Elected(Tenure),
    /// This process no longer leads: belief has already ended, and leader work has to stop.
    Lost {
        /// The leadership that ended.
        term: Term,
        /// Why it ended.
        reason: Loss,
        /// The hard stop. Work that has not ended by itself has to be ended by force no later
        /// than this; an instant that has passed means now.
        stop_by: Timestamp,
        /// Who leads instead, if that is how the loss came to be known.
        successor: Option<Term>,
    },
    /// Another process leads, or leads under a new term.
    Followed {
        /// The leadership that is followed.
        term: Term,
        /// What that leader published about itself, usually its address.
        label: Option<Label>,
    },
    /// Nobody is known to lead.
    Vacant,
    /// Something stands in the way that only somebody outside can mend. It changes nothing about
    /// who leads.
    Alert(Alert),
}

/// Why a leadership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// It could not be renewed before the trust in it ran out.
    Expired,
    /// The database, or a majority, said that the term is over. There is no grace: stop now.
    Replaced,
    /// The process itself resigned.
    Resigned,
    /// Somebody asked this leader to resign.
    ResignRequested,
    /// The process reported itself unhealthy.
    Unhealthy,
    /// The process left the election for good (shutdown).
    Withdrawn,
}

impl Loss {
    /// A stable lower-case name for logs, metrics and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Replaced => "replaced",
            Self::Resigned => "resigned",
            Self::ResignRequested => "resign_requested",
            Self::Unhealthy => "unhealthy",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
