//! One lease under arbitrary times and inputs: forwards, backwards, to the ends of `u64`; answers
//! to any question, of any kind, twice or never. Nothing panics, changes alternate, nobody leads
//! outside a tenure that a question allows, and a machine that is left alone comes to rest.
#![no_main]

use arbitrary::Arbitrary;
use election_core::{
    Candidate, Change, Epoch, Incarnation, Input, NodeId, Protocol, Timestamp,
    lease::{Action, Answer, Config, Event, Failure, Holder, Lease, Role, Row, Server, Ticket},
};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;
use uuid::Uuid;

#[derive(Arbitrary, Debug)]
struct Script {
    ttl_ms: u32,
    grace: bool,
    observer: bool,
    seed: u64,
    acts: Vec<(When, Act)>,
}

#[derive(Arbitrary, Debug)]
enum When {
    After(u32),
    Due,
    JustBefore,
    At(u64),
}

#[derive(Arbitrary, Debug)]
enum Act {
    Tick,
    Answer { back: u8, result: Result<Said, Failed> },
    Wake,
    Resigned(u8),
    Health(bool),
    Resign,
    Stopped(u8),
    Withdraw,
}

#[derive(Arbitrary, Debug)]
enum Said {
    Won { epoch: u8, remaining_ms: u32 },
    Seen { epoch: u8, own: bool, held: bool, remaining_ms: u32, renewals: u8, resign: bool },
    Renewed { remaining_ms: u32, resign: bool },
    Gone,
    Released,
    Listed,
    Others(bool),
}

#[derive(Arbitrary, Debug)]
enum Failed {
    Transient,
    Conflict,
    Ambiguous,
    Fatal,
}

fuzz_target!(|script: Script| {
    let ttl = Duration::from_millis(u64::from(script.ttl_ms % 60_000) + 100);
    let role = if script.observer { Role::Observer } else { Role::Candidate };
    let builder = Config::builder().ttl(ttl).role(role);
    let builder = if script.grace { builder } else { builder.grace(Duration::ZERO) };
    let Ok(config) = builder.build() else { return };
    Run::new(config, script.seed).play(script.acts);
});

struct Run {
    lease: Lease,
    config: Config,
    now: Timestamp,
    latest: Timestamp,
    wake_at: Option<Timestamp>,
    tickets: Vec<Ticket>,
    leads: Option<Epoch>,
    last_asked: Timestamp,
}

impl Run {
    fn new(config: Config, seed: u64) -> Self {
        Self {
            lease: Lease::new(config.clone(), candidate(1), seed),
            config,
            now: Timestamp::ZERO,
            latest: Timestamp::ZERO,
            wake_at: None,
            tickets: Vec::new(),
            leads: None,
            last_asked: Timestamp::ZERO,
        }
    }

    fn play(mut self, acts: Vec<(When, Act)>) {
        self.step(Input::Tick);
        for (when, act) in acts {
            self.now = match when {
                When::After(millis) => self.now + Duration::from_millis(u64::from(millis % 90_000)),
                When::Due => self.wake_at.unwrap_or(self.now),
                When::JustBefore => self.wake_at.unwrap_or(self.now) - Duration::from_nanos(1),
                When::At(nanos) => Timestamp::from_nanos(nanos),
            };
            if let Some(input) = self.input(act) {
                self.step(input);
            }
        }
        // Left alone, it does not spin: no more than a few steps at one instant.
        self.now = self.latest;
        for _ in 0..64 {
            if self.wake_at.is_none_or(|at| at > self.now) {
                return;
            }
            self.step(Input::Tick);
        }
        panic!("still busy after 64 steps at {:?}", self.now);
    }

    fn input(&self, act: Act) -> Option<Input<Event>> {
        Some(match act {
            Act::Tick => Input::Tick,
            Act::Answer { back, result } => {
                let at = self.tickets.len().checked_sub(usize::from(back % 8) + 1)?;
                let ticket = self.tickets[at];
                let result = result.map(|said| self.answer(said)).map_err(|failed| match failed {
                    Failed::Transient => Failure::Transient,
                    Failed::Conflict => Failure::Conflict,
                    Failed::Ambiguous => Failure::Ambiguous,
                    Failed::Fatal => Failure::Fatal,
                });
                Input::Event(Event::Answer { ticket, result })
            }
            Act::Wake => Input::Event(Event::Wake),
            Act::Resigned(epoch) => Input::Event(Event::Resigned(number(epoch))),
            Act::Health(healthy) => Input::Event(Event::Health(healthy)),
            Act::Resign => Input::Resign,
            Act::Stopped(epoch) => Input::Stopped(number(epoch)),
            Act::Withdraw => Input::Withdraw,
        })
    }

    fn answer(&self, said: Said) -> Answer {
        let millis = |millis: u32| Duration::from_millis(u64::from(millis));
        match said {
            Said::Won { epoch, remaining_ms } => {
                Answer::Won { epoch: number(epoch), remaining: millis(remaining_ms) }
            }
            Said::Seen { epoch, own, held, remaining_ms, renewals, resign } => {
                let candidate = candidate(if own { 1 } else { 2 });
                Answer::Seen(Row {
                    epoch: number(epoch),
                    holder: held.then_some(Holder { candidate, label: None }),
                    remaining: millis(remaining_ms),
                    ttl: self.config.ttl(),
                    renewals: u64::from(renewals),
                    resign_requested: resign,
                    elected_ms: None,
                    server: Server::FIRST,
                })
            }
            Said::Renewed { remaining_ms, resign } => {
                Answer::Renewed { remaining: millis(remaining_ms), resign_requested: resign }
            }
            Said::Gone => Answer::Gone,
            Said::Released => Answer::Released,
            Said::Listed => Answer::Listed,
            Said::Others(others) => Answer::Others(others),
        }
    }

    fn step(&mut self, input: Input<Event>) {
        let step = self.lease.step(self.now, input);
        self.latest = self.latest.max(self.now);
        match step.change {
            Some(Change::Elected(tenure)) => {
                assert_eq!(self.leads, None, "elected twice");
                assert!(!tenure.term.epoch.eq(&Epoch::NONE), "epoch zero leads");
                self.leads = Some(tenure.term.epoch);
            }
            Some(Change::Lost { term, .. }) => {
                assert_eq!(self.leads.take(), Some(term.epoch), "lost what was not led");
            }
            Some(Change::Followed { .. } | Change::Vacant) => assert_eq!(self.leads, None),
            Some(Change::Alert(alert)) => panic!("a lease reports no alerts: {alert}"),
            None => {}
        }
        self.wake_at = step.wake_at;
        if let Some(Action::Query { ticket, deadline, .. }) = step.action {
            assert!(deadline >= self.latest, "a question that is over before it is asked");
            self.last_asked = self.latest;
            self.tickets.push(ticket);
        }
        let tenure = self.lease.tenure(self.now);
        assert_eq!(tenure.as_ref().map(|tenure| tenure.term.epoch), self.leads);
        assert_eq!(tenure.is_some(), self.lease.is_leader(self.now));
        if let Some(tenure) = tenure {
            let most = self.last_asked + self.config.ttl() - self.config.margin();
            assert!(tenure.stop_by <= most, "trust until {:?}, not {most:?}", tenure.stop_by);
            assert_eq!(tenure.until, tenure.stop_by - self.config.grace());
        }
    }
}

/// Few epochs, so that scripts meet them again.
fn number(epoch: u8) -> Epoch {
    Epoch::new(u64::from(epoch % 16))
}

fn candidate(incarnation: u128) -> Candidate {
    let id = NodeId::new("n").expect("a name");
    Candidate { id, incarnation: Incarnation::new(Uuid::from_u128(incarnation)) }
}
