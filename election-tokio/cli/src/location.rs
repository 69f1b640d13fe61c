//! Where the election is held, in the environment of the processes that this one starts: so a job or a
//! hook can ask about its own leadership (`election check`) whichever way this process was told. No
//! password goes there; a file that holds one is named.

use crate::{
    secret::{self, Address, STORE, STORE_FILE},
    source::Source,
};
use std::{
    env,
    ffi::OsString,
    path::{self, Path, PathBuf},
    process::Command,
};

const CLUSTER: &str = "ELECTION_CLUSTER";
const CONFIG: &str = "ELECTION_CONFIG";

/// Variables with their values; those without are not to be set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Location(Vec<(&'static str, Option<OsString>)>);

impl Location {
    pub(crate) fn of_database(source: &Source, schema: Option<&str>) -> Self {
        // Of no use to others: what cannot be read a second time, such as a pipe, and a path that
        // means another file in another directory.
        let is_relative = source.address.path().is_some_and(Path::is_relative);
        let file = source.file.as_deref().filter(|file| file.is_file() && !is_relative);
        let file = file.map(absolute);
        let url = if file.is_some() { None } else { bare(&source.address) };
        let mut variables = vec![
            (CLUSTER, None),
            (STORE, url.map(OsString::from)),
            (STORE_FILE, file.map(PathBuf::into_os_string)),
        ];
        variables.extend(schema.map(|schema| ("ELECTION_SCHEMA", Some(schema.into()))));
        Self(variables)
    }

    pub(crate) fn of_cluster(file: &Path, socket: Option<&Path>) -> Self {
        let named = |path| Some(absolute(path).into_os_string());
        let mut variables = vec![(CLUSTER, named(file)), (STORE, None), (STORE_FILE, None)];
        variables.extend(socket.map(|socket| ("ELECTION_SOCKET", named(socket))));
        Self(variables)
    }

    /// Tells a process that is about to be started, and keeps this program's passwords from it.
    pub(crate) fn hand_to(&self, command: &mut Command) {
        secret::keep_from(command);
        if let Some(file) = env::var_os(CONFIG).filter(|file| !file.is_empty()) {
            command.env(CONFIG, absolute(Path::new(&file)));
        }
        for (name, value) in &self.0 {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
}

/// The URL without its password. Whoever gets it may be in another directory.
fn bare(address: &Address) -> Option<String> {
    match address.path() {
        Some(path) => address.moved(&absolute(path)),
        None => address.without_password(),
    }
}

fn absolute(path: &Path) -> PathBuf {
    path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
