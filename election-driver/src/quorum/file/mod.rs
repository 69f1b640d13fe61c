//! A cluster as a file describes it: TOML, the same on all members.
//!
//! ```text
//!   document ─▶ contents     what stands where; section is the part [tls]
//!                 ├─▶ begin     a builder with all of it; proof are its certificates
//!                 ├─▶ place     which place of the file an error is about
//!                 ├─▶ warnings  what works, but is hardly meant
//!                 ├─▶ edit      its text with another list
//!                 └─▶ moves     the file is read again while its member runs
//!                       └─▶ wish   and may ask for another list of members
//! ```

mod begin;
pub(super) mod contents;
pub(super) mod document;
mod edit;
pub(super) mod error;
mod moves;
mod place;
#[cfg(feature = "tls")]
mod proof;
mod section;
mod time;
mod warnings;
mod wish;

pub use super::reading::{open, whole};
pub use contents::ClusterFile;
pub use document::{Document, no_choice, unknown};
pub use edit::quoted;
pub use error::ClusterFileError;
pub use place::spelled;
pub use time::duration;
pub use warnings::is_unspecified;
