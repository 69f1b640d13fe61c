//! LISTEN on a connection of its own, for as long as an elector runs.
//!
//! Notifications only make things faster: whatever is lost here is found by polling, and so
//! nothing here is retried in haste. Nor is anything here believed: a user of the database needs
//! no right at all to send a notification, so each is a hint to look at the row.

use super::{Notice, Notifications, Pause};
use election_core::{Epoch, lease::Registration};
use event_listener::{Event as Signal, listener};
use futures_lite::future::{or, yield_now};
use sqlx::{
    Executor as _,
    postgres::{PgConnectOptions, PgListener, PgNotification, PgPoolOptions},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// What the server tells of one election.
pub(super) fn listen(
    options: PgConnectOptions,
    channel: String,
    room: Room,
    registration: Registration,
    pause: Pause,
) -> Notifications {
    let listening =
        Listening { options, channel, room, registration, pause, listener: None, failures: 0 };
    Box::pin(futures_lite::stream::unfold(listening, |mut listening| async {
        let notice = listening.next().await;
        Some((notice, listening))
    }))
}

/// How long a listener that lost its connection waits before it tries again; doubled with every
/// failure, up to [`LONGEST`].
const RECONNECT: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(32);
/// After this much silence the connection is tried: one that the network has forgotten without a
/// word looks like one that has nothing to say.
const SILENCE: Duration = Duration::from_secs(30);
/// What a server may take for that answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Whether the server has a connection to spare. The elector's own comes first: without it there is
/// no lease, without the listener's one only waits a little longer.
#[derive(Clone, Default)]
pub(super) struct Room(Arc<Scarcity>);

#[derive(Default)]
struct Scarcity {
    scarce: AtomicBool,
    changed: Signal,
}

impl Room {
    /// The elector was refused a connection, or has one again.
    pub(super) fn set_scarce(&self, scarce: bool) {
        if self.0.scarce.swap(scarce, Ordering::AcqRel) != scarce {
            self.0.changed.notify(usize::MAX);
        }
    }

    async fn until_scarce(&self, scarce: bool) {
        loop {
            listener!(self.0.changed => changed);
            if self.0.scarce.load(Ordering::Acquire) == scarce {
                return;
            }
            changed.await;
        }
    }
}

/// Notifications, across any number of lost connections.
struct Listening {
    options: PgConnectOptions,
    channel: String,
    room: Room,
    registration: Registration,
    pause: Pause,
    listener: Option<PgListener>,
    /// Connections in a row that could not be had.
    failures: u32,
}

/// What waiting for a notification has come to.
enum Heard {
    This(PgNotification),
    /// Nothing for long.
    Silence,
    /// The connection is gone, or has to go.
    End(String),
}

impl Listening {
    /// The next notice. What was missed while there was no connection is made up for by a wake-up.
    async fn next(&mut self) -> Notice {
        loop {
            let Some(mut listener) = self.listener.take() else {
                if let Some(listener) = self.connect().await {
                    self.listener = Some(listener);
                    return Notice::Wake;
                }
                continue;
            };
            let why = match self.hear(&mut listener).await {
                Heard::This(notification) => {
                    self.listener = Some(listener);
                    if let Some(notice) = self.notice(notification.payload()) {
                        return notice;
                    }
                    // Other elections' news must not keep this one from its own affairs.
                    yield_now().await;
                    continue;
                }
                Heard::Silence if self.answers(&mut listener).await => {
                    self.listener = Some(listener);
                    continue;
                }
                Heard::Silence => "the connection does not answer".to_owned(),
                Heard::End(why) => why,
            };
            drop(listener);
            tracing::debug!(why, "stopped listening; polling meanwhile");
            (self.pause)(RECONNECT).await;
        }
    }

    /// Waits for a notification. May be dropped.
    async fn hear(&self, listener: &mut PgListener) -> Heard {
        let heard = async {
            match listener.try_recv().await {
                Ok(Some(notification)) => Heard::This(notification),
                Ok(None) => Heard::End("the connection was lost".to_owned()),
                Err(error) => Heard::End(error.to_string()),
            }
        };
        let silence = async {
            (self.pause)(SILENCE).await;
            Heard::Silence
        };
        let scarce = async {
            self.room.until_scarce(true).await;
            Heard::End("the elector needs the connection".to_owned())
        };
        or(heard, or(scarce, silence)).await
    }

    async fn answers(&self, listener: &mut PgListener) -> bool {
        let asked = async { listener.execute("SELECT 1").await.is_ok() };
        self.within(ANSWER, asked).await.unwrap_or(false)
    }

    /// A connection that listens, or `None` after a while.
    async fn connect(&mut self) -> Option<PgListener> {
        self.room.until_scarce(false).await;
        let connected = self.within(ANSWER, self.listener()).await;
        let why = match connected {
            Some(Ok(listener)) => {
                self.failures = 0;
                return Some(listener);
            }
            Some(Err(error)) => error.to_string(),
            None => "the server does not answer".to_owned(),
        };
        tracing::debug!(why, "cannot listen; polling meanwhile");
        let wait = RECONNECT.saturating_mul(1 << self.failures.min(5)).min(LONGEST);
        self.failures += 1;
        (self.pause)(wait).await;
        None
    }

    async fn listener(&self) -> Result<PgListener, sqlx::Error> {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ANSWER)
            .connect_lazy_with(self.options.clone());
        let mut listener = PgListener::connect_with(&pool).await?;
        // A loss has to show, because it leads to a wake-up.
        listener.eager_reconnect(false);
        listener.listen(&self.channel).await?;
        Ok(listener)
    }

    async fn within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        or(async { Some(future.await) }, async {
            (self.pause)(time).await;
            None
        })
        .await
    }

    /// What a payload hints at, for this candidate. One that says nothing understandable is a
    /// wake-up: looking once too often does no harm.
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
            // Whether it is asked, and for which term, stands in the row.
            Some("request_resign") => own.then_some(Notice::Wake),
            _ => Some(Notice::Wake),
        }
    }
}
