//! The command's log while it runs.
//!
//! The log goes to standard error through a thread of its own, which drops lines rather than wait:
//! a stopped terminal, or a pipe that nobody reads, must not hold up a renewal.
//!
//! Every event has a field `event`. The documentation of `election_tokio::log` lists the elector's
//! events. The command's own are these:
//!
//! | `event` | level | what has happened |
//! | --- | --- | --- |
//! | `database` | info, warn | which database is used, and how the connection to it is protected |
//! | `http` | info | where HTTP is answered |
//! | `joined` | info | started as a member of a cluster, with its ballot in this file |
//! | `control` | info, warn | where a member answers `election status` and the other commands, or why it does not |
//! | `waiting`, `waiting_lasts` | warn | started, and waiting for the database; or what a member that does not get that far is at; or no member answers an observer |
//! | `waiting_over` | info | the database answers |
//! | `not_elected` | warn | giving up, because of --wait or --try |
//! | `stop_requested` | info | a signal tells the command to end |
//! | `job_ended` | info | the job has ended by itself, or a signal told it to end |
//! | `job_stopped` | info | the job has ended because leadership was lost |
//! | `job_killed` | warn | the job did not end in time and was killed |
//! | `job_left_behind` | warn | the job has left processes behind, which are killed |
//! | `job_unstoppable` | warn | a process of the job cannot be told to end |
//! | `job_slow` | warn | killing the job takes long, and so begins earlier |
//! | `job_survives` | warn, error | a process of the job lives on after SIGKILL |
//! | `hook` | info | a line that a hook has printed |
//! | `hook_failed` | warn | a hook has failed, or was killed, or cannot be run |
//! | `released` | info | the job was never started, so its lease does not last for its least time |
//! | `not_released` | warn | leaving, and leadership runs out by itself |
//! | `left` | info | leaving, with the name still on the list of candidates |
//! | `warning` | warn | something works, but perhaps not as expected; any event without another name |
//! | `failed` | error | why the command ends |
//!
//! `RUST_LOG` selects what is logged, in the syntax of `tracing-subscriber`'s `EnvFilter`.

use crate::line::{Line, Style};
use serde_json::Value;
use std::{
    env, fmt,
    io::{self, IsTerminal as _, Write as _},
};
use tracing::{Event, Level, Subscriber, field::Field, warn};
use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    layer::{Context, SubscriberExt as _},
};

/// The log of this process. Dropping it writes the lines that are still on their way.
pub(crate) struct Log {
    writer: NonBlocking,
    style: Style,
    _worker: WorkerGuard,
}

impl Log {
    /// Starts logging from this level on, unless `RUST_LOG` says otherwise. An outage is logged
    /// from beginning to end at any level.
    pub(crate) fn start(json: bool, level: Level) -> Self {
        let (writer, worker) = tracing_appender::non_blocking(io::stderr());
        let style = if json { Style::Json } else { Style::Text { coloured: is_coloured() } };
        let usual = || EnvFilter::new(format!("{level},election_driver::outage=info,sqlx=error"));
        let told = env::var("RUST_LOG").ok().filter(|told| !told.is_empty());
        let (filter, wrong) = match told.map(EnvFilter::try_new).transpose() {
            Ok(told) => (told.unwrap_or_else(usual), None),
            Err(error) => (usual(), Some(error)),
        };
        let lines = Lines { writer: writer.clone(), style };
        let subscriber = Registry::default().with(filter).with(lines);
        // A subscriber that is set already (there never is one) would serve as well.
        let _ = tracing::subscriber::set_global_default(subscriber);
        if let Some(error) = wrong {
            warn!(event = "warning", "RUST_LOG is invalid and ignored: {error}");
        }
        Self { writer, style, _worker: worker }
    }

    /// Says why the command ends, whatever the filter.
    pub(crate) fn failed(&self, message: &str) {
        let line = Line::new(Level::ERROR, message).with("event", "failed");
        write(&self.writer, &line, self.style);
    }
}

/// Whether to use colours: on a terminal that supports them, unless the user wants none.
fn is_coloured() -> bool {
    let plain = env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|it| it == "dumb");
    io::stderr().is_terminal() && !plain && !dumb
}

fn write(writer: &NonBlocking, line: &Line, style: Style) {
    // The writer drops what it has no room for, and so never fails.
    let _ = writer.clone().write_all(line.written(style).as_bytes());
}

/// Writes each event as a line.
struct Lines {
    writer: NonBlocking,
    style: Style,
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut fields = Fields::default();
        event.record(&mut fields);
        let grave = *metadata.level() <= Level::WARN;
        if grave && !fields.others.iter().any(|(name, _)| *name == "event") {
            fields.others.insert(0, ("event", "warning".into()));
        }
        let line = Line::new(*metadata.level(), fields.message);
        let line =
            fields.others.into_iter().fold(line, |line, (name, value)| line.with(name, value));
        write(&self.writer, &line.with("target", metadata.target()), self.style);
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

impl Fields {
    fn take(&mut self, field: &Field, value: impl Into<Value>) {
        match (field.name(), value.into()) {
            ("message", Value::String(message)) => self.message = message,
            (name, value) => self.others.push((name, value)),
        }
    }
}

impl tracing::field::Visit for Fields {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.take(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.take(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.take(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.take(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, format!("{value:?}"));
    }
}
