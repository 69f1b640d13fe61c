//! One run, as data.
//!
//! Seeds, text files and shrinking all *produce* a [`Schedule`]; the world only plays
//! it. Two equal schedules are the same run, to the nanosecond.

mod cluster;
mod error;
mod member;
mod run;
mod timing;
mod validity;

pub use cluster::Cluster;
#[cfg(feature = "service")]
pub(crate) use cluster::announced;
pub use error::{MOST_NODES, ScheduleError};
pub use member::{Member, Software};
pub use run::{Engine, Heal, Schedule};
pub use timing::Timing;
