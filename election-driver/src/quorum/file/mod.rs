//! A cluster as a file describes it: TOML, the same on all members.
//!
//! ```text
//!   document ─▶ contents     what stands where; section is the part [tls]
//!                 ├─▶ begin     a builder with all of it; proof are its certificates
//!                 ├─▶ place     which place of the file an error is about
//!                 ├─▶ warnings  what works, but is hardly meant
//!                 └─▶ moves     the file is read again while its member runs
//! ```

mod begin;
pub(super) mod contents;
pub(super) mod document;
pub(super) mod error;
mod moves;
mod place;
#[cfg(feature = "tls")]
mod proof;
mod section;
mod time;
mod warnings;

pub use super::reading::{open, whole};
pub use contents::ClusterFile;
pub use document::{Document, no_choice, unknown};
pub use error::ClusterFileError;
pub use place::spelled;
pub use time::duration;
pub use warnings::is_unspecified;
