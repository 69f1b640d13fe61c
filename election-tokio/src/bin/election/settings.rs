//! Flags, environment and file, brought together and checked.

use crate::{
    arguments::{OnLost, Run, Target},
    exit::Failed,
    store::AnyStore,
};
use election_tokio::{Builder, Election, core::Namespace};
use serde::Deserialize;
use std::{path::Path, time::Duration};

/// What a TOML file may say. Its keys are the flags.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    store: Option<String>,
    name: Option<String>,
    node: Option<String>,
    label: Option<String>,
    ttl: Option<Time>,
    grace: Option<Time>,
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
    toml::from_str(&text).map_err(|error| Failed::new(format!("{what}: {error}")))
}

/// A store and the election in it.
pub(crate) struct Place {
    pub(crate) store: AnyStore,
    pub(crate) namespace: Namespace,
    pub(crate) json: bool,
}

impl Place {
    pub(crate) fn of(target: &Target) -> Result<Self, Failed> {
        let file = file(target.config.as_deref())?;
        Self::from_parts(target, file.store, file.name)
    }

    fn from_parts(
        target: &Target,
        store: Option<String>,
        name: Option<String>,
    ) -> Result<Self, Failed> {
        let url = target.store.clone().or(store).ok_or_else(|| {
            Failed::new(
                "no database is named; give --store sqlite:PATH (or postgres://…, mysql://…), or set ELECTION_STORE, or put \
                 `store` into the --config file",
            )
        })?;
        let name = target.name.clone().or(name).unwrap_or_default();
        let namespace = Namespace::new(&name).map_err(|error| Failed::of("--name", &error))?;
        Ok(Self { store: AnyStore::of(&url)?, namespace, json: target.json })
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
        let file = file(run.target.config.as_deref())?;
        let place = Place::from_parts(&run.target, file.store, file.name)?;
        let mut builder = Election::builder(place.namespace.as_str()).store(place.store.clone());
        if let Some(node) = run.node.clone().or(file.node) {
            builder = builder.node(node);
        }
        if let Some(label) = run.label.clone().or(file.label) {
            builder = builder.label(label);
        }
        if let Some(ttl) = run.ttl.or(file.ttl.map(|time| time.0)) {
            builder = builder.ttl(ttl);
        }
        if let Some(grace) = run.grace.or(file.grace.map(|time| time.0)) {
            builder = builder.grace(grace);
        }
        Ok(Self {
            place,
            builder,
            wait: run.wait.or(file.wait.map(|time| time.0)).filter(|_| !run.once),
            on_lost: run.on_lost.or(file.on_lost).unwrap_or(OnLost::Restart),
        })
    }
}
