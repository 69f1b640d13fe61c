//! Inputs to the core: from the handles, the guards and the database.

use async_channel::{Receiver, Sender};
use election_core::{Epoch, Input, lease::Event};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where the inputs for the core are put.
pub(crate) struct Inbox {
    sender: Sender<Input<Event>>,
    /// The inbox holds a wake-up already.
    waking: AtomicBool,
    /// The highest epoch reported as resigned since the last wake-up was taken; zero for none.
    resigned: AtomicU64,
}

impl Inbox {
    /// An inbox, and the receiver from which the driver takes.
    pub(crate) fn new() -> (Self, Receiver<Input<Event>>) {
        let (sender, receiver) = async_channel::unbounded();
        let (waking, resigned) = (AtomicBool::new(false), AtomicU64::new(0));
        (Self { sender, waking, resigned }, receiver)
    }

    /// Hands an input to the core. Does nothing once the elector has ended.
    pub(crate) fn tell(&self, input: Input<Event>) {
        let _ = self.sender.try_send(input);
    }

    /// Wakes the core up; several wake-ups take one place.
    pub(crate) fn wake(&self) {
        if !self.waking.swap(true, Ordering::AcqRel) {
            self.tell(Input::Event(Event::Wake));
        }
    }

    /// The same, with the news that the holder of this epoch has resigned; the highest epoch
    /// counts.
    pub(crate) fn wake_resigned(&self, epoch: Epoch) {
        self.resigned.fetch_max(epoch.get(), Ordering::AcqRel);
        self.wake();
    }

    /// Takes a wake-up out, with all that it has to say by now.
    pub(crate) fn woken(&self) -> Event {
        self.waking.store(false, Ordering::Release);
        match self.resigned.swap(0, Ordering::AcqRel) {
            0 => Event::Wake,
            epoch => Event::Resigned(Epoch::new(epoch)),
        }
    }

    /// Closes the inbox.
    pub(crate) fn close(&self) {
        self.sender.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several resignations may wait in one wake-up; the highest epoch counts, not the last one.
    #[test]
    fn a_wake_up_names_the_highest_epoch_that_was_resigned() {
        let (inbox, inputs) = Inbox::new();
        [5, 9, 7].into_iter().for_each(|epoch| inbox.wake_resigned(Epoch::new(epoch)));
        assert_eq!(inputs.len(), 1, "several wake-ups take one place");
        assert!(matches!(inbox.woken(), Event::Resigned(epoch) if epoch == Epoch::new(9)));
        assert!(matches!(inbox.woken(), Event::Wake));
        inbox.wake();
        assert_eq!(inputs.len(), 2, "one that was taken makes room for the next");
    }
}
