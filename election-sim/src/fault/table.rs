//! The table of faults.
//!
//! One row is all there is to say of a fault; the types, the contract, the reader and the printer
//! of `.scn` files, its grammar and the swarm's menus are made of it. The columns:
//!
//! | column | meaning |
//! | --- | --- |
//! | `/// …` | what it does, for the documentation and the grammar |
//! | `Variant(field: type)` | the variant of [`FaultKind`](super::FaultKind); a `usize` is a node |
//! | `= "name" [field: Word]` | its name in `.scn` files, and the words that follow, in their order |
//! | `applied` | where it takes effect, and so which protocol has it: `simulator` and `network` both, `database` the lease, `member` the quorum |
//! | `target` | whom it befalls: `Node`, `Link`, `Group` or `All` |
//! | `contract` | its [`Class`](super::contract::Class), for clocks trusted to within `drift_ppm` |
//! | `extent` | `Instant`, `Lasting`, or `Chance`: lasting, and befalling now this, now that |
//! | `lease`, `quorum` | its weight in the swarm of that protocol: within the contract, and what it adds beyond |
//! | `network` | its weight among the faults of the network in runs with a user's app |
//!
//! A variant takes effect where `applied` says: in `simulator/faults.rs`, `lease/faults.rs` or
//! `quorum/faults.rs`. The swarm draws its parameters in `swarm/lease.rs` and `swarm/quorum.rs`.
//! Neither compiles while it leaves a fault out.
//!
//! The order of the rows and their weights decide what a seed draws: every change of them makes
//! other runs of the same seeds.

/// Hands the rows to the macro `receive`.
macro_rules! fault_table {
    ($($receive:tt)+) => {
        $($receive)+! {
            |drift_ppm|

            /// The process is killed; it starts again, as a new incarnation, when the fault ends.
            Crash(node: usize) = "crash" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (2, 0), network: 0,
            }
            /// The process handles nothing (stopped, swapped out, collecting garbage); its clock
            /// goes on.
            Pause(node: usize) = "pause" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (2, 0), quorum: (2, 0), network: 0,
            }
            /// Leader work ignores being told to stop; it is ended by force at the hard stop, and
            /// only reported as stopped when the fault ends.
            Stuck(node: usize) = "stuck" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (1, 0), network: 0,
            }
            /// The operator lets the node resign.
            Resign(node: usize) = "resign" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Instant,
                lease: (1, 0), quorum: (1, 0), network: 0,
            }
            /// The node reports itself unhealthy, and healthy again at the end.
            Unhealthy(node: usize) = "unhealthy" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (1, 0), network: 0,
            }
            /// The node is shut down in order; a new incarnation starts when the fault ends.
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
            /// The machine sleeps and its clock with it, as `CLOCK_MONOTONIC` does. Beyond the
            /// contract.
            Suspend(node: usize) = "suspend" [node: Node] {
                applied: simulator, target: Node(*node), contract: Class::Beyond, extent: Lasting,
                lease: (0, 1), quorum: (0, 1), network: 0,
            }
            /// The node's monotonic clock jumps by nanoseconds. Beyond the contract.
            Jump(node: usize, by: i64) = "jump" [node: Node, by: SignedNanos] {
                applied: simulator, target: Node(*node), contract: Class::Beyond, extent: Instant,
                lease: (0, 1), quorum: (0, 1), network: 0,
            }
            /// Nothing passes between the node and the database in these directions.
            Cut(node: usize, direction: CutDirection) = "cut" [node: Node, direction: Direction] {
                applied: database, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// The node is told again and again, for nothing, that the row may have changed.
            Storm(node: usize) = "storm" [node: Node] {
                applied: database, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// Nothing that the database notifies arrives anywhere.
            Deaf = "deaf" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// Somebody asks whoever leads to resign.
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
            /// Another transaction holds the row's lock: whoever writes waits, its clock frozen.
            Lock = "lock" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (2, 0), quorum: (0, 0), network: 0,
            }
            /// A fenced transaction is open: take-overs wait; renewals do not where the engine has
            /// key-share locks.
            Fence = "fence" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// The database is killed and recovers at the end: what it had not committed is lost,
            /// and nobody who waited knows what became of it.
            Restart = "restart" [] {
                applied: database, target: All, contract: Class::Within, extent: Lasting,
                lease: (1, 0), quorum: (0, 0), network: 0,
            }
            /// The database's clock jumps by milliseconds. Beyond the contract.
            Step(by: i64) = "step" [by: SignedMillis] {
                applied: database, target: All, contract: Class::Beyond, extent: Instant,
                lease: (0, 1), quorum: (0, 0), network: 0,
            }
            /// A replica that was this far behind takes over. Beyond the contract.
            Failover(behind: Duration) = "failover" [behind: Span] {
                applied: database, target: All, contract: Class::Forgets, extent: Instant,
                lease: (0, 1), quorum: (0, 0), network: 0,
            }
            /// So many of a million statements meet this fault.
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
            /// The row is gone, as an unlogged table's after a crash. Beyond the contract.
            Wipe = "wipe" [] {
                applied: database, target: All, contract: Class::Forgets, extent: Instant,
                lease: (0, 1), quorum: (0, 0), network: 0,
            }
            /// The second node's machine becomes a copy of the first's, incarnation and memory
            /// included, and both go on: a virtual machine that was cloned while it ran. Nothing
            /// can tell them apart, and no token does.
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
            /// Frames from the first node to the second are held back and arrive at the end, all
            /// at once.
            Clog(from: usize, to: usize) = "clog" [from: Node, to: Node] {
                applied: network, target: Link(*from, *to), contract: Class::Within,
                extent: Lasting,
                lease: (0, 0), quorum: (1, 0), network: 1,
            }
            /// So many of a million frames between nodes meet this fault.
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
            /// The connection from the first node to the second breaks; what was under way on it
            /// is lost.
            Reset(from: usize, to: usize) = "reset" [from: Node, to: Node] {
                applied: member, target: Link(*from, *to), contract: Class::Within,
                extent: Instant,
                lease: (0, 0), quorum: (1, 0), network: 0,
            }
            /// Of what a stalled connection from the first node to the second holds, one frame
            /// passes.
            Pass(from: usize, to: usize) = "pass" [from: Node, to: Node] {
                applied: member, target: Link(*from, *to), contract: Class::Within,
                extent: Instant,
                lease: (0, 0), quorum: (0, 0), network: 0,
            }
            /// The node's ballots are saved like this.
            Saves(node: usize, fault: SaveFault) = "saves" [node: Node, fault: OfSave] {
                applied: member, target: Node(*node), contract: fault.class(), extent: Lasting,
                lease: (0, 0), quorum: (2, 0), network: 0,
            }
            /// The node is told to hand its leadership over to the second.
            HandOver(from: usize, to: usize) = "hand-over" [from: Node, to: Node] {
                applied: member, target: Node(*from), contract: Class::Within, extent: Instant,
                lease: (0, 0), quorum: (1, 0), network: 0,
            }
            /// The node's data does not follow that of the primary.
            Lag(node: usize) = "lag" [node: Node] {
                applied: member, target: Node(*node), contract: Class::Within, extent: Lasting,
                lease: (0, 0), quorum: (1, 0), network: 0,
            }
            /// The process is killed right after the `nth` thing it asks for, counted from one
            /// over all its lives, and starts again after this long.
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
            /// What the node has on its disk, its ballot and its data, is no longer what it was
            /// when a process opens it next.
            Disk(node: usize, fault: DiskFault) = "disk" [node: Node, fault: OfDisk] {
                applied: member, target: Node(*node), contract: fault.class(), extent: Instant,
                lease: (0, 0), quorum: (2, 3), network: 0,
            }
        }
    };
}
pub(crate) use fault_table;
