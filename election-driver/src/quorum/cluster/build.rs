//! Checks what a [`ClusterBuilder`] has collected, in the order in which the errors help most.

use super::{
    Cluster, ClusterBuilder,
    addresses::{AddressList, address, exposed, node, parsed},
    error::ClusterError,
};
use crate::{
    Network, log,
    quorum::{address::Address, security::Proof, starting::Starting},
};
use election_core::{
    Candidate, Incarnation, Label, Namespace, NodeId,
    lease::Registration,
    quorum::{Config, ConfigError},
};
use std::{os::unix::ffi::OsStrExt as _, path::PathBuf};
use uuid::Uuid;

/// How long a file's name may be on Linux, in bytes.
const LONGEST_NAME: usize = 255;

impl<R: Network> ClusterBuilder<R> {
    /// Checks everything. Nothing is opened yet.
    ///
    /// # Errors
    /// If a name, an address, the list or the timing cannot be used, or something was left out.
    pub fn build(self) -> Result<Cluster<R>, ClusterError> {
        #[cfg(feature = "cluster-file")]
        if let (Some(file), Some(node)) = (self.file.clone(), self.node.clone()) {
            return self.checked().map_err(|error| file.explained(&node, error));
        }
        self.checked()
    }

    fn checked(self) -> Result<Cluster<R>, ClusterError> {
        let named = |what: String| move |why| ClusterError::Name { what, why };
        let namespace =
            Namespace::new(&self.name).map_err(named("name of the cluster".to_owned()))?;
        let me = node(self.node.as_deref().ok_or(ClusterError::NoNode)?)?;
        let ids = self.members.iter().map(|(id, _)| node(id)).collect::<Result<Vec<_>, _>>()?;
        // Before their addresses: who repeats a member repeats its address, too.
        let twice = ids.iter().enumerate().find(|(place, id)| ids[..*place].contains(id));
        if let Some((_, id)) = twice {
            return Err(ConfigError::DuplicateId(id.clone()).into());
        }
        let witnesses = self.witnesses.iter().map(|id| node(id)).collect::<Result<Vec<_>, _>>()?;
        let known = parsed(&self.members)?;
        let own = ids.iter().position(|id| *id == me);
        let own = own.map(|place| &known[place]).ok_or(ConfigError::NotAMember(me.clone()))?;
        let exposed = self.exposed(&known);
        let proves = !matches!(self.proof, Proof::Nothing);
        if proves && self.insecure {
            return Err(ClusterError::InsecureTls);
        }
        let announce = self.announce.clone().unwrap_or_else(|| own.to_string());
        let label =
            Label::new(&announce).map_err(named(format!("address to announce, {announce:?}")))?;
        let mut config = Config::builder(me.clone(), ids.clone(), label.clone())
            .cluster(namespace.clone())
            .witnesses(witnesses)
            .loopback(exposed.is_none())
            .authenticated(proves);
        if let Some(preferred) = &self.preferred {
            let what = format!("preferred primary {preferred:?}");
            config = config.preferred_primary(NodeId::new(preferred).map_err(named(what))?);
        }
        let config = self.settings.into_iter().fold(config, |config, set| set(config)).build()?;
        if let Some(exposed) = exposed.filter(|_| !self.insecure && !proves) {
            return Err(exposed);
        }
        let listen = listen(self.listen.as_deref(), own, self.shards)?;
        let incarnation = match self.runtime.member_observer() {
            Some(observer) => observer.incarnation(),
            None => Incarnation::new(Uuid::new_v4()),
        };
        let candidate = Candidate { id: me, incarnation };
        let registration = Registration { namespace, candidate, label: Some(label) };
        log::span(&registration).in_scope(|| {
            for warning in config.warnings() {
                tracing::warn!(event = "warning", "{warning}");
            }
            if let Some(why) = misleads(&announce, &known) {
                tracing::warn!(
                    event = "warning",
                    "this node announces the address {announce}, {why}"
                );
            }
        });
        let addresses = self.members.into_iter().map(|(id, _)| id).zip(known);
        Ok(Cluster {
            runtime: self.runtime,
            registration,
            config,
            addresses: AddressList::new(addresses.collect(), !self.insecure && !proves),
            listen,
            ballot: ballot(self.ballot)?,
            position: self.position.ok_or(ClusterError::NoPosition)?,
            proof: self.proof,
            starting: Starting::default(),
            #[cfg(feature = "cluster-file")]
            file: self.file,
        })
    }

    /// An address that others than this machine can reach.
    fn exposed(&self, known: &[Address]) -> Option<ClusterError> {
        let listens = self.listen.as_deref().and_then(|text| Address::parse(text).ok());
        let node = self.node.as_deref().unwrap_or_default();
        let members = self.members.iter().map(|(id, _)| id.as_str()).zip(known);
        exposed(members.chain(listens.as_ref().map(|address| (node, address))))
    }
}

/// A path that a file can have. Whether it can be written shows when it is opened.
fn ballot(path: Option<PathBuf>) -> Result<PathBuf, ClusterError> {
    let path = path.filter(|path| !path.as_os_str().is_empty()).ok_or(ClusterError::NoBallot)?;
    let bytes = path.as_os_str().as_bytes();
    let name = path.file_name().map_or(0, |name| name.len() + ".lock".len());
    let why = match () {
        () if bytes.contains(&0) => "a path cannot contain a NUL character; remove it",
        () if name > LONGEST_NAME => {
            "with .lock its name is longer than the 255 bytes that file systems allow; shorten it"
        }
        () => return Ok(path),
    };
    Err(ClusterError::Ballot { path, why })
}

/// Why others would not find this node at what it announces. What is no address is the
/// application's own affair.
fn misleads(announced: &str, members: &[Address]) -> Option<&'static str> {
    let address = Address::parse(announced).ok()?;
    let number = address.number().map(|number| number.ip());
    if number.is_some_and(|number| number.is_unspecified()) {
        return Some("which nobody can connect to; announce an address of this machine");
    }
    let beyond = members.iter().any(|member| !member.is_loopback());
    (beyond && address.is_loopback()).then_some(
        "which is every other machine's own loopback; announce an address that all members can \
         reach",
    )
}

fn listen(chosen: Option<&str>, own: &Address, shards: u16) -> Result<Vec<Address>, ClusterError> {
    let base = match chosen {
        Some(text) => address("address to listen at".to_owned(), text)?,
        None => own.clone(),
    };
    let all: Option<Vec<_>> = (0..shards).map(|shard| base.shard(shard)).collect();
    let refused = ClusterError::Shards { shards, port: base.port };
    all.filter(|all| !all.is_empty()).ok_or(refused)
}
