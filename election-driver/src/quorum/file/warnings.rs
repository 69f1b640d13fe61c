//! What works as the cluster's file says it, but hardly as it is meant.

use super::contents::{ClusterFile, Entry};
use std::{
    net::{IpAddr, SocketAddr},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

impl ClusterFile {
    /// One sentence for each, with the remedy.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let unspecified = self.members().filter(|(_, address)| is_unspecified(address));
        let unspecified = unspecified.map(|(id, address)| {
            format!(
                "{id} is at {address}, which every machine takes for itself: write the address at \
                 which the others reach {id}, and where it listens with --listen (`listen` in a program)"
            )
        });
        let lists = self.contents.member.iter().zip(self.members());
        let is_empty = |entry: &Entry| entry.accepted.as_ref().is_some_and(Vec::is_empty);
        let empty = lists.filter(|(entry, _)| is_empty(entry.get_ref())).map(|(_, (id, _))| {
            format!(
                "the list of accepted certificates of {id} is empty, so nobody is accepted as \
                 {id}: add the fingerprint of its certificate, or remove the list"
            )
        });
        let paths = self.certificates().ok().flatten();
        let readable = paths.and_then(|paths| readable(&paths.key));
        unspecified.chain(empty).chain(readable).collect()
    }
}

/// Whether an address means all of a machine's own, as `0.0.0.0` does.
#[must_use]
pub fn is_unspecified(address: &str) -> bool {
    let parsed = address.parse::<SocketAddr>().map(|address| address.ip());
    parsed.is_ok_and(|number: IpAddr| number.to_canonical().is_unspecified())
}

/// A key that others can read.
fn readable(key: &Path) -> Option<String> {
    let mode = std::fs::metadata(key).ok()?.permissions().mode() & 0o077;
    (mode != 0).then(|| {
        let key = key.display();
        format!(
            "other users can read or write the key {key}: chmod 600 {key}, and renew it if \
             somebody may have read it"
        )
    })
}
