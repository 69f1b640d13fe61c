//! What a service sees, on SQLite files: the guarantees of a handle, a guard and leader work, the
//! order of changes, races, locks. No server makes these checks slow.
//!
//! What cannot happen is asserted from instants of the one clock, [`now`](crate::now).

mod support;
pub use support::*;

pub mod changes;
pub mod handle;
pub mod listed;
pub mod locks;
pub mod names;
pub mod operations;
pub mod races;
pub mod rounds;
pub mod terms;
pub mod work;
