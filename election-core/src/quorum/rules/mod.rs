//! The rules, one in each file. They own no data: what they decide by, and what they change, is in
//! `state`. Calls between them run one way (`election-sim/tests/house.rs` holds them to it), from
//! `votes` and `elections` down to `endings` and `eligibility`.

pub(crate) mod elections;
pub(crate) mod eligibility;
pub(crate) mod endings;
pub(crate) mod fail_back;
pub(crate) mod following;
pub(crate) mod leading;
pub(crate) mod maintenance;
pub(crate) mod membership;
pub(crate) mod orders;
pub(crate) mod pauses;
pub(crate) mod proposals;
pub(crate) mod survey;
pub(crate) mod votes;
