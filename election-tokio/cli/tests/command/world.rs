//! The world of one test: a directory, a database in it, and the processes it starts.

use super::{
    job,
    process::{self, eventually, send},
};
use election_tokio::{
    SqliteStore, StoreError,
    core::{Namespace, lease::Row},
};
use rustix::process::Signal;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};
use tempfile::TempDir;

pub(crate) struct World {
    place: TempDir,
    candidates: AtomicU32,
}

/// One line of the jobs' log.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) what: String,
    pub(crate) epoch: u64,
    pub(crate) pid: i32,
    /// The parent of the job's guard, unless the job was started by something in between.
    pub(crate) elector: i32,
    /// Nanoseconds since boot.
    pub(crate) at: u64,
    pub(crate) rest: String,
}

impl World {
    /// In memory where that is offered: a disk that others keep busy ends short leases, and
    /// these tests are about processes.
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let place = place.expect("a temporary directory");
        Self { place, candidates: AtomicU32::new(0) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// The database; its directory is its own, so that a test may remove it.
    pub(crate) fn database(&self) -> PathBuf {
        self.path().join("data").join("e.db")
    }

    pub(crate) fn url(&self) -> String {
        let directory = self.path().join("data");
        fs::create_dir_all(directory).expect("a directory of our own");
        format!("sqlite:{}", self.database().display())
    }

    /// The command with nothing but these arguments and the mark of this test.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_election"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ELECTION_") {
                command.env_remove(name);
            }
        }
        command.args(arguments).env(job::PLACE, self.path()).current_dir(self.path());
        command
    }

    /// `election COMMAND --store … ARGUMENTS`, in the default election unless they name another.
    pub(crate) fn election(&self, command: &str, arguments: &[&str]) -> Command {
        let url = self.url();
        let mut process = self.bare(&[command, "--store", &url]);
        process.args(arguments).env("ELECTION_NAME", "default");
        process
    }

    /// `election run --store … OPTIONS -- JOB`, for tests that change the environment further.
    pub(crate) fn run(&self, options: &[&str], job: &str) -> Command {
        let mut command = self.election("run", options);
        command.arg("--").args(job::command_line()).env(job::WORDS, job);
        command
    }

    /// Starts a candidate of this name, whose job does what the words say.
    pub(crate) fn candidate(&self, node: &str, options: &[&str], job: &str) -> Candidate {
        let options = [&["--node", node], options].concat();
        self.start(self.run(&options, job))
    }

    /// Starts a command whose words are kept, and its messages printed if the test fails.
    pub(crate) fn start(&self, command: Command) -> Candidate {
        self.start_with(command, Stdio::null())
    }

    /// The same with this standard input.
    pub(crate) fn start_with(&self, mut command: Command, input: Stdio) -> Candidate {
        let number = self.candidates.fetch_add(1, Ordering::Relaxed);
        let messages = self.path().join(format!("{number:03}.stderr"));
        let file = |path: &Path| File::create(path).expect("a file of our own");
        let printed = file(&messages.with_extension("stdout"));
        command.stdin(input).stdout(printed).stderr(file(&messages));
        Candidate { child: command.spawn().expect("the election command"), messages }
    }

    /// Runs a command to its end.
    pub(crate) fn output(&self, command: &mut Command) -> Output {
        let (out, err) = (self.path().join("out"), self.path().join("err"));
        let file = |path: &Path| File::create(path).expect("a file of our own");
        command.stdin(Stdio::null()).stdout(file(&out)).stderr(file(&err));
        let mut child = command.spawn().expect("the election command");
        let what = format!("the end of {command:?}");
        let status = eventually(&what, || child.try_wait().expect("our own child"));
        let read = |path: &Path| fs::read(path).expect("a file of our own");
        Output { status, stdout: read(&out), stderr: read(&err) }
    }

    pub(crate) fn log(&self) -> Vec<Note> {
        let text = fs::read_to_string(job::log_in(self.path())).unwrap_or_default();
        text.lines().map(note).collect()
    }

    /// All notes of one kind.
    pub(crate) fn notes(&self, what: &str) -> Vec<Note> {
        self.log().into_iter().filter(|note| note.what == what).collect()
    }

    /// The first job that starts under a later epoch.
    #[track_caller]
    pub(crate) fn start_after(&self, epoch: u64) -> Note {
        eventually(&format!("a job under an epoch after {epoch}"), || {
            self.notes("start").into_iter().find(|note| note.epoch > epoch)
        })
    }

    /// The first note of this kind.
    #[track_caller]
    pub(crate) fn first(&self, what: &str) -> Note {
        eventually(&format!("the note {what:?}"), || self.notes(what).into_iter().next())
    }

    /// Never two jobs at once, and never an epoch twice or out of order.
    #[track_caller]
    pub(crate) fn assert_exclusive(&self) {
        let log = self.log();
        assert!(log.iter().all(|note| note.what != "OVERLAP"), "two jobs at once: {log:#?}");
        let starts = self.notes("start");
        for pair in starts.windows(2) {
            assert!(pair[0].epoch < pair[1].epoch, "epochs that do not grow: {starts:#?}");
        }
    }

    /// The leader row, read past the command.
    pub(crate) fn try_row(&self) -> Result<Row, StoreError> {
        let mut store = SqliteStore::open(self.database())?;
        block_on(async { store.leader(&Namespace::default()).await })
    }

    #[track_caller]
    pub(crate) fn row(&self) -> Row {
        self.try_row().expect("a readable database")
    }

    /// Waits until a follower is on the list of candidates beside the leader.
    #[track_caller]
    pub(crate) fn listed(&self, count: usize) {
        eventually(&format!("{count} candidates on the list"), || {
            let mut store = SqliteStore::open(self.database()).ok()?;
            let list = block_on(async { store.list_candidates(&Namespace::default()).await });
            (list.ok()?.len() == count).then_some(())
        });
    }
}

/// A command started by another one, which executes what it is given.
pub(crate) fn below(mut outer: Command, inner: &Command) -> Command {
    outer.arg(inner.get_program()).args(inner.get_args());
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.current_dir(inner.get_current_dir().expect("a directory of the test's"));
    outer
}

/// Runs a future of the test's own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

fn note(line: &str) -> Note {
    let mut words = line.splitn(6, ' ');
    let mut word = || words.next().unwrap_or_default();
    let what = word().to_owned();
    let number = |text: &str| text.parse::<u64>().expect("a number in the log");
    let pid = |text: &str| text.parse::<i32>().expect("a process in the log");
    Note {
        what,
        epoch: number(word()),
        pid: pid(word()),
        elector: pid(word()),
        at: number(word()),
        rest: word().to_owned(),
    }
}

/// All processes that a test has started end with it, however it ends. Every such process carries
/// the name of the test's directory in its environment.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show();
        }
        for pid in process::every_pid() {
            if job::is_of(pid, self.path()) {
                send(pid, Signal::KILL);
            }
        }
    }
}

impl World {
    fn show(&self) {
        eprintln!("the jobs' log:\n{}", read(&job::log_in(self.path())));
        let Ok(files) = fs::read_dir(self.path()) else { return };
        let mut files: Vec<PathBuf> = files.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "stderr"));
        files.sort();
        for path in files {
            eprintln!("{}:\n{}", path.display(), read(&path));
        }
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// An `election run`.
pub(crate) struct Candidate {
    child: Child,
    messages: PathBuf,
}

impl Candidate {
    /// Starts a command whose messages go elsewhere.
    pub(crate) fn of(mut command: Command) -> Self {
        let child = command.spawn().expect("the election command");
        Self { child, messages: PathBuf::new() }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process id")
    }

    pub(crate) fn send(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Its standard input, if it is a pipe. Dropping it closes the pipe.
    pub(crate) fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("a pipe that was not taken yet")
    }

    /// Kills the elector, and nothing else, and waits for its end.
    pub(crate) fn kill(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("our own child");
    }

    /// Waits for its end; its exit code, or none if a signal has ended it.
    #[track_caller]
    pub(crate) fn exit(&mut self) -> Option<i32> {
        let status = eventually(&format!("the end of {}", self.pid()), || {
            self.child.try_wait().expect("our own child")
        });
        status.code()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn messages(&self) -> String {
        read(&self.messages)
    }

    pub(crate) fn printed(&self) -> String {
        read(&self.messages.with_extension("stdout"))
    }

    /// The whole lines that it has printed, once these words are among them.
    #[track_caller]
    pub(crate) fn prints(&self, words: &str) -> String {
        eventually(&format!("{words:?} in what it prints"), || {
            Some(self.printed()).filter(|text| text.ends_with('\n') && text.contains(words))
        })
    }

    #[track_caller]
    pub(crate) fn says(&self, words: &str) {
        eventually(&format!("{words:?} among the messages"), || {
            self.messages().contains(words).then_some(())
        });
    }

    #[track_caller]
    pub(crate) fn guard(&self) -> i32 {
        eventually("a guard", || process::guard_of(self.pid()))
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        if self.is_running() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
