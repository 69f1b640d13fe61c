//! This process, as the service manager sees it.

use super::environment::Environment;
use election_tokio::{Handle, Status, Watch};
use std::{
    convert::Infallible,
    env,
    future::pending,
    io::ErrorKind,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

/// An elector that should have taken a step so long ago is stuck, if the watchdog is not stricter.
const STUCK: Duration = Duration::from_secs(10);
/// The pause before the same is said again to a manager that does not read.
const PAUSE: Duration = Duration::from_millis(50);

/// What the manager is told of. Without a manager, nobody is.
pub(crate) struct Service {
    told: Option<Environment>,
    stage: watch::Sender<Stage>,
    /// The manager could not be reached, which is said once.
    is_deaf: AtomicBool,
    stopping: AtomicBool,
}

/// How far this process has come.
#[derive(Clone, Default)]
struct Stage {
    waits: Option<String>,
    handle: Option<Handle>,
    /// This process was told to end.
    ending: CancellationToken,
}

impl Service {
    pub(crate) fn of_environment() -> Self {
        Self::new(Environment::by(|variable| env::var_os(variable)))
    }

    pub(super) fn new(told: Option<Environment>) -> Self {
        Self {
            told,
            stage: watch::Sender::new(Stage::default()),
            is_deaf: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        }
    }

    /// This process ends once this is cancelled.
    pub(crate) fn ends_with(&self, ending: CancellationToken) {
        self.stage.send_modify(|stage| stage.ending = ending);
    }

    /// It cannot stand for election yet. Everybody on this machine can read what for.
    pub(crate) fn waits(&self, what: String) {
        self.stage.send_modify(|stage| stage.waits = Some(what));
    }

    /// It stands for election.
    pub(crate) fn joined(&self, handle: &Handle) {
        self.stage.send_modify(|stage| stage.handle = Some(handle.clone()));
    }

    /// Does the work of this process, and tells the manager about it meanwhile.
    pub(crate) async fn telling_of<T>(&self, work: impl Future<Output = T>) -> T {
        let outcome = tokio::select! {
            biased;
            never = self.tell() => match never {},
            outcome = work => outcome,
        };
        self.stops();
        outcome
    }

    async fn tell(&self) -> Infallible {
        let Some(told) = &self.told else { return pending().await };
        // Twice as often as the watchdog asks for.
        let (mut beat, pulse) = (Instant::now(), told.watchdog.map(|silence| silence / 2));
        let mut stages = self.stage.subscribe();
        let (mut watch, mut watching, mut said, mut stuck) = (None, true, None, false);
        loop {
            let stage = stages.borrow_and_update().clone();
            let ending = stage.ending.is_cancelled();
            if ending {
                self.stops();
            }
            if let Some(news) = stage.news() {
                let news = Some(news);
                if news != said {
                    let ready = if said.is_none() { "READY=1\n" } else { "" };
                    let text = news.as_deref().unwrap_or_default();
                    self.say(&format!("{ready}STATUS={text}")).await;
                    said = news;
                }
            }
            if let Some(pulse) = pulse.filter(|_| said.is_some() && beat <= Instant::now()) {
                beat = Instant::now() + pulse;
                let late = stage.overdue() >= pulse.min(STUCK);
                match (late, stuck) {
                    (false, _) => self.say("WATCHDOG=1").await,
                    (true, false) => error!(
                        event = "warning",
                        "the elector is stuck: its next step is overdue by {:.1?}, so the service \
                         manager's watchdog is not notified",
                        stage.overdue()
                    ),
                    (true, true) => {}
                }
                stuck = late;
            }
            if watch.is_none() {
                watch = stage.handle.as_ref().map(Handle::watch);
            }
            tokio::select! {
                _ = stages.changed() => {}
                () = stage.ending.cancelled(), if !ending => {}
                status = changes(&mut watch), if watching => watching = !status.closed,
                () = sleep_until(beat), if pulse.is_some() && said.is_some() => {}
            }
        }
    }

    /// Says once that this process ends. Does not wait for a manager that does not read.
    fn stops(&self) {
        let Some(told) = &self.told else { return };
        if self.stopping.load(Ordering::Relaxed) {
            return;
        }
        match told.socket.send("STOPPING=1") {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            said => {
                self.stopping.store(true, Ordering::Relaxed);
                said.unwrap_or_else(|error| self.failed(&error));
            }
        }
    }

    async fn say(&self, words: &str) {
        let Some(told) = &self.told else { return };
        while let Err(error) = told.socket.send(words) {
            if error.kind() != ErrorKind::WouldBlock {
                return self.failed(&error);
            }
            sleep(PAUSE).await;
        }
    }

    fn failed(&self, error: &std::io::Error) {
        if !self.is_deaf.swap(true, Ordering::Relaxed) {
            warn!(
                event = "warning",
                "the service manager cannot be notified: {error}; does NOTIFY_SOCKET name the \
                 socket of a running manager?"
            );
        }
    }
}

impl Stage {
    /// What an operator reads beside the service; nothing before it has begun.
    fn news(&self) -> Option<String> {
        let Some(handle) = &self.handle else { return self.waits.clone() };
        let (status, node) = (handle.status(), &handle.registration().candidate.id);
        if self.ending.is_cancelled() {
            return Some(format!("{node}: leaving"));
        }
        let text = state(&status, handle.is_leader());
        let outage = status.error.is_some() && !handle.is_leader();
        let outage = if outage { "; waiting for the database; see the log" } else { "" };
        Some(format!("{node}: {text}{outage}"))
    }

    fn overdue(&self) -> Duration {
        self.handle.as_ref().map(Handle::overdue).unwrap_or_default()
    }
}

fn state(status: &Status, leads: bool) -> String {
    match (&status.leader, &status.tenure) {
        (_, Some(tenure)) if leads => format!("leads under epoch {}", tenure.term.epoch),
        (Some(leader), _) if !leader.own => {
            format!("follows {}, under epoch {}", leader.term.leader, leader.term.epoch)
        }
        _ if status.unreleased || status.tenure.is_some() => {
            "leadership is over, and its work is ending".to_owned()
        }
        _ => "no leader is known".to_owned(),
    }
}

/// Waits for the next change, once there is a state that can change.
async fn changes(watch: &mut Option<Watch>) -> Status {
    match watch {
        Some(watch) => watch.changed().await,
        None => pending().await,
    }
}
