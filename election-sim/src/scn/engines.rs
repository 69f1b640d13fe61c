//! The names of the database engines.

use crate::schedule::Engine;

pub(super) const ENGINES: &[(&str, Engine)] = &[
    ("postgres", Engine::Postgres),
    ("mysql", Engine::MySql),
    ("sqlite", Engine::Sqlite),
    ("register", Engine::Register),
];
