//! The latest state, for readers who do not need the changes in between.

use crate::{Runtime, Status, shared::Shared};
use event_listener::listener;
use std::sync::Arc;

/// Sees the latest [`Status`]; changes in between may be missed. Cheap to clone.
///
/// ```no_run
/// # use election_driver::{Handle, Runtime};
/// # fn connect_to(address: &str) {}
/// async fn follow<R: Runtime>(leader: &Handle<R>) {
///     let mut watch = leader.watch();
///     loop {
///         let status = watch.changed().await; // the first one at once
///         if status.closed {
///             return;
///         }
///         match status.leader {
///             Some(leader) if leader.own => println!("this process leads"),
///             Some(leader) => leader.label.iter().for_each(|label| connect_to(label.as_str())),
///             None => println!("nobody is known to lead"),
///         }
///     }
/// }
/// ```
pub struct Watch<R: Runtime> {
    shared: Arc<Shared<R>>,
    seen: u64,
}

impl<R: Runtime> Clone for Watch<R> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), seen: self.seen }
    }
}

impl<R: Runtime> Watch<R> {
    pub(crate) fn new(shared: Arc<Shared<R>>) -> Self {
        Self { shared, seen: u64::MAX }
    }

    /// The status now. The next [`changed`](Self::changed) waits for a later one.
    pub fn get(&mut self) -> Status {
        let (status, version) = self.shared.status();
        self.seen = version;
        status
    }

    /// Waits for a status that this watch has not returned yet. The first call returns at once.
    /// After the elector has ended, every call returns the last status. Dropping the future loses
    /// nothing.
    pub async fn changed(&mut self) -> Status {
        loop {
            listener!(self.shared.changed => changed);
            let (status, version) = self.shared.status();
            if version != self.seen || status.closed {
                self.seen = version;
                return status;
            }
            changed.await;
        }
    }

    /// Waits until the status satisfies `condition`. Returns the last status if the elector ends
    /// first.
    pub async fn until(&mut self, mut condition: impl FnMut(&Status) -> bool) -> Status {
        loop {
            let status = self.changed().await;
            if condition(&status) || status.closed {
                return status;
            }
        }
    }
}
