//! What is rewritten, and what is built and run to judge it: the core, or the driver.

/// A crate to rewrite, with the crates that its checks need.
pub(crate) struct Subject {
    /// The crates that the copy consists of.
    pub(crate) crates: &'static [&'static str],
    /// The crate that is rewritten.
    pub(crate) rewritten: &'static str,
    /// What goes before the name of a file in the lists.
    pub(crate) prefix: &'static str,
    /// Where the copy lies, in the target directory.
    pub(crate) copy: &'static str,
    /// The files and folders of the source that are rewritten, and what is left out of them.
    files: &'static [&'static str],
    aside: &'static [&'static str],
    /// What the rewritten crate's root lacks of what replacements name.
    pub(crate) root: &'static str,
    /// The arguments that build the tests.
    pub(crate) tests: &'static [&'static str],
    /// How much the copy is optimized: what takes long to run, or what takes long to build.
    pub(crate) level: u8,
    /// Seconds after which a process is killed that does not come to its end.
    pub(crate) longest: u32,
}

/// Both protocols, and the ground of both.
pub(crate) const CORE: Subject = Subject {
    crates: &["election-core", "election-driver", "election-sim"],
    rewritten: "election-core",
    prefix: "",
    copy: "mutants",
    files: &[
        "lease/",
        "quorum/",
        "register/",
        "alert.rs",
        "change.rs",
        "name.rs",
        "protocol.rs",
        "random.rs",
        "term.rs",
        "time.rs",
    ],
    // These serve the model checker, and the third are tests. How lists of members change is held by
    // steps and random walks only, until the simulator edits lists, too.
    aside: &[
        "lease/canonical.rs",
        "quorum/canonical.rs",
        "register/tests.rs",
        "quorum/membership.rs",
        "quorum/places.rs",
        "quorum/rules/membership.rs",
        "quorum/state/lists.rs",
    ],
    root: "",
    // The tests that judge what the core does.
    tests: &[
        "--package=election-core",
        "--all-features",
        "--lib",
        "--test=lease",
        "--test=quorum",
        "--test=wire",
        "--test=record",
    ],
    level: 2,
    longest: 60,
};

/// What of the driver decides whether work may run, what a node keeps of its votes, and how it
/// reaches the others. Its tests are those in virtual time, with stores and networks in memory. A
/// wake-up that is lost shows only in that nothing happens.
pub(crate) const DRIVER: Subject = Subject {
    crates: &["election-core", "election-driver"],
    rewritten: "election-driver",
    prefix: "driver/",
    copy: "mutants-driver",
    files: &[
        "changes.rs",
        "clock.rs",
        "clock/",
        "driver.rs",
        "fence.rs",
        "handle.rs",
        "inbox.rs",
        "lease.rs",
        "outage.rs",
        "quorum/ballot.rs",
        "quorum/inbound.rs",
        "quorum/connect.rs",
        "quorum/handshake.rs",
        "quorum/node_state.rs",
        "quorum/ballot_writer.rs",
        "quorum/link.rs",
        "quorum/lookup.rs",
        "quorum/node.rs",
        "quorum/start.rs",
        "shared.rs",
        "timer.rs",
        "watch.rs",
        "work.rs",
    ],
    aside: &["clock/tests.rs"],
    root: "#[allow(unused_imports)]\nuse election_core::{Epoch, Timestamp};\n",
    tests: &["--package=election-driver", "--features=tls", "--lib", "--test=promises"],
    level: 0,
    longest: 15,
};

impl Subject {
    /// Whether a file of the crate's source is rewritten.
    pub(crate) fn takes(&self, inner: &str) -> bool {
        let is_named =
            |name: &&str| *name == inner || name.ends_with('/') && inner.starts_with(*name);
        inner.ends_with(".rs") && self.files.iter().any(is_named) && !self.aside.contains(&inner)
    }

    /// Whether a mutant with this key is one of this subject.
    pub(crate) fn is_about(&self, key: &str) -> bool {
        key.starts_with("driver/") == (self.prefix == "driver/")
    }
}
