//! The rules. Each file takes one of them, and owns no data: it changes the state through the parts
//! that own it. A file calls only files listed before it.

pub(crate) mod elections;
pub(crate) mod eligibility;
pub(crate) mod endings;
pub(crate) mod fail_back;
pub(crate) mod following;
pub(crate) mod leading;
pub(crate) mod maintenance;
pub(crate) mod orders;
pub(crate) mod pauses;
pub(crate) mod proposals;
pub(crate) mod survey;
pub(crate) mod votes;
