//! The examples of [`election_driver::guide`], compiled and run with this runtime. `pages` holds links
//! to files of other folders: when this crate is packed, cargo puts copies there.

#[doc = include_str!("pages/choosing.md")]
mod choosing {}
#[doc = include_str!("pages/fencing.md")]
mod fencing {}
#[doc = include_str!("pages/many.md")]
mod many {}
#[doc = include_str!("pages/shutdown.md")]
mod shutdown {}
#[doc = include_str!("pages/testing.md")]
mod testing {}
#[doc = include_str!("pages/timing.md")]
mod timing {}
