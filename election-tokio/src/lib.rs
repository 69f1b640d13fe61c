#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(all(doctest, feature = "cluster-file", feature = "postgres", feature = "sqlite"))]
mod guide_examples;
mod runtime;
mod token;

#[cfg(doctest)]
#[doc = include_str!("pages/README.md")]
mod workspace_readme {}

pub use runtime::Tokio;
pub use token::CancellationTokenExt;

// Its connections are in public signatures: take it from here, and it is of the right version.
#[cfg(feature = "sql")]
pub use sqlx;

election_driver::adapter!(Tokio, "tokio");
