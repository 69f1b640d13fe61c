//! Flags, environment and file, merged and checked.

use crate::{
    arguments::{
        Asked, Command, Database, Form, Look, Membership, Observe, OnLost, Order, Schema, Target,
    },
    cluster::{self, Client, Filed, Observer},
    document::{Document, Time},
    exit::Failed,
    line,
    secret::Address,
    source,
    store::{self, AnyStore},
    whereabouts::Whereabouts,
};
use election_tokio::core::{Namespace, sql::Tables};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};
use tracing::{info, warn};

/// How long an answer may take to a command that only looks.
const ANSWER: Duration = Duration::from_secs(5);

/// The contents of a TOML file. Its keys are the flags, all but a few that are about a single start.
/// Each may also be spelled with underscores, as in a cluster's file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct File {
    pub(crate) store: Option<Address>,
    #[serde(alias = "store_file")]
    pub(crate) store_file: Option<PathBuf>,
    pub(crate) cluster: Option<PathBuf>,
    pub(crate) listen: Option<String>,
    pub(crate) ballot: Option<PathBuf>,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) schema: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) ttl: Option<Time>,
    pub(crate) interval: Option<Time>,
    pub(crate) grace: Option<Time>,
    #[serde(alias = "at_least_for")]
    pub(crate) at_least_for: Option<Time>,
    #[serde(alias = "clock_step")]
    pub(crate) clock_step: Option<Time>,
    #[serde(alias = "min_epoch")]
    pub(crate) min_epoch: Option<u64>,
    pub(crate) wait: Option<Time>,
    #[serde(rename = "try")]
    pub(crate) once: Option<bool>,
    #[serde(alias = "conflict_exit_code")]
    pub(crate) conflict_exit_code: Option<u8>,
    #[serde(alias = "leave_timeout")]
    pub(crate) leave_timeout: Option<Time>,
    pub(crate) timeout: Option<Time>,
    #[serde(alias = "on_lost")]
    pub(crate) on_lost: Option<OnLost>,
    #[serde(alias = "no_schema")]
    pub(crate) no_schema: Option<bool>,
    #[serde(alias = "allow_setuid")]
    pub(crate) allow_setuid: Option<bool>,
    pub(crate) isolate: Option<bool>,
    pub(crate) http: Option<String>,
    #[serde(alias = "http_exposed")]
    pub(crate) http_exposed: Option<bool>,
    #[serde(alias = "on_lead")]
    pub(crate) on_lead: Option<String>,
    #[serde(alias = "on_lose")]
    pub(crate) on_lose: Option<String>,
    #[serde(alias = "on_change")]
    pub(crate) on_change: Option<String>,
    #[serde(alias = "hook_timeout")]
    pub(crate) hook_timeout: Option<Time>,
    pub(crate) json: Option<bool>,
    pub(crate) quiet: Option<bool>,
}

/// The options without a key, each with the reason.
#[cfg(test)]
const ONE_START: [(&str, &str); 10] = [
    ("config", "it names the file"),
    ("new-peers", "it is for one start: a later one must not forget the peers again"),
    ("accept-loss", "it is for one start: a later one must not lose data again"),
    ("with-parent", "it is between this program and the one that starts it"),
    ("epoch", "it is the asker's own, which its environment has"),
    ("elections", "it is another question"),
    ("exit-code", "it is what one question is for"),
    ("apply", "it is an order"),
    ("to", "it is part of an order"),
    ("for", "it is part of an order"),
];

/// The file of this process.
static FILE: OnceLock<File> = OnceLock::new();

/// Reads the file that the command line names, once: it may be a pipe.
///
/// # Errors
/// If it cannot be read, or says something else.
pub(crate) fn read(command: &mut Command) -> Result<(), Failed> {
    let Some(Form { config: Some(path), json, quiet }) = command.form() else { return Ok(()) };
    let (_, mut file) = Document::read::<File>("--config", path)?;
    // A pipe lies nowhere.
    path.parent().filter(|_| path.is_file()).into_iter().for_each(|place| file.lie_in(place));
    *json |= file.json == Some(true);
    quiet.into_iter().for_each(|quiet| *quiet |= file.quiet == Some(true));
    FILE.get_or_init(|| file);
    Ok(())
}

/// What the file says; nothing if there is none.
pub(crate) fn file() -> File {
    FILE.get().cloned().unwrap_or_default()
}

impl File {
    /// Its relative paths are those of its own directory, as in a cluster's file, wherever this process
    /// was started.
    fn lie_in(&mut self, directory: &Path) {
        self.store = self.store.take().map(|address| address.beside(directory));
        let paths = [&mut self.store_file, &mut self.cluster, &mut self.ballot, &mut self.socket];
        for path in paths.into_iter().flatten() {
            *path = directory.join(&*path);
        }
    }

    /// The file of the cluster, unless a database was chosen.
    pub(crate) fn cluster(
        &self,
        membership: &Membership,
        database: &Database,
    ) -> Result<Option<PathBuf>, Failed> {
        let names_database = self.store.is_some() || self.store_file.is_some();
        let filed = Filed { cluster: self.cluster.clone(), names_database };
        cluster::cluster(membership, database, filed)
    }

    /// The member to ask, unless a database was chosen.
    fn client(
        &mut self,
        asked: &Asked,
        database: &Database,
        timeout: Option<Duration>,
    ) -> Result<Option<Client>, Failed> {
        let Some(cluster) = self.cluster(&asked.membership, database)? else { return Ok(None) };
        let timeout = timeout.or(self.timeout.take().map(|time| time.0));
        let timeout = some_time("--timeout", timeout, "leave it out for five seconds")?;
        let asked = self.asked(asked);
        Client::of(&cluster, &asked, timeout.unwrap_or(ANSWER), database.json).map(Some)
    }

    /// Which member a command asks.
    fn asked(&mut self, asked: &Asked) -> Asked {
        let mut asked = asked.clone();
        asked.node = asked.node.or(self.node.take());
        asked.membership.socket = asked.membership.socket.or(self.socket.take());
        asked
    }
}

/// The member that a command which looks once is to ask; none if it is about a database.
pub(crate) fn client(look: &Look) -> Result<Option<Client>, Failed> {
    let database = &look.target.database;
    file().client(&look.asked, database, look.timeout)
}

/// Whether a command is about a cluster.
pub(crate) fn is_cluster(look: &Look) -> Result<bool, Failed> {
    let cluster = file().cluster(&look.asked.membership, &look.target.database)?;
    Ok(cluster.is_some())
}

/// The node that a command is told of, in the file at last.
pub(crate) fn checked_node(look: &Look) -> Option<String> {
    look.asked.node.clone().or_else(|| file().node)
}

/// The same for a command that goes on.
pub(crate) fn observed(observe: &Observe) -> Result<Option<Observer>, Failed> {
    let (mut file, database) = (file(), &observe.target.database);
    let Some(cluster) = file.cluster(&observe.asked.membership, database)? else { return Ok(None) };
    Observer::of(&cluster, &file.asked(&observe.asked), database.json).map(Some)
}

/// The same for a command that only clusters have.
pub(crate) fn ordered(order: &Order) -> Result<Client, Failed> {
    // Whatever names a database does not matter here.
    let mut asked = order.asked.clone();
    let mut file = file();
    (file.store, file.store_file) = (None, None);
    let cluster = asked.membership.cluster.take().or(file.cluster.take());
    asked.membership.cluster = Some(cluster.ok_or_else(|| {
        Failed::new(
            "only a cluster's failover can be paused: name the cluster with --cluster FILE, or set \
             ELECTION_CLUSTER, or put `cluster` into the --config file",
        )
    })?);
    asked.membership.written.push("cluster".to_owned());
    let database = Database { json: order.json, ..Database::default() };
    let client = file.client(&asked, &database, order.timeout)?;
    client.ok_or_else(no_store)
}

/// The chosen database, if any, and the tables in it.
pub(crate) struct Named {
    pub(crate) store: Option<AnyStore>,
    pub(crate) tables: Tables,
    whereabouts: Whereabouts,
}

impl Named {
    pub(crate) fn by(database: &Database) -> Result<Self, Failed> {
        Self::open(database, &mut file())
    }

    /// The same, and how long creating the tables may take, if that was said.
    pub(crate) fn to_change(schema: &Schema) -> Result<(Self, Option<Duration>), Failed> {
        let mut file = file();
        let timeout = schema.timeout.or(file.timeout.take().map(|time| time.0));
        let timeout = some_time("--timeout", timeout, "leave it out for a minute")?;
        Ok((Self::open(&schema.database, &mut file)?, timeout))
    }

    fn open(database: &Database, file: &mut File) -> Result<Self, Failed> {
        let schema = database.schema.clone().or(file.schema.take());
        let tables = schema
            .as_ref()
            .map_or_else(|| Ok(Tables::default()), |name| Tables::new("election_", Some(name)))
            .map_err(|error| Failed::of("--schema", &error))?;
        let source = source::address(database, file.store.take(), file.store_file.take())?;
        let store = source.as_ref().map(|it| AnyStore::of(&it.address, &it.what, &tables));
        let whereabouts =
            source.as_ref().map(|source| Whereabouts::of_database(source, schema.as_deref()));
        let whereabouts = whereabouts.unwrap_or_default();
        Ok(Self { store: store.transpose()?, tables, whereabouts })
    }
}

/// Refuses a time in which nothing can happen.
pub(crate) fn some_time(
    what: &str,
    time: Option<Duration>,
    remedy: &str,
) -> Result<Option<Duration>, Failed> {
    match time {
        Some(Duration::ZERO) => {
            Err(Failed::new(format!("{what}: in no time nobody answers; {remedy}")))
        }
        time => Ok(time),
    }
}

pub(crate) fn no_store() -> Failed {
    Failed::new(format!(
        "no database is named; give --store {}, or --store-file, or set ELECTION_STORE or \
         ELECTION_STORE_FILE, or put `store` or `store-file` into the --config file; an election by \
         votes needs none, but --cluster FILE or ELECTION_CLUSTER",
        store::urls("PATH"),
    ))
    .lacking(&["--store", "--store-file", "--cluster"])
}

/// A store and the election in it.
pub(crate) struct Place {
    pub(crate) store: AnyStore,
    pub(crate) tables: Tables,
    pub(crate) namespace: Namespace,
    pub(crate) json: bool,
    /// The same for others.
    pub(crate) whereabouts: Whereabouts,
}

impl Place {
    pub(crate) fn of(target: &Target) -> Result<Self, Failed> {
        Self::from_parts(target, &mut file())
    }

    /// The place, and how long the database may take to answer.
    pub(crate) fn looked_at(look: &Look) -> Result<(Self, Duration), Failed> {
        let mut file = file();
        let place = Self::from_parts(&look.target, &mut file)?;
        let timeout = look.timeout.or(file.timeout.map(|time| time.0));
        let timeout = some_time("--timeout", timeout, "leave it out for five seconds")?;
        Ok((place, timeout.unwrap_or(ANSWER)))
    }

    /// The same for a look at all elections, none of which has to be named.
    pub(crate) fn with_all(look: &Look) -> Result<(Self, Duration), Failed> {
        let (mut look, mut file) = (look.clone(), file());
        let Named { store, tables, whereabouts } = Named::open(&look.target.database, &mut file)?;
        let namespace = Namespace::default(); // which nobody asks about
        let (store, json) = (store.ok_or_else(no_store)?, look.target.database.json);
        let place = Self { store, tables, namespace, json, whereabouts };
        let timeout = look.timeout.take().or(file.timeout.map(|time| time.0));
        let timeout = some_time("--timeout", timeout, "leave it out for five seconds")?;
        Ok((place, timeout.unwrap_or(ANSWER)))
    }

    pub(crate) fn from_parts(target: &Target, file: &mut File) -> Result<Self, Failed> {
        let name = target.name.clone().or(file.name.take());
        // Before any other line is written.
        name.iter().for_each(line::name_election);
        let Named { store, tables, whereabouts } = Named::open(&target.database, file)?;
        let store = store.ok_or_else(no_store)?;
        let name = name.ok_or_else(|| {
            Failed::new(
                "no election is named; give --name NAME, the same for all participants (`default`, \
                 for instance), or set ELECTION_NAME, or put `name` into the --config file",
            )
            .lacking(&["--name"])
        })?;
        let namespace = Namespace::new(&name).map_err(|error| Failed::of("--name", &error))?;
        let json = target.database.json;
        Ok(Self { store, tables, namespace, json, whereabouts })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::CommandFactory as _;

    /// Why a key is refused that holds what no key can hold; every key that there is stands in it.
    fn refusal(key: &str) -> String {
        toml::from_str::<File>(&format!("{key} = []")).expect_err("a list").message().to_owned()
    }

    #[test]
    fn every_relative_path_is_that_of_the_files_directory() {
        let keys = ["store-file", "cluster", "ballot", "socket"];
        let text = keys.map(|key| format!("{key} = \"beside\"\n")).concat();
        for (place, lies) in [("beside", "/etc/election/beside"), ("/srv/it", "/srv/it")] {
            let text = text.replace("beside", place) + &format!("store = \"sqlite:{place}\"\n");
            let mut file: File = toml::from_str(&text).expect("a file");
            file.lie_in(Path::new("/etc/election"));
            let paths = [&file.store_file, &file.cluster, &file.ballot, &file.socket];
            for (path, key) in paths.into_iter().zip(keys) {
                assert_eq!(path.as_deref(), Some(Path::new(lies)), "{key}");
            }
            assert_eq!(file.store.as_ref().and_then(Address::path), Some(Path::new(lies)));
        }
    }

    /// The options of every command that reads such a file, by name.
    fn options() -> Vec<String> {
        let command = Arguments::command();
        let reads = |command: &&clap::Command| {
            command.get_arguments().any(|argument| argument.get_long() == Some("config"))
        };
        let long = |argument: &clap::Arg| argument.get_long().map(str::to_owned);
        let own = |command: &clap::Command| -> Vec<_> {
            command.get_arguments().filter_map(long).collect()
        };
        let mut options: Vec<_> = command.get_subcommands().filter(reads).flat_map(own).collect();
        options.sort();
        options.dedup();
        assert!(options.len() > 30, "{options:?}");
        options
    }

    #[test]
    fn every_option_has_a_key_and_every_key_an_option() {
        let options = options();
        for option in &options {
            let has_none = refusal(option).starts_with("unknown field");
            let reason = ONE_START.iter().find(|(name, _)| name == option);
            assert_eq!(has_none, reason.is_some(), "--{option}, {reason:?}: {}", refusal(option));
            let spelled = refusal(&option.replace('-', "_"));
            assert_eq!(spelled.starts_with("unknown field"), has_none, "--{option}: {spelled}");
        }
        for (name, _) in ONE_START {
            assert!(options.iter().any(|option| option == name), "there is no --{name}");
        }
        let keys = refusal("nothing");
        let (_, keys) = keys.split_once("expected one of ").expect("the list of keys");
        for key in keys.split(", ").map(|key| key.trim_matches('`').replace('_', "-")) {
            assert!(options.contains(&key), "`{key}` is no option");
        }
    }
}
