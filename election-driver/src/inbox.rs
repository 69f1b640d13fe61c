//! What handles and guards have to say to an elector, whichever protocol decides.

use async_channel::{Receiver, Sender};
use election_core::{Epoch, Input};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What they report, besides orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// Whether this process is fit to lead.
    Health(bool),
    /// The leadership may have ended elsewhere: look.
    Wake,
}

/// Where the inputs for the core are put.
pub(crate) struct Inbox {
    sender: Sender<Input<Report>>,
    /// The inbox holds a wake-up already.
    waking: AtomicBool,
    /// What was last reported of this process's health.
    healthy: AtomicBool,
    /// The highest epoch reported as resigned since the last wake-up was taken; zero for none.
    resigned: AtomicU64,
}

impl Inbox {
    /// An inbox, and the receiver from which the driver takes.
    pub(crate) fn new() -> (Self, Receiver<Input<Report>>) {
        let (sender, receiver) = async_channel::unbounded();
        let (waking, resigned) = (AtomicBool::new(false), AtomicU64::new(0));
        let healthy = AtomicBool::new(true);
        (Self { sender, waking, healthy, resigned }, receiver)
    }

    /// Hands an input to the core. Does nothing once the elector has ended.
    pub(crate) fn tell(&self, input: Input<Report>) {
        let _ = self.sender.try_send(input);
    }

    /// Reports whether this process is fit to lead, if that is news.
    pub(crate) fn health(&self, healthy: bool) {
        if self.healthy.swap(healthy, Ordering::AcqRel) != healthy {
            self.tell(Input::Event(Report::Health(healthy)));
        }
    }

    /// Wakes the core up; several wake-ups take one place.
    pub(crate) fn wake(&self) {
        if !self.waking.swap(true, Ordering::AcqRel) {
            self.tell(Input::Event(Report::Wake));
        }
    }

    /// The same, with the news that the holder of this epoch has resigned; the highest epoch
    /// counts.
    pub(crate) fn wake_resigned(&self, epoch: Epoch) {
        self.resigned.fetch_max(epoch.get(), Ordering::AcqRel);
        self.wake();
    }

    /// Takes a wake-up out, with the highest epoch that was reported as resigned by now.
    pub(crate) fn woken(&self) -> Option<Epoch> {
        self.waking.store(false, Ordering::Release);
        let epoch = self.resigned.swap(0, Ordering::AcqRel);
        (epoch != 0).then_some(Epoch::new(epoch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several resignations may wait in one wake-up; the highest epoch counts, not the last one.
    #[test]
    fn a_wake_up_names_the_highest_epoch_that_was_resigned() {
        let (inbox, inputs) = Inbox::new();
        assert_eq!(inbox.woken(), None);
        [5, 9, 7].into_iter().for_each(|epoch| inbox.wake_resigned(Epoch::new(epoch)));
        assert_eq!(inputs.len(), 1, "several wake-ups take one place");
        assert_eq!(inbox.woken(), Some(Epoch::new(9)));
        assert_eq!(inbox.woken(), None);
        inbox.wake();
        assert_eq!(inputs.len(), 2, "one that was taken makes room for the next");
    }

    #[test]
    fn only_a_report_that_is_news_is_told() {
        let (inbox, inputs) = Inbox::new();
        [true, false, false, true, true].into_iter().for_each(|it| inbox.health(it));
        let told = [false, true].map(|it| Ok(Input::Event(Report::Health(it))));
        assert_eq!([inputs.try_recv(), inputs.try_recv()], told);
        assert!(inputs.is_empty());
    }
}
