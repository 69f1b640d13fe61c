//! LISTEN on a separate connection, for as long as an elector runs.
//!
//! Notifications only make things faster. Polling finds whatever is lost here, so nothing here is
//! retried in haste. Nothing here is believed either: a database user needs no right at all to send
//! a notification, so each is only a hint to look at the row.
//!
//! The listener must not cost any elector its lease. An elector without a connection loses its
//! lease; without a listener a handover only takes a little longer. The listener therefore opens
//! its connection only if another one stays free, for whichever elector needs one next.

use super::{PgServer, errors::explain, room::GivenUp, session::Backend};
use crate::{
    Notice, Pause,
    store::news::{Deed, News, NewsStream, Said},
};
use election_core::{Epoch, lease::Failure};
use futures_lite::future::or;
use sqlx::{
    Acquire as _,
    postgres::{PgListener, PgNotification, PgPoolOptions},
};
use std::{sync::Arc, time::Duration};

/// What the server tells about elections.
pub(super) fn listen(server: PgServer, pause: Pause) -> NewsStream {
    let listening = Listening::new(server, pause);
    Box::pin(futures_lite::stream::unfold(listening, |mut listening| async {
        let news = listening.next().await;
        Some((news, listening))
    }))
}

/// How long a listener that lost its connection waits before it tries again; doubled with every
/// failure, up to [`LONGEST`].
const RECONNECT: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(32);
/// After this much silence the listener tests the connection: one that the network has silently
/// forgotten looks like one that has nothing to say. This is about as often as the elector itself
/// asks by default, and oftener than the strictest networks forget.
const SILENCE: Duration = Duration::from_secs(5);
/// How long a server may take to answer that test. The listener then relies on a forgotten
/// connection for eight seconds at most.
const ANSWER: Duration = Duration::from_secs(3);
/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long the server lets a listener be idle: for several tests. With the time for a statement
/// that is less than [`LONGEST`].
pub(super) const IDLE: Duration = Duration::from_secs(20);

/// Whether this connection is the last one within the limit of this user, this database or the
/// server.
const LAST: &str = "SELECT \
    (r.rolconnlimit >= 0 AND r.rolconnlimit <= \
        (SELECT count(*) FROM pg_stat_activity WHERE usesysid = r.oid)) \
    OR (d.datconnlimit >= 0 AND d.datconnlimit <= s.numbackends) \
    OR (SELECT sum(numbackends) FROM pg_stat_database) >= \
        current_setting('max_connections')::int \
        - current_setting('superuser_reserved_connections')::int \
    FROM pg_roles r, pg_database d JOIN pg_stat_database s ON s.datid = d.oid \
    WHERE r.rolname = session_user AND d.datname = current_database()";

/// What it would listen to, others would hear, and it would not.
const POOLED: &str = "a pooler in front of the server dropped the session options; connect \
                      directly, or add `?statement-cache-capacity=0` to the URL";
const MOVED: &str = "the elector has moved to another host";

/// Notifications, across any number of lost connections.
struct Listening {
    server: PgServer,
    channel: String,
    pause: Pause,
    current: Option<Current>,
    /// The listener before this one, which may still exist on the server.
    before: Option<Arc<GivenUp>>,
    /// Consecutive failures to get a connection.
    failures: u32,
    /// Whether the last attempt may have left a session that nobody can name, so that it has to end
    /// by itself.
    nameless: bool,
    /// The host of the listener, or of the last attempt at one.
    host: Option<usize>,
    /// The last report of whether notifications arrive.
    hearing: Option<bool>,
    /// Notifications may have been missed since.
    missed: bool,
}

/// A connection that listens.
struct Current {
    listener: PgListener,
    backend: Option<Backend>,
}

/// The result of waiting for a notification.
enum Heard {
    This(PgNotification),
    /// Nothing came for long.
    Silence,
    /// The connection is gone, or has to go.
    End(String),
}

impl Listening {
    fn new(server: PgServer, pause: Pause) -> Self {
        Self {
            channel: server.tables.channel(),
            server,
            pause,
            current: None,
            before: None,
            failures: 0,
            nameless: false,
            host: None,
            hearing: None,
            missed: false,
        }
    }

    /// What is told next. A wake-up makes up for what was missed without a connection.
    async fn next(&mut self) -> News {
        loop {
            if std::mem::take(&mut self.missed) {
                return News::All(Notice::Wake);
            }
            let Some(mut current) = self.current.take() else {
                self.back_off().await;
                match self.connect().await {
                    Ok(current) => {
                        (self.current, self.missed) = (Some(current), true);
                        return News::All(self.hears());
                    }
                    Err(why) => {
                        self.failures += 1;
                        if let Some(notice) = self.lost(&why) {
                            return News::All(notice);
                        }
                    }
                }
                continue;
            };
            let why = match self.hear(&mut current.listener).await {
                Heard::This(notification) => {
                    self.current = Some(current);
                    return said(notification.payload());
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
            if let Some(notice) = self.lost(&why) {
                return News::All(notice);
            }
        }
    }

    fn hears(&mut self) -> Notice {
        self.failures = 0;
        self.hearing = Some(true);
        Notice::Listening
    }

    /// Says once that nothing arrives, until something arrives again.
    fn lost(&mut self, why: &str) -> Option<Notice> {
        tracing::debug!(channel = self.channel, why, "not listening");
        let news = self.hearing.replace(false) != Some(false);
        news.then(|| Notice::NotListening(why.to_owned()))
    }

    /// Waits before another connection is tried; not before the first.
    async fn back_off(&mut self) {
        if std::mem::take(&mut self.nameless) {
            (self.pause)(LONGEST).await;
        } else if let Some(doublings) = self.failures.checked_sub(1) {
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
            let idle = self.server.idle.at_most(IDLE);
            (self.pause)(SILENCE.min(idle / 2)).await;
            Heard::Silence
        };
        let scarce = async {
            self.server.room.until_scarce().await;
            Heard::End("the elector needs the connection".to_owned())
        };
        let moved = async {
            self.moved().await;
            Heard::End(MOVED.to_owned())
        };
        or(heard, or(or(scarce, moved), silence)).await
    }

    /// The elector has gone to another host, and what happens is said there.
    async fn moved(&self) {
        self.server.room.until(|| self.server.hosts.used() != self.host).await;
    }

    /// Whether the connection still works, and another one stays free.
    async fn check(&self, listener: &mut PgListener) -> Result<(), String> {
        let last = sqlx::query_scalar::<_, bool>(LAST).fetch_one(listener);
        match self.within(ANSWER, last).await {
            Some(Ok(false)) => Ok(()),
            Some(Ok(true)) => Err("this would be the server's last free connection".to_owned()),
            Some(Err(error)) => Err(explain(error, Failure::Transient).told()),
            None => Err("the connection does not answer".to_owned()),
        }
    }

    /// Opens a connection that listens; on failure says why, after a while.
    ///
    /// The one before has to be gone first. Otherwise each connection that the network has
    /// forgotten would stay on the server until the server notices.
    async fn connect(&mut self) -> Result<Current, String> {
        self.server.room.until(|| self.server.hosts.used().is_some()).await;
        self.server.room.until_free(self.before.as_deref()).await;
        self.host = self.server.hosts.used();
        let mut current = None;
        let opening = or(async { Some(self.open(&mut current).await) }, async {
            self.moved().await;
            None
        });
        let connected = match self.within(CONNECT, opening).await {
            Some(None) => {
                // Whatever it has left there does not stand in the way of the next one.
                self.give_up(current.and_then(|current| current.backend));
                return Err(MOVED.to_owned());
            }
            connected => connected.flatten(),
        };
        self.nameless = match (&connected, &current) {
            (_, Some(current)) => current.backend.is_none(),
            (Some(Err(error)), None) => may_have_logged_in(error),
            (connected, None) => connected.is_none(),
        };
        let outcome = match (connected, &mut current) {
            (Some(Ok(())), Some(current)) => self.check(&mut current.listener).await,
            (Some(Err(error)), _) => Err(explain(error, Failure::Transient).told()),
            _ => Err("the server does not answer".to_owned()),
        };
        match (outcome, current) {
            (Ok(()), Some(current)) => Ok(current),
            (outcome, current) => {
                self.give_up(current.and_then(|current| current.backend));
                Err(outcome.err().unwrap_or_default())
            }
        }
    }

    /// Progress is recorded in `current`, even if this future is dropped.
    async fn open(&self, current: &mut Option<Current>) -> Result<(), sqlx::Error> {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(CONNECT)
            // What concerns the elector is said by the elector.
            .acquire_slow_threshold(Duration::MAX)
            // A listener that is dropped says goodbye first, and waits for the answer. On a link
            // that has gone silent its socket stays open until the kernel gives up: sqlx gives no
            // access to it, nor a way to drop it at once. It must not be tested after that.
            .after_release(|_, _| Box::pin(async { Ok(false) }))
            .connect_lazy_with(self.server.listener_options());
        let listener = PgListener::connect_with(&pool).await?;
        let Current { listener, backend } = current.insert(Current { listener, backend: None });
        // A loss has to show, because it leads to a wake-up.
        listener.eager_reconnect(false);
        *backend = Backend::of(listener.acquire().await?, &self.server.name).await?.1;
        if backend.is_none() {
            return Err(sqlx::Error::Configuration(POOLED.into()));
        }
        listener.listen(&self.channel).await
    }

    /// Abandons a listening connection. It says goodbye, and on a link that swallows everything it
    /// waits for an answer as long as TCP does: the elector's connection ends it.
    fn give_up(&mut self, backend: Option<Backend>) {
        self.before = Some(self.server.room.give_up(backend));
    }

    async fn within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        or(async { Some(future.await) }, async {
            (self.pause)(time).await;
            None
        })
        .await
    }
}

/// What a payload says. One that makes no sense is a wake-up: looking once too often does no harm.
fn said(payload: &str) -> News {
    let Ok(said) = serde_json::from_str::<serde_json::Value>(payload) else {
        return News::All(Notice::Wake);
    };
    let text = |name| said.get(name).and_then(serde_json::Value::as_str).map(ToOwned::to_owned);
    News::Of(Said {
        namespace: text("ns"),
        leader: text("leader_id"),
        incarnation: text("incarnation").and_then(|text| text.parse().ok()),
        epoch: said.get("epoch").and_then(serde_json::Value::as_u64).map(Epoch::new),
        deed: match text("action").as_deref() {
            Some("resigned") => Deed::Resigned,
            Some("request_resign") => Deed::Asked,
            _ => Deed::Other,
        },
    })
}

/// Whether the server may have let a client in that has got this instead of an answer.
fn may_have_logged_in(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut => true,
        sqlx::Error::Io(error) => error.kind() != std::io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PgStore;
    use futures_lite::future::block_on;
    use std::sync::Mutex;

    /// Otherwise a long outage would make every later one long.
    #[test]
    fn a_listener_that_hears_again_has_short_waits_again() {
        let waits = Arc::new(Mutex::new(Vec::new()));
        let told = waits.clone();
        let pause: Pause = Arc::new(move |time| {
            told.lock().unwrap().push(time);
            Box::pin(async {})
        });
        let server = PgStore::connect("postgres://localhost/e").unwrap().client;
        let mut listening = Listening::new(server, pause);
        let wait = |listening: &mut Listening| {
            block_on(listening.back_off());
            waits.lock().unwrap().pop()
        };
        for (failures, waited) in [(1, RECONNECT), (90, LONGEST)] {
            listening.failures = failures;
            assert_eq!(wait(&mut listening), Some(waited));
            listening.hears();
            assert_eq!(wait(&mut listening), None);
        }
    }
}
