//! One leadership for whoever has started this process: a script, mostly, that works while it lasts.
//!
//! If the script ends it, its work is over, and leadership is released at once. If leadership ends
//! by itself, the script can only see that this process does. So it gets the time that a job would
//! get: this process ends at the loss and releases nothing, and the leadership runs out a grace
//! later at the earliest.

use super::{End, signals::Signals};
use crate::exit::{Exit, Failed, print};
use election_tokio::{Handle, Lease, log::chain};
use serde_json::json;
use std::future::pending;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Leads until leadership is lost, standard input has ended, or a signal tells this process to end.
///
/// # Errors
/// If nobody can be told that it leads.
pub(super) async fn lead(
    handle: &Handle,
    signals: &mut Signals,
    input_ended: &CancellationToken,
    lease: Lease,
    json: bool,
) -> Result<End, Failed> {
    let exit = tokio::select! {
        biased;
        lost = lease.lost() => {
            let cause = handle.status().error.map(|error| chain(&*error));
            warn!(
                event = "not_released",
                epoch = lease.epoch().get(),
                reason = %lost.reason,
                cause,
                "leadership lost: leaving without releasing it, so that everything that works \
                 under it has the grace to notice"
            );
            // Never to be released: it runs out.
            std::mem::forget(lease);
            return Ok(End::Stuck(Exit::LOST));
        }
        exit = signals.end_waiting() => exit,
        () = input_ended.cancelled() => Exit::OK,
        why = untold(handle, &lease, json) => return Err(why),
    };
    handle.withdraw();
    Ok(End::Left(exit))
}

/// Tells that it leads. Returns only if that fails. Whoever should read it may never do so: a thread
/// of its own waits for that, and nobody for the thread.
async fn untold(handle: &Handle, lease: &Lease, json: bool) -> Failed {
    let (name, term) = (&handle.registration().namespace, lease.term());
    let line = match json {
        true => json!({
            "name": name.as_str(),
            "leader": term.leader.as_str(),
            "epoch": term.epoch.get(),
        })
        .to_string(),
        false => format!("{name}: {} leads under epoch {}", term.leader, term.epoch),
    };
    match spawn_blocking(|| print(line)).await {
        Ok(Err(why)) => why,
        _ => pending().await,
    }
}
