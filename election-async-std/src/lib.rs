#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(feature = "async-std")]
mod runtime;
#[cfg(feature = "smol")]
pub mod smol;

#[cfg(feature = "async-std")]
pub use runtime::AsyncStd;

#[cfg(not(any(feature = "async-std", feature = "smol")))]
compile_error!("a runtime is needed: enable the feature `async-std`, the default, or `smol`");

#[cfg(feature = "async-std")]
election_driver::adapter!(AsyncStd, "async-std");
