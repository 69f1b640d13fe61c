//! The fence: what a transaction of etcd compares, so that it is made only while a term is held.

use election_core::{Epoch, lease::Registration, register::Leader};

/// Two comparisons that hold for as long as one candidate holds one epoch: the leader's value is between
/// two texts. etcd compares them in the transaction itself, so a leader that was stopped for long and has
/// been succeeded changes nothing. Renewals do not make them fail.
///
/// The guide's page [`fencing`](crate::guide::fencing#etcd) shows them in a transaction.
///
/// If either comparison fails, the term is over: stop the leader work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EtcdFence {
    /// The key whose value is compared.
    pub key: String,
    /// The value is greater than this.
    pub above: String,
    /// The value is less than this.
    pub below: String,
}

impl EtcdFence {
    pub(super) fn new(key: String, who: &Registration, epoch: Epoch) -> Self {
        let above = Leader::beginning(epoch, &who.candidate);
        // Whatever begins with `above` has a line end here, which is less than a space.
        let below = format!("{} ", above.trim_end());
        Self { key, above, below }
    }
}
