//! Flags, environment and file, brought together and checked.

use crate::{
    arguments::{Database, OnLost, Run, Target},
    exit::Failed,
    secret::Address,
    source,
    store::AnyStore,
};
use election_tokio::{
    Builder, Election,
    core::{Epoch, Label, Namespace, NodeId},
};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// What a TOML file may say. Its keys are the flags.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    store: Option<Address>,
    store_file: Option<PathBuf>,
    name: Option<String>,
    node: Option<String>,
    label: Option<String>,
    ttl: Option<Time>,
    grace: Option<Time>,
    min_epoch: Option<u64>,
    wait: Option<Time>,
    on_lost: Option<OnLost>,
}

/// A duration as people write it.
#[derive(Debug)]
struct Time(Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map(Self).map_err(|error| {
            serde::de::Error::custom(format!("{error}; write it like \"15s\" or \"500ms\""))
        })
    }
}

fn file(path: Option<&Path>) -> Result<File, Failed> {
    let Some(path) = path else { return Ok(File::default()) };
    let what = format!("--config {}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| Failed::of(&what, &error))?;
    toml::from_str(&text).map_err(|error| Failed::new(told(&what, &text, &error)))
}

/// What is wrong with a file, and where, without the line itself: there may be a password in it.
fn told(what: &str, text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let number = before.matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default();
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let key = line.split_once('=').map(|(key, _)| key.trim());
    let key = key.filter(|key| key.chars().all(bare));
    let key = key.map(|key| format!(" (`{key}`)")).unwrap_or_default();
    format!("{what}, line {}{key}: {}", number + 1, error.message())
}

/// The database that is meant, if any is.
pub(crate) fn store(database: &Database) -> Result<Option<AnyStore>, Failed> {
    let file = file(database.config.as_deref())?;
    open(database, file.store, file.store_file)
}

fn open(
    database: &Database,
    url: Option<Address>,
    file: Option<PathBuf>,
) -> Result<Option<AnyStore>, Failed> {
    let named = source::address(database, url, file)?;
    named.map(|(address, what)| AnyStore::of(&address, &what)).transpose()
}

pub(crate) fn no_store() -> Failed {
    Failed::new(
        "no database is named; give --store sqlite:PATH (or postgres://…, mysql://…), or \
         --store-file, or set ELECTION_STORE or ELECTION_STORE_FILE, or put `store` or \
         `store-file` into the --config file",
    )
}

/// A store and the election in it.
pub(crate) struct Place {
    pub(crate) store: AnyStore,
    pub(crate) namespace: Namespace,
    pub(crate) json: bool,
}

impl Place {
    pub(crate) fn of(target: &Target) -> Result<Self, Failed> {
        let file = file(target.database.config.as_deref())?;
        Self::from_parts(target, file.store, file.store_file, file.name)
    }

    fn from_parts(
        target: &Target,
        store: Option<Address>,
        store_file: Option<PathBuf>,
        name: Option<String>,
    ) -> Result<Self, Failed> {
        let store = open(&target.database, store, store_file)?.ok_or_else(no_store)?;
        let name = target.name.clone().or(name).ok_or_else(|| {
            Failed::new(
                "no election is named; give --name NAME, the same for all who take part (`default`, \
                 for instance), or set ELECTION_NAME, or put `name` into the --config file",
            )
        })?;
        let namespace = Namespace::new(&name).map_err(|error| Failed::of("--name", &error))?;
        Ok(Self { store, namespace, json: target.database.json })
    }

    /// Says in the log how what is said to the database is protected on its way.
    pub(crate) fn announce(&self) {
        let way = self.store.transport();
        if way.exposed {
            tracing::warn!("{}: somebody in between could read the password", way.shown);
        } else {
            tracing::info!("{}", way.shown);
        }
    }
}

/// Everything `run` needs to know.
pub(crate) struct Plan {
    pub(crate) place: Place,
    pub(crate) builder: Builder<AnyStore>,
    pub(crate) wait: Option<Duration>,
    pub(crate) on_lost: OnLost,
}

impl Plan {
    pub(crate) fn of(run: &Run) -> Result<Self, Failed> {
        let file = file(run.target.database.config.as_deref())?;
        let place = Place::from_parts(&run.target, file.store, file.store_file, file.name)?;
        let mut builder = Election::builder(place.namespace.as_str()).store(place.store.clone());
        if let Some(node) = run.node.clone().or(file.node) {
            NodeId::new(&node).map_err(|error| Failed::of("--node", &error))?;
            builder = builder.node(node);
        }
        if let Some(label) = run.label.clone().or(file.label) {
            Label::new(&label).map_err(|error| Failed::of("--label", &error))?;
            builder = builder.label(label);
        }
        if let Some(ttl) = run.ttl.or(file.ttl.map(|time| time.0)) {
            builder = builder.ttl(ttl);
        }
        if let Some(grace) = run.grace.or(file.grace.map(|time| time.0)) {
            builder = builder.grace(grace);
        }
        if let Some(epoch) = run.min_epoch.or(file.min_epoch) {
            builder = builder.min_epoch(Epoch::new(epoch));
        }
        Ok(Self {
            place,
            builder,
            wait: run.wait.or(file.wait.map(|time| time.0)).filter(|_| !run.once),
            on_lost: run.on_lost.or(file.on_lost).unwrap_or(OnLost::Restart),
        })
    }
}
