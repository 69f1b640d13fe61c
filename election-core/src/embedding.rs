//! How to drive the core from a runtime of one's own: for authors of drivers, in the order in which
//! they need it.
//!
//! A driver is a clock, a loop, and whatever carries out the actions. Two complete ones, with
//! threads and channels and without async, are the examples [`sqlite_lease`][lease-example] and
//! [`tcp_quorum`][quorum-example] of this crate. `election-driver` is one for every async runtime:
//! look there first whether it fits.
//!
//! # 1. The clock
//!
//! A monotonic clock that goes on while the machine sleeps. If it stands still then, a leader that
//! wakes up trusts what ended long ago. All calls get readings of one clock, as a [`Timestamp`].
//!
//! | system | clock | while the machine sleeps |
//! | --- | --- | --- |
//! | Linux, Android | `CLOCK_BOOTTIME` | goes on; `CLOCK_MONOTONIC`, which `std::time::Instant` reads, stands still |
//! | macOS, iOS | `mach_continuous_time` (`CLOCK_MONOTONIC_RAW`) | goes on; `mach_absolute_time` (`CLOCK_UPTIME_RAW`), which `Instant` reads, stands still |
//! | Windows | `QueryInterruptTimePrecise` | goes on; `QueryUnbiasedInterruptTime` stands still |
//!
//! A daemon that corrects the time of day may slew these clocks. The default drift
//! ([of a lease](crate::lease::Config::DEFAULT_DRIFT), [of a
//! quorum](crate::quorum::Config::DEFAULT_DRIFT)) covers chrony's fastest. No clock covers a virtual
//! machine that was stopped from outside and whose clock was too: fence by the
//! [epoch](crate::Epoch).
//!
//! # 2. Who this process is
//!
//! Every start draws a new [`Incarnation`]: [`from_random_bytes`](Incarnation::from_random_bytes)
//! needs sixteen bytes from the system and no other crate. It is mixed into the seed, so that zero is
//! a good seed outside tests.
//!
//! # 3. The loop
//!
//! One thread or task owns the machine, and one inbox leads to it: all answers, frames, outcomes and
//! commands. [`drive`](mod@crate::drive) is that loop for callers with async. By hand it is this:
//!
//! 1. The input is [`Input::Tick`] if [`wake_at`](crate::Step::wake_at) has come, even if others
//!    wait; else the next of the inbox.
//! 2. [`Protocol::step`] with the time and that input.
//! 3. Publish what [`Protocol::tenure`] says now, then the [`Change`], if there is one.
//! 4. Start the action, and do not wait for it.
//!
//! # 4. The timer
//!
//! Wait in slices: no longer than `timer_slice` ([of a lease](crate::lease::Config::timer_slice),
//! [of a quorum](crate::quorum::Config::timer_slice)) at a stretch, and then look at the clock. The
//! clock goes on while the machine sleeps, but nearly all timers stand still (on Linux, those of
//! condition variables, `poll` and `epoll`). One that was set for a second before an hour's sleep
//! comes a second after it. A slice is so short that the work is told to stop before the margin is
//! used up. A tick that comes too early does nothing.
//!
//! # 5. The work
//!
//! Leader work begins with [`Change::Elected`]. Before every act it asks for the tenure, and compares
//! its [`until`](crate::Tenure::until) with the clock: that the loop has once published a tenure
//! means nothing, because the whole process may have stood still since. An act that is begun in time
//! and takes less than the grace ends in time. What must not happen twice whatever happens carries
//! the epoch as its fencing token; in a database, a [fence](crate::sql::Fence) holds the term up.
//!
//! # 6. The end of a term
//!
//! [`Change::Lost`] tells the work to stop. What has not stopped at its `stop_by` has to be ended by
//! force, and a driver sets a timer of its own for that: [`wake_at`](crate::Step::wake_at) does not
//! cover it. A thread cannot be ended from outside, but its process can.
//!
//! [`Input::Stopped`] is due after every `Lost`, as soon as the work has ended, by itself or by
//! force. Before its `Lost` it counts for nothing and is not remembered: see there.
//!
//! # 7. A lease: its questions
//!
//! Each [`lease::Action`](crate::lease::Action) is a question to the database, and
//! [`sql`](crate::sql) has the statements and what the connection has to be set to. Ask on a thread
//! or task of its own: the loop must end a term in time while the database hangs. The outcome comes
//! back with its ticket, however late. [`Failure`](crate::lease::Failure) says what an error means.
//!
//! # 8. A quorum: its connections and its ballot
//!
//! [`driving`](crate::quorum::wire::driving) goes through them: which connections there are and how
//! they are numbered, what goes into an [`Outbox`](crate::quorum::wire::Outbox), when to dial anew,
//! what to report; with three nodes in memory as a program.
//! [`record`](crate::quorum::record) says how a ballot becomes durable, and how it is read at the
//! start. [`Position`](crate::quorum::Position) says how far the data have come.
//!
//! # 9. Leaving
//!
//! After [`Input::Withdraw`] go on until [`Protocol::is_finished`]. It waits for the work:
//! `Stopped` is due here, too.
//!
//! * A lease has nothing to flush then: the release has been answered, or nothing was held.
//! * A quorum's last heartbeat lets the others elect at once, and is still in the outboxes: see [The
//!   end](crate::quorum::wire::driving#the-end).
//!
//! A process that ends without this is succeeded as after a crash: when its lease, or the support of
//! its voters, has run out.
//!
//! [lease-example]: https://github.com/election-rs/election/tree/main/election-core/examples/sqlite_lease
//! [quorum-example]: https://github.com/election-rs/election/tree/main/election-core/examples/tcp_quorum

use crate::{Change, Incarnation, Input, Protocol, Timestamp};
