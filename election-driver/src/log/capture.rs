//! What is logged, for tests.

use std::sync::{Arc, Mutex, PoisonError};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::with_default,
};

/// The names of all events that a reader would see of what this thread does.
pub(crate) fn told(course: impl FnOnce()) -> Vec<String> {
    told_from(Level::INFO, course)
}

/// The same for a reader who sees nothing below this level.
pub(crate) fn told_from(level: Level, course: impl FnOnce()) -> Vec<String> {
    let names = Names { level, told: Arc::default() };
    with_default(names.clone(), course);
    let told = names.told.lock().unwrap_or_else(PoisonError::into_inner);
    told.clone()
}

#[derive(Clone)]
struct Names {
    level: Level,
    told: Arc<Mutex<Vec<String>>>,
}

impl Subscriber for Names {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

impl Visit for Names {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "event" {
            let name = format!("{value:?}");
            self.told
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(name.trim_matches('"').to_owned());
        }
    }
}
