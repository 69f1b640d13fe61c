//! The file that lists the members of a cluster, as the command names it, and which of them is meant.

use super::place::Spot;
use crate::{exit::Failed, line};
use election_driver::file::ClusterFile;
use std::{ops::Deref, path::Path};

/// A cluster as its file describes it.
pub(crate) struct File(ClusterFile);

impl Deref for File {
    type Target = ClusterFile;
    fn deref(&self) -> &ClusterFile {
        &self.0
    }
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
        let file = ClusterFile::read(&format!("{flag} {}", path.display()), path)?;
        line::name_election(&*file.election);
        Ok(Self(file))
    }

    /// Checks that there is a member of this name; returns whether it is a witness.
    ///
    /// # Errors
    /// If no node is named, or the file does not list it.
    pub(crate) fn is_witness(&self, node: Option<&str>) -> Result<bool, Failed> {
        let what = self.what();
        let ids: Vec<_> = self.ids().collect();
        let ids = ids.join(", ");
        let Some(node) = node else {
            return Err(Failed::new(format!(
                "which member of the cluster? Name it with --node, or set ELECTION_NODE; {what} \
                 lists {ids}"
            ))
            .lacking(&["--node"]));
        };
        ClusterFile::is_witness(self, node).ok_or_else(|| {
            if node.is_empty() {
                return Failed::new(format!(
                    "the name of the member is empty: name one of {ids} (--node, ELECTION_NODE); \
                     {what} lists them"
                ));
            }
            // As a variable may have it that was set with quotes in an environment file.
            let bare = node.trim().trim_matches(['"', '\'']);
            if self.ids().any(|id| id == bare) {
                return Failed::new(format!(
                    "{what}: the name {node:?} has quotes or spaces around it, but {bare} is listed \
                     without; remove them (--node, ELECTION_NODE)"
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
        let is_here = |id: &&str| {
            let spots = Spot::all(socket, &self.election, id).unwrap_or_default();
            spots.iter().any(Spot::is_answered)
        };
        let here = || self.ids().filter(is_here);
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
        // One that was removed answers until it is stopped.
        if is_here(&node) {
            return Ok(node.to_owned());
        }
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
        let spots = |id| Spot::all(None, &self.election, id);
        let answers = |id| spots(id).is_ok_and(|spots| spots.iter().any(Spot::is_answered));
        if !self.ids().any(answers) {
            return Err(self.silent(None));
        }
        Ok(self.ids().map(str::to_owned).collect())
    }

    /// Nobody has this id.
    pub(crate) fn unknown(&self, id: &str) -> Failed {
        let ids = self.ids().collect::<Vec<_>>().join(", ");
        Failed::new(format!("{}: {id:?} is not a member; name one of {ids}", self.what()))
    }

    /// None was named and none answers.
    fn silent(&self, socket: Option<&Path>) -> Failed {
        let tried = |id| {
            let spots = Spot::all(None, &self.election, id).unwrap_or_default();
            spots.iter().map(|spot| spot.path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let tried = match socket {
            Some(socket) => socket.display().to_string(),
            None => self.ids().map(tried).collect::<Vec<_>>().join(", "),
        };
        let node = self.ids().next().unwrap_or_default();
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

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.members().map(|(id, _)| id)
    }
}
