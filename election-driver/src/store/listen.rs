//! LISTEN on a connection of its own, for as long as an elector runs.
//!
//! Notifications only make things faster: whatever is lost here is found by polling, and so
//! nothing here is retried in haste.

use super::{Notice, Notifications, Pause};
use election_core::{Epoch, lease::Registration};
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use std::time::Duration;

/// What the server tells of one election.
pub(super) fn listen(
    options: PgConnectOptions,
    channel: String,
    registration: Registration,
    pause: Pause,
) -> Notifications {
    let listening = Listening { options, channel, registration, pause, listener: None };
    Box::pin(futures_lite::stream::unfold(listening, |mut listening| async {
        let notice = listening.next().await;
        Some((notice, listening))
    }))
}

/// How long a listener that lost its connection waits before it tries again.
const RECONNECT: Duration = Duration::from_secs(1);

/// Notifications, across any number of lost connections.
struct Listening {
    options: PgConnectOptions,
    channel: String,
    registration: Registration,
    pause: Pause,
    listener: Option<PgListener>,
}

impl Listening {
    /// The next notice. What was missed while there was no connection is made up for by a wake-up.
    async fn next(&mut self) -> Notice {
        loop {
            let Some(listener) = &mut self.listener else {
                match self.connect().await {
                    Ok(listener) => {
                        self.listener = Some(listener);
                        return Notice::Wake;
                    }
                    Err(error) => {
                        tracing::debug!(%error, "cannot listen; polling meanwhile");
                        (self.pause)(RECONNECT).await;
                        continue;
                    }
                }
            };
            match listener.try_recv().await {
                Ok(Some(notification)) => {
                    if let Some(notice) = self.notice(notification.payload()) {
                        return notice;
                    }
                    continue;
                }
                Ok(None) => tracing::debug!("stopped listening; polling meanwhile"),
                Err(error) => tracing::debug!(%error, "stopped listening; polling meanwhile"),
            }
            self.listener = None;
            (self.pause)(RECONNECT).await;
        }
    }

    async fn connect(&self) -> Result<PgListener, sqlx::Error> {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(10))
            .connect_lazy_with(self.options.clone());
        let mut listener = PgListener::connect_with(&pool).await?;
        // A loss has to show, because it leads to a wake-up.
        listener.eager_reconnect(false);
        listener.listen(&self.channel).await?;
        Ok(listener)
    }

    /// What a payload says to this candidate. One that says nothing understandable is a wake-up:
    /// looking once too often does no harm.
    fn notice(&self, payload: &str) -> Option<Notice> {
        let Ok(said) = serde_json::from_str::<serde_json::Value>(payload) else {
            return Some(Notice::Wake);
        };
        let Registration { namespace, candidate, .. } = &self.registration;
        let text = |name| said.get(name).and_then(serde_json::Value::as_str);
        if text("ns").is_some_and(|ns| ns != namespace.as_str()) {
            return None;
        }
        let own = text("leader_id") == Some(candidate.id.as_str());
        let term = said.get("term").and_then(serde_json::Value::as_u64).map(Epoch::new);
        match text("action") {
            // Its own resignation must not lead it back into the race (river#286). One without an
            // incarnation may be another process's of the same name.
            Some("resigned") => {
                let incarnation = text("incarnation").and_then(|text| text.parse().ok());
                let own = own && incarnation == Some(candidate.incarnation.get());
                (!own).then_some(match term {
                    Some(term) => Notice::Resigned(term),
                    None => Notice::Wake,
                })
            }
            Some("request_resign") if own => Some(Notice::ResignRequested(term)),
            Some("request_resign") => None,
            _ => Some(Notice::Wake),
        }
    }
}
