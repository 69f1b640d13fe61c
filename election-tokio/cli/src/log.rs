//! The command's log while it runs.
//!
//! The log goes to standard error through a thread of its own, which drops lines rather than wait:
//! a stopped terminal, or a pipe that nobody reads, must not hold up a renewal.
//!
//! Every event has a field `event`. The page `reference` of the guide lists them.
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
