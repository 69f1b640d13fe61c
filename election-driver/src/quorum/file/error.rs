//! What is wrong with a cluster's file.

use thiserror::Error;

/// What is wrong with a cluster's file: the path, the line and the column if there is such a place, and
/// the remedy. It repeats no line of the file.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ClusterFileError(pub(super) String);

crate::log::shown!(ClusterFileError);
