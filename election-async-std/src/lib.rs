#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(feature = "async-std")]
mod runtime;
#[cfg(feature = "smol")]
pub mod smol;

#[cfg(feature = "async-std")]
pub use runtime::AsyncStd;

// Its connections are in public signatures: take it from here, and it is of the right version.
#[cfg(feature = "sql")]
pub use sqlx;

#[cfg(not(any(feature = "async-std", feature = "smol")))]
compile_error!("a runtime is needed: enable the feature `async-std`, the default, or `smol`");

#[cfg(feature = "async-std")]
election_driver::adapter!(AsyncStd, "async-std");
