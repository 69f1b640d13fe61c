//! The file that lists the members of a cluster, the same on all of them.

use super::place::Spot;
use super::section::Certificates;
use crate::{
    document::{Document, Time},
    exit::Failed,
    line,
    plan::with,
};
use election_tokio::{
    Cluster, ClusterBuilder, ClusterError,
    core::{Epoch, Namespace, quorum::ConfigError},
};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::Spanned;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Contents {
    election: Option<Spanned<String>>,
    // Files of older versions have an underscore.
    #[serde(alias = "down_after")]
    down_after: Option<Spanned<Time>>,
    preferred: Option<Spanned<String>>,
    #[serde(alias = "fail_back")]
    fail_back: Option<Spanned<Time>>,
    #[serde(alias = "min_epoch")]
    min_epoch: Option<Spanned<u64>>,
    shards: Option<Spanned<u16>>,
    #[serde(default)]
    insecure: bool,
    pub(super) tls: Option<Spanned<Certificates>>,
    #[serde(default)]
    pub(super) member: Vec<Spanned<Entry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section [[member]] with id and address")]
pub(super) struct Entry {
    id: Option<Spanned<String>>,
    address: Option<Spanned<String>>,
    announce: Option<Spanned<String>>,
    #[serde(default)]
    witness: bool,
    pub(super) accepted: Option<Vec<Spanned<String>>>,
}

/// A cluster as its file describes it.
pub(crate) struct File {
    pub(super) path: PathBuf,
    pub(super) document: Document,
    pub(super) contents: Contents,
    /// The name of the election.
    pub(crate) election: String,
    pub(super) members: Vec<Member>,
}

/// One of the members.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) address: String,
    announce: Option<String>,
    is_witness: bool,
    /// Where the id, the address and what is announced stand.
    at: [usize; 3],
}

impl File {
    /// Reads the file of `--cluster`.
    ///
    /// # Errors
    /// If it cannot be read, or a part is unknown, wrong or missing.
    pub(crate) fn read(path: &Path) -> Result<Self, Failed> {
        Self::named("--cluster", path)
    }

    /// Reads the file that `flag` has named.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn named(flag: &str, path: &Path) -> Result<Self, Failed> {
        let (document, contents) = Document::read::<Contents>(flag, path)?;
        let file = Self::of(path, document, contents)?;
        line::name_election(&*file.election);
        Ok(file)
    }

    /// What was read, if nothing is missing.
    pub(super) fn of(path: &Path, document: Document, contents: Contents) -> Result<Self, Failed> {
        let missing = |at, key: &str, example: &str| {
            document.wrong(at, &format!("`{key}` is missing; write {key} = {example}"))
        };
        let election = contents.election.as_ref();
        let election = election.ok_or_else(|| missing(0, "election", "\"NAME\" at the top"))?;
        Namespace::new(election.get_ref())
            .map_err(|error| document.wrong(election.span().start, &error.to_string()))?;
        let election = election.get_ref().clone();
        if contents.member.is_empty() {
            let why = "no member is listed; write [[member]] with id and address for every node";
            return Err(Failed::new(format!("{}: {why}", document.what)));
        }
        let member = |entry: &Spanned<Entry>| {
            let (at, entry) = (entry.span().start, entry.get_ref());
            let id = entry.id.as_ref().ok_or_else(|| missing(at, "id", "\"n1\""))?;
            let address = entry.address.as_ref();
            let address =
                address.ok_or_else(|| missing(at, "address", "\"HOST:PORT\" of this member"))?;
            let announce = entry.announce.as_ref();
            Ok(Member {
                id: id.get_ref().clone(),
                address: address.get_ref().clone(),
                announce: announce.map(|announce| announce.get_ref().clone()),
                is_witness: entry.witness,
                at: [id, address, announce.unwrap_or(address)].map(|text| text.span().start),
            })
        };
        let members = contents.member.iter().map(member).collect::<Result<_, Failed>>()?;
        Ok(Self { path: path.to_owned(), election, members, document, contents })
    }

    /// The name of the file, and of the flag that has named it.
    pub(crate) fn what(&self) -> &str {
        &self.document.what
    }

    /// Checks that there is a member of this name; returns whether it is a witness.
    ///
    /// # Errors
    /// If no node is named, or the file does not list it.
    pub(crate) fn is_witness(&self, node: Option<&str>) -> Result<bool, Failed> {
        let what = self.what();
        let ids: Vec<_> = self.members.iter().map(|member| &*member.id).collect();
        let ids = ids.join(", ");
        let Some(node) = node else {
            return Err(Failed::new(format!(
                "which member of the cluster? Name it with --node, or set ELECTION_NODE; {what} \
                 lists {ids}"
            ))
            .lacking(&["--node"]));
        };
        let member = self.members.iter().find(|member| member.id == node);
        member.map(|member| member.is_witness).ok_or_else(|| {
            if node.is_empty() {
                return Failed::new(format!(
                    "the name of the member is empty: name one of {ids} (--node, ELECTION_NODE); \
                     {what} lists them"
                ));
            }
            // As a variable may have it that was set with quotes in an environment file.
            let bare = node.trim().trim_matches(['"', '\'']);
            if let Some(member) = self.members.iter().find(|member| member.id == bare) {
                return Failed::new(format!(
                    "{what}: the name {node:?} has quotes or spaces around it, but {} is listed \
                     without; remove them (--node, ELECTION_NODE)",
                    member.id
                ));
            }
            Failed::new(format!(
                "{what}: {node} is not a member; name one of {ids} (--node), or list {node} in the \
                 file on every member"
            ))
        })
    }

    /// The member that a command asks: the one that is named, or else the only one that has a control
    /// socket on this machine. A socket that was chosen says nothing about whose it is.
    ///
    /// # Errors
    /// If it is not listed, or none was named and not exactly one answers here.
    pub(crate) fn asked(
        &self,
        node: Option<&str>,
        socket: Option<&Path>,
    ) -> Result<String, Failed> {
        let is_here = |member: &&Member| {
            let spots = Spot::all(socket, &self.election, &member.id).unwrap_or_default();
            spots.iter().any(Spot::is_answered)
        };
        let here = || self.members.iter().filter(is_here).map(|member| &*member.id);
        let node = match (node, here().collect::<Vec<_>>().as_slice()) {
            (Some(node), _) => node,
            (None, [only]) => only,
            (None, several @ [_, _, ..]) if socket.is_none() => {
                return Err(Failed::new(format!(
                    "which member of the cluster? Name it with --node, or set ELECTION_NODE; {} run \
                     on this machine",
                    several.join(", ")
                )));
            }
            (None, []) => return Err(self.silent(socket)),
            (None, _) => return self.is_witness(None).map(|_| String::new()),
        };
        self.is_witness(Some(node)).map(|_| node.to_owned())
    }

    /// The members that an observer may ask: the one that is named, or else all.
    ///
    /// # Errors
    /// As [`asked`](Self::asked), but for several that answer here.
    pub(super) fn observed(
        &self,
        node: Option<&str>,
        socket: Option<&Path>,
    ) -> Result<Vec<String>, Failed> {
        if node.is_some() || socket.is_some() {
            return self.asked(node, socket).map(|node| vec![node]);
        }
        let spots = |member: &Member| Spot::all(None, &self.election, &member.id);
        let answers =
            |member: &Member| spots(member).is_ok_and(|spots| spots.iter().any(Spot::is_answered));
        if !self.members.iter().any(answers) {
            return Err(self.silent(None));
        }
        Ok(self.members.iter().map(|member| member.id.clone()).collect())
    }

    /// None was named and none answers.
    fn silent(&self, socket: Option<&Path>) -> Failed {
        let tried = |member: &Member| {
            let spots = Spot::all(None, &self.election, &member.id).unwrap_or_default();
            spots.iter().map(|spot| spot.path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let tried = match socket {
            Some(socket) => socket.display().to_string(),
            None => self.members.iter().map(tried).collect::<Vec<_>>().join(", "),
        };
        let node = self.members.first().map(|member| &*member.id).unwrap_or_default();
        Failed::new(format!(
            "no member of the cluster answers here, or not to this user; tried {tried}. On the \
             machine of a member, start one: {}; or ask where one is running; or use --socket if a \
             member's control socket is elsewhere",
            self.start(node)
        ))
    }

    /// How a member is started.
    pub(super) fn start(&self, node: &str) -> String {
        format!("election run --cluster {} --node {node} -- CMD", self.path.display())
    }

    /// Begins this member of the cluster.
    ///
    /// # Errors
    /// If what the file says of certificates is not whole.
    pub(crate) fn builder(&self, node: &str) -> Result<ClusterBuilder, Failed> {
        let Contents { down_after, preferred, fail_back, min_epoch, shards, insecure, .. } =
            &self.contents;
        let mut builder = Cluster::builder(&*self.election).node(node).without_data();
        for member in &self.members {
            builder = match member.is_witness {
                true => builder.witness(&member.id, &member.address),
                false => builder.member(&member.id, &member.address),
            };
        }
        let own = self.members.iter().find(|member| member.id == node);
        let announce = own.and_then(|own| own.announce.as_ref());
        let time = |time: &Option<Spanned<Time>>| time.as_ref().map(|time| time.get_ref().0);
        let builder = with(builder, announce, ClusterBuilder::announce);
        let builder = with(builder, time(down_after), ClusterBuilder::down_after);
        let preferred = preferred.as_ref().map(Spanned::get_ref);
        let builder = with(builder, preferred, ClusterBuilder::preferred_primary);
        let builder = with(builder, time(fail_back), |builder, span| {
            builder.config(move |config| config.fail_back(span))
        });
        let epoch = min_epoch.as_ref().map(|epoch| Epoch::new(*epoch.get_ref()));
        let builder = with(builder, epoch, ClusterBuilder::min_epoch);
        let shards = shards.as_ref().map(|shards| *shards.get_ref());
        let builder = with(builder, shards, ClusterBuilder::shards);
        let builder = if *insecure { builder.insecure() } else { builder };
        self.prove(builder)
    }

    /// What is wrong with the cluster, at the place in the file that says so.
    pub(crate) fn refused(&self, node: &str, error: &ClusterError) -> Failed {
        let why = spelled(error);
        match self.place(node, error) {
            Some(at) => self.document.wrong(at, &why),
            None => Failed::new(format!("{}: {why}", self.what())),
        }
    }

    /// The place in the file that an error is about.
    fn place(&self, node: &str, error: &ClusterError) -> Option<usize> {
        let last = |id: &str| self.members.iter().rfind(|member| member.id == id);
        let id = |id: &str| last(id).map(|member| member.at[0]);
        let start = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.span().start);
        let span = |time: &Option<Spanned<Time>>| time.as_ref().map(|time| time.span().start);
        let Contents { down_after, preferred, fail_back, min_epoch, shards, .. } = &self.contents;
        match error {
            ClusterError::SameAddress { other, .. } => last(other).map(|member| member.at[1]),
            ClusterError::Exposed { member, address } => {
                last(member).filter(|it| it.address == *address).map(|member| member.at[1])
            }
            ClusterError::Address { address, .. } => {
                let same = |member: &&Member| member.address == *address;
                self.members.iter().find(same).map(|member| member.at[1])
            }
            ClusterError::Name { what, .. } => {
                let named = |member: &&Member| *what == format!("member {:?}", member.id);
                let prefers =
                    || preferred.as_ref().filter(|_| what.starts_with("preferred primary"));
                let announced = || last(node).filter(|_| what.starts_with("address to announce"));
                let at = self.members.iter().find(named).map(|member| member.at[0]);
                let at = at.or_else(|| announced().map(|member| member.at[2]));
                at.or_else(|| prefers().map(|preferred| preferred.span().start))
            }
            ClusterError::LongId { bytes, .. } => {
                self.members.iter().find(|it| it.id.len() == *bytes).map(|member| member.at[0])
            }
            ClusterError::Shards { .. } => shards.as_ref().map(|shards| shards.span().start),
            ClusterError::Config(error) => match error {
                ConfigError::DuplicateId(node)
                | ConfigError::IdTooLong(node)
                | ConfigError::IdNotPrintable(node) => id(node.as_str()),
                ConfigError::NotAMember(_) | ConfigError::WitnessPreferred(_) => start(preferred),
                ConfigError::MinEpochTooHigh(_) => {
                    min_epoch.as_ref().map(|epoch| epoch.span().start)
                }
                ConfigError::FailBackTooSoon { .. } | ConfigError::NobodyPreferred => {
                    span(fail_back)
                }
                ConfigError::DownAfterTooLong(_)
                | ConfigError::DownAfterTooShort { .. }
                | ConfigError::Zero(_)
                | ConfigError::TimeoutTooLong { .. }
                | ConfigError::IntervalTooLong { .. } => span(down_after),
                _ => None,
            },
            _ => None,
        }
    }
}

/// An error of the library, which spells its settings as Rust does, with the names of the file's keys.
pub(super) fn spelled(error: &ClusterError) -> String {
    error.to_string().replace("down_after", "down-after").replace("fail_back", "fail-back")
}
