//! A cluster of three members on the loopback interface, and the processes that take part in it.

use super::{
    job,
    process::eventually,
    world::{Candidate, Note, World},
};
use rustix::process::Signal;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// How long a silent member counts as alive; short, and long enough for a busy machine.
pub(crate) const DOWN_AFTER: Duration = Duration::from_secs(2);
pub(crate) const IDS: [&str; 3] = ["n1", "n2", "n3"];

/// The name of the election, of this process's own: the commands also look for members where those of
/// this machine's user answer, and one of these may have any other name.
pub(crate) static NAME: LazyLock<String> =
    LazyLock::new(|| format!("billing-{}", std::process::id()));

static CLUSTERS: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Members {
    pub(crate) world: World,
    addresses: Vec<String>,
    /// Each has a folder with its certificate and its own copy of the cluster's file.
    certified: bool,
}

impl Members {
    pub(crate) fn new() -> Self {
        Self::with("", ["", "", ""])
    }

    /// A cluster with more settings, and more of each member.
    pub(crate) fn with(settings: &str, more: [&str; 3]) -> Self {
        // An address of its own for every process that runs tests, and no port that the system
        // gives out: nobody else takes it while a member is away.
        let (own, nth) = (std::process::id(), CLUSTERS.fetch_add(1, Ordering::Relaxed));
        let [_, high, middle, low] = own.to_be_bytes();
        let host = format!("127.{}.{middle}.{low}", 1 + high % 250);
        let addresses = (1..=3).map(|place| format!("{host}:{}", 7_000 + 10 * nth + place));
        let members = Self::at(addresses.collect());
        members.write(settings, more);
        members
    }

    /// The members of a cluster that has no file yet.
    fn at(addresses: Vec<String>) -> Self {
        let members = Self { world: World::new(), addresses, certified: false };
        for directory in ["run", "state"] {
            fs::create_dir(members.world.path().join(directory)).expect("a directory");
        }
        members
    }

    /// A cluster whose files `election cluster init` has written, with a certificate for each member.
    pub(crate) fn certified() -> Self {
        let addresses = Self::new().addresses;
        Self::initialized(addresses)
    }

    /// The same at these addresses.
    pub(crate) fn initialized(addresses: Vec<String>) -> Self {
        let members = Self { certified: true, ..Self::at(addresses) };
        members.init(&[]);
        for node in IDS {
            members.edit(node, |text| text.replacen('\n', "\ndown_after = \"2s\"\n", 1));
        }
        members
    }

    /// `election cluster init` for all members, with these options.
    #[track_caller]
    pub(crate) fn init(&self, options: &[&str]) -> String {
        let mut init = self.bare(&["cluster", "init", "--election", &NAME]);
        for (id, address) in IDS.iter().zip(&self.addresses) {
            init.arg(format!("{id}={address}"));
        }
        said(&self.world.output(init.args(options)))
    }

    /// The folder of a member's certificate.
    pub(crate) fn folder(&self, node: &str) -> PathBuf {
        self.world.path().join(node)
    }

    /// Changes a member's own copy of the cluster's file.
    pub(crate) fn edit(&self, node: &str, change: impl FnOnce(String) -> String) {
        let path = self.file_of(node);
        let text = fs::read_to_string(&path).expect("a file of our own");
        replace(&path, &change(text));
    }

    /// The cluster's file as this member has it.
    pub(crate) fn file_of(&self, node: &str) -> PathBuf {
        if self.certified { self.folder(node).join("cluster.toml") } else { self.file() }
    }

    pub(crate) fn write(&self, settings: &str, more: [&str; 3]) {
        let mut text = format!("election = {:?}\ndown_after = \"2s\"\n{settings}\n", *NAME);
        for ((id, address), more) in IDS.iter().zip(&self.addresses).zip(more) {
            text += &format!("[[member]]\nid = \"{id}\"\naddress = \"{address}\"\n{more}\n");
        }
        fs::write(self.file(), text).expect("a file of our own");
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.world.path().join("cluster.toml")
    }

    pub(crate) fn address(&self, place: usize) -> &str {
        &self.addresses[place]
    }

    pub(crate) fn socket(&self, node: &str) -> PathBuf {
        self.world.path().join("run/election").join(format!("{}.{node}.sock", *NAME))
    }

    /// `election COMMAND ARGUMENTS`, with directories of the test's own.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.bare(arguments);
        command
            .env("XDG_STATE_HOME", self.world.path().join("state"))
            .env("XDG_RUNTIME_DIR", self.world.path().join("run"))
            .env_remove("STATE_DIRECTORY");
        command
    }

    /// `election COMMAND --cluster FILE --node NODE OPTIONS`.
    pub(crate) fn command(&self, command: &str, node: &str, options: &[&str]) -> Command {
        let mut process = self.bare(&[command, "--node", node]);
        process.arg("--cluster").arg(self.file_of(node)).args(options);
        process
    }

    pub(crate) fn run(&self, node: &str, options: &[&str], job: &str) -> Command {
        let mut command = self.command("run", node, options);
        command.arg("--").args(job::command_line()).env(job::WORDS, job);
        command
    }

    /// Starts a member whose job does what the words say.
    pub(crate) fn start(&self, node: &str, job: &str) -> Candidate {
        self.world.start(self.run(node, &[], job))
    }

    /// Starts all three.
    pub(crate) fn all(&self, job: &str) -> Vec<Candidate> {
        IDS.iter().map(|node| self.start(node, job)).collect()
    }

    /// Starts all three, and waits until all know who leads. The job of that member, and its place.
    pub(crate) fn led(&self) -> (Vec<Candidate>, Note, usize) {
        let all = self.all("");
        let job = self.world.start_after(0);
        let first = leads(&all, &job);
        IDS.iter().for_each(|node| self.settled(node));
        (all, job, first)
    }

    /// Starts all three, as a first start needs, and ends the last one. The job of whoever leads
    /// then.
    pub(crate) fn two(&self) -> (Vec<Candidate>, Note) {
        let mut all = self.all("");
        self.world.start_after(0);
        IDS.iter().for_each(|node| self.settled(node));
        let mut last = all.pop().expect("three members");
        last.send(Signal::TERM);
        last.exit();
        let mut epoch = 0;
        for node in ["n1", "n2"] {
            let status = self.until("n3 silent, and another leader", node, |status| {
                let leads = status["leader"] == "n1" || status["leader"] == "n2";
                leads && status["peers"][1]["refusal"] == "not heard"
            });
            epoch = status["epoch"].as_u64().expect("an epoch");
        }
        (all, self.world.start_after(epoch - 1))
    }

    /// Runs a command about a member to its end.
    pub(crate) fn ask(&self, command: &str, node: &str, options: &[&str]) -> Output {
        self.world.output(&mut self.command(command, node, options))
    }

    /// What a member says of itself, once it runs.
    #[track_caller]
    pub(crate) fn status(&self, node: &str) -> Value {
        eventually(&format!("a status of {node}"), || {
            let output = self.ask("status", node, &["--json"]);
            serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success())
        })
    }

    /// Waits until a member says so.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, node: &str, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{what}, from {node}"), || {
            Some(self.status(node)).filter(|status| holds(status))
        })
    }

    /// Waits until a member hears the other two and knows who leads.
    #[track_caller]
    pub(crate) fn settled(&self, node: &str) {
        self.until("two peers and a leader", node, |status| {
            let peers = status["peers"].as_array().expect("peers");
            let hears = |peer: &&Value| peer["heard"]["hears_me"] == true;
            status["leader"].is_string() && peers.iter().filter(hears).count() == 2
        });
    }
}

/// The place of the member whose job this is.
#[track_caller]
pub(crate) fn leads(all: &[Candidate], job: &Note) -> usize {
    all.iter().position(|each| each.pid() == job.elector).expect("one of the members")
}

/// Replaces a file as one is told to: by renaming another over it.
pub(crate) fn replace(path: &Path, text: &str) {
    let new = path.with_extension("replaces");
    fs::write(&new, text).and_then(|()| fs::rename(&new, path)).expect("a file of our own");
}

/// What a command that succeeded has said.
#[track_caller]
pub(crate) fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a command that failed has said.
#[track_caller]
pub(crate) fn refused(output: &Output, code: i32, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    for each in words {
        assert!(said.contains(each), "no {each:?} in {said}");
    }
}
