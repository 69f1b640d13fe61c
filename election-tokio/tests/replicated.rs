//! Three nodes of the replicated store, killed fifty times. What was acknowledged stays, and what
//! is dropped was never acknowledged.
//!
//! The seed decides who is killed when; `REPLICATED_SEED` sets it. Cargo builds the example along
//! with the tests, unless only this test was asked for.
#![allow(clippy::unwrap_used)]

use election_core::Random;
use election_testing::{
    Program,
    process::{PATIENCE, eventually},
};
use rustix::process::Signal;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    time::{Duration, Instant, UNIX_EPOCH},
};

const KILLS: usize = 50;
/// How many writes are under way when somebody is killed.
const UNDER_WAY: usize = 10;
/// How many writes a primary takes that nobody follows: more than its successor will take.
const FORKED: usize = 60;
/// How long an answer may take, as from a node that is stopped.
const ANSWER: Duration = Duration::from_secs(1);

/// Each happens once before any happens again.
const FAULTS: [fn(&mut World); 7] = [
    |world| world.interrupt(&[1]),
    |world| world.interrupt(&[0]),
    |world| world.interrupt(&[1, 2]),
    |world| world.interrupt(&[0, 1]),
    World::lag,
    World::fork,
    World::suspend,
];

#[test]
fn fifty_kills_lose_no_acknowledged_write() {
    let (began, mut world) = (Instant::now(), World::new());
    let enough = |world: &World| world.kills >= KILLS && world.forked > 0;
    while !enough(&world) {
        let mut faults = FAULTS;
        for last in (1..faults.len()).rev() {
            faults.swap(last, world.below(last + 1));
        }
        for fault in faults {
            if enough(&world) {
                break;
            }
            fault(&mut world);
            world.write();
        }
    }
    world.check();
    println!("{} kills in {:?}", world.kills, began.elapsed());
}

/// A cluster and its client.
struct World {
    random: Random,
    place: tempfile::TempDir,
    hosts: [String; 3],
    nodes: [Option<Program>; 3],
    kills: usize,
    /// Who is thought to lead.
    primary: usize,
    /// Every write has its own number.
    number: u64,
    acknowledged: BTreeMap<String, u64>,
    /// The least that a read of `last` may say.
    last: u64,
    /// What nodes that have been killed said they dropped.
    dropped: Vec<String>,
    /// How many records were forked on purpose.
    forked: usize,
}

impl World {
    fn new() -> Self {
        let clock = || UNIX_EPOCH.elapsed().unwrap().as_secs();
        let seed =
            std::env::var("REPLICATED_SEED").map_or_else(|_| clock(), |it| it.parse().unwrap());
        println!("REPLICATED_SEED={seed}");
        let mut world = Self {
            random: Random::new(seed),
            place: tempfile::tempdir().unwrap(),
            hosts: eventually("free addresses", free_hosts),
            nodes: [const { None }; 3],
            kills: 0,
            primary: 0,
            number: 0,
            acknowledged: BTreeMap::new(),
            last: 0,
            dropped: Vec::new(),
            forked: 0,
        };
        (0..3).for_each(|node| world.start(node));
        world.write();
        world
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.up_to(bound as u64 - 1)).unwrap()
    }

    fn start(&mut self, node: usize) {
        let directory = self.directory(node);
        let mut arguments = vec![["n1", "n2", "n3"][node], &directory];
        arguments.extend(self.hosts.iter().map(String::as_str));
        self.nodes[node] = Some(Program::start("replicated", &arguments));
    }

    /// Kills these nodes at once.
    #[track_caller]
    fn kill(&mut self, nodes: &[usize]) {
        for node in nodes {
            let program = self.nodes[*node].as_mut().unwrap();
            assert!(program.process.try_wait().unwrap().is_none(), "it ended by itself");
            program.send(Signal::KILL);
        }
        self.kills += nodes.len();
        for node in nodes {
            let mut program = self.nodes[*node].take().unwrap();
            program.ends();
            self.dropped.extend(program.lines.iter().filter_map(|line| dropped(&line)));
        }
    }

    /// The nodes in a random order, the primary first.
    fn ranked(&mut self) -> [usize; 3] {
        let turn = 1 + self.below(2);
        [self.primary, (self.primary + turn) % 3, (self.primary + 3 - turn) % 3]
    }

    /// Kills nodes of this rank while writes are under way. They start again at once, or after the
    /// others have gone on without them.
    fn interrupt(&mut self, ranks: &[usize]) {
        let ranked = self.ranked();
        let mut nodes: Vec<_> = ranks.iter().map(|rank| ranked[*rank]).collect();
        let under_way = self.begin(self.primary, UNDER_WAY);
        self.kill(&nodes);
        self.settle(under_way);
        if nodes.len() == 1 && self.below(2) == 0 {
            self.write();
        }
        if self.below(2) == 0 {
            nodes.reverse();
        }
        nodes.into_iter().for_each(|node| self.start(node));
    }

    /// A node that was away while others wrote comes back when the primary is gone.
    fn lag(&mut self) {
        let [primary, away, _] = self.ranked();
        self.kill(&[away]);
        self.write();
        self.kill(&[primary]);
        self.start(away);
        self.write();
        self.start(primary);
    }

    /// A primary goes on writing while nobody follows. Its successor writes less. Then the fork,
    /// with one that follows the successor, has to elect.
    fn fork(&mut self) {
        let [old, one, other] = self.ranked();
        self.kill(&[one, other]);
        let alone = self.begin(old, FORKED);
        self.settle(alone);
        self.kill(&[old]);
        let forked = self.log(old).len();
        self.start(one);
        self.start(other);
        self.write();
        let new = self.primary;
        assert_ne!(new, old);
        self.forked += forked.saturating_sub(self.log(new).len());
        self.kill(&[new]);
        self.start(old);
        self.write();
        self.start(new);
    }

    /// A primary that was stopped while another took over answers with nothing that is out of date.
    fn suspend(&mut self) {
        let [old, ..] = self.ranked();
        let program = |world: &Self, signal| world.nodes[old].as_ref().unwrap().send(signal);
        program(self, Signal::STOP);
        self.primary = (old + 1) % 3;
        self.write();
        let least = self.last;
        let question = ask(&self.hosts[old], "GET last").unwrap();
        question.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        let late = self.begin(old, UNDER_WAY);
        program(self, Signal::CONT);
        self.judge(least, &answer(question).unwrap());
        self.settle(late);
    }

    /// Asks one node for so many writes, all at once.
    fn begin(&mut self, node: usize, count: usize) -> Vec<(u64, BufReader<TcpStream>)> {
        let mut under_way = Vec::new();
        for _ in 0..count {
            self.number += 1;
            let line = format!("SET k{0} {0}", self.number);
            under_way.extend(ask(&self.hosts[node], &line).ok().map(|it| (self.number, it)));
        }
        under_way
    }

    /// Takes the answers. Without one, nobody knows.
    fn settle(&mut self, under_way: Vec<(u64, BufReader<TcpStream>)>) {
        for (number, connection) in under_way {
            if answer(connection).is_ok_and(|said| said == "OK") {
                self.acknowledged.insert(format!("k{number}"), number);
            }
        }
    }

    /// Writes one number as a key of its own and as `last`, through whoever leads, and reads it.
    #[track_caller]
    fn write(&mut self) {
        eventually("an acknowledged write", || {
            self.number += 1;
            let number = self.number;
            for key in [format!("k{number}"), "last".to_owned()] {
                self.tell(&format!("SET {key} {number}")).filter(|said| said == "OK")?;
                self.acknowledged.insert(key, number);
            }
            self.last = number;
            let said = self.tell("GET last")?;
            said.starts_with("VALUE").then(|| self.judge(number, &said))
        });
    }

    /// Asks who is thought to lead, and finds out who does.
    fn tell(&mut self, line: &str) -> Option<String> {
        let said = ask(&self.hosts[self.primary], line).and_then(answer).unwrap_or_default();
        if !said.is_empty() && !said.starts_with("ERROR") {
            return Some(said);
        }
        let named = self.hosts.iter().position(|host| said.contains(&format!(" {host}:")));
        let running = named.filter(|node| self.nodes[*node].is_some());
        self.primary = running.unwrap_or((self.primary + 1) % 3);
        None
    }

    /// A read says at least what was acknowledged before it was asked.
    #[track_caller]
    fn judge(&self, least: u64, said: &str) {
        match said.strip_prefix("VALUE ") {
            Some(value) => assert!(value.parse::<u64>().unwrap() >= least, "{said} after {least}"),
            None => assert!(said.starts_with("ERROR"), "{said} after {least}"),
        }
    }

    /// In the end all are equal and have everything.
    fn check(&mut self) {
        self.write();
        let log = eventually("equal logs", || {
            let [one, two, three] = [0, 1, 2].map(|node| self.log(node));
            (one == two && two == three).then_some(one)
        });
        let records: Vec<(u64, &str)> = log.iter().map(|line| record(line)).collect();
        assert!(records.is_sorted_by_key(|(epoch, _)| epoch), "one primary after the other");
        let changes: BTreeSet<&str> = records.iter().map(|(_, change)| *change).collect();
        for (key, number) in self.acknowledged.clone() {
            assert!(changes.contains(&*format!("{key} {number}")), "{key} {number} is lost");
            let value = eventually("a value", || self.tell(&format!("GET {key}")));
            assert_eq!(value, format!("VALUE {number}"), "of {key}");
        }
        self.kill(&[0, 1, 2]);
        for change in &self.dropped {
            let number = change.split_once(' ').and_then(|(key, _)| self.acknowledged.get(key));
            assert!(
                number.is_none_or(|number| !change.ends_with(&format!(" {number}"))),
                "{change} was acknowledged, and dropped"
            );
        }
        assert!(!self.dropped.is_empty());
        let (kept, dropped) = (self.acknowledged.len(), self.dropped.len());
        println!("{kept} acknowledged, {} in the log, {dropped} dropped", log.len());
    }

    fn directory(&self, node: usize) -> String {
        self.place.path().join(format!("n{}", node + 1)).to_str().unwrap().to_owned()
    }

    /// The whole lines of a node's log.
    fn log(&self, node: usize) -> Vec<String> {
        let text = fs::read_to_string(Path::new(&self.directory(node)).join("log")).unwrap();
        text.split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
            .map(Into::into)
            .collect()
    }
}

fn record(line: &str) -> (u64, &str) {
    let (epoch, change) = line.split_once(' ').unwrap();
    (epoch.parse().unwrap(), change)
}

/// What this line says was dropped.
fn dropped(line: &str) -> Option<String> {
    let (_, change) = line.split_once("drops \"")?;
    Some(change.split_once('"')?.0.to_owned())
}

/// Hosts with ports that nobody uses, and that nobody is given who connects to somewhere.
fn free_hosts() -> Option<[String; 3]> {
    let nanos = UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let mut random = Random::new(u64::from(nanos) << 32 | u64::from(std::process::id()));
    let (network, part) = (1 + random.up_to(253), random.up_to(255));
    let hosts = [1, 2, 3].map(|host| format!("127.{network}.{part}.{host}"));
    let is_free =
        |host: &String| [7400, 7500].iter().all(|port| TcpListener::bind((&**host, *port)).is_ok());
    hosts.iter().all(is_free).then_some(hosts)
}

/// Sends one line.
fn ask(host: &str, line: &str) -> io::Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect((host, 7500))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    writeln!(stream, "{line}")?;
    Ok(BufReader::new(stream))
}

fn answer(mut connection: BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}
