//! The place in a cluster's file that an error is about.

use super::{
    contents::{ClusterFile, Contents, Listed},
    document::Time,
    error::ClusterFileError,
};
use crate::quorum::cluster::ClusterError;
use election_core::quorum::ConfigError;
use toml::Spanned;

impl ClusterFile {
    /// An error of a member that this file describes, by its place; unless it is about what no file
    /// says.
    pub(in crate::quorum) fn explained(&self, node: &str, error: ClusterError) -> ClusterError {
        match &error {
            ClusterError::NoNode
            | ClusterError::NoBallot
            | ClusterError::NoPosition
            | ClusterError::Ballot { .. }
            | ClusterError::Config(ConfigError::GraceTooLong { .. }) => error,
            ClusterError::Address { what, .. } if what.starts_with("address to listen") => error,
            _ => ClusterError::InFile(self.refused(node, &error)),
        }
    }

    /// What is wrong with the cluster, at the place in the file that says so.
    pub(super) fn refused(&self, node: &str, error: &ClusterError) -> ClusterFileError {
        let why = spelled(error);
        match self.place(node, error) {
            Some(at) => self.document.wrong(at, &why),
            None => ClusterFileError(format!("{}: {why}", self.what())),
        }
    }

    /// The place in the file that an error is about.
    fn place(&self, node: &str, error: &ClusterError) -> Option<usize> {
        let last = |id: &str| self.members.iter().rfind(|member| member.id == id);
        let id = |id: &str| last(id).map(|member| member.at[0]);
        let span = |time: &Option<Spanned<Time>>| time.as_ref().map(|time| time.span().start);
        let Contents { down_after, preferred, fail_back, min_epoch, shards, .. } = &self.contents;
        match error {
            ClusterError::SameAddress { other, .. } => last(other).map(|member| member.at[1]),
            ClusterError::Exposed { member, address } => {
                last(member).filter(|it| it.address == *address).map(|member| member.at[1])
            }
            ClusterError::Address { address, .. } => {
                let same = |member: &&Listed| member.address == *address;
                self.members.iter().find(same).map(|member| member.at[1])
            }
            ClusterError::Name { what, .. } => {
                let named = |member: &&Listed| *what == format!("member {:?}", member.id);
                let prefers =
                    || preferred.as_ref().filter(|_| what.starts_with("preferred primary"));
                // The program may announce something else.
                let says = |it: &&Listed| {
                    let announced = it.announce.as_ref().unwrap_or(&it.address);
                    *what == format!("address to announce, {announced:?}")
                };
                let at = self.members.iter().find(named).map(|member| member.at[0]);
                let at = at.or_else(|| last(node).filter(says).map(|member| member.at[2]));
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
                ConfigError::NotAMember(id) | ConfigError::WitnessPreferred(id) => preferred
                    .as_ref()
                    .filter(|it| it.get_ref() == id.as_str())
                    .map(|it| it.span().start),
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
#[must_use]
pub fn spelled(error: &ClusterError) -> String {
    error.to_string().replace("down_after", "down-after").replace("fail_back", "fail-back")
}
