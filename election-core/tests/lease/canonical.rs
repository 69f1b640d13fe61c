//! A state behaves like its canonical form: a machine that is moved in time and renamed after every
//! step does the same as a twin that is left alone.

use crate::hand::{candidate, held, vacant};
use core::time::Duration;
use election_core::{
    Candidate, Change, Epoch, Incarnation, Input, Protocol, Random, Step, Timestamp,
    lease::{
        Action, Answer, Config, Event, Failure, Lease, Names, Query, Row, Server, Surroundings,
        Ticket,
    },
};

const ORIGIN: Timestamp = Timestamp::from_nanos(1 << 50);

/// Surroundings that contain everything, so that only the past is forgotten.
fn everything() -> Surroundings {
    let draws = Random::constant(0);
    Surroundings { draws, list: true, row_loss: true, clock_back: true }
}

/// Increments every epoch and every incarnation.
struct Next;

impl Names for Next {
    fn epoch(&mut self, epoch: Epoch) -> Epoch {
        later(epoch, 1)
    }

    fn ordinal(&mut self, ordinal: u64) -> u64 {
        ordinal
    }

    fn candidate(&mut self, who: &Candidate) -> Candidate {
        reborn(who, 1)
    }
}

fn later(epoch: Epoch, by: u64) -> Epoch {
    if epoch == Epoch::NONE { epoch } else { Epoch::new(epoch.get() + by) }
}

fn reborn(who: &Candidate, times: u64) -> Candidate {
    let number = who.incarnation.get().as_u128() + u128::from(times);
    Candidate { id: who.id.clone(), incarnation: Incarnation::new(uuid::Uuid::from_u128(number)) }
}

/// The machine and its twin.
struct Twins {
    plain: Lease,
    canonical: Lease,
    now: Timestamp,
    /// How often the second one was renamed.
    renamed: u64,
    /// The newest question, as each twin asked it.
    asked: Option<(Ticket, Ticket, Query)>,
    highest: u64,
}

impl Twins {
    fn new(config: &Config) -> Self {
        let now = Timestamp::from_nanos(5_000_000_000);
        let mut plain = Lease::new(config.clone(), candidate("me", 1), 7);
        plain.rebase(now, now, &everything());
        let mut canonical = plain.clone();
        canonical.rebase(now, ORIGIN, &everything());
        Self { plain, canonical, now, renamed: 0, asked: None, highest: 100 }
    }

    /// Gives both the same input, in their own names, and expects the same outputs.
    fn tell(&mut self, since: Duration, tell: impl Fn(&Self, bool) -> Input<Event>) {
        self.now = self.now + since;
        let plain = self.plain.step(self.now, tell(self, false));
        let canonical = self.canonical.step(ORIGIN + since, tell(self, true));
        let asks = |step: &Step<Action>| {
            step.action
                .clone()
                .map(|Action::Query { ticket, query, deadline }| (ticket, query, deadline))
        };
        let (first, second) = (asks(&plain), asks(&canonical));
        let told = self.told(&canonical, since);
        assert_eq!(told, self.told_plain(&plain));
        if let (Some((ticket, query, _)), Some((twin, ..))) = (&first, &second) {
            self.asked = Some((*ticket, *twin, query.clone()));
        }
        self.canonical.rebase(ORIGIN + since, ORIGIN, &everything());
        self.canonical.rename(&mut Next);
        self.renamed += 1;
        if let Some((_, twin, _)) = &mut self.asked {
            *twin = self.canonical.awaited().unwrap_or(Ticket::NONE);
        }
        if self.plain.awaited().is_none() {
            assert_eq!(self.canonical.awaited(), None);
        }
    }

    fn told_plain(&self, step: &Step<Action>) -> String {
        let since = |at: Timestamp| at.since(self.now);
        words(step, since, Epoch::get)
    }

    fn told(&self, step: &Step<Action>, since: Duration) -> String {
        let passed = move |at: Timestamp| at.since(ORIGIN + since);
        let renamed = self.renamed;
        words(step, passed, move |epoch| epoch.get().saturating_sub(renamed))
    }
}

/// The outputs of a step, without the parts that may differ.
fn words(
    step: &Step<Action>,
    since: impl Fn(Timestamp) -> Duration,
    number: impl Fn(Epoch) -> u64,
) -> String {
    let change = step.change.as_ref().map(|change| match change {
        Change::Elected(tenure) => {
            let (until, stop_by) = (since(tenure.until), since(tenure.stop_by));
            format!("elected {} {until:?} {stop_by:?}", number(tenure.term.epoch))
        }
        Change::Lost { term, reason, stop_by, successor } => {
            let successor = successor.as_ref().map(|term| number(term.epoch));
            format!("lost {} {reason} {:?} {successor:?}", number(term.epoch), since(*stop_by))
        }
        Change::Followed { term, .. } => format!("follows {}", number(term.epoch)),
        Change::Vacant => "vacant".into(),
        Change::Alert(alert) => unreachable!("the lease reports none, but {alert:?}"),
    });
    let action = step.action.as_ref().map(|Action::Query { query, deadline, .. }| {
        let query = match query {
            Query::Attempt { seen, .. } => format!("attempt {}", number(*seen)),
            Query::TakeOver { epoch, seen, renewals, .. } => {
                format!("take over {} {} {renewals}", number(*epoch), number(*seen))
            }
            Query::Renew { epoch, ordinal, ttl, .. } => {
                format!("renew {} {ordinal} {ttl:?}", number(*epoch))
            }
            Query::Resign { epoch } => format!("resign {}", number(*epoch)),
            other => format!("{other:?}"),
        };
        format!("{query} by {:?}", since(*deadline))
    });
    let wake = step.wake_at.map(&since);
    format!("{change:?} {action:?} {wake:?}")
}

/// One of the possible answers to the question.
fn answer(twins: &mut Twins, random: &mut Random) -> Result<Answer, Failure> {
    let Some((_, _, query)) = twins.asked.clone() else { return Err(Failure::Fatal) };
    let (me, other) = (candidate("me", 1), candidate("other", 1));
    if random.up_to(5) == 0 {
        let failures = [Failure::Transient, Failure::Conflict, Failure::Ambiguous, Failure::Fatal];
        return Err(failures[usize::try_from(random.up_to(3)).unwrap()]);
    }
    let won = random.up_to(1) == 0;
    twins.highest += u64::from(won);
    let highest = twins.highest;
    let remaining = random.up_to(15_000);
    Ok(match query {
        Query::Attempt { ttl, .. } | Query::TakeOver { ttl, .. } if won => {
            Answer::Won { epoch: Epoch::new(highest), remaining: ttl }
        }
        Query::Attempt { .. } | Query::TakeOver { .. } | Query::Observe => {
            let row = match random.up_to(4) {
                0 => vacant(highest),
                1 => held(highest, &me, remaining, 0),
                2 => held(highest, &other, 0, 1),
                _ => held(highest, &other, remaining, random.up_to(2)),
            };
            let since_ms = (random.up_to(4) > 0).then_some(5);
            let known = Duration::from_millis(random.up_to(20_000));
            let promoted = Server { history: 2, since_ms, known };
            let server = if random.up_to(3) == 0 { promoted } else { Server::FIRST };
            Answer::Seen(Row { server, ..row })
        }
        Query::Renew { .. } if random.up_to(5) == 0 => Answer::Gone,
        Query::Renew { ttl, .. } => {
            Answer::Renewed { remaining: ttl, resign_requested: random.up_to(9) == 0 }
        }
        Query::Resign { .. } => Answer::Released,
        Query::Register { .. } | Query::Unregister => Answer::Listed,
        Query::Others => Answer::Others(random.up_to(1) == 0),
    })
}

/// An answer, translated for the twin that was renamed this often.
fn translated(answer: Result<Answer, Failure>, times: u64) -> Result<Answer, Failure> {
    answer.map(|answer| match answer {
        Answer::Won { epoch, remaining } => Answer::Won { epoch: later(epoch, times), remaining },
        Answer::Seen(row) => {
            let holder = row.holder.map(|mut holder| {
                holder.candidate = reborn(&holder.candidate, times);
                holder
            });
            Answer::Seen(Row { epoch: later(row.epoch, times), holder, ..row })
        }
        other => other,
    })
}

fn walk(config: &Config, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut twins = Twins::new(config);
    let mut elected = 0;
    for _ in 0..400 {
        let longest = [0, 1, 3_000, 40_000][usize::try_from(random.up_to(3)).unwrap()];
        let since = random.jitter(Duration::from_millis(longest));
        let work = twins.plain.draining();
        match random.up_to(40) {
            0 => twins.tell(since, |_, _| Input::Resign),
            1 => twins.tell(since, |_, _| Input::Event(Event::Wake)),
            2 => twins.tell(since, |_, _| Input::Event(Event::Health(false))),
            3..=5 => twins.tell(since, |_, _| Input::Event(Event::Health(true))),
            6..=10 => twins.tell(since, |twins, renamed| {
                let times = if renamed { twins.renamed } else { 0 };
                work.map_or(Input::Tick, |epoch| Input::Stopped(later(epoch, times)))
            }),
            11 if seed % 3 == 0 => twins.tell(since, |_, _| Input::Withdraw),
            11..=22 => twins.tell(since, |_, _| Input::Tick),
            _ => {
                let answer = answer(&mut twins, &mut random);
                let asked = twins.asked.clone();
                twins.tell(since, |twins, renamed| {
                    let Some((first, second, _)) = &asked else { return Input::Tick };
                    let (ticket, times) =
                        if renamed { (*second, twins.renamed) } else { (*first, 0) };
                    let result = translated(answer.clone(), times);
                    Input::Event(Event::Answer { ticket, result })
                });
            }
        }
        elected += u64::from(twins.plain.is_leader(twins.now));
    }
    elected
}

#[test]
fn the_canonical_form_of_a_state_behaves_as_it_does() {
    for interval in [400, 5_000] {
        let ttl = Duration::from_millis(interval * 3);
        for least in [Duration::ZERO, ttl * 4] {
            let config = Config::builder().ttl(ttl).jitter(Duration::ZERO).at_least_for(least);
            let config = config.build().unwrap();
            let led: u64 = (0..1_000).map(|seed| walk(&config, seed)).sum();
            assert!(led > 5_000, "somebody has to lead for this to mean anything: {led}");
        }
    }
}
