//! What is logged while something runs.

use std::{
    fmt,
    sync::{Arc, Mutex},
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// The messages, line by line.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<String>>);

impl Lines {
    /// What has been logged so far.
    pub fn said(&self) -> String {
        self.0.lock().expect("no panic elsewhere").clone()
    }

    /// Runs a function.
    pub fn of<T>(&self, run: impl FnOnce() -> T) -> T {
        tracing::subscriber::with_default(self.clone(), run)
    }

    /// Runs a future, on whichever threads that is.
    pub async fn during<F: Future>(&self, future: F) -> F::Output {
        let (lines, mut future) = (tracing::Dispatch::new(self.clone()), std::pin::pin!(future));
        std::future::poll_fn(|context| {
            tracing::dispatcher::with_default(&lines, || future.as_mut().poll(context))
        })
        .await
    }
}

impl Visit for Lines {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            *self.0.lock().expect("no panic elsewhere") += &format!("{value:?}\n");
        }
    }
}

impl Subscriber for Lines {
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
