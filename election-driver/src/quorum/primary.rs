//! What a replicating application asks: whom to copy from, and until when.
//!
//! The election knows both, from what the primary itself announces. So an application needs no list
//! of its own, which could differ.

use super::member::Member;
use crate::{Network, Status, Stopped};
use election_core::{Epoch, Label, Term};
use futures_lite::future::or;

/// Another member that leads, and where its data are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Primary {
    /// Its leadership. What it sends is of this epoch; so is what this node stores of that.
    pub term: Term,
    /// What it announces ([`ClusterBuilder::announce`](super::ClusterBuilder::announce)): the address
    /// of its service. Another member's text: treat it as an address to connect to, and as nothing
    /// else.
    pub address: Label,
}

impl Primary {
    fn of(status: &Status) -> Option<Self> {
        let leader = status.leader.as_ref().filter(|leader| !leader.own && !status.closed)?;
        Some(Self { term: leader.term.clone(), address: leader.label.clone()? })
    }
}

impl<R: Network> Member<R> {
    /// The primary that this node follows. `None` while nobody is known to lead, while this node
    /// leads itself, and for the moment in which a primary is known and its address is not.
    #[must_use]
    pub fn primary(&self) -> Option<Primary> {
        Primary::of(&self.handle().status())
    }

    /// Whether this node follows the primary of this epoch now. A snapshot: to accept data for as
    /// long as that holds, use [`while_following`](Self::while_following).
    #[must_use]
    pub fn follows(&self, epoch: Epoch) -> bool {
        is_followed(&self.handle().status(), epoch)
    }

    /// Waits until this node follows a primary whose address is known; returns at once if it does.
    /// Dropping the future has no effect.
    ///
    /// # Errors
    /// If the node ends first.
    pub async fn followed(&self) -> Result<Primary, Stopped> {
        let status = self.handle().watch().until(|status| Primary::of(status).is_some()).await;
        Primary::of(&status).ok_or(Stopped)
    }

    /// Runs `work` until it completes, or this node no longer follows the primary of this epoch:
    /// nobody leads, another does, this node itself does, or it has ended. Then `work` is dropped
    /// where it is, and the result is `None`: pass only work that can be cancelled at any await.
    ///
    /// ```no_run
    /// # async fn example(member: election_driver::Member<impl election_driver::Network>)
    /// # -> Result<(), election_driver::Stopped> {
    /// # async fn copy_from(_: &str) {}
    /// loop {
    ///     let primary = member.followed().await?;
    ///     member.while_following(primary.term.epoch, copy_from(primary.address.as_str())).await;
    /// }
    /// # }
    /// ```
    pub async fn while_following<F: Future>(&self, epoch: Epoch, work: F) -> Option<F::Output> {
        let mut watch = self.handle().watch();
        let over = async {
            watch.until(|status| !is_followed(status, epoch)).await;
            None
        };
        or(over, async { Some(work.await) }).await
    }
}

fn is_followed(status: &Status, epoch: Epoch) -> bool {
    let leader = status.leader.as_ref().filter(|leader| !leader.own && !status.closed);
    leader.is_some_and(|leader| leader.term.epoch == epoch)
}
