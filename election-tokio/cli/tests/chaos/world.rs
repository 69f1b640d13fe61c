//! Electors, their database and the links between them: started, watched, and started again when
//! they end, as a service manager would.

mod leaders;

use crate::{
    actor::{Actor, Sort},
    cast::{self, Cast, ttl},
    checker::SLACK,
    database::{Database, Engine},
    home::Home,
    journal::{Excuse, Exit, History, Stop, Tail, Waives, Window},
    role::{PLACE, journal_in},
};
use election_testing::{
    Proxy,
    process::{self, carries, children, every_pid, send},
};
use election_tokio::now;
use rustix::process::Signal;
use std::{
    collections::BTreeSet,
    fs,
    process::Command,
    time::{Duration, Instant},
};

/// How long an elector may take to leave, beyond what its job may take to end: three statements
/// and what a machine that is busy adds.
const LEAVE: Duration = Duration::from_secs(3);
/// How long, in nanoseconds, a job may live on that nobody could end while all stood still.
const WAKING: u64 = 500_000_000;
/// How often processes are weighed.
const WEIGHING: Duration = Duration::from_millis(900);

pub(crate) struct World {
    pub(crate) database: Database,
    /// For each node, one to each server of the database.
    pub(crate) links: Vec<Vec<Proxy>>,
    pub(crate) actors: Vec<Actor>,
    pub(crate) history: History,
    /// Until then the epochs may be ahead of the database's clock.
    pub(crate) ahead_until: u64,
    /// Electors and guards that were stopped or killed in this round.
    touched: BTreeSet<(usize, Part)>,
    /// Those of them that were killed, and go on for nobody.
    lost: BTreeSet<(usize, Part)>,
    pub(crate) elections: usize,
    sorts: &'static [Sort],
    home: Home,
    tail: Tail,
    lives: usize,
    weighed: Instant,
    groups: BTreeSet<String>,
    /// No node that ends is started again.
    over: bool,
}

/// Which process of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Elector,
    Guard,
}

impl World {
    pub(crate) fn start(engine: Engine, cast: Cast, home: Home) -> Self {
        let mut database = Database::start(engine, &home);
        let ports = database.ports();
        if engine != Engine::Etcd {
            let mut schema = Command::new(env!("CARGO_BIN_EXE_election"));
            schema.args(["schema", "--apply", "--store", &database.url(&ports)]);
            let applied = schema.env_remove("ELECTION_CONFIG").output();
            let applied = applied.expect("the election command");
            assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
        }
        database.prepare();
        let links = |_| ports.iter().map(|port| Proxy::to(*port)).collect();
        let links = (0..cast.sorts().len()).map(links).collect();
        let tail = Tail::of(&journal_in(home.path()));
        let history = History { ttl: ttl(), elections: cast.elections(), ..History::default() };
        let mut world = Self {
            database,
            links,
            actors: Vec::new(),
            history,
            ahead_until: 0,
            touched: BTreeSet::new(),
            lost: BTreeSet::new(),
            elections: cast.elections(),
            sorts: cast.sorts(),
            home,
            tail,
            lives: 0,
            weighed: Instant::now(),
            groups: BTreeSet::new(),
            over: false,
        };
        for node in 0..cast.sorts().len() {
            let actor = world.spawn(node);
            world.actors.push(actor);
        }
        world
    }

    fn spawn(&mut self, node: usize) -> Actor {
        self.lives += 1;
        let url = self.url(node);
        Actor::start(&self.home, (node, self.sorts[node]), self.lives, &url, self.elections)
    }

    /// How a node reaches the database: of several servers, each begins with another.
    fn url(&self, node: usize) -> String {
        let mut ports: Vec<_> = self.links[node].iter().map(Proxy::port).collect();
        let first = node % ports.len().max(1);
        ports.rotate_left(first);
        self.database.url(&ports)
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Reads what is new, and restarts nodes that have ended.
    pub(crate) fn tend(&mut self) {
        self.tail.read();
        let weigh = self.weighed.elapsed() > WEIGHING;
        if weigh {
            self.weighed = Instant::now();
        }
        for node in 0..self.actors.len() {
            if weigh {
                self.actors[node].weigh();
                self.note_group(node);
            }
            if let Some(status) = self.actors[node].ended().filter(|_| !self.over) {
                self.bury(node, &status.to_string());
            }
        }
    }

    fn bury(&mut self, node: usize, status: &str) {
        let heir = self.spawn(node);
        let dead = std::mem::replace(&mut self.actors[node], heir);
        let refused_to_begin = status.contains("125") && !dead.took_part();
        if !dead.doomed && !refused_to_begin {
            eprintln!("node {node} ended with {status}:\n{}", last_lines(&dead.messages()));
        }
        let (at, meant) = (now().as_nanos(), dead.doomed);
        let status = status.to_owned();
        self.history.exits.push(Exit { node, at, status, meant, refused_to_begin });
        self.history.weights.push(dead.weights.clone());
    }

    /// Remembers the control groups of jobs: they have to be gone in the end.
    fn note_group(&mut self, node: usize) {
        for pid in self.actors[node].guard().map(children).into_iter().flatten() {
            let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
            let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
            self.groups.extend(own.filter(|own| own.contains("/election-")).map(str::to_owned));
        }
    }

    /// Goes on for this long.
    pub(crate) fn wait(&mut self, time: Duration) {
        let _: Option<()> = self.within(time, |_| None);
    }

    /// Waits until something can be seen, for this long at most.
    pub(crate) fn within<T>(
        &mut self,
        patience: Duration,
        mut look: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let mut found = None;
        process::within(patience, || {
            self.tend();
            found = look(self);
            found.is_some()
        });
        found
    }

    /// Asks the leader as `election resign` does, or as an application that leads asks itself.
    pub(crate) fn ask_to_resign(&mut self, leader: usize) {
        match self.actors[leader].sort {
            Sort::Library => self.actors[leader].send(Signal::USR1),
            Sort::Command if self.database.members().is_some() => {
                let mut resign = Command::new(env!("CARGO_BIN_EXE_election"));
                let url = self.database.url(&self.database.ports());
                resign.args(["resign", "--store", &url, "--name", &cast::name(0)]);
                let _ = resign.output(); // its outcome shows
            }
            Sort::Command => {
                let ask = "UPDATE election_leader SET resign_requested_epoch = epoch WHERE ns =";
                self.database.administer(&format!("{ask} '{}'", cast::name(0)));
            }
        }
    }

    /// One of the two processes that guard a job is killed.
    pub(crate) fn lose(&mut self, node: usize, part: Part) {
        self.lost.insert((self.actors[node].life, part));
        self.touch(node, part);
    }

    /// Whether one of the two processes of this node stands still, or is no more.
    pub(crate) fn is_touched(&self, node: usize) -> bool {
        let life = self.actors[node].life;
        self.touched.iter().any(|(each, _)| *each == life)
    }

    /// Something was done to one of the two processes that guard a job; with both it is outside of
    /// the contract.
    pub(crate) fn touch(&mut self, node: usize, part: Part) {
        let life = self.actors[node].life;
        self.touched.insert((life, part));
        if [Part::Elector, Part::Guard].iter().all(|part| self.touched.contains(&(life, *part))) {
            self.excuse(Waives::Life(life), now().as_nanos(), u64::MAX);
        }
    }

    /// That process goes on. Once both do, what they guard has a moment to end.
    pub(crate) fn let_go(&mut self, life: usize, part: Part) {
        if self.lost.contains(&(life, part)) {
            return;
        }
        self.touched.remove(&(life, part));
        if self.touched.iter().any(|(each, _)| *each == life) {
            return;
        }
        let until = now().as_nanos() + WAKING;
        let own =
            |excuse: &&mut Excuse| excuse.waives == Waives::Life(life) && excuse.to == u64::MAX;
        self.history.excuses.iter_mut().filter(own).for_each(|excuse| excuse.to = until);
    }

    pub(crate) fn excuse(&mut self, waives: Waives, from: u64, to: u64) {
        self.history.excuses.push(Excuse { waives, from, to });
    }

    /// The round is over: processes that live on although nobody guards them are killed, and from
    /// then on everything is within the contract again.
    pub(crate) fn make_good(&mut self) {
        self.touched.clear();
        self.lost.clear();
        if let Database::Galera(_, at) = &mut self.database {
            *at = (*at + 1) % 3;
        }
        let open = self.history.excuses.iter().filter(|excuse| excuse.to == u64::MAX);
        if open.clone().any(|excuse| matches!(excuse.waives, Waives::Life(_))) {
            self.kill_the_forsaken();
        }
        let now = now().as_nanos();
        let open = self.history.excuses.iter_mut().filter(|excuse| excuse.to == u64::MAX);
        open.for_each(|excuse| excuse.to = now);
    }

    /// Kills what electors that are no more have left, and waits until that is gone.
    fn kill_the_forsaken(&mut self) {
        let place = self.place();
        let gone = self.within(ttl() * 5, |world| {
            let mut left: Vec<i32> = every_pid();
            left.retain(|pid| carries(*pid, PLACE, &place));
            let families: Vec<i32> = world.actors.iter().flat_map(Actor::family).collect();
            left.retain(|pid| !families.contains(pid));
            left.iter().for_each(|pid| send(*pid, Signal::KILL));
            left.is_empty().then_some(())
        });
        assert!(gone.is_some(), "what was killed is still there");
    }

    fn place(&self) -> String {
        self.home.path().display().to_string()
    }

    /// A fault that has begun then is over now. Returns when that is.
    pub(crate) fn window(&mut self, fault: &'static str, from: u64) -> u64 {
        let to = now().as_nanos();
        self.history.windows.push(Window { fault, from, to });
        to
    }

    /// Tells one elector to end, and sees that it does, and all that it has started.
    pub(crate) fn stop(&mut self, node: usize) {
        let (began, at) = (Instant::now(), now().as_nanos());
        self.actors[node].doomed = true;
        let family = self.actors[node].family();
        self.actors[node].send(Signal::TERM);
        // Without the database it tries to release until its lease has run out.
        let limit = (ttl() / 6 + LEAVE).max(ttl() + SLACK);
        let pid = self.actors[node].pid();
        process::within(limit * 3, || {
            self.tail.read();
            self.actors[node].ended().is_some()
        });
        let took = began.elapsed();
        let mut left = self.actors[node].family();
        left.retain(|each| *each != pid);
        left.extend(family.into_iter().filter(|each| *each != pid && self.lives_on(*each)));
        if took > limit || !left.is_empty() {
            eprintln!("node {node}, told to end:\n{}", last_lines(&self.actors[node].messages()));
        }
        self.history.stops.push(Stop { node, at, took, limit, left });
    }

    fn lives_on(&self, pid: i32) -> bool {
        carries(pid, PLACE, &self.place())
    }

    /// Notes the fenced writes so far, because older data are about to be put in their place; `None`
    /// if they cannot be read, because of another fault.
    pub(crate) fn turn_the_page(&mut self) -> Option<()> {
        let writes = self.within(ttl(), |world| world.database.writes())?;
        self.history.writes.push(writes);
        Some(())
    }

    /// Ends everything and hands over what was seen.
    pub(crate) fn end(mut self) -> History {
        self.make_good();
        self.tend();
        self.history.end = now().as_nanos();
        self.over = true;
        for node in 0..self.actors.len() {
            self.stop(node);
        }
        // What guards that were killed have left, the next one that starts removes.
        let url = self.url(0);
        let mut last = Command::new(env!("CARGO_BIN_EXE_election"));
        last.args(["run", "--quiet", "--store", &url, "--name", "the last", "--", "true"]);
        last.env("TMPDIR", self.home.scratch());
        let last = last.output().expect("the election command");
        let said = String::from_utf8_lossy(&last.stderr).into_owned();
        assert!(last.status.success(), "after all is over: {said}");
        let read = (0..20).find_map(|_| self.turn_the_page());
        read.expect("a database that can be read");
        self.tail.read();
        self.history.lines = std::mem::take(&mut self.tail.lines);
        self.history.weights.extend(self.actors.iter().map(|actor| actor.weights.clone()));
        self.history.remains = self.remains();
        std::mem::take(&mut self.history)
    }

    fn remains(&self) -> Vec<String> {
        let place = self.place();
        let processes = every_pid().into_iter().filter(|pid| carries(*pid, PLACE, &place));
        let processes = processes.map(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!("process {pid}: {}", String::from_utf8_lossy(&line).replace('\0', " "))
        });
        let files = fs::read_dir(self.home.scratch()).into_iter().flatten().flatten();
        let files = files.map(|entry| format!("file {}", entry.path().display()));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "));
        let point = mount.and_then(|line| line.split(' ').nth(4)).unwrap_or_default().to_owned();
        let groups = self.groups.iter().map(|group| format!("{point}{group}"));
        let groups = groups.filter(|path| fs::metadata(path).is_ok());
        processes.chain(files).chain(groups.map(|path| format!("control group {path}"))).collect()
    }
}

/// All processes of the world end with it, however it ends.
impl Drop for World {
    fn drop(&mut self) {
        let place = self.place();
        for pid in every_pid() {
            if pid != rustix::process::getpid().as_raw_pid() && carries(pid, PLACE, &place) {
                send(pid, Signal::KILL);
            }
        }
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
