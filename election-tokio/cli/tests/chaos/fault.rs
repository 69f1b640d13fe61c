//! The faults of the world: one table of them, and what each of them permits.
//!
//! | outside of the contract | because |
//! | --- | --- |
//! | an elector and its guard, both stopped or killed | nobody is left who could end the job in time: its tenure may overlap with the next, until the job is dead |
//! | a whole tree of processes that stands still | a paused process does something after it wakes up, before it has looked at the clock |
//! | the database's clock, stepped forward | a lease ends early then: another may begin within one lease of the step, before the first has noticed. Not on Galera, where electors allow for it |
//! | rows deleted, older data put in place, a SQLite log taken away; most of Galera's servers killed, if one of them tells afterwards that it alone had kept a commit | the database has not kept what it has committed: another may begin within one lease of that |
//! | the same, while the epochs are still ahead of a clock that was set back | the new epoch may be no higher than a forgotten one: it comes from that clock, unless the winner has seen a higher one |
//!
//! Nothing else is waived, and fenced writes never come late, except under such an epoch. While a
//! fault is active there may be no leader, or none for long enough to count: that is excused as
//! long as the fault lasts, and no longer.

mod database;
mod disk;
mod members;
mod network;
mod processes;

use crate::{database::Engine, plan::Hit, world::World};

/// Undoes what was done. `false` if something else has to be undone first.
pub(crate) type Heal = Box<dyn FnMut(&mut World) -> bool>;

/// What a fault leaves.
pub(crate) enum Wound {
    /// Nothing that anybody could undo: the world heals by itself.
    Once,
    /// It goes on until this is done.
    Until(Heal),
}

impl Wound {
    fn until(heal: impl FnOnce(&mut World) + 'static) -> Option<Self> {
        let mut heal = Some(heal);
        Some(Self::Until(Box::new(move |world| {
            heal.take().into_iter().for_each(|heal| heal(world));
            true
        })))
    }

    fn until_done(heal: impl FnMut(&mut World) -> bool + 'static) -> Option<Self> {
        Some(Self::Until(Box::new(heal)))
    }
}

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    pub(crate) on: &'static [Engine],
    /// The shortest time that it lasts, as a share of a lease in per cent: below it, there would
    /// be little to see.
    pub(crate) least: u32,
    /// It is done to the ground that the database stands on, its process or its files. Two of
    /// these would be one, or neither: they follow each other.
    pub(crate) ground: bool,
    /// It is done to a job or to what guards one.
    pub(crate) job: bool,
    /// Inflicts the fault; `None` if it had no target.
    pub(crate) inflict: fn(&mut World, &Hit) -> Option<Wound>,
}

const ALL: &[Engine] =
    &[Engine::Sqlite, Engine::Postgres, Engine::MariaDb, Engine::Etcd, Engine::Galera];
const SQL: &[Engine] = &[Engine::Sqlite, Engine::Postgres, Engine::MariaDb, Engine::Galera];
const SERVERS: &[Engine] = &[Engine::Postgres, Engine::MariaDb, Engine::Galera];
const LINKED: &[Engine] = &[Engine::Postgres, Engine::MariaDb, Engine::Etcd, Engine::Galera];
const ALONE: &[Engine] = &[Engine::Sqlite, Engine::Postgres, Engine::MariaDb];
const FILES: &[Engine] = &[Engine::Sqlite];
const ETCD: &[Engine] = &[Engine::Etcd];
const CLUSTERS: &[Engine] = &[Engine::Etcd, Engine::Galera];

type Inflict = fn(&mut World, &Hit) -> Option<Wound>;

const fn fault(name: &'static str, on: &'static [Engine], inflict: Inflict) -> Fault {
    Fault { name, on, least: 0, ground: false, job: false, inflict }
}

/// A fault that outlasts a lease and the time others need to notice that.
const fn long(name: &'static str, on: &'static [Engine], inflict: Inflict) -> Fault {
    Fault { least: 160, ..fault(name, on, inflict) }
}

/// One that is done to the database's process or its files.
const fn ground(name: &'static str, on: &'static [Engine], inflict: Inflict) -> Fault {
    Fault { ground: true, ..fault(name, on, inflict) }
}

/// One that needs a job.
const fn job(fault: Fault) -> Fault {
    Fault { job: true, ..fault }
}

/// A SQLite file has no link, no server and no sessions. It cannot be made read-only under those
/// who have it open for writing either: the kernel refuses to mount it so.
pub(crate) const FAULTS: &[Fault] = &[
    fault("kill-elector", ALL, processes::kill_elector),
    job(fault("kill-guard", ALL, processes::kill_guard)),
    job(fault("kill-job", ALL, processes::kill_job)),
    job(fault("kill-elector-and-guard", ALL, processes::kill_both)),
    fault("kill-all-electors", ALL, processes::kill_all),
    long("stop-elector", ALL, processes::stop_elector),
    job(fault("stop-guard", ALL, processes::stop_guard)),
    job(fault("stop-job", ALL, processes::stop_job)),
    job(long("stop-elector-and-guard", ALL, processes::stop_both)),
    job(long("stop-tree", ALL, processes::stop_tree)),
    fault("term-elector", ALL, processes::term_elector),
    job(fault("term-guard", ALL, processes::term_guard)),
    job(fault("term-job", ALL, processes::term_job)),
    fault("resign-storm", ALL, processes::resign_storm),
    fault("link-cut", LINKED, network::cut),
    fault("link-refused", LINKED, network::refuse),
    fault("link-stalled", LINKED, network::stall_both),
    fault("link-stalled-up", LINKED, network::stall_up),
    fault("link-stalled-down", LINKED, network::stall_down),
    fault("link-lossy-up", LINKED, network::lose_up),
    fault("link-lossy-down", LINKED, network::lose_down),
    fault("link-slow", LINKED, network::slow),
    fault("link-repeats", LINKED, network::repeat),
    ground("server-killed", SERVERS, database::kill),
    ground("server-stopped", SERVERS, database::terminate),
    ground("server-frozen", SERVERS, database::freeze),
    fault("sessions-ended", SERVERS, database::end_sessions),
    long("row-locked", SERVERS, database::lock_row),
    fault("writes-locked", FILES, database::lock_writes),
    fault("table-locked", SQL, database::lock_table),
    fault("connections-exhausted", SERVERS, database::exhaust),
    fault("read-only", SERVERS, database::read_only),
    fault("clock-forward", SQL, database::clock_forward),
    fault("clock-back", SQL, database::clock_back),
    fault("rows-deleted", SQL, database::delete_rows),
    ground("disk-full", ALONE, disk::fill),
    ground("old-copy", ALONE, disk::old_copy),
    ground("file-away", FILES, disk::file_away),
    ground("log-away", FILES, disk::log_away),
    ground("member-killed", ETCD, members::kill),
    ground("member-frozen", ETCD, members::freeze),
    ground("members-killed", CLUSTERS, members::kill_several),
    ground("members-frozen", CLUSTERS, members::freeze_several),
    ground("members-disk-full", ETCD, members::fill),
];
