//! When to look at the row, and what earlier looks have left open.

use super::{
    config::Config,
    timers::{Timer, Timers},
};
use crate::{Random, Timestamp};
use core::time::Duration;

/// Wake-ups take effect at most this often, and those in between count as one, unless the look says that
/// another change follows.
pub(super) const WAKE_SPACING: Duration = Duration::from_millis(100);

/// The state of the looks so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Polls {
    /// When the oldest attempt was asked that may have won without this process knowing.
    pub(super) read_back: Option<Timestamp>,
    /// Polls that failed in a row.
    pub(super) failures: u32,
    /// When the last wake-up took effect, or will take effect; nothing if the next one is expected.
    pub(super) woken_at: Option<Timestamp>,
}

impl Polls {
    /// Takes a wake-up. It is spread, so that the woken processes do not all come at once, and
    /// bounded in rate, so that a busy neighbour in the same database cannot make this process
    /// spin.
    pub(super) fn wake(
        &mut self,
        timers: &mut Timers,
        now: Timestamp,
        config: &Config,
        random: &mut Random,
    ) {
        if self.woken_at.is_some_and(|woken| woken > now) {
            return; // coalesced with one that is still to come
        }
        let earliest = self.woken_at.map_or(now, |woken| now.max(woken + WAKE_SPACING));
        self.look(timers, earliest + random.jitter(config.wake_jitter));
    }

    /// Looks at the row at `at`, whatever an earlier question brings back.
    pub(super) fn look(&mut self, timers: &mut Timers, at: Timestamp) {
        self.woken_at = Some(at);
        timers.advance(Timer::Poll, at);
    }

    /// The look that was asked for at `asked` announces a change: the next wake-up is not put off.
    pub(super) fn expect_another(&mut self, asked: Timestamp) {
        self.woken_at = self.woken_at.filter(|woken| *woken > asked);
    }

    /// Sets the time of the next look at the row, after a look that was asked for at `asked`. A
    /// wake-up since then is not lost: the row may have been read before it changed.
    pub(super) fn plan(&self, timers: &mut Timers, asked: Timestamp, at: Timestamp) {
        timers.set(Timer::Poll, at);
        if let Some(woken) = self.woken_at.filter(|woken| *woken > asked) {
            timers.advance(Timer::Poll, woken);
        }
    }
}
