//! Every order of events in a small world: two processes, one register, writes that were given up and take
//! effect at any later time, and replies that are lost. At no time do two processes lead, and no epoch is won
//! twice.
#![allow(clippy::unwrap_used)]

use election_core::{
    Candidate, Drift, Epoch, Incarnation, Namespace, NodeId, Timestamp,
    lease::{Answer, Query, Registration},
    register::{Client, Key, Next, Reply, Request},
    uuid::Uuid,
};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher as _},
    time::Duration,
};

const TICK: Duration = Duration::from_millis(100);
const TTL: Duration = Duration::from_millis(300);
/// What a process gives up of its lease.
const MARGIN: Duration = Duration::from_millis(1);

/// How far a world goes.
#[derive(Clone, Copy)]
struct Scope {
    ticks: u32,
    /// The questions of each process.
    questions: u32,
    /// The writes at any time that somebody has given up.
    ghosts: usize,
}

type Value = Option<(String, u32)>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    tick: u32,
    value: Value,
    writes: u32,
    processes: [Process; 2],
    ghosts: Vec<Write>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Write {
    value: String,
    expected: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Process {
    client: Client<u32>,
    asked: u32,
    question: Option<Question>,
    /// The epoch, the newest renewal, and the end of trust.
    leads: Option<(Epoch, u64, Timestamp)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    query: Query,
    at: Timestamp,
    /// What the register has said to the request under way.
    reply: Option<Said>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Said {
    Found(Value),
    Written(u32),
    Changed,
}

fn client(process: usize) -> Client<u32> {
    let id = NodeId::new(["a", "b"][process]).unwrap();
    let candidate =
        Candidate { id, incarnation: Incarnation::new(Uuid::from_u128(process as u128)) };
    let who = Registration { namespace: Namespace::default(), candidate, label: None };
    Client::new(who, Drift::from_ppm(0).unwrap())
}

impl World {
    fn new() -> Self {
        let process = |place| {
            let client = client(place);
            Process { client, asked: 0, question: None, leads: None }
        };
        let processes = [process(0), process(1)];
        Self { tick: 0, value: None, writes: 0, processes, ghosts: Vec::new() }
    }

    /// Sixteen bytes stand for a world; that two worlds share them is not to be expected.
    fn digest(&self) -> (u64, u64) {
        let digest = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, self).hash(&mut hasher);
            hasher.finish()
        };
        (digest(0), digest(1))
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(1_000_000_000) + TICK * self.tick
    }

    fn leaders(&self) -> usize {
        let leads = |it: &&Process| it.leads.is_some_and(|(.., trust)| self.now() < trust);
        self.processes.iter().filter(leads).count()
    }

    fn write(&mut self, write: &Write) -> Said {
        if self.value.as_ref().map(|(_, version)| *version) != write.expected {
            return Said::Changed;
        }
        self.writes += 1;
        self.value = Some((write.value.clone(), self.writes));
        Said::Written(self.writes)
    }

    /// Every world that may follow.
    fn next(&self, scope: Scope) -> Vec<Self> {
        let mut next = Vec::new();
        if self.tick < scope.ticks {
            next.push(Self { tick: self.tick + 1, ..self.clone() });
        }
        for ghost in 0..self.ghosts.len() {
            let mut world = self.clone();
            let write = world.ghosts.remove(ghost);
            world.write(&write);
            next.push(world);
        }
        for place in 0..2 {
            let there = &self.processes[place];
            match &there.question {
                None if there.asked < scope.questions => {
                    next.extend(
                        self.choices(place).into_iter().map(|query| self.ask(place, query)),
                    );
                }
                None => {}
                Some(question) if question.reply.is_none() => {
                    next.push(self.executed(place));
                    next.extend(self.dropped(place, scope));
                }
                Some(_) => {
                    next.push(self.answered(place));
                    next.extend(self.dropped(place, scope));
                }
            }
        }
        next
    }

    fn choices(&self, place: usize) -> Vec<Query> {
        let (ttl, clock_step) = (TTL, Duration::ZERO);
        match self.processes[place].leads {
            Some((epoch, renewals, trust)) if self.now() < trust => {
                // As of whoever elects call by call, it may be one that was used before.
                let ordinal = renewals;
                let renew = Query::Renew { epoch, ordinal, ttl, clock_step, leads: true };
                vec![renew, Query::Resign { epoch }]
            }
            // An attempt that does not win also sees who leads.
            _ => vec![Query::Attempt { seen: Epoch::NONE, ttl, clock_step }],
        }
    }

    fn ask(&self, place: usize, query: Query) -> Self {
        let (mut world, now) = (self.clone(), self.now());
        let it = &mut world.processes[place];
        match (&query, &mut it.leads) {
            (Query::Renew { ordinal, .. }, Some((_, renewals, _))) => *renewals = *ordinal,
            _ => it.leads = None,
        }
        it.asked += 1;
        it.client.ask(query.clone(), now, 0);
        it.question = Some(Question { query, at: now, reply: None });
        world
    }

    fn under_way(&self, place: usize) -> Option<Write> {
        match self.processes[place].client.request()? {
            Request::Write { key: Key::Leader, value, expected } => {
                Some(Write { value: value.to_owned(), expected: expected.copied() })
            }
            _ => None,
        }
    }

    /// The request under way takes effect.
    fn executed(&self, place: usize) -> Self {
        let mut world = self.clone();
        let said = match self.under_way(place) {
            Some(write) => world.write(&write),
            None => Said::Found(world.value.clone()),
        };
        world.processes[place].question.as_mut().unwrap().reply = Some(said);
        world
    }

    /// The process waits no longer; what it has written may take effect later.
    fn dropped(&self, place: usize, scope: Scope) -> Option<Self> {
        let mut world = self.clone();
        let question = world.processes[place].question.take();
        let open = question.is_some_and(|question| question.reply.is_none());
        if let Some(write) = self.under_way(place).filter(|_| open) {
            world.ghosts.push(write);
        }
        (world.ghosts.len() <= scope.ghosts).then_some(world)
    }

    /// The process takes the reply.
    fn answered(&self, place: usize) -> Self {
        let (mut world, now) = (self.clone(), self.now());
        let it = &mut world.processes[place];
        let question = it.question.as_mut().unwrap();
        let reply = match question.reply.take().unwrap() {
            Said::Found(value) => Reply::Found(value),
            Said::Written(version) => Reply::Written(version),
            Said::Changed => Reply::Changed,
        };
        let trust = question.at + (TTL - MARGIN);
        match (it.client.advance(reply, now).unwrap(), &mut it.leads) {
            (Next::Ask, _) => return world,
            (Next::Answer(Answer::Won { epoch, .. }), leads) => *leads = Some((epoch, 0, trust)),
            (Next::Answer(Answer::Renewed { .. }), Some((.., until))) => {
                *until = trust.max(*until);
            }
            (Next::Answer(Answer::Gone), leads) => *leads = None,
            _ => {}
        }
        it.question = None;
        world
    }
}

/// All worlds within a scope, and how many of them have a leader of the second epoch or a later one.
fn explored(scope: Scope) -> (usize, usize) {
    let (mut known, mut open) = (HashSet::from([World::new().digest()]), vec![World::new()]);
    let mut later = 0;
    while let Some(world) = open.pop() {
        assert!(world.leaders() <= 1, "two lead at tick {}", world.tick);
        let [a, b] = world.processes.each_ref().map(|it| it.leads.map(|(epoch, ..)| epoch));
        assert!(a.is_none() || a != b, "an epoch was won twice");
        later += usize::from(a.max(b) > Some(Epoch::new(1)));
        for next in world.next(scope) {
            if known.insert(next.digest()) {
                open.push(next);
            }
        }
    }
    (known.len(), later)
}

#[test]
fn two_processes_never_lead_at_once() {
    let scope = Scope { ticks: 4, questions: 2, ghosts: 1 };
    let (all, later) = explored(scope);
    assert!(all == 1_125_183 && later > 0, "{all} worlds, {later} with a second leader");
}
