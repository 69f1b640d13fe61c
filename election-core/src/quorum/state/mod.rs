//! The state: one part in each file, with the small rules that need no other part.

pub(crate) mod alerts;
pub(crate) mod asked;
pub(crate) mod boot;
pub(crate) mod ceiling;
pub(crate) mod data;
pub(crate) mod fail_back;
pub(crate) mod failover;
pub(crate) mod leadership;
pub(crate) mod lists;
pub(crate) mod outbox;
pub(crate) mod peers;
pub(crate) mod readiness;
pub(crate) mod stamps;
pub(crate) mod succession;
pub(crate) mod support;
pub(crate) mod timers;
pub(crate) mod trust;
pub(crate) mod voter;
