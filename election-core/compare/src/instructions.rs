//! Instructions and memory accesses instead of nanoseconds: the same on every machine of one
//! architecture, however busy it is.
//!
//! This program runs itself under `callgrind`, which begins to count where a measurement begins
//! (`section` in `watch`), and writes a file where it ends. The order of these files is that of the
//! rows, and in each row that of the contenders. So all contenders are counted in one run, in the
//! work that is otherwise timed.

use crate::table::{Counts, Row};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{self, Command},
};

/// How often each operation is performed. The last time counts: then everything is allocated.
const PLAYS: usize = 3;

/// The option that makes this program the one that is counted.
pub(crate) const COUNTED: &str = "--counted";

/// Performs each operation, to be counted from outside, and says how much it was.
pub(crate) fn perform<const N: usize>(columns: [Vec<Row>; N]) {
    let count = columns[0].len();
    let mut columns = columns.map(Vec::into_iter);
    for _ in 0..count {
        for mut row in columns.iter_mut().filter_map(Iterator::next) {
            match row.perform(PLAYS) {
                Some((operations, frames)) => println!("{operations} {frames}"),
                None => println!("-"),
            }
        }
    }
}

/// The counts of each operation in the order in which it is performed; `None` where a contender has
/// no such operation, or it is not selected.
///
/// # Errors
/// If valgrind is not installed or counts something else.
pub(crate) fn counted(selected: &[String]) -> io::Result<Vec<Option<Counts>>> {
    let files = env::temp_dir().join(format!("election-core-compare.{}", process::id()));
    fs::create_dir_all(&files)?;
    let counts = run(selected, &files);
    fs::remove_dir_all(&files)?;
    counts
}

fn run(selected: &[String], files: &Path) -> io::Result<Vec<Option<Counts>>> {
    let out = files.join("out");
    // Two patterns for one function: callgrind remembers one option for each.
    let (begins, ends) = ("*watch::section*", "*::watch::section*");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--cache-sim=yes"])
        .arg(format!("--zero-before={begins}"))
        .arg(format!("--dump-after={ends}"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe()?)
        .arg(COUNTED)
        .args(selected)
        .stderr(process::Stdio::inherit())
        .output()
        .map_err(|error| io::Error::other(format!("valgrind cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(io::Error::other(format!("valgrind ended with {}", output.status)));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let mut dump = 0;
    said.lines()
        .map(|line| {
            let Some((operations, frames)) = line.split_once(' ') else { return Ok(None) };
            dump += PLAYS;
            let totals = totals(&out.with_extension(dump.to_string()))?;
            let number = |text: &str| text.parse::<f64>().map_err(io::Error::other);
            Ok(Some(totals.each_of(number(operations)?, number(frames)?)))
        })
        .collect()
}

/// What one file of callgrind counts in all.
fn totals(file: &PathBuf) -> io::Result<Counts> {
    let text = fs::read_to_string(file)?;
    let line = |start: &str| text.lines().rev().find_map(|line| line.strip_prefix(start));
    let events = line("events: ").unwrap_or_default().split_whitespace();
    let totals = line("totals: ").unwrap_or_default().split_whitespace();
    let count = |wanted: &str| {
        let found = events.clone().zip(totals.clone()).find(|(event, _)| *event == wanted);
        found.and_then(|(_, total)| total.parse().ok())
    };
    let counts = count("Ir").zip(count("Dr")).zip(count("Dw"));
    let ((instructions, reads), writes) =
        counts.ok_or_else(|| io::Error::other(format!("{} counts nothing", file.display())))?;
    Ok(Counts { instructions, reads, writes, frames: 0.0 })
}
