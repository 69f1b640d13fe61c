#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod runtime;
mod token;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod workspace_readme {}

pub use runtime::Tokio;
pub use token::CancellationTokenExt;

election_driver::adapter!(Tokio, "tokio");
