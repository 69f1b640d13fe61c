//! From the start of the command to a usable database.
//!
//! The command waits for a database that is down, locked or out of reach: the machine may be
//! starting it at this very moment. If somebody has to fix something first (a password, a right, a
//! table), the command waits only if it was told for how long.

use crate::{exit::Failed, settings::Place, systemd::Service};
use election_tokio::log::chain;
use election_tokio::{
    StoreError,
    core::lease::{Failure, Row},
};
use std::{
    future::Future,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

/// How long `--try` waits for a lock, and for an answer to who leads.
pub(super) const TRYING: Duration = Duration::from_secs(5);
/// How long a database may take at most before the log says that it is slow, whatever the ttl.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long the database may take before it is asked again.
const ANSWER: Duration = Duration::from_secs(5);
/// How long creating the tables may take.
const MAKING: Duration = Duration::from_secs(60);
/// The pause before the next question; doubled up to the longest, unless the connection is only
/// slow: nothing goes on with it meanwhile, and the server ends one that falls silent.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The pause before the log says again what it waits for; doubled up to the longest.
const REMINDER: Duration = Duration::from_secs(2 * 60);
const LONGEST_REMINDER: Duration = Duration::from_secs(60 * 60);

/// Why the database could not be used yet, for a command that gives up waiting.
pub(super) struct Trouble<'a> {
    said: Mutex<Option<Said>>,
    service: &'a Service,
}

#[derive(Debug)]
struct Said {
    cause: String,
    /// The database has answered, and refuses what it was asked.
    refuses: bool,
    since: Instant,
    again: Instant,
    reminder: Duration,
}

impl<'a> Trouble<'a> {
    pub(super) fn told_to(service: &'a Service) -> Self {
        Self { said: Mutex::default(), service }
    }

    pub(super) fn cause(&self) -> Option<String> {
        self.said().as_ref().map(|it| it.cause.clone())
    }

    /// Whether the database has answered, and refuses what it was asked.
    pub(super) fn is_refusal(&self) -> bool {
        self.said().as_ref().is_some_and(|it| it.refuses)
    }

    fn said(&self) -> MutexGuard<'_, Option<Said>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says at once what the command waits for, and then ever more rarely.
    fn is(&self, cause: String, refuses: bool) {
        let now = Instant::now();
        let mut said = self.said();
        match &mut *said {
            None => {
                warn!(event = "waiting", cause, "waiting for the database: {cause}");
                // The cause may name hosts and users.
                self.service.waits("waiting for the database; see the log".to_owned());
                let (again, reminder) = (now + REMINDER, REMINDER);
                *said = Some(Said { cause, refuses, since: now, again, reminder });
            }
            Some(said) => {
                if now >= said.again {
                    let lasts = whole(now - said.since);
                    warn!(
                        event = "waiting_lasts",
                        cause, "still waiting for the database after {lasts}: {cause}"
                    );
                    said.reminder = (said.reminder * 2).min(LONGEST_REMINDER);
                    said.again = now + said.reminder;
                }
                (said.cause, said.refuses) = (cause, refuses);
            }
        }
    }

    fn is_over(&self) {
        if let Some(said) = self.said().take() {
            let lasted = whole(said.since.elapsed());
            info!(event = "waiting_over", "the database answers after {lasted}");
        }
    }
}

fn whole(duration: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(duration.as_secs()))
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// A lock at most.
    AtOnce,
    /// A database that is out of reach, but nobody who would have to fix something.
    Unattended,
    /// Whatever is wrong: somebody has said how long to wait.
    Bounded,
}

/// What has ended a wait before this process was elected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// The time that it was given is over.
    Late,
    /// Standard input has ended: whoever wanted to lead does not any more.
    InputEnded,
}

impl GivenUp {
    pub(super) const fn not_elected(self) -> &'static str {
        match self {
            Self::Late => "not elected in time",
            Self::InputEnded => "not elected before the end of standard input",
        }
    }
}

/// Waits for the database, creates the tables unless another process is to do so, and checks that
/// they exist. Returns the leader's row. A slow database is nothing to speak of before it has failed or has taken a `ttl`.
///
/// # Errors
/// If somebody has to fix something first, or if it would have to wait and must not.
pub(super) async fn prepare(
    place: &mut Place,
    no_schema: bool,
    waits: Waits,
    ttl: Duration,
    trouble: &Trouble<'_>,
) -> Result<Row, Failed> {
    let (began, mut pause, patience) = (Instant::now(), PAUSE, ttl.min(PATIENCE));
    let shown = place.store.place();
    let at_once = waits == Waits::AtOnce;
    loop {
        let mut attempt = pin!(attempt(place, no_schema));
        let slow = patience.saturating_sub(began.elapsed());
        let outcome = match timeout(slow.max(PAUSE), &mut attempt).await {
            Ok(outcome) => outcome,
            Err(_) => {
                if !at_once {
                    let cause = format!("{shown}: no answer within {}", whole(began.elapsed()));
                    trouble.is(cause, false);
                }
                attempt.await
            }
        };
        match outcome {
            Ok(row) => {
                trouble.is_over();
                return Ok(row);
            }
            Err(error) => {
                // The lock usually belongs to a process that starts at the same moment.
                let locked = error.kind == Failure::Conflict && began.elapsed() < TRYING;
                let connecting = error.is_connecting();
                let slow = connecting && began.elapsed() < patience;
                let refused = error.kind == Failure::Fatal && waits != Waits::Bounded;
                if refused || at_once && !locked && !slow {
                    return Err(Failed::of("the database cannot be used", &error));
                }
                if !at_once && !slow {
                    trouble.is(chain(&error), error.kind == Failure::Fatal);
                }
                sleep(if connecting { PAUSE } else { pause }).await;
                pause = if connecting { pause } else { (pause * 2).min(LONGEST_PAUSE) };
            }
        }
    }
}

/// Reads first, to detect a database that does not answer. One that answers may take the time it
/// needs to create the tables.
async fn attempt(place: &mut Place, no_schema: bool) -> Result<Row, StoreError> {
    let shown = place.store.place();
    let looked = within(ANSWER, &shown, place.store.leader(&place.namespace)).await;
    match looked {
        Err(error) if no_schema || error.kind != Failure::Fatal => return Err(error),
        Ok(row) if no_schema => return Ok(row),
        _ => {}
    }
    let made = within(MAKING, &shown, place.store.ensure_schema()).await;
    match (made, looked) {
        // Another process writes. Either no table was missing, or that process created it.
        (Err(error), Ok(row)) if error.kind == Failure::Conflict => Ok(row),
        (Err(error), _) => Err(error),
        (Ok(_), Ok(row)) => Ok(row),
        (Ok(_), Err(_)) => within(ANSWER, &shown, place.store.leader(&place.namespace)).await,
    }
}

async fn within<T>(
    time: Duration,
    place: &str,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(time, call).await.unwrap_or_else(|_| {
        let context = format!("{place}: no answer within {}", whole(time));
        Err(StoreError::new(Failure::Ambiguous, context))
    })
}
