//! Bugs, one at a time, that the comparison has to find on every database: each removes a condition
//! or an assignment from a statement, or moves it by one. A statement whose bug could go unnoticed
//! is not tested.
//!
//! `column = $1` becomes `0 <> $1`, which is always true, and `column = 0*$1`, which is always
//! zero, whatever the number of the parameter.

use crate::steered::Plant;
use election_tokio::core::sql::Dialect::{self, MySql, Postgres, Sqlite};

/// A bug, and how it is planted.
pub(crate) struct Bug {
    pub(crate) name: &'static str,
    pub(crate) plant: Plant,
    /// Where these words plant it.
    pub(crate) dialects: &'static [Dialect],
}

const fn bug(
    name: &'static str,
    within: &'static [&'static str],
    from: &'static [&'static str],
    to: &'static str,
) -> Bug {
    Bug { name, plant: Plant { within, from, to }, dialects: &[Sqlite, Postgres, MySql] }
}

impl Bug {
    const fn on(self, dialects: &'static [Dialect]) -> Self {
        Self { dialects, ..self }
    }

    /// Whether its statement is also asked for many elections at once.
    pub(crate) fn merges(&self) -> bool {
        [ATTEMPT, TAKE_OVER, TAKEN, RENEW, RESIGN, REGISTER, SWEEP, READ, OTHERS]
            .contains(&self.plant.within)
    }
}

// Words that identify a statement.
/// The second in the statement for many that changes what another has locked.
const ATTEMPT: &[&str] = &["expires_ms <= ", "q_seen+1"];
const TAKE_OVER: &[&str] = &["AND l.renewals = ", "AND renewals = "];
/// The same, and what changes the rows that were locked for it.
const TAKEN: &[&str] = &["AND l.renewals = ", "AND renewals = ", "q_seen+1"];
const RENEW: &[&str] = &["renewals < "];
const RESIGN: &[&str] = &["SET leader_id = NULL"];
const ASK: &[&str] = &["SET resign_requested_epoch"];
const REGISTER: &[&str] = &["last_heartbeat_ms, expires_ms) "];
const SWEEP: &[&str] = &["- 86400000"];
const UNREGISTER: &[&str] = &["AND candidate_id = "];
const LIST: &[&str] = &["ORDER BY"];
const OTHERS: &[&str] = &["(candidate_id <> "];
/// Each dialect has other words.
const FENCE: &[&str] = &[
    "FOR KEY SHARE",
    "LOCK IN SHARE MODE",
    "updated_ms = updated_ms",
    "SET fences = f.fences+1 FROM",
];
const READ: &[&str] = &["SELECT epoch"];

// The conditions that most statements have.
const NS: &[&str] = &["WHERE f.ns = ", "WHERE l.ns = ", "WHERE ns = "];
const ID: &[&str] = &["AND l.leader_id = ", "AND leader_id = "];
const LIFE: &[&str] = &["AND l.incarnation = ", "AND incarnation = "];
const TERM: &[&str] = &["AND f.epoch = ", "AND l.epoch = ", "AND epoch = "];
const REQUEST: &[&str] = &[
    "COALESCE(l.resign_requested_epoch = l.epoch, false)",
    "COALESCE(resign_requested_epoch = epoch, false)",
    "resign_requested_epoch <=> epoch",
    "resign_requested_epoch IS epoch",
];

pub(crate) const BUGS: &[Bug] = &[
    bug("a lease is free only after its end", ATTEMPT, &["expires_ms <= "], "expires_ms < "),
    bug(
        "a vacant lease is not free",
        ATTEMPT,
        &["l.leader_id IS NULL OR", "leader_id IS NULL OR"],
        "",
    ),
    bug("a term repeats", ATTEMPT, &["l.epoch+1", "epoch+1"], "epoch"),
    bug("what was seen does not count", ATTEMPT, &["+1)"], "*0)"),
    bug("renewals go on counting", ATTEMPT, &["renewals = 0"], "renewals = renewals"),
    bug("elected in 1970", ATTEMPT, &["elected_ms = "], "elected_ms = 0*"),
    bug("an attempt without its ttl", ATTEMPT, &[" ttl_ms = "], " ttl_ms = 0*"),
    bug("a lease too long", ATTEMPT, &[" expires_ms = "], " expires_ms = 1+"),
    bug("a leader without its label", ATTEMPT, &[" label = "], " label = NULL || ")
        .on(&[Sqlite, Postgres]),
    bug("a leader without its label", ATTEMPT, &[" label = "], " label = NULL = ").on(&[MySql]),
    bug("an attempt takes every election", ATTEMPT, NS, "WHERE '' <> ").on(&[Postgres]),
    // The one for many counts what it changes, and fails.
    bug("an attempt takes every election", &["expires_ms <= "], NS, "WHERE '' <> ").on(&[MySql]),
    bug("the past term is taken over", TAKE_OVER, TERM, "AND 0 <> "),
    bug("somebody else is taken over", TAKE_OVER, ID, "AND '' <> "),
    bug("a namesake is taken over", TAKE_OVER, LIFE, "AND '' <> "),
    bug("who renews is taken over", TAKE_OVER, TAKE_OVER, "AND -1 <> "),
    bug("a takeover repeats the term", TAKEN, &["l.epoch+1", "epoch+1"], "epoch"),
    bug("every election is taken over", TAKE_OVER, NS, "WHERE '' <> "),
    bug("a lease is renewed at its end", RENEW, &["expires_ms > "], "expires_ms >= "),
    bug("a late renewal shortens", RENEW, &["l.renewals < ", "renewals < "], "-2 < "),
    bug("a renewal repeats", RENEW, &["renewals < "], "renewals <= "),
    bug("somebody else renews", RENEW, ID, "AND '' <> "),
    bug("a namesake renews", RENEW, LIFE, "AND '' <> "),
    bug("the past term renews", RENEW, TERM, "AND 0 <> "),
    bug("every election is renewed", RENEW, NS, "WHERE '' <> "),
    bug("a renewal keeps the old ttl", RENEW, &[" ttl_ms = "], " ttl_ms = 0*"),
    bug(
        "a renewal tells of the past term's request",
        RENEW,
        REQUEST,
        "(resign_requested_epoch IS NOT NULL)",
    ),
    bug("somebody else resigns", RESIGN, ID, "AND '' <> "),
    bug("a namesake resigns", RESIGN, LIFE, "AND '' <> "),
    bug("the past term resigns", RESIGN, TERM, "AND 0 <> "),
    bug("all resign", RESIGN, NS, "WHERE '' <> "),
    bug("a resigned lease runs on", RESIGN, &[" expires_ms = "], " expires_ms = 1+"),
    bug("a resigned leader's address stays", RESIGN, &["label = NULL, "], ""),
    bug("the past term is asked", ASK, TERM, "AND 0 <> "),
    bug("nobody is asked", ASK, &["AND leader_id IS NOT NULL"], ""),
    bug("all are asked", ASK, NS, "WHERE '' <> "),
    bug(
        "another registration leaves the label",
        REGISTER,
        &["label = excluded.label, ", "label = VALUES(label), "],
        "",
    ),
    bug(
        "another registration prolongs nothing",
        REGISTER,
        &["expires_ms = excluded.expires_ms", "expires_ms = VALUES(expires_ms)"],
        "ns = election_candidate.ns",
    ),
    bug("swept away a millisecond early", SWEEP, &["expires_ms < "], "expires_ms <= "),
    bug("swept away elsewhere", SWEEP, NS, "WHERE '' <> "),
    bug("a namesake leaves the list", UNREGISTER, LIFE, "AND '' <> "),
    bug("all of a life leave the list", UNREGISTER, &["AND candidate_id = "], "AND '' <> "),
    bug("all leave their lists", UNREGISTER, NS, "WHERE '' <> "),
    bug("on the list at its end", LIST, &["expires_ms > "], "expires_ms >= "),
    bug("on every list", LIST, NS, "WHERE '' <> "),
    bug(
        "the list out of order",
        LIST,
        &["BY candidate_id, incarnation"],
        "BY incarnation, candidate_id",
    ),
    bug("a candidate that has left is another", OTHERS, &["expires_ms > "], "expires_ms >= "),
    bug("others of every election", OTHERS, NS, "WHERE '' <> "),
    bug("a candidate is another to itself", OTHERS, &["(candidate_id <> "], "('' <> "),
    bug("a namesake is nobody else", OTHERS, &["OR incarnation <> "], "OR '' = "),
    bug("somebody else's fence", FENCE, ID, "AND '' <> "),
    bug("a namesake's fence", FENCE, LIFE, "AND '' <> "),
    // On MySQL two conditions say so, and each is enough here: the other one locks.
    bug("a fence of the past term", FENCE, TERM, "AND 0 <> ").on(&[Sqlite, Postgres]),
    bug("a fence at the end of the lease", FENCE, &["expires_ms > "], "expires_ms >= "),
    bug("the fence of another election", FENCE, NS, "WHERE '' <> ").on(&[Sqlite, Postgres]),
    bug("the row of another election", READ, NS, "WHERE '' <> "),
    bug(
        "the row tells of the past term's request",
        READ,
        REQUEST,
        "(resign_requested_epoch IS NOT NULL)",
    ),
];

const RECORD: &[&str] = &["INSERT INTO \"public\".election_server"];

/// What only a promoted server shows.
pub(crate) const PROMOTED: &[Bug] = &[
    bug(
        "a promoted server is always open",
        ATTEMPT,
        &[" >= GREATEST(l.ttl_ms + "],
        " >= -1 + 0*GREATEST(l.ttl_ms + ",
    )
    .on(&[Postgres]),
    bug(
        "only the own lease is waited for",
        ATTEMPT,
        &[" >= GREATEST(l.ttl_ms + "],
        " >= GREATEST(0*l.ttl_ms + ",
    )
    .on(&[Postgres]),
    bug("epochs without a height", ATTEMPT, &["4398046511104"], "0").on(&[Postgres]),
    bug(
        "a takeover at another server",
        TAKE_OVER,
        &["::bit(32)::bigint = "],
        "::bit(32)::bigint <> -",
    )
    .on(&[Postgres]),
    bug("a takeover in another record", TAKE_OVER, &[") = $"], ") <> -$").on(&[Postgres]),
    bug("a takeover without a height", TAKE_OVER, &["4398046511104"], "0").on(&[Postgres]),
    bug("nobody takes over a vacant row", TAKE_OVER, &["AND l.leader_id IS NULL"], "AND false")
        .on(&[Postgres]),
    bug(
        "renewals that were lost end a leadership",
        RENEW,
        &[" > 1 AND NOT COALESCE("],
        " > 1 AND false AND NOT COALESCE(",
    )
    .on(&[Postgres]),
    bug(
        "whoever cannot tell renews at once",
        RENEW,
        &[" >= GREATEST(l.ttl_ms + "],
        " >= -1 + 0*GREATEST(l.ttl_ms + ",
    )
    .on(&[Postgres]),
    bug("a record in the future stays", RECORD, &["s.since_ms > "], "0 > ").on(&[Postgres]),
];
