//! What the database engines are called.

use crate::schedule::Engine;

pub(super) const ENGINES: &[(&str, Engine)] =
    &[("postgres", Engine::Postgres), ("mysql", Engine::MySql), ("sqlite", Engine::Sqlite)];
