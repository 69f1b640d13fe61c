//! The examples of [`election_driver::guide`], compiled and run with this runtime.

#[doc = include_str!("../../election-driver/src/guide/choosing.md")]
mod choosing {}
#[doc = include_str!("../../election-driver/src/guide/fencing.md")]
mod fencing {}
#[doc = include_str!("../../election-driver/src/guide/shutdown.md")]
mod shutdown {}
#[doc = include_str!("../../election-driver/src/guide/testing.md")]
mod testing {}
#[doc = include_str!("../../election-driver/src/guide/timing.md")]
mod timing {}
