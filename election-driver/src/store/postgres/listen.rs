//! LISTEN on a connection of its own, for as long as an elector runs.
//!
//! Notifications only make things faster: whatever is lost here is found by polling, and so
//! nothing here is retried in haste. Nor is anything here believed: a user of the database needs
//! no right at all to send a notification, so each is a hint to look at the row.
//!
//! Nor may it cost anybody anything. Without a connection there is no lease, without this one a
//! hand-over only takes a little longer; so this one is had only where another is left beside it, for
//! whichever elector needs one next.

use super::{
    errors::explain,
    room::{GivenUp, Room},
    session::Backend,
};
use crate::{Notice, Notifications, Pause};
use election_core::{
    Epoch,
    lease::{Failure, Registration},
};
use futures_lite::future::{or, yield_now};
use sqlx::{
    Acquire as _,
    postgres::{PgConnectOptions, PgListener, PgNotification, PgPoolOptions},
};
use std::{sync::Arc, time::Duration};

/// What the server tells of one election.
pub(super) fn listen(
    options: PgConnectOptions,
    channel: String,
    room: Room,
    registration: Registration,
    pause: Pause,
) -> Notifications {
    let listening = Listening {
        options,
        channel,
        room,
        registration,
        pause,
        current: None,
        before: None,
        failures: 0,
        hearing: None,
        missed: false,
    };
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
/// word looks like one that has nothing to say. About as often as the elector itself asks by default,
/// and oftener than the networks that forget the soonest.
const SILENCE: Duration = Duration::from_secs(5);
/// What a server may take for that answer. Eight seconds are then the most that a forgotten
/// connection is listened to.
const ANSWER: Duration = Duration::from_secs(3);
/// What it may take to connect.
const CONNECT: Duration = Duration::from_secs(10);

/// Whether this connection is the last that is to be had: of this user's, this database's or the
/// server's.
const LAST: &str = "SELECT \
    (r.rolconnlimit >= 0 AND r.rolconnlimit <= \
        (SELECT count(*) FROM pg_stat_activity WHERE usesysid = r.oid)) \
    OR (d.datconnlimit >= 0 AND d.datconnlimit <= s.numbackends) \
    OR (SELECT sum(numbackends) FROM pg_stat_database) >= \
        current_setting('max_connections')::int \
        - current_setting('superuser_reserved_connections')::int \
    FROM pg_roles r, pg_database d JOIN pg_stat_database s ON s.datid = d.oid \
    WHERE r.rolname = session_user AND d.datname = current_database()";

/// Notifications, across any number of lost connections.
struct Listening {
    options: PgConnectOptions,
    channel: String,
    room: Room,
    registration: Registration,
    pause: Pause,
    current: Option<Current>,
    /// What was listened on before, and may still be there.
    before: Option<Arc<GivenUp>>,
    /// Connections in a row that could not be had.
    failures: u32,
    /// What was last said of whether notifications arrive.
    hearing: Option<bool>,
    /// There may have been some since.
    missed: bool,
}

/// A connection that listens.
struct Current {
    listener: PgListener,
    backend: Option<Backend>,
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
            if std::mem::take(&mut self.missed) {
                return Notice::Wake;
            }
            let Some(mut current) = self.current.take() else {
                self.back_off().await;
                match self.connect().await {
                    Ok(current) => {
                        (self.current, self.missed) = (Some(current), true);
                        return self.hears();
                    }
                    Err(why) => {
                        self.failures += 1;
                        if let Some(notice) = self.is_deaf(&why) {
                            return notice;
                        }
                    }
                }
                continue;
            };
            let why = match self.hear(&mut current.listener).await {
                Heard::This(notification) => {
                    self.current = Some(current);
                    if let Some(notice) = self.notice(notification.payload()) {
                        return notice;
                    }
                    // Other elections' news must not keep this one from its own affairs.
                    yield_now().await;
                    continue;
                }
                Heard::Silence => match self.check(&mut current.listener).await {
                    Ok(()) => {
                        self.current = Some(current);
                        continue;
                    }
                    Err(why) => why,
                },
                Heard::End(why) => why,
            };
            self.give_up(current.backend);
            self.failures = 1;
            if let Some(notice) = self.is_deaf(&why) {
                return notice;
            }
        }
    }

    fn hears(&mut self) -> Notice {
        self.failures = 0;
        self.hearing = Some(true);
        Notice::Listening
    }

    /// Says once that nothing arrives, until something does again.
    fn is_deaf(&mut self, why: &str) -> Option<Notice> {
        tracing::debug!(channel = self.channel, why, "not listening");
        let news = self.hearing.replace(false) != Some(false);
        news.then(|| Notice::Deaf(why.to_owned()))
    }

    /// Waits before another connection is tried; not before the first.
    async fn back_off(&self) {
        if let Some(doublings) = self.failures.checked_sub(1) {
            let wait = RECONNECT.saturating_mul(1 << doublings.min(5)).min(LONGEST);
            (self.pause)(wait).await;
        }
    }

    /// Waits for a notification. May be dropped.
    async fn hear(&self, listener: &mut PgListener) -> Heard {
        let heard = async {
            match listener.try_recv().await {
                Ok(Some(notification)) => Heard::This(notification),
                Ok(None) => Heard::End("the connection was lost".to_owned()),
                Err(error) => Heard::End(explain(error, Failure::Transient).told()),
            }
        };
        let silence = async {
            (self.pause)(SILENCE).await;
            Heard::Silence
        };
        let scarce = async {
            self.room.until_scarce().await;
            Heard::End("the elector needs the connection".to_owned())
        };
        or(heard, or(scarce, silence)).await
    }

    /// Whether the connection still works, and another is left beside it.
    async fn check(&self, listener: &mut PgListener) -> Result<(), String> {
        let last = sqlx::query_scalar::<_, bool>(LAST).fetch_one(listener);
        match self.within(ANSWER, last).await {
            Some(Ok(false)) => Ok(()),
            Some(Ok(true)) => Err("this would be the last connection that is to be had".to_owned()),
            Some(Err(error)) => Err(explain(error, Failure::Transient).told()),
            None => Err("the connection does not answer".to_owned()),
        }
    }

    /// A connection that listens; why there is none, after a while.
    ///
    /// The one before has to be gone first. Otherwise each that the network has forgotten would stay
    /// behind on the server, for as long as that believes in it.
    async fn connect(&mut self) -> Result<Current, String> {
        self.room.until_free(self.before.as_deref()).await;
        let mut current = None;
        let connected = self.within(CONNECT, self.open(&mut current)).await;
        let why = match (connected, current) {
            (Some(Ok(())), Some(mut current)) => match self.check(&mut current.listener).await {
                Ok(()) => return Ok(current),
                Err(why) => {
                    self.give_up(current.backend);
                    return Err(why);
                }
            },
            (Some(Err(error)), current) => {
                self.give_up(current.and_then(|current| current.backend));
                explain(error, Failure::Transient).told()
            }
            (_, current) => {
                self.give_up(current.and_then(|current| current.backend));
                "the server does not answer".to_owned()
            }
        };
        Err(why)
    }

    /// What has come about of it stands in `current`, also if this is dropped.
    async fn open(&self, current: &mut Option<Current>) -> Result<(), sqlx::Error> {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(CONNECT)
            .connect_lazy_with(self.options.clone().application_name("election listener"));
        let listener = PgListener::connect_with(&pool).await?;
        let Current { listener, backend } = current.insert(Current { listener, backend: None });
        // A loss has to show, because it leads to a wake-up.
        listener.eager_reconnect(false);
        *backend = Some(Backend::of(listener.acquire().await?).await?);
        listener.listen(&self.channel).await
    }

    /// What has listened is left to itself. It says goodbye, and on a link that swallows everything
    /// waits for an answer for as long as TCP does: whoever uses the elector's connection ends it.
    fn give_up(&mut self, backend: Option<Backend>) {
        self.before = Some(self.room.give_up(backend));
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
        let epoch = said.get("epoch").and_then(serde_json::Value::as_u64).map(Epoch::new);
        match text("action") {
            // Its own resignation must not lead it back into the race (river#286). One without an
            // incarnation may be another process's of the same name.
            Some("resigned") => {
                let incarnation = text("incarnation").and_then(|text| text.parse().ok());
                let own = own && incarnation == Some(candidate.incarnation.get());
                (!own).then_some(match epoch {
                    Some(epoch) => Notice::Resigned(epoch),
                    None => Notice::Wake,
                })
            }
            // Whether it is asked, and for which epoch, stands in the row.
            Some("request_resign") => own.then_some(Notice::Wake),
            _ => Some(Notice::Wake),
        }
    }
}
