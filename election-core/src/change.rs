//! What happened to leadership.

use crate::{Alert, Label, Tenure, Term, Timestamp};
use core::fmt;

/// A change of leadership. The protocol reports each once and in order.
///
/// [`Elected`](Change::Elected) and [`Lost`](Change::Lost) alternate strictly, beginning with
/// `Elected`, like the ordered `true`/`false` transitions that River delivers.
/// [`Followed`](Change::Followed) and [`Vacant`](Change::Vacant) tell a follower who leads,
/// [`Alert`](Change::Alert) tells an operator what to look at.
///
/// The enum is exhaustive on purpose: a new kind of change has to break the build of all code that
/// handles changes, rather than vanish in a `_ =>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// This process leads from now on: [`Tenure::since`] is this instant. The tenure's end moves with
    /// every renewal; ask
    /// [`Protocol::tenure`](crate::Protocol::tenure) for the current one.
    Elected(Tenure),
    /// This process no longer leads. Belief has already ended, and leader work has to stop.
    Lost {
        /// The leadership that ended.
        term: Term,
        /// Why it ended.
        reason: Loss,
        /// The hard stop. Work that has not ended by itself must be ended by force at this instant
        /// at the latest. An instant in the past means now. The caller needs a timer of its own for
        /// it: [`wake_at`](crate::Step::wake_at) says when the protocol needs the next step, no more.
        stop_by: Timestamp,
        /// The new leader, if this process lost by hearing of it.
        successor: Option<Term>,
    },
    /// Another process leads, or leads under a new term.
    ///
    /// In a quorum this may come twice for one leadership: a member can be known to lead before its
    /// label is. First `label` is `None`, then it is there. So connect once there is a label, and
    /// tell leaderships apart by `term`.
    Followed {
        /// The leadership that this process follows.
        term: Term,
        /// What that leader published about itself, usually its address; `None` if it published
        /// nothing, or nothing is known yet.
        label: Option<Label>,
        /// When that leader was elected, in milliseconds since 1970 by the database's clock, which
        /// need not be this machine's; `None` in a quorum, whose members' clocks may all differ.
        elected_ms: Option<i64>,
    },
    /// Nobody is known to lead.
    Vacant,
    /// A condition that only an operator can mend. It does not change who leads.
    Alert(Alert),
}

/// Why a leadership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// This process could not renew it before trust ran out.
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
