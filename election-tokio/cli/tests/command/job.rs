//! The job of these tests: this binary again, which knows when it is not alone.
//!
//! Its orders come in an environment variable, since the test harness takes no arguments of ours.
//! It holds a lock for as long as it lives. Failing to get the lock means that another job lives
//! too, and the job writes that into the log that all jobs share.

use rustix::{
    fs::{FlockOperation, flock},
    process::{Signal, getpid, kill_process},
};
use std::{
    env,
    fs::{File, OpenOptions},
    io::{BufRead as _, Write as _},
    os::unix::process::parent_id,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tokio::signal::unix::{SignalKind, signal};

/// What the job is to do: words from the list in [`run`].
pub(crate) const WORDS: &str = "TEST_JOB";
/// The directory of log and lock. It also marks every process that a test has started.
pub(crate) const PLACE: &str = "TEST_PLACE";

/// The command line that starts the job.
pub(crate) fn command_line() -> Vec<String> {
    let exe = env::current_exe().expect("this binary");
    let exe = exe.into_os_string().into_string().expect("a path in UTF-8");
    let harness = ["job::the_job", "--exact", "--nocapture", "--test-threads=1", "--quiet"];
    [exe].into_iter().chain(harness.map(str::to_owned)).collect()
}

/// As a job, the job; as a test, the test that the job notices when it is not alone.
#[test]
fn the_job() {
    if let Ok(words) = env::var(WORDS) {
        let place = env::var_os(PLACE).expect("a place");
        std::process::exit(run(&Job { place: place.into() }, &words));
    }
    let place = tempfile::tempdir().expect("a temporary directory");
    let start = || {
        let line = command_line();
        let mut job = Command::new(&line[0]);
        job.args(&line[1..]).env(WORDS, "").env(PLACE, place.path()).stdout(Stdio::null());
        job.spawn().expect("this binary can be started")
    };
    let log = || std::fs::read_to_string(log_in(place.path())).unwrap_or_default();
    let mut first = start();
    super::process::eventually("the first job", || log().starts_with("start").then_some(()));
    let second = start().wait();
    first.kill().and_then(|()| first.wait()).expect("a child of this process");
    assert!(!second.expect("a child of this process").success(), "{}", log());
    assert!(log().contains("OVERLAP"), "{}", log());
}

pub(crate) fn log_in(place: &Path) -> PathBuf {
    place.join("log")
}

struct Job {
    place: PathBuf,
}

impl Job {
    /// Writes `what`, the epoch, this process, its elector, the time since boot, and the rest.
    fn note(&self, what: &str, rest: &str) {
        let epoch = env::var("ELECTION_EPOCH").unwrap_or_else(|_| "0".to_owned());
        let now = election_tokio::now().as_nanos();
        let (own, elector) = (std::process::id(), elector());
        let line = format!("{what} {epoch} {own} {elector} {now} {rest}\n");
        let log = OpenOptions::new().create(true).append(true).open(log_in(&self.place));
        // One write of a short line to a file opened for appending does not mix with others.
        log.and_then(|mut log| log.write_all(line.as_bytes())).expect("a log that can be written");
    }

    /// Holds a lock for the rest of this process's life, if nobody else does.
    fn lock(&self, name: &str, patience: Duration) {
        let file = File::create(self.place.join(name)).expect("a lock file");
        let began = Instant::now();
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if began.elapsed() >= patience {
                self.note("OVERLAP", name);
                std::process::exit(99);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        std::mem::forget(file);
    }
}

/// The process above the guard, which is above the job.
fn elector() -> i32 {
    let parent = |pid: i32| super::process::stat(pid)?.get(1)?.parse().ok();
    i32::try_from(parent_id()).ok().and_then(parent).unwrap_or(0)
}

/// Does what the words say and returns the exit code.
fn run(job: &Job, words: &str) -> i32 {
    let has = |word: &str| words.split_whitespace().any(|each| each == word);
    let value = |key: &str| -> Option<i32> {
        let word = words.split_whitespace().find_map(|word| word.strip_prefix(key))?;
        Some(word.parse().expect("a number"))
    };
    if has("grandchild") {
        // The kernel may take a moment to bury a process that was killed and runs no more; only
        // the job itself is known to be buried before the next one starts.
        job.lock("grandchild.lock", Duration::from_secs(2));
        job.note("grandchild", "");
        loop {
            std::thread::park();
        }
    }
    job.lock("job.lock", Duration::ZERO);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut term = signal(SignalKind::terminate()).expect("a signal handler");
        for number in [1, 2, 3, 10, 12, 14, 28] {
            listen(job.place.clone(), number);
        }
        let variable = |name| env::var(name).unwrap_or_default();
        job.note(
            "start",
            &format!("{:?} {:?}", variable("ELECTION_NAME"), variable("ELECTION_NODE")),
        );
        if has("parent") {
            let line = command_line();
            let mut child = Command::new(&line[0]);
            child.args(&line[1..]).env(WORDS, "grandchild");
            std::mem::forget(child.spawn().expect("a child")); // nobody waits for it
        }
        if has("chatter") {
            std::thread::spawn(|| chatter(std::io::stdout()));
            std::thread::spawn(|| chatter(std::io::stderr()));
        }
        if has("read") {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).expect("a line");
            job.note("read", line.trim_end());
            return 0;
        }
        if let Some(code) = value("exit=") {
            return code;
        }
        if let Some(number) = value("die=") {
            let signal = Signal::from_named_raw(number).expect("a signal");
            kill_process(getpid(), signal).expect("this very process");
        }
        loop {
            term.recv().await;
            job.note("term", "");
            if !has("ignore-term") {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(
            value("slow=").unwrap_or(0).unsigned_abs().into(),
        ))
        .await;
        job.note("stop", "");
        value("code=").unwrap_or(0)
    })
}

/// Notes every signal of this number.
fn listen(place: PathBuf, number: i32) {
    let mut signals = signal(SignalKind::from_raw(number)).expect("a signal handler");
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            Job { place: place.clone() }.note("signal", &number.to_string());
        }
    });
}

/// Writes until nobody takes it any more.
fn chatter(mut to: impl std::io::Write) {
    while to.write_all(b"a job that talks and talks and talks\n").is_ok() {}
}

/// Whether a process carries the mark of this place.
pub(crate) fn is_of(pid: i32, place: &Path) -> bool {
    super::process::carries(pid, PLACE, &place.display().to_string())
}
