//! Whether notifications arrive, and when to say that they do not.

use election_core::Timestamp;
use std::time::Duration;
use tracing::{info, warn};

/// A database that answers for this long without notifying is more than just ill.
const UNNOTIFIED_FOR: Duration = Duration::from_secs(10);

/// What is known of notifications, and of the database that should send them.
#[derive(Default)]
pub(crate) struct Notified {
    /// None arrive.
    lost: Option<Lost>,
    /// When the database last failed to answer.
    failed_at: Option<Timestamp>,
}

struct Lost {
    since: Timestamp,
    why: String,
    told: bool,
}

impl Notified {
    /// Notifications arrive.
    pub(crate) fn hears(&mut self) {
        if self.lost.take().is_some_and(|lost| lost.told) {
            info!(event = "notifications_restored", "notifications are arriving again");
        }
    }

    /// No notifications arrive. This is logged once the database answers and still does not notify.
    pub(crate) fn lost(&mut self, now: Timestamp, why: String) {
        self.lost = Some(Lost { since: now, why, told: false });
    }

    /// The database has not answered.
    pub(crate) fn failed(&mut self, now: Timestamp) {
        self.failed_at = Some(now);
    }

    /// The database has answered.
    pub(crate) fn answered(&mut self, now: Timestamp) {
        let Some(lost) = self.lost.as_mut().filter(|lost| !lost.told) else { return };
        let since = self.failed_at.map_or(lost.since, |at| at.max(lost.since));
        if now.since(since) >= UNNOTIFIED_FOR {
            lost.told = true;
            warn!(
                event = "notifications_lost",
                cause = lost.why,
                "notifications are not arriving: {}; polling instead, so a handover takes longer",
                lost.why
            );
        }
    }
}
