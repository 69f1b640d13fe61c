//! What operators say to an elector, which may not run yet.

use election_core::Input;
use std::sync::Arc;

type Order<E> = Arc<dyn Fn(Input<E>) + Send + Sync>;

/// The orders that wait for an elector, and how it gets them.
pub(crate) struct Orders<E> {
    order: Option<Order<E>>,
    waiting: Vec<Input<E>>,
}

impl<E> Default for Orders<E> {
    fn default() -> Self {
        Self { order: None, waiting: Vec::new() }
    }
}

impl<E> Orders<E> {
    /// An elector is there.
    pub(super) fn go_to(&mut self, order: Box<dyn Fn(Input<E>) + Send + Sync>) {
        let before = self.order.replace(order.into());
        assert!(before.is_none(), "a second election in one process cannot be simulated yet");
    }

    pub(crate) fn put(&mut self, order: Input<E>) {
        self.waiting.push(order);
    }

    /// Says what waits, once there is an elector to say it to: to be called when nothing is borrowed.
    pub(super) fn take(&mut self) -> impl FnOnce() + use<E> {
        let given = self.order.clone().map(|order| (order, std::mem::take(&mut self.waiting)));
        move || {
            if let Some((order, waiting)) = given {
                waiting.into_iter().for_each(|input| order(input));
            }
        }
    }
}
