//! The folders of members that have certificates.

use crate::{checker::Tenure, cluster::Nodes};
use election_driver::{
    conformance::certificates::{Authority, Pair},
    tls::{Credentials, Tls},
};
use election_testing::process::eventually;
use std::{
    fs,
    path::{Path, PathBuf},
};

const AUTHORITY: &str = "authority.pem";
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";
/// As long as there is a pipe of this name, nothing is read.
const HANGS: &str = "hangs";

/// Where a node in a process of its own has its credentials.
pub(crate) fn in_folder(folder: &Path) -> Tls {
    let folder = folder.to_owned();
    Tls::source(move || {
        // Whoever opens a pipe waits for its other end.
        let _ = fs::read(folder.join(HANGS));
        let [authority, certificate, key] = [AUTHORITY, CERTIFICATE, KEY].map(|it| folder.join(it));
        Credentials::from_files(&authority, &certificate, &key)
    })
}

/// The folder of a member's credentials.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn of(nodes: &Nodes, node: usize) -> Self {
        let path = nodes.path().join(format!("certificate-n{}", node + 1));
        fs::create_dir_all(&path).expect("a folder of our own");
        Self(path)
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.0.join(KEY)
    }

    pub(crate) fn hangs(&self) -> PathBuf {
        self.0.join(HANGS)
    }

    /// Replaces the certificate and its key.
    pub(crate) fn put(&self, pair: &Pair) {
        self.replace(KEY, &pair.key);
        self.replace(CERTIFICATE, &pair.certificate);
    }

    /// Replaces whom it trusts.
    pub(crate) fn trust(&self, authorities: &[&Authority]) {
        let all: String = authorities.iter().map(|authority| &*authority.pem).collect();
        self.replace(AUTHORITY, &all);
    }

    /// As one is told to: by renaming another file over it.
    fn replace(&self, name: &str, text: &str) {
        let new = self.0.join(format!("{name}.new"));
        fs::write(&new, text).expect("a file of our own");
        fs::rename(&new, self.0.join(name)).expect("a file of our own");
    }
}

impl Nodes {
    /// Gives a node a certificate, from its next start on.
    pub(crate) fn certify(&mut self, node: usize, authority: &Authority) -> Folder {
        let folder = Folder::of(self, node);
        folder.trust(&[authority]);
        folder.put(&authority.member(node));
        self.set_certificate(node, Some(folder.0.clone()));
        folder
    }

    /// A cluster that was not started, whose members all have certificates.
    pub(crate) fn certified(count: usize, authority: &Authority) -> (Self, Vec<Folder>) {
        let mut nodes = Self::new(count);
        let folders = (0..count).map(|node| nodes.certify(node, authority)).collect();
        (nodes, folders)
    }

    /// The same, started, and who leads it.
    pub(crate) fn secured(count: usize, authority: &Authority) -> (Self, Vec<Folder>, Tenure) {
        let (mut nodes, folders) = Self::certified(count, authority);
        (0..count).for_each(|node| nodes.start(node));
        let leader = nodes.leader_after(0);
        nodes.all_follow(&leader);
        (nodes, folders, leader)
    }

    /// Nobody else has led, and the first leader goes on.
    #[track_caller]
    pub(crate) fn still_leads(&self, leader: &Tenure) {
        let before = self.tenures();
        let last = before.last().expect("a leader").last;
        eventually("another act", || {
            self.tenures().last().filter(|tenure| tenure.last > last).map(drop)
        });
        let tenures = self.tenures();
        assert_eq!(tenures.len(), 1, "leadership moved: {tenures:?}");
        assert_eq!((&tenures[0].node, tenures[0].epoch), (&leader.node, leader.epoch));
        self.check();
    }
}
