//! What goes through the control socket: one line of JSON with a request, and one with the answer;
//! to an observer, one for each change. A newer command may ask an older member, and the other way
//! round: fields may be added, and each side ignores those that it does not know.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The longest request, in bytes.
pub(super) const LONGEST_REQUEST: u64 = 4 * 1024;
/// The longest answer: a hundred times what the largest cluster needs to say.
pub(super) const LONGEST_ANSWER: u64 = 4 * 1024 * 1024;

/// What is asked of a member. Spans are milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(super) enum Request {
    Status,
    Observe,
    Resign { to: Option<String>, within_ms: u64 },
    Pause { for_ms: Option<u64>, within_ms: u64 },
    Resume { within_ms: u64 },
}

/// What the member says to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Status(Box<Report>),
    /// Who leads from now on.
    Seen(Led),
    /// The leadership of this epoch was told to end.
    Resigning {
        epoch: u64,
    },
    /// A majority has recorded it. Whether anything has changed, and what holds now.
    Maintained {
        changed: bool,
        pause: Option<Pause>,
    },
    /// Why it was not done, and the remedy.
    Refused(String),
}

/// Who leads, as far as a member knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Led {
    pub(crate) leader: Option<String>,
    pub(crate) epoch: Option<u64>,
    pub(crate) label: Option<String>,
    /// Why the member names nobody although somebody may lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unknown: Option<String>,
}

/// How far data have come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) history: u64,
    pub(crate) offset: u64,
}

/// What a member knows of itself and of the others. Spans are milliseconds from now, or until now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) pid: u32,
    pub(crate) witness: bool,
    #[serde(flatten)]
    pub(crate) led: Led,
    pub(crate) role: String,
    /// How long this member may believe that it leads, and by when its job is killed, unless a
    /// majority vouches for it again.
    pub(crate) trusted_ms: Option<u64>,
    pub(crate) stop_ms: Option<u64>,
    /// How many members vouch for it, and how many must.
    pub(crate) supporters: usize,
    pub(crate) majority: usize,
    pub(crate) promised: u64,
    pub(crate) voted_for: Option<String>,
    pub(crate) durable: bool,
    pub(crate) supports: Option<Support>,
    pub(crate) position: Option<Place>,
    /// Why it does not ask for votes, and for how long yet, if that is known.
    pub(crate) hindrance: Option<String>,
    pub(crate) hindrance_ms: Option<u64>,
    /// Why it is not ready.
    #[serde(default)]
    pub(crate) unready: Option<String>,
    /// How long it does not vote yet, because it has just started.
    pub(crate) boots_ms: Option<u64>,
    pub(crate) down_after_ms: u64,
    pub(crate) pause: Option<Pause>,
    /// What there is of certificates, if members have any.
    #[serde(default)]
    pub(crate) certificates: Option<Certificates>,
    /// Who the members are, as far as this member knows.
    #[serde(default)]
    pub(crate) members: MemberLines,
    pub(crate) peers: Vec<PeerLine>,
    /// The members with the odd list of members, this one or others.
    #[serde(default)]
    pub(crate) odd: Vec<String>,
}

/// Who the members of a cluster are, and are to be.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct MemberLines {
    /// How often the list was changed.
    pub(crate) generation: u64,
    pub(crate) ids: Vec<String>,
    /// Whether a majority has recorded it: before that, it cannot change again.
    pub(crate) settled: bool,
    /// The list that has been proposed to follow.
    pub(crate) proposed: Option<Vec<String>>,
    /// Why this member's file has another one.
    pub(crate) filed: Option<String>,
}

/// What a member proves itself with. Ends are milliseconds since 1970.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Certificates {
    /// This member's.
    pub(crate) certificate_unix_ms: u64,
    /// The authority's.
    pub(crate) authority_unix_ms: u64,
    /// Which this member's is.
    #[serde(default)]
    pub(crate) fingerprint: Option<String>,
    /// Of each member with a list, the only ones that are accepted.
    #[serde(default)]
    pub(crate) accepted: BTreeMap<String, Vec<String>>,
    /// Why others that are there are not in use.
    #[serde(default)]
    pub(crate) refused: Option<String>,
}

/// Whom a member supports, and how long it does unless it hears that one again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Support {
    pub(crate) node: String,
    pub(crate) epoch: u64,
    pub(crate) left_ms: u64,
}

/// Whether automatic failover is paused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pause {
    pub(crate) paused: bool,
    /// Who took the order, and when, by its wall clock; how much is left until it ends by itself.
    pub(crate) by: String,
    pub(crate) since_unix_ms: Option<u64>,
    pub(crate) left_ms: Option<u64>,
    /// The member that may be elected meanwhile.
    pub(crate) primary: Option<String>,
    /// How many members have recorded it.
    pub(crate) recorded: usize,
    /// Another order is being agreed.
    pub(crate) changing: bool,
}

/// What a member knows of another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PeerLine {
    pub(crate) node: String,
    pub(crate) witness: bool,
    /// Where it is reached, or was looked for last.
    pub(crate) address: Option<String>,
    /// Whether there is a connection to it, and why there was none the last time.
    pub(crate) connected: bool,
    pub(crate) error: Option<String>,
    /// What it was heard to say; none if it was never heard.
    pub(crate) heard: Option<HeardLine>,
    /// For how long yet a leader may rely on its word.
    pub(crate) trusted_ms: Option<u64>,
    /// Why it would not vote for this member.
    pub(crate) refusal: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HeardLine {
    pub(crate) heard_ms: u64,
    pub(crate) fresh: bool,
    pub(crate) dialect: String,
    pub(crate) epoch: u64,
    pub(crate) role: String,
    pub(crate) position: Place,
    pub(crate) hears_me: bool,
    pub(crate) other_list: bool,
    #[serde(default)]
    pub(crate) generation: u64,
}

#[cfg(test)]
mod tests;
