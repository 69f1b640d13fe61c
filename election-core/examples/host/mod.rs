//! What both examples need of the machine around them: a clock, an incarnation, an inbox with a
//! timer, and the leadership as the threads that do the work may see it.

use election_core::{Epoch, Incarnation, Tenure, Timestamp};
use rustix::time::{ClockId, clock_gettime};
use std::{
    fs::File,
    io::{self, Read as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::Receiver},
    time::Duration,
};

/// A monotonic clock that goes on while the machine sleeps, as leases and votes do.
pub(crate) fn now() -> Timestamp {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
    Timestamp::ZERO + seconds + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

/// Each start draws its own: two processes that are both called alice are still two.
pub(crate) fn incarnation() -> io::Result<Incarnation> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Incarnation::from_random_bytes(bytes))
}

/// What has come into the inbox; `None` if it is time to look at the clock.
///
/// A deadline that is due goes before what waits. The timer runs in slices, because it may stand
/// still while the machine sleeps, and the clock does not.
pub(crate) fn next<T>(
    inbox: &Receiver<T>,
    wake_at: Option<Timestamp>,
    slice: Duration,
) -> Option<T> {
    let left = wake_at.map_or(slice, |at| at.since(now()).min(slice));
    if left.is_zero() { None } else { inbox.recv_timeout(left).ok() }
}

/// This process's leadership, for threads beside the loop.
///
/// That the loop has once published a tenure means nothing: the whole process may have stood still
/// since. So each look compares the tenure's end with the clock.
#[derive(Clone, Default)]
pub(crate) struct Leadership(Arc<Mutex<Option<Tenure>>>);

impl Leadership {
    /// The loop calls this after every step, since every renewal moves the end.
    pub(crate) fn publish(&self, tenure: Option<Tenure>) {
        *self.lock() = tenure;
    }

    /// Whether leader work may run now, and the instant of which that is said.
    pub(crate) fn in_force(&self, epoch: Epoch) -> Option<Timestamp> {
        let tenure = self.lock();
        let now = now();
        tenure.as_ref().filter(|held| held.term.epoch == epoch && now < held.until).map(|_| now)
    }

    /// Whether the loop itself says that the term is over. Before that, `Stopped` is not due: the
    /// loop may be about to publish a renewal.
    pub(crate) fn is_over(&self, epoch: Epoch) -> bool {
        self.lock().as_ref().is_none_or(|held| held.term.epoch != epoch)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Tenure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
