//! The menu of faults, as data.
//!
//! Every fault says whether the election's promise covers it ([`Contract`]). Within the contract
//! nothing may go wrong. Beyond it two leaders *can* exist at once, and only the fencing token at
//! the resource still protects: the checkers know which of them hold then.

use std::time::Duration;

/// Something that goes wrong (or that somebody does) from `at` on, for as long as it `lasts`.
/// What happens at one instant ignores `lasts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it begins, in true time since the start.
    pub at: Duration,
    /// How long it goes on.
    pub lasts: Duration,
    /// What it is.
    pub kind: FaultKind,
}

/// What can go wrong. A `usize` is the index of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The process is killed; it starts again, as a new incarnation, when the fault ends.
    Crash(usize),
    /// The process handles nothing (stopped, swapped out, collecting garbage); its clock goes on.
    Pause(usize),
    /// The machine sleeps and its clock with it, as `CLOCK_MONOTONIC` does. Beyond the contract.
    Suspend(usize),
    /// Leader work ignores being told to stop; it is ended by force at the hard stop, and only
    /// reported as stopped when the fault ends.
    Stuck(usize),
    /// The operator lets the node resign.
    Resign(usize),
    /// The node reports itself unhealthy, and healthy again at the end.
    Unhealthy(usize),
    /// The node is shut down in order; a new incarnation starts when the fault ends.
    Withdraw(usize),
    /// The node's clock gains this many parts per million.
    Rate(usize, i32),
    /// The node's monotonic clock jumps by nanoseconds. Beyond the contract.
    Jump(usize, i64),
    /// Nothing passes between the node and the database in these directions.
    Cut(usize, CutDirection),
    /// The node is told again and again, for nothing, that the row may have changed.
    Storm(usize),
    /// No frame passes from the first node to the second; the other way is open.
    Sever(usize, usize),
    /// Frames from the first node to the second are held back and arrive at the end, all at once.
    Clog(usize, usize),
    /// No frame passes between these nodes and the others.
    Part(Vec<usize>),
    /// So many of a million frames between nodes meet this fate.
    Frames(FrameFault, u32),
    /// Nothing that the database notifies arrives anywhere.
    Deaf,
    /// The second node's machine becomes a copy of the first's, incarnation and memory included,
    /// and both go on: a virtual machine that was cloned while it ran. Nothing can tell them
    /// apart, and no token does.
    Clone(usize, usize),
    /// The node is told to hand its leadership over to the second.
    HandOver(usize, usize),
    /// The connection from the first node to the second breaks; what was under way on it is lost.
    Reset(usize, usize),
    /// Of what a stalled connection from the first node to the second holds, one frame passes.
    Pass(usize, usize),
    /// The `nth` frame from the first node to the second, counted from one, meets this fate.
    Frame(usize, usize, u64, FrameFault),
    /// What the node has on its disk, its ballot and its data, is no longer what it was when a
    /// process opens it next.
    Disk(usize, DiskFault),
    /// The node's ballots are saved like this.
    Saves(usize, SaveFault),
    /// The node's data does not follow that of the primary.
    Lag(usize),
    /// The process is killed right after the `nth` thing it asks for, counted from one over all
    /// its lives, and starts again after this long.
    CrashAfter(usize, u64, Duration),
    /// Somebody asks whoever leads to resign.
    AskResign,
    /// The database refuses connections.
    Refuse,
    /// The database accepts statements and executes them when the fault ends.
    Hang,
    /// Every statement and every answer takes this much longer.
    Slow(Duration),
    /// Another transaction holds the row's lock: whoever writes waits, its clock frozen.
    Lock,
    /// A fenced transaction is open: take-overs wait; renewals do not where the engine has
    /// key-share locks.
    Fence,
    /// The database is killed and recovers at the end: what it had not committed is lost, and
    /// nobody who waited knows what became of it.
    Restart,
    /// The database's clock jumps by milliseconds. Beyond the contract.
    Step(i64),
    /// A replica that was this far behind takes over. Beyond the contract.
    Failover(Duration),
    /// The row is gone, as an unlogged table's after a crash. Beyond the contract.
    Wipe,
    /// So many of a million statements meet this fate.
    Odds(StatementFault, u32),
    /// The node's `nth` statement, counted from one over all its lives, meets this fate.
    Statement(usize, u64, StatementFault),
}

/// The directions of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutDirection {
    /// Both.
    Both,
    /// Statements do not arrive.
    Requests,
    /// Statements are executed and their answers lost.
    Replies,
}

/// What can become of one frame between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFault {
    /// It never arrives.
    Lost,
    /// It arrives twice.
    Twice,
    /// It arrives so much later, after others that were sent after it.
    Late(Duration),
}

/// What can become of what a node has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// It is gone: a disk that was replaced.
    Lost,
    /// The ballot is half written and cannot be read.
    Torn,
    /// It is as it was so long ago: a snapshot that was restored. It takes back votes, after which
    /// nothing protects.
    Stale(Duration),
}

/// How ballots are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveFault {
    /// Each takes up to this much longer.
    Slow(Duration),
    /// Each fails, after which nobody knows what is on the disk.
    Failing,
    /// None comes to an end before this does.
    Hanging,
    /// Each is reported durable at once and is not: a crash takes it back, and votes with it.
    Lying,
}

/// What can become of one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementFault {
    /// It never arrives.
    Lost,
    /// It arrives so much later, perhaps after its client gave up.
    Late(Duration),
    /// It arrives, reads the clock, and executes so much later.
    Stalled(Duration),
    /// It is executed and never answered.
    Unanswered,
    /// It is answered so much later.
    Slow(Duration),
    /// It is answered twice.
    Twice,
    /// It is certainly not executed, and its client is told so.
    Refused,
    /// It fails as a statement against a missing table does: not executed, nor will the next be.
    Fatal,
    /// It ran into somebody's lock and is not executed.
    Locked,
    /// It is executed, and its client is told that nobody knows.
    Unknown,
    /// It is not executed, and its client is told that nobody knows.
    Aborted,
    /// A read comes from a replica that is so far behind.
    Stale(Duration),
    /// Its success is reported and then taken back, as by a crash under asynchronous commit.
    /// Beyond the contract.
    Phantom,
}

/// Whether the promise of one leader at a time covers a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contract {
    /// It does.
    Within,
    /// It does not; the fencing token does.
    Beyond,
    /// Nothing is left that could tell one leadership from another by its token: the database has
    /// lost a term and its clock has gone back, or one incarnation goes on as two.
    Void,
}

impl FaultKind {
    /// Whether the promise covers it, for nodes whose clocks are trusted to within `drift_ppm`.
    #[must_use]
    pub fn contract(&self, drift_ppm: u32) -> Contract {
        match self {
            Self::Clone(..) => Contract::Void,
            Self::Disk(_, DiskFault::Stale(_)) | Self::Saves(_, SaveFault::Lying) => Contract::Void,
            Self::Rate(_, ppm) if ppm.unsigned_abs() > drift_ppm => Contract::Beyond,
            Self::Suspend(_) | Self::Jump(..) | Self::Step(_) => Contract::Beyond,
            what if what.forgets() => Contract::Beyond,
            _ => Contract::Within,
        }
    }

    /// Whether it can make the database forget a term.
    pub(crate) fn forgets(&self) -> bool {
        match self {
            Self::Failover(_) | Self::Wipe => true,
            Self::Odds(fate, _) | Self::Statement(_, _, fate) => *fate == StatementFault::Phantom,
            _ => false,
        }
    }

    /// Whether it can trouble a core of nodes that are to be well from now on.
    #[must_use]
    pub fn befalls(&self, core: &[usize]) -> bool {
        match self {
            Self::Sever(from, to)
            | Self::Clog(from, to)
            | Self::Reset(from, to)
            | Self::Pass(from, to)
            | Self::Frame(from, to, ..) => core.contains(from) && core.contains(to),
            Self::HandOver(from, _) => core.contains(from),
            Self::Part(group) => {
                let inside = core.iter().filter(|node| group.contains(node)).count();
                inside > 0 && inside < core.len()
            }
            what => what.node().is_none_or(|node| core.contains(&node)),
        }
    }

    /// The node it befalls, if it is one; faults between nodes befall the network.
    #[must_use]
    pub fn node(&self) -> Option<usize> {
        match self {
            Self::Sever(..)
            | Self::Clog(..)
            | Self::Part(_)
            | Self::Clone(..)
            | Self::HandOver(..)
            | Self::Reset(..)
            | Self::Pass(..)
            | Self::Frame(..) => None,
            what => what.named().first().copied(),
        }
    }

    /// The same fault in a world from which the node `gone` was taken away, so that those after it
    /// move up. `None` if it was about that node.
    #[must_use]
    pub fn without(mut self, gone: usize) -> Option<Self> {
        if let Self::Part(group) = &mut self {
            group.retain(|node| *node != gone);
            if group.is_empty() {
                return None;
            }
        }
        if self.named().contains(&gone) {
            return None;
        }
        for node in self.named_mut() {
            *node -= usize::from(*node > gone);
        }
        Some(self)
    }

    /// Every node that it names.
    #[must_use]
    pub fn named(&self) -> Vec<usize> {
        self.clone().named_mut().into_iter().map(|node| *node).collect()
    }

    /// The one list of which faults name whom.
    fn named_mut(&mut self) -> Vec<&mut usize> {
        match self {
            Self::Crash(node)
            | Self::Pause(node)
            | Self::Suspend(node)
            | Self::Stuck(node)
            | Self::Resign(node)
            | Self::Unhealthy(node)
            | Self::Withdraw(node)
            | Self::Rate(node, _)
            | Self::Jump(node, _)
            | Self::Cut(node, _)
            | Self::Storm(node)
            | Self::Statement(node, ..)
            | Self::Disk(node, _)
            | Self::Saves(node, _)
            | Self::Lag(node)
            | Self::CrashAfter(node, ..) => vec![node],
            Self::Sever(from, to)
            | Self::Clog(from, to)
            | Self::Clone(from, to)
            | Self::HandOver(from, to)
            | Self::Reset(from, to)
            | Self::Pass(from, to)
            | Self::Frame(from, to, ..) => vec![from, to],
            Self::Part(group) => group.iter_mut().collect(),
            Self::Frames(..)
            | Self::Deaf
            | Self::AskResign
            | Self::Refuse
            | Self::Hang
            | Self::Slow(_)
            | Self::Lock
            | Self::Fence
            | Self::Restart
            | Self::Step(_)
            | Self::Failover(_)
            | Self::Wipe
            | Self::Odds(..) => Vec::new(),
        }
    }

    /// Whether it strikes by chance, now here and now there.
    #[must_use]
    pub(crate) fn is_chance(&self, quorum: bool) -> bool {
        match self {
            Self::Odds(..) => true,
            Self::Frames(..) => quorum,
            _ => false,
        }
    }

    /// Whether only a quorum (or, if false, only a lease) has what it befalls.
    pub(crate) fn is_of_quorum(&self) -> Option<bool> {
        match self {
            Self::HandOver(..)
            | Self::Reset(..)
            | Self::Pass(..)
            | Self::Frame(..)
            | Self::Disk(..)
            | Self::Saves(..)
            | Self::Lag(_)
            | Self::CrashAfter(..) => Some(true),
            Self::Cut(..)
            | Self::Storm(_)
            | Self::Deaf
            | Self::AskResign
            | Self::Refuse
            | Self::Hang
            | Self::Slow(_)
            | Self::Lock
            | Self::Fence
            | Self::Restart
            | Self::Step(_)
            | Self::Failover(_)
            | Self::Wipe
            | Self::Odds(..)
            | Self::Statement(..) => Some(false),
            _ => None,
        }
    }

    /// Whether it goes on for a while, rather than happening at one instant.
    #[must_use]
    pub fn lasts(&self) -> bool {
        !matches!(
            self,
            Self::Resign(_)
                | Self::Jump(..)
                | Self::Clone(..)
                | Self::AskResign
                | Self::Step(_)
                | Self::Failover(_)
                | Self::Wipe
                | Self::Statement(..)
                | Self::HandOver(..)
                | Self::Reset(..)
                | Self::Pass(..)
                | Self::Frame(..)
                | Self::Disk(..)
                | Self::CrashAfter(..)
        )
    }
}
