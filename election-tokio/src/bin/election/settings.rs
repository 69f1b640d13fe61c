//! Flags, environment and file, merged and checked.

use crate::{
    arguments::{self, Database, Look, OnLost, Run, Target},
    exit::Failed,
    line,
    secret::Address,
    source,
    store::AnyStore,
};
use election_tokio::{
    Builder, Election,
    core::{Epoch, Label, Namespace, NodeId, sql::Tables},
    default_node,
};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tracing::{info, warn};

/// How long a database may take to answer a command that only looks.
const ANSWER: Duration = Duration::from_secs(5);
/// How long an elector with nothing more to do may take to leave.
const LEAVING: Duration = Duration::from_secs(2);

/// The contents of a TOML file. Its keys are the flags.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    store: Option<Address>,
    store_file: Option<PathBuf>,
    schema: Option<String>,
    name: Option<String>,
    node: Option<String>,
    label: Option<String>,
    ttl: Option<Time>,
    grace: Option<Time>,
    min_epoch: Option<u64>,
    wait: Option<Time>,
    leave_timeout: Option<Time>,
    timeout: Option<Time>,
    on_lost: Option<OnLost>,
    no_schema: Option<bool>,
    allow_setuid: Option<bool>,
}

/// A duration as people write it.
#[derive(Debug)]
struct Time(Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = |why| serde::de::Error::custom(why);
        arguments::duration(&text, "\"15s\" or \"500ms\"").map(Self).map_err(wrong)
    }
}

fn file(path: Option<&Path>) -> Result<File, Failed> {
    let Some(path) = path else { return Ok(File::default()) };
    let what = format!("--config {}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| Failed::of(&what, &error))?;
    toml::from_str(&text).map_err(|error| Failed::new(told(&what, &text, &error)))
}

/// The error in a file and its place, without the line itself: that may contain a password.
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

/// The chosen database, if any, and the tables in it.
pub(crate) struct Named {
    pub(crate) store: Option<AnyStore>,
    pub(crate) tables: Tables,
}

impl Named {
    pub(crate) fn by(database: &Database) -> Result<Self, Failed> {
        Self::open(database, &mut file(database.config.as_deref())?)
    }

    fn open(database: &Database, file: &mut File) -> Result<Self, Failed> {
        let schema = database.schema.clone().or(file.schema.take());
        let tables = schema
            .map_or_else(|| Ok(Tables::default()), |name| Tables::new("election_", Some(&name)))
            .map_err(|error| Failed::of("--schema", &error))?;
        let address = source::address(database, file.store.take(), file.store_file.take())?;
        let store = address.map(|(address, what)| AnyStore::of(&address, &what, &tables));
        Ok(Self { store: store.transpose()?, tables })
    }
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
    pub(crate) tables: Tables,
    pub(crate) namespace: Namespace,
    pub(crate) json: bool,
}

impl Place {
    pub(crate) fn of(target: &Target) -> Result<Self, Failed> {
        Self::from_parts(target, &mut file(target.database.config.as_deref())?)
    }

    /// The place, and how long the database may take to answer.
    pub(crate) fn looked_at(look: &Look) -> Result<(Self, Duration), Failed> {
        let mut file = file(look.target.database.config.as_deref())?;
        let place = Self::from_parts(&look.target, &mut file)?;
        let timeout = look.timeout.or(file.timeout.map(|time| time.0));
        Ok((place, timeout.unwrap_or(ANSWER)))
    }

    fn from_parts(target: &Target, file: &mut File) -> Result<Self, Failed> {
        let name = target.name.clone().or(file.name.take());
        // Before any other line is written.
        name.iter().for_each(line::name_election);
        let Named { store, tables } = Named::open(&target.database, file)?;
        let store = store.ok_or_else(no_store)?;
        let name = name.ok_or_else(|| {
            Failed::new(
                "no election is named; give --name NAME, the same for all participants (`default`, \
                 for instance), or set ELECTION_NAME, or put `name` into the --config file",
            )
        })?;
        let namespace = Namespace::new(&name).map_err(|error| Failed::of("--name", &error))?;
        Ok(Self { store, tables, namespace, json: target.database.json })
    }

    /// Logs how the connection to the database is protected.
    pub(crate) fn announce(&self) {
        let way = self.store.transport();
        if way.exposed {
            let shown = way.shown;
            warn!(event = "database", "{shown}: somebody in between could read the password");
        } else {
            info!(event = "database", "{}", way.shown);
        }
    }
}

/// Everything `run` needs to know.
pub(crate) struct Plan {
    pub(crate) place: Place,
    pub(crate) builder: Builder<AnyStore>,
    pub(crate) wait: Option<Duration>,
    pub(crate) leave_timeout: Duration,
    pub(crate) on_lost: OnLost,
    pub(crate) no_schema: bool,
    pub(crate) allow_setuid: bool,
}

impl Plan {
    pub(crate) fn of(run: &Run) -> Result<Self, Failed> {
        let mut file = file(run.target.database.config.as_deref())?;
        let node = run.node.clone().or(file.node.take()).unwrap_or_else(default_node);
        line::name_node(&node);
        let place = Place::from_parts(&run.target, &mut file)?;
        NodeId::new(&node).map_err(|error| Failed::of("--node", &error))?;
        let builder = Election::builder(place.namespace.as_str()).node(node);
        let mut builder = builder.store(place.store.clone());
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
            leave_timeout: run
                .leave_timeout
                .or(file.leave_timeout.map(|time| time.0))
                .unwrap_or(LEAVING),
            on_lost: run.on_lost.or(file.on_lost).unwrap_or(OnLost::Restart),
            no_schema: run.no_schema || file.no_schema == Some(true),
            allow_setuid: run.allow_setuid || file.allow_setuid == Some(true),
        })
    }
}
