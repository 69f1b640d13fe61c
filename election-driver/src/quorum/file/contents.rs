//! The file that lists the members of a cluster, the same on all of them.

use super::{
    document::{Document, Time},
    error::ClusterFileError,
    section::{Certificates, Paths},
};
use election_core::Namespace;
use serde::Deserialize;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use toml::Spanned;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Contents {
    pub(super) election: Option<Spanned<String>>,
    pub(super) generation: Option<Spanned<u64>>,
    // Files of older versions have an underscore.
    #[serde(alias = "down_after")]
    pub(super) down_after: Option<Spanned<Time>>,
    pub(super) preferred: Option<Spanned<String>>,
    #[serde(alias = "fail_back")]
    pub(super) fail_back: Option<Spanned<Time>>,
    #[serde(alias = "min_epoch")]
    pub(super) min_epoch: Option<Spanned<u64>>,
    pub(super) shards: Option<Spanned<u16>>,
    #[serde(default)]
    pub(super) insecure: bool,
    pub(super) tls: Option<Spanned<Certificates>>,
    #[serde(default)]
    pub(super) member: Vec<Spanned<Entry>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section [[member]] with id and address")]
pub(super) struct Entry {
    id: Option<Spanned<String>>,
    pub(super) address: Option<Spanned<String>>,
    announce: Option<Spanned<String>>,
    #[serde(default)]
    witness: bool,
    pub(super) accepted: Option<Vec<Spanned<String>>>,
}

/// A cluster as its file describes it.
#[derive(Clone)]
pub struct ClusterFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The name of the election.
    pub election: String,
    /// How often the list of members was changed before.
    pub generation: u64,
    pub(super) document: Document,
    pub(super) contents: Contents,
    pub(super) members: Vec<Listed>,
}

/// One of the members.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) id: String,
    pub(super) address: String,
    pub(super) announce: Option<String>,
    pub(super) is_witness: bool,
    /// Where the id, the address and what is announced stand.
    pub(super) at: [usize; 3],
}

impl ClusterFile {
    /// Reads a file that errors call `what`.
    ///
    /// # Errors
    /// If it cannot be read, or a part is unknown, wrong or missing.
    pub fn read(what: &str, path: &Path) -> Result<Self, ClusterFileError> {
        Self::of(Document::open(what, path)?, path)
    }

    /// What a text says.
    pub(super) fn of(document: Document, path: &Path) -> Result<Self, ClusterFileError> {
        let contents: Contents = document.parsed()?;
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
            return Err(ClusterFileError(format!("{}: {why}", document.what)));
        }
        let member = |entry: &Spanned<Entry>| {
            let (at, entry) = (entry.span().start, entry.get_ref());
            let id = entry.id.as_ref().ok_or_else(|| missing(at, "id", "\"n1\""))?;
            let address = entry.address.as_ref();
            let address =
                address.ok_or_else(|| missing(at, "address", "\"HOST:PORT\" of this member"))?;
            let announce = entry.announce.as_ref();
            Ok(Listed {
                id: id.get_ref().clone(),
                address: address.get_ref().clone(),
                announce: announce.map(|announce| announce.get_ref().clone()),
                is_witness: entry.witness,
                at: [id, address, announce.unwrap_or(address)].map(|text| text.span().start),
            })
        };
        let members = contents.member.iter().map(member).collect::<Result<_, _>>()?;
        let generation = contents.generation.as_ref().map_or(0, |it| *it.get_ref());
        Ok(Self { path: path.to_owned(), election, generation, members, document, contents })
    }

    /// Reads it again while its member runs.
    ///
    /// # Errors
    /// As [`read`](Self::read), and if it is no longer about the same cluster.
    pub(super) fn again(&self) -> Result<Self, ClusterFileError> {
        let again = Self::read(self.what(), &self.path)?;
        let lists_others = again.generation == self.generation && again.ids() != self.ids();
        let is_same = again.election == self.election
            && again.contents.tls.is_some() == self.contents.tls.is_some();
        if lists_others || !is_same { Err(self.of_others()) } else { Ok(again) }
    }

    /// It was written for another cluster than the running one.
    pub(super) fn of_others(&self) -> ClusterFileError {
        ClusterFileError(format!(
            "{}: it no longer describes the running cluster: another election, other members under the \
             same `generation`, or no section [tls]; correct it, or raise `generation` by one to add or \
             remove a member",
            self.what()
        ))
    }

    /// The ids of the members, in their order.
    pub(super) fn ids(&self) -> BTreeSet<&str> {
        self.members().map(|(id, _)| id).collect()
    }

    /// What errors call it.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.document.what
    }

    /// The ids of the members, in the file's order, with their addresses.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|member| (&*member.id, &*member.address))
    }

    /// Whether this member is a witness; `None` if there is no such member.
    #[must_use]
    pub fn is_witness(&self, id: &str) -> Option<bool> {
        self.members.iter().find(|member| member.id == id).map(|member| member.is_witness)
    }

    /// Whether there is a list of what is accepted of this member.
    #[must_use]
    pub fn lists(&self, member: &str) -> bool {
        let mut entries = self.contents.member.iter().zip(&self.members);
        entries.any(|(entry, known)| known.id == member && entry.get_ref().accepted.is_some())
    }

    /// The files of this member's certificate, if members have any.
    ///
    /// # Errors
    /// If one of them is not named.
    pub fn certificates(&self) -> Result<Option<Paths>, ClusterFileError> {
        let Some(tls) = &self.contents.tls else { return Ok(None) };
        tls.get_ref().paths(&self.path).map(Some).map_err(|(key, example)| {
            let why = format!("`{key}` is missing in [tls]; write {key} = {example}");
            self.document.wrong(tls.span().start, &why)
        })
    }
}
