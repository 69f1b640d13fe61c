//! An offer that is to be judged again.

use crate::{
    Epoch,
    quorum::{places::Peer, position::Position},
};

/// An offer of kevy-elect that was refused. Its candidates ask only once, often a moment before the
/// voter's support of the last primary ends, and then wait for an `election_timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    pub(crate) candidate: Peer,
    pub(crate) epoch: Epoch,
    pub(crate) position: Position,
}
