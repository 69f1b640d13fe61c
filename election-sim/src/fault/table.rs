//! The table of faults.
//!
//! One row says everything about a fault. The types, the contract, the reader and the printer of
//! `.scn` files, their grammar and the swarm's menus are generated from it. The columns:
//!
//! | column | meaning |
//! | --- | --- |
//! | `/// …` | what it does, for the documentation and the grammar |
//! | `Variant(field: type)` | the variant of [`FaultKind`](super::FaultKind); a `usize` is a node |
//! | `= "name" [field: Word]` | its name in `.scn` files, and the words that follow, in order |
//! | `applied` | where it takes effect, and so which protocol has it: `simulator` and `network` both, `database` the lease, `member` the quorum |
//! | `target` | what it hits: `Node`, `Link`, `Group` or `All` |
//! | `contract` | its [`Class`](super::contract::Class), for clocks trusted to within `drift_ppm` |
//! | `extent` | `Instant`, `Lasting`, or `Chance`: it hits single statements or frames by chance |
//! | `lease`, `quorum` | its weight in that protocol's swarm: within the contract, and added beyond it |
//! | `network` | its weight among the faults of the network in runs with a user's app |
//!
//! A variant takes effect where `applied` says: `simulator` in `simulator/faults.rs`, `network` in
//! `simulator/cuts.rs`, `database` in `lease/faults.rs`, `member` in `quorum/faults.rs`. The swarm
//! draws its parameters in `swarm/lease.rs` and `swarm/quorum.rs`. A fault that one of these files
//! leaves out does not compile.
//!
//! The order of the rows and their weights decide what a seed draws: every change to them gives the
//! same seeds other runs.

/// Passes the rows to the macro `receive`.
macro_rules! fault_table {
    ($($receive:tt)+) => {
        $($receive)+! {
            |drift_ppm|

            /// The process is killed. It starts again, as a new incarnation, when the fault ends.
            Crash(node: usize) = "crash" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (2, 0), network: 0,
            }
            /// The process handles nothing (stopped, swapped out, collecting garbage), while its
            /// clock goes on.
            Pause(node: usize) = "pause" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (2, 0), quorum: (2, 0), network: 0,
            }
            /// Leader work ignores the order to stop. The hard stop ends it by force, but it is
            /// reported as stopped only when the fault ends.
            Stuck(node: usize) = "stuck" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (1, 0), network: 0,
            }
            /// The operator makes the node resign.
            Resign(node: usize) = "resign" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Instant,
                lease: (1, 0), quorum: (1, 0), network: 0,
            }
            /// The node reports itself unhealthy, and healthy again when the fault ends.
            Unhealthy(node: usize) = "unhealthy" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (1, 0), network: 0,
            }
            /// The node shuts down in order. A new incarnation starts when the fault ends.
            Withdraw(node: usize) = "withdraw" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (1, 0), network: 0,
            }
            /// The node's clock gains this many parts per million. Beyond the contract if that is
            /// more than the drift bound.
            Rate(node: usize, ppm: i32) = "rate" [node: Node, ppm: Gain] {
                applied: simulator, target: Node(*node),
                contract: if ppm.unsigned_abs() > drift_ppm { Class::Beyond } else { Class::Within },
                extent: Lasting,
                lease: (1, 1), quorum: (1, 1), network: 0,
            }
            /// The machine sleeps and so does its clock, as `CLOCK_MONOTONIC` does. Beyond the
            /// contract.
            Suspend(node: usize) = "suspend" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Beyond, extent: Lasting,
                lease: (0, 1), quorum: (0, 1), network: 0,
            }
            /// The node's monotonic clock jumps by this many nanoseconds. Beyond the contract.
            Jump(node: usize, by: i64) = "jump" [node: Node, by: SignedNanos] {
                applied: simulator, target: Node(*node), contract: Class::Beyond, extent: Instant,
                lease: (0, 1), quorum: (0, 1), network: 0,
            }
            /// Nothing passes between the node and the database in these directions.
            Cut(node: usize, direction: CutDirection) = "cut" [node: Node, direction: Direction] {
                applied: database, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// The node is told again and again, without cause, that the row may have changed.
            Storm(node: usize) = "storm" [node: Node] {
                applied: database, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// No notification of the database arrives anywhere.
            Deaf = "deaf" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// Somebody asks the leader to resign.
            AskResign = "ask-resign" [] {
                applied: database, target: All, contract: Class::Within, extent: Instant,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// The database refuses connections.
            Refuse = "refuse" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// The database accepts statements and executes them when the fault ends.
            Hang = "hang" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// Every statement and every answer takes this much longer.
            Slow(by: Duration) = "slow" [by: Span] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// Another transaction holds the row's lock: every writer waits, with its clock frozen.
            Lock = "lock" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (2, 0), quorum: (0, 0), network: 0,
            }
            /// A fenced transaction is open: takeovers wait. Renewals wait too, unless the engine
            /// has key-share locks.
            Fence = "fence" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// The database is killed and recovers when the fault ends: everything uncommitted is
            /// lost, and the clients that waited do not learn the outcome.
            Restart = "restart" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// The database's clock jumps by this many milliseconds. Beyond the contract.
            Step(by: i64) = "step" [by: SignedMillis] {
                applied: database, target: All, contract: Class::Beyond, extent: Instant,
                lease: (0, 1), quorum: (0, 0), network: 0,
            }
            /// A replica that was this far behind takes over. Beyond the contract.
            Failover(behind: Duration) = "failover" [behind: Span] {
                applied: database, target: All, contract: Class::Forgets, extent: Instant,
                lease: (0, 1), quorum: (0, 0), network: 0,
            }
            /// A replica that was this far behind is promoted: it tells that another history begins
            /// with it, and its clock reads so many milliseconds more than the one before it.
            Promote(behind: Duration, by: i64) = "promote" [behind: Span, by: SignedMillis] {
                applied: database, target: All, contract: Class::Within, extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// This many of a million statements meet this fault.
            Odds(fault: StatementFault, odds: u32) = "odds" [odds: PerMillion, fault: OfStatement] {
                applied: database, target: All, contract: fault.class(), extent: Chance,
                lease: (5, 1), quorum: (0, 0), network: 0,
            }
            /// The node's `nth` statement, counted from one over all its lives, meets this fault.
            Statement(node: usize, nth: u64, fault: StatementFault)
                = "statement" [node: Node, nth: NthStatement, fault: OfStatement]
            {
                applied: database, target: Node(*node), contract: fault.class(), extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// The row is gone, like that of an unlogged table after a crash. Beyond the contract.
            Wipe = "wipe" [] {
                applied: database, target: All, contract: Class::Forgets, extent: Instant,
                lease: (0, 1), quorum: (0, 0), network: 0,
            }
            /// The second node's machine becomes a copy of the first's, incarnation and memory
            /// included, and both go on: a virtual machine that was cloned while it ran. Nothing
            /// can tell them apart, not even a token.
            Clone(from: usize, onto: usize) = "clone" [from: Node, onto: Node] {
                applied: simulator, target: All, contract: Class::Void, extent: Instant,
                lease: (0, 1), quorum: (0, 0), network: 0,
            }
            /// No frame passes from the first node to the second; the other way is open.
            Sever(from: usize, to: usize) = "sever" [from: Node, to: Node] {
                applied: network, target: Link(*from, *to), contract: Class::Within,
                extent: Lasting,
                lease: (0, 0), quorum: (2, 0), network: 1,
            }
            /// Frames from the first node to the second are held back. They arrive when the fault
            /// ends, all at once.
            Clog(from: usize, to: usize) = "clog" [from: Node, to: Node] {
                applied: network, target: Link(*from, *to), contract: Class::Within,
                extent: Lasting,
                lease: (0, 0), quorum: (1, 0), network: 1,
            }
            /// This many of a million frames between nodes meet this fault.
            Frames(fault: FrameFault, odds: u32) = "frames" [odds: PerMillion, fault: OfFrame] {
                applied: network, target: All, contract: Class::Within, extent: Chance,
                lease: (0, 0), quorum: (2, 0), network: 2,
            }
            /// The `nth` frame from the first node to the second, counted from one, meets this
            /// fault.
            Frame(from: usize, to: usize, nth: u64, fault: FrameFault)
                = "frame" [from: Node, to: Node, nth: NthFrame, fault: OfFrame]
            {
                applied: member, target: Link(*from, *to), contract: Class::Within,
                extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// The connection from the first node to the second breaks. Frames under way on it are
            /// lost.
            Reset(from: usize, to: usize) = "reset" [from: Node, to: Node] {
                applied: member, target: Link(*from, *to), contract: Class::Within,
                extent: Instant,
                lease: (0, 0), quorum: (1, 0), network: 0,
            }
            /// A stalled connection from the first node to the second lets one of its held frames
            /// pass.
            Pass(from: usize, to: usize) = "pass" [from: Node, to: Node] {
                applied: member, target: Link(*from, *to), contract: Class::Within,
                extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// Somebody connects to the second node in the first one's name, in the dialect of
            /// kevy-elect, claims to be a replica that knows no epoch, and hangs up.
            Stranger(from: usize, to: usize) = "stranger" [from: Node, to: Node] {
                applied: member, target: Link(*from, *to), contract: Class::Within,
                extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// The node's saves of its ballot go like this.
            Saves(node: usize, fault: SaveFault) = "saves" [node: Node, fault: OfSave] {
                applied: member, target: Node(*node), contract: fault.class(), extent: Lasting,
                lease: (0, 0), quorum: (2, 0), network: 0,
            }
            /// The node is told to hand its leadership over to the second.
            HandOver(from: usize, to: usize) = "hand-over" [from: Node, to: Node] {
                applied: member, target: Node(*from), contract: Class::Within, extent: Instant,
                lease: (0, 0), quorum: (1, 0), network: 0,
            }
            /// The node is told to pause automatic failover in the whole cluster, for this long,
            /// or until it is resumed if that is zero.
            PauseFailover(node: usize, lasts: Duration)
                = "pause-failover" [node: Node, lasts: Span]
            {
                applied: member, target: Node(*node), contract: Class::Within, extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// The node is told to resume it.
            ResumeFailover(node: usize) = "resume-failover" [node: Node] {
                applied: member, target: Node(*node), contract: Class::Within, extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// The node's data stops following that of the primary.
            Lag(node: usize) = "lag" [node: Node] {
                applied: member, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (0, 0), quorum: (1, 0), network: 0,
            }
            /// The process is killed right after its `nth` action, counted from one over all its
            /// lives, and starts again after this long.
            CrashAfter(node: usize, nth: u64, down: Duration)
                = "crash-after" [node: Node, nth: NthAction, down: Span]
            {
                applied: member, target: Node(*node), contract: Class::Within, extent: Instant,
                lease: (0, 0), quorum: (1, 0), network: 0,
            }
            /// No frame passes between these nodes and the others.
            Part(group: Vec<usize>) = "part" [group: Nodes] {
                applied: network, target: Group(group), contract: Class::Within, extent: Lasting,
                lease: (0, 0), quorum: (7, 0), network: 1,
            }
            /// The node is started again with a file that lists one member more, and with the right
            /// file when the fault ends.
            WrongFile(node: usize) = "wrong-file" [node: Node] {
                applied: member, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// Every node is told to add this one to the members; only a primary does. If a primary
            /// would, the operator first starts the new member, without a ballot.
            AddMember(node: usize) = "add-member" [node: Node] {
                applied: member, target: Node(*node), contract: Class::Within, extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// Every node is told to remove this one from the members; only a primary does.
            RemoveMember(node: usize) = "remove-member" [node: Node] {
                applied: member, target: Node(*node), contract: Class::Within, extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// The node's disk, its ballot and its data, has changed when a process next opens it.
            Disk(node: usize, fault: DiskFault) = "disk" [node: Node, fault: OfDisk] {
                applied: member, target: Node(*node), contract: fault.class(), extent: Instant,
                lease: (0, 0), quorum: (2, 3), network: 0,
            }
        }
    };
}
pub(crate) use fault_table;
