//! The history: what leaders wrote while they led, the faults they met, and what they left behind.
//!
//! Every leader appends lines to one file, so the order of the file is an order in time that
//! depends on no clock. The clock in each line is the machine's own since boot, which is the same
//! for all processes and goes on while a process stands still.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    path::Path,
    time::Duration,
};

/// A line of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first line of a job.
    Start,
    /// The job lives.
    Beat,
    /// Something that the job has started lives.
    Child,
    /// The job was told to end.
    Told,
    /// The last line of a job that ends by itself.
    End,
    /// The database has seen a write of a higher epoch than the job's.
    Refused,
    /// An elector of the library believed, after it had read the clock of this line.
    Lead,
}

const WORDS: [(Kind, &str); 7] = [
    (Kind::Start, "start"),
    (Kind::Beat, "beat"),
    (Kind::Child, "child"),
    (Kind::Told, "told"),
    (Kind::End, "end"),
    (Kind::Refused, "refused"),
    (Kind::Lead, "lead"),
];

/// One line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) kind: Kind,
    /// The number of the election.
    pub(crate) election: usize,
    pub(crate) epoch: u64,
    pub(crate) node: usize,
    /// The number of the elector's process among all that were ever started.
    pub(crate) life: usize,
    pub(crate) pid: i32,
    /// Nanoseconds since boot.
    pub(crate) at: u64,
}

impl Line {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let word = words.next()?;
        let kind = WORDS.iter().find(|(_, each)| *each == word)?.0;
        let election = words.next()?.parse().ok()?;
        let epoch = words.next()?.parse().ok()?;
        let node = words.next()?.parse().ok()?;
        let life = words.next()?.parse().ok()?;
        let pid = words.next()?.parse().ok()?;
        Some(Self { kind, election, epoch, node, life, pid, at: words.next()?.parse().ok()? })
    }
}

/// The end of the file at which one leader writes.
pub(crate) struct Pen {
    file: File,
    node: usize,
    life: usize,
}

impl Pen {
    pub(crate) fn at(file: &Path, node: usize, life: usize) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(file);
        Self { file: file.expect("a journal that can be written"), node, life }
    }

    /// About the election that commands take part in.
    pub(crate) fn write(&mut self, kind: Kind, epoch: u64, at: u64) {
        self.write_of(0, kind, epoch, at);
    }

    /// One write of a short line to a file opened for appending does not mix with others.
    pub(crate) fn write_of(&mut self, election: usize, kind: Kind, epoch: u64, at: u64) {
        let word = WORDS.iter().find(|(each, _)| *each == kind).map_or("", |(_, word)| word);
        let (node, life, pid) = (self.node, self.life, std::process::id());
        let line = format!("{word} {election} {epoch} {node} {life} {pid} {at}\n");
        self.file.write_all(line.as_bytes()).expect("a journal that can be written");
    }
}

/// The end at which it is read while it grows.
pub(crate) struct Tail {
    file: File,
    rest: Vec<u8>,
    pub(crate) lines: Vec<Line>,
}

impl Tail {
    pub(crate) fn of(file: &Path) -> Self {
        drop(Pen::at(file, 0, 0));
        let file = File::open(file).expect("a journal of our own");
        Self { file, rest: Vec::new(), lines: Vec::new() }
    }

    /// Reads what is new.
    pub(crate) fn read(&mut self) {
        self.file.read_to_end(&mut self.rest).expect("a journal of our own");
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let text = String::from_utf8(whole).expect("lines of our own");
        let line = |text| Line::parse(text).unwrap_or_else(|| panic!("no line of ours: {text}"));
        self.lines.extend(text.lines().map(line));
    }
}

/// How long a fault lasted, in nanoseconds since boot.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) fault: &'static str,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// What is outside of the contract for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waives {
    /// A leader that begins in this time may find another that has not noticed yet.
    Exclusion,
    /// Its epoch may be no higher than one that the database has forgotten.
    Order,
    /// What this elector's process has started may live on although its lease is over.
    Life(usize),
}

/// A time in which something is outside of the contract.
#[derive(Clone, Debug)]
pub(crate) struct Excuse {
    pub(crate) waives: Waives,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// When a node was seen to lead: a process that lives on without a lease does not count.
pub(crate) fn signs(lines: &[Line], excuses: &[Excuse]) -> Vec<u64> {
    let mut begun: BTreeMap<u64, u64> = BTreeMap::new();
    for line in lines {
        let at = begun.entry(line.epoch).or_insert(line.at);
        *at = line.at.min(*at);
    }
    let forsaken = |line: &&Line| {
        excuses.iter().any(|excuse| {
            excuse.waives == Waives::Life(line.life)
                && (excuse.from..=excuse.to).contains(&line.at)
                && begun[&line.epoch] <= excuse.from
        })
    };
    let mut signs: Vec<u64> =
        lines.iter().filter(|line| !forsaken(line)).map(|line| line.at).collect();
    signs.sort_unstable();
    signs
}

/// An elector that was told to end.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) node: usize,
    pub(crate) at: u64,
    pub(crate) took: Duration,
    pub(crate) limit: Duration,
    /// Processes of it that were there when it had ended.
    pub(crate) left: Vec<i32>,
}

/// An elector that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Exit {
    pub(crate) node: usize,
    pub(crate) at: u64,
    pub(crate) status: String,
    /// Somebody has seen to that.
    pub(crate) meant: bool,
    /// It could not begin, because the database was not there.
    pub(crate) refused_to_begin: bool,
}

/// A write under the fence, as the database has taken it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) election: usize,
    pub(crate) epoch: u64,
    /// The highest epoch that a job had written under by then.
    pub(crate) seen: u64,
}

/// What a process holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    pub(crate) at: u64,
    pub(crate) memory: u64,
    pub(crate) descriptors: usize,
}

/// Everything that the checker looks at.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) ttl: Duration,
    /// How many elections there are.
    pub(crate) elections: usize,
    pub(crate) lines: Vec<Line>,
    pub(crate) windows: Vec<Window>,
    pub(crate) excuses: Vec<Excuse>,
    /// The fenced writes in the database's own order; one list for each time that older data were
    /// put in its place.
    pub(crate) writes: Vec<Vec<Write>>,
    pub(crate) stops: Vec<Stop>,
    pub(crate) exits: Vec<Exit>,
    /// What was found after the end: processes, control groups, files.
    pub(crate) remains: Vec<String>,
    /// One list for every process.
    pub(crate) weights: Vec<Vec<Weight>>,
    /// When the electors were told to end for good.
    pub(crate) end: u64,
}

impl History {
    /// What concerns each election, in a history of its own.
    pub(crate) fn apart(&self) -> Vec<Self> {
        let (windows, excuses) = (self.windows.clone(), self.excuses.clone());
        let rest = Self {
            ttl: self.ttl,
            elections: 1,
            windows,
            excuses,
            end: self.end,
            ..Self::default()
        };
        let writes = vec![Vec::new(); self.writes.len()];
        let mut apart = vec![Self { writes, ..rest }; self.elections];
        self.lines.iter().for_each(|line| apart[line.election].lines.push(*line));
        for (page, writes) in self.writes.iter().enumerate() {
            writes.iter().for_each(|write| apart[write.election].writes[page].push(*write));
        }
        apart
    }
}
