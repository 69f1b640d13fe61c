//! The report of a failing run: the violation, the commands that play it again, the smallest
//! schedule that still fails, a picture, and what happened last.

use crate::{
    cargo,
    outcome::Outcome,
    panics,
    schedule::Schedule,
    scn::{NEEDS_APP, Scn, transcript},
    seed::Seed,
    shrink::shrink,
    simulator::Violation,
    story::{Story, brief},
    svg::html,
    timeline::timeline,
    trace::{ENDED, Line},
    workload::Workload,
};
use std::{
    collections::BTreeSet,
    fmt,
    fs::{create_dir_all, write},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A failing seed, explained.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of the test or command.
    pub name: String,
    /// The seed.
    pub seed: Seed,
    /// The violation.
    pub violation: Violation,
    /// The shrunk schedule with its transcript.
    pub scn: Scn,
    /// The violation of the shrunk schedule.
    pub shrunk: Violation,
    /// The picture of the shrunk run.
    pub picture: String,
    /// What happened last in the shrunk run, in words.
    pub story: String,
    /// The command that plays the seed again.
    pub command: String,
    /// The command that plays the file again, once it is written.
    pub replay: Option<String>,
    /// The file to which the schedule was written, or from which it was read.
    pub path: Option<PathBuf>,
    /// The file to which the picture was written, as a page.
    pub page: Option<PathBuf>,
    source: Source,
    /// The picture of the shrunk run, as a page.
    drawn: String,
}

/// Where the schedule of a report is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A seed, of which nothing smaller fails in the same way every time.
    Seed,
    /// A seed, and it was shrunk.
    Shrunk,
    /// A file.
    File,
}

/// How long shrinking may take.
const PATIENCE: Duration = Duration::from_secs(10);
const WIDTH: usize = 72;
/// This many rows of what happened last.
const ROWS: usize = 24;

/// What a schedule's settings mean.
const SETTINGS: &[(&str, &str)] = &[
    ("elections", "the nodes take part in so many, over shared connections; one is shown."),
    ("latency", "how long what is sent travels."),
    ("commit", "how long the database takes to execute a statement."),
    ("stop", "how long work takes to stop after a loss."),
    ("act", "how long a write of the app travels to the resource."),
    ("lock-timeout", "how long the database waits for a lock."),
    ("heal", "all faults end then, and these nodes must have a leader again in time."),
];

impl Report {
    /// Shrinks and explains a failure.
    #[must_use]
    pub fn new(
        name: &str,
        seed: u64,
        schedule: &Schedule,
        workload: &Arc<Workload>,
        violation: Violation,
    ) -> Self {
        let small = panics::quietly(|| shrink(schedule, workload, &violation.check, PATIENCE));
        let (source, small, shrunk) = match small {
            Some(small) => (Source::Shrunk, small.schedule, small.violation),
            None => (Source::Seed, schedule.clone(), violation.clone()),
        };
        let mut scn = Scn::new(small);
        let from = if source == Source::Shrunk { "Shrunk from seed" } else { "Seed" };
        scn.head = vec![format!("{from} {} of {name}.", Seed(seed))];
        if workload.runs_code() {
            scn.head.push(NEEDS_APP.to_owned());
        }
        scn.full = true;
        let mut report = Self::of(name, scn, shrunk);
        (report.seed, report.violation, report.source) = (Seed(seed), violation, source);
        report.command = format!("ELECTION_SIM_SEED={} {}", Seed(seed), cargo::test_command(name));
        match panics::quietly(|| report.scn.schedule.narrate(workload)) {
            Ok((outcome, lines)) => {
                report.scn.transcript = Some(transcript(&outcome, &lines, true));
                report.draw(&outcome, &lines);
            }
            Err(why) => report.picture = why.to_string(),
        }
        report
    }

    /// Explains the failure of a schedule that was read from a file.
    pub(crate) fn of_file(
        name: &str,
        (scn, path): (Scn, PathBuf),
        violation: Violation,
        (outcome, lines): (&Outcome, &[Line]),
    ) -> Self {
        let mut report = Self::of(name, scn, violation);
        report.draw(outcome, lines);
        report.replay = Some(replay_command(&path, name));
        report.path = Some(path);
        report
    }

    fn of(name: &str, scn: Scn, violation: Violation) -> Self {
        Self {
            name: name.to_owned(),
            seed: Seed(scn.schedule.seed),
            violation: violation.clone(),
            scn,
            shrunk: violation,
            picture: String::new(),
            story: String::new(),
            command: String::new(),
            replay: None,
            path: None,
            page: None,
            source: Source::File,
            drawn: String::new(),
        }
    }

    fn draw(&mut self, outcome: &Outcome, lines: &[Line]) {
        self.picture = timeline(&self.scn.schedule, lines, outcome.length, WIDTH);
        self.story = Story::of(&brief(lines), ROWS).told(outcome);
        let mut ends = lines.iter().filter_map(|line| line.text.strip_prefix(ENDED));
        if let Some(last) = ends.next_back() {
            let times = ends.count() + 1;
            self.story +=
                &format!("\nends of the service by itself: {times}, the last with {last}\n");
        }
        self.drawn = html(&self.scn.schedule, outcome, lines);
    }

    /// Writes the shrunk schedule and the page with its picture into `directory`.
    ///
    /// # Errors
    /// If a file cannot be written; the error names it.
    pub fn save(&mut self, directory: &Path) -> io::Result<()> {
        let file = directory.join(format!("{}-{}.scn", named(&self.name), self.seed));
        put(&file, &self.scn.to_string())?;
        self.replay = Some(replay_command(&file, &self.name));
        let page = file.with_extension("html");
        self.path = Some(file);
        self.save_page(page)
    }

    /// Writes only the page.
    pub(crate) fn save_page(&mut self, page: PathBuf) -> io::Result<()> {
        put(&page, &self.drawn)?;
        self.page = Some(page);
        Ok(())
    }
}

/// The files of a simulation of this name: after the test that runs it, too, for several tests may use
/// one name.
pub(crate) fn named(name: &str) -> String {
    let name = file_name(name);
    match cargo::running_test().map(|test| file_name(&test)) {
        Some(test) if test.ends_with(&name) => test,
        Some(test) => format!("{test}-{name}"),
        None => name,
    }
}

/// The name with nothing in it that a file's name may not have.
pub(crate) fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Writes a file, in a directory that need not exist.
pub(crate) fn put(file: &Path, text: &str) -> io::Result<()> {
    let made = file.parent().map_or(Ok(()), create_dir_all);
    made.and_then(|()| write(file, text)).map_err(|why| {
        io::Error::new(why.kind(), format!("{} cannot be written: {why}", file.display()))
    })
}

/// What the words of a schedule mean, as far as it uses them.
fn explained(schedule: &Schedule) -> Vec<(&'static str, &'static str)> {
    let text = schedule.to_string();
    let begins = |word: &str| text.lines().any(|line| line.split(' ').next() == Some(word));
    let mut all: Vec<_> = SETTINGS.iter().copied().filter(|(word, _)| begins(word)).collect();
    let names: BTreeSet<_> = schedule.faults.iter().map(|fault| fault.kind.fault_name()).collect();
    all.extend(names.into_iter().map(|name| (name.as_str(), name.explained().trim())));
    all
}

fn replay_command(file: &Path, name: &str) -> String {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let file = cargo::quoted(&file.to_string_lossy());
    format!("ELECTION_SIM_SCN={file} {}", cargo::test_command(name))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) if self.source == Source::File => {
                writeln!(f, "{}: {}\n", path.display(), self.violation)?;
            }
            _ => {
                writeln!(f, "seed {}: {}\n", self.seed, self.violation)?;
                writeln!(f, "play it again:  {}", self.command)?;
            }
        }
        if let Some(replay) = &self.replay {
            let what = match self.source {
                Source::File => "play it again:",
                Source::Shrunk => "shrunk:",
                Source::Seed => "its schedule:",
            };
            writeln!(f, "{what:<15} {replay}")?;
        }
        if let Some(page) = &self.page {
            writeln!(f, "the picture:    {}", cargo::url(page))?;
        }
        if self.source == Source::Shrunk {
            let faults = match self.scn.schedule.faults.len() {
                0 => "no fault".to_owned(),
                1 => "one fault".to_owned(),
                faults => format!("{faults} faults"),
            };
            writeln!(f, "\nshrunk to {faults}: {}", self.shrunk)?;
        }
        writeln!(f, "\n{}", self.scn.schedule)?;
        for (word, meaning) in explained(&self.scn.schedule) {
            writeln!(f, "{word:>12}: {meaning}")?;
        }
        writeln!(f)?;
        writeln!(f, "{}", self.picture)?;
        f.write_str(&self.story)
    }
}
