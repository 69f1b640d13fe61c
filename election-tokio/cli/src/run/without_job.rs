//! One leadership whose work is done by others, who ask over HTTP whether it goes on.
//!
//! They cannot be told to stop, and they cannot say that they have. So they get the time that a job
//! would get: from the moment at which the answer turns to no, the leadership is kept from others
//! for a grace. Whoever asks more often than that stops in time, however it ends.

use super::{End, backend::Held, signals::Signals};
use election_tokio::{Handle, Lease};

/// Leads until leadership is lost, or a signal tells this process to end.
pub(super) async fn lead(handle: &Handle, held: &Held, signals: &mut Signals, lease: Lease) -> End {
    let end = tokio::select! {
        _ = lease.lost() => End::Lost,
        exit = signals.end_waiting() => {
            handle.withdraw();
            lease.lost().await;
            End::Left(exit)
        }
    };
    tokio::select! {
        () = tokio::time::sleep(held.grace()) => {}
        // The grace was over before this process could notice the loss.
        () = lease.hard_stop() => {}
        () = signals.insist() => {}
    }
    end
}
