//! The closed loop: one lease, one row, a rival, and a connection that delays and loses.
//!
//! Here the answers are true. A statement runs once, some time after it was asked and perhaps long
//! after everybody has given up on it. The row decides by the database's clock, which runs faster
//! or slower than the process's clock, within the bound.

use super::history::{Verdict, me};
use crate::hand::{candidate, ms};
use core::time::Duration;
use election_core::{
    Candidate, Change, Drift, Epoch, Input, Protocol, Step, Timestamp,
    lease::{Action, Answer, Config, Event, Failure, Holder, Lease, Query, Row, Server, Ticket},
};
use proptest::{prelude::*, sample::select};
use std::collections::VecDeque;

/// The fate of a question.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Served { there: Duration, back: Duration },
    Refused { after: Duration, failure: Failure },
    Unclear { runs: Option<Duration>, told: Option<Duration> },
}

/// The other events.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Resign,
    Wake,
    /// A notification says that the term in the row was resigned, truly or not.
    Rumour,
    Health(bool),
    WorkStops,
    Stall(Duration),
    AskToResign,
    RivalTries,
    RivalLeaves,
}

#[derive(Clone, Debug)]
pub(crate) struct Troubles {
    pub(crate) config: Config,
    /// How much faster the database's clock runs, in parts per million.
    rate: i64,
    seed: u64,
    fates: Vec<Fate>,
    orders: Vec<(Duration, Order)>,
}

/// How long troubles may begin. Their consequences may come later.
pub(crate) const TROUBLES: Duration = Duration::from_secs(120);

pub(crate) fn troubles() -> impl Strategy<Value = Troubles> {
    let one_percent = Drift::from_ppm(10_000).unwrap();
    let builders = [
        Config::builder(),
        Config::builder().jitter(Duration::ZERO),
        Config::builder().grace(Duration::ZERO),
        Config::builder().margin(ms(1_351)),
        Config::builder().drift(one_percent).margin(ms(151)),
    ];
    let configs = builders.map(|builder| builder.build().unwrap()).to_vec();
    let orders = prop::collection::vec((0..120_000_u64, order()), 0..40);
    let orders = orders.prop_map(|orders| {
        orders.into_iter().map(|(at, order)| (ms(at), order)).collect::<Vec<_>>()
    });
    // In per cent of the drift that the configuration allows.
    let rate = prop_oneof![Just(0), Just(100), Just(-100), -100..100_i64];
    (select(configs), rate, any::<u64>(), prop::collection::vec(fate(), 0..60), orders).prop_map(
        |(config, percent, seed, fates, orders)| {
            let rate = i64::from(config.drift().ppm()) * percent / 100;
            Troubles { config, rate, seed, fates, orders }
        },
    )
}

fn fate() -> impl Strategy<Value = Fate> {
    let span = |most: u64| (0..most).prop_map(ms);
    let refusals = [Failure::Transient, Failure::Conflict, Failure::Fatal].to_vec();
    prop_oneof![
        8 => (span(100), span(100)).prop_map(|(there, back)| Fate::Served { there, back }),
        2 => (span(4_000), span(4_000)).prop_map(|(there, back)| Fate::Served { there, back }),
        2 => (span(3_000), select(refusals))
            .prop_map(|(after, failure)| Fate::Refused { after, failure }),
        3 => (prop::option::of(span(20_000)), prop::option::of(span(3_000)))
            .prop_map(|(runs, told)| Fate::Unclear { runs, told }),
    ]
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![
        2 => Just(Order::Resign),
        3 => Just(Order::Wake),
        3 => Just(Order::Rumour),
        2 => any::<bool>().prop_map(Order::Health),
        6 => Just(Order::WorkStops),
        2 => (0..20_000_u64).prop_map(|stall| Order::Stall(ms(stall))),
        2 => Just(Order::AskToResign),
        6 => Just(Order::RivalTries),
        2 => Just(Order::RivalLeaves),
    ]
}

enum Due {
    Run { ticket: Ticket, query: Query, back: Option<Duration> },
    Tell { ticket: Ticket, result: Result<Answer, Failure> },
    Order(Order),
}

pub(crate) struct World {
    pub(crate) lease: Lease,
    pub(crate) now: Timestamp,
    pub(crate) changes: Vec<Change>,
    /// Every question, and when it was asked.
    pub(crate) asked: Vec<(Timestamp, Query)>,
    /// Work stops when the machine tells it to; it needs no other order.
    pub(crate) work_obeys: bool,
    wake_at: Option<Timestamp>,
    stalled_until: Timestamp,
    /// The term under which work runs, and when it ends by force.
    work: Option<(Epoch, Timestamp)>,
    fates: VecDeque<Fate>,
    due: Vec<(Timestamp, Due)>,
    rate: i64,
    row: Table,
}

/// The row as the database keeps it; times in whole milliseconds of its own clock.
#[derive(Default)]
struct Table {
    epoch: u64,
    holder: Option<Candidate>,
    expires: u64,
    ttl: Duration,
    renewals: u64,
    requested: bool,
}

impl World {
    pub(crate) fn new(troubles: &Troubles) -> Self {
        let start = Timestamp::ZERO + ms(1_000);
        let orders = troubles.orders.iter().cloned();
        Self {
            lease: Lease::new(troubles.config.clone(), me(), troubles.seed),
            now: start,
            changes: Vec::new(),
            asked: Vec::new(),
            work_obeys: false,
            wake_at: Some(start),
            stalled_until: Timestamp::ZERO,
            work: None,
            fates: troubles.fates.iter().cloned().collect(),
            due: orders.map(|(at, order)| (start + at, Due::Order(order))).collect(),
            rate: troubles.rate,
            row: Table::default(),
        }
    }

    /// Lets `span` pass, and checks after every event whether the row covers the belief.
    pub(crate) fn run(&mut self, span: Duration) -> Verdict {
        let end = self.now + span;
        for _ in 0..20_000 {
            let wake = self.wake_at.map(|at| at.max(self.stalled_until));
            let first = (0..self.due.len()).min_by_key(|index| self.due[*index].0);
            let first = first.filter(|index| wake.is_none_or(|wake| self.due[*index].0 <= wake));
            let at = first.map(|index| self.due[index].0).or(wake);
            let Some(at) = at.filter(|at| *at <= end) else {
                self.now = end;
                return self.covered();
            };
            self.now = self.now.max(at);
            match first {
                Some(index) => {
                    let (_, due) = self.due.remove(index);
                    self.happen(due);
                }
                None => self.input(Input::Tick),
            }
            self.covered()?;
        }
        prop_assert!(false, "too many steps: it spins");
        Ok(())
    }

    /// From now on everything works and the rival stays away.
    pub(crate) fn calm(&mut self) {
        self.fates.clear();
        self.due.retain(|(_, due)| !matches!(due, Due::Order(_)));
        self.stalled_until = self.now;
        self.work_obeys = true;
        self.input(Input::Event(Event::Health(true)));
        self.stop_work();
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Run { ticket, query, back } => {
                let now = self.database_millis(self.now);
                let answer = self.row.run(&query, now);
                if let Some(back) = back {
                    self.due.push((self.now + back, Due::Tell { ticket, result: Ok(answer) }));
                }
            }
            // A process that stands still takes in nothing.
            Due::Tell { .. }
            | Due::Order(Order::Resign | Order::Wake | Order::Rumour | Order::Health(_))
                if self.now < self.stalled_until =>
            {
                self.due.push((self.stalled_until, due));
            }
            Due::Tell { ticket, result } => {
                self.input(Input::Event(Event::Answer { ticket, result }));
            }
            Due::Order(order) => self.obey(order),
        }
    }

    fn obey(&mut self, order: Order) {
        let now = self.database_millis(self.now);
        match order {
            Order::Resign => self.input(Input::Resign),
            Order::Wake => self.input(Input::Event(Event::Wake)),
            Order::Rumour => {
                let epoch = Epoch::new(self.row.epoch);
                self.input(Input::Event(Event::Resigned(epoch)));
            }
            Order::Health(healthy) => self.input(Input::Event(Event::Health(healthy))),
            Order::WorkStops if self.now >= self.stalled_until => self.stop_work(),
            Order::WorkStops => {}
            Order::Stall(stall) => self.stalled_until = self.stalled_until.max(self.now + stall),
            Order::AskToResign => self.row.requested = true,
            Order::RivalTries => {
                let ttl = ms(15_000);
                self.row.attempt(&candidate("rival", 2), 0, ttl, now);
            }
            Order::RivalLeaves => {
                if self.row.holder.as_ref().is_some_and(|holder| *holder != me()) {
                    self.row.holder = None;
                }
            }
        }
    }

    fn stop_work(&mut self) {
        if let Some(epoch) = self.lease.draining() {
            self.work = None;
            self.input(Input::Stopped(epoch));
        }
    }

    fn input(&mut self, input: Input<Event>) {
        let Step { change, action, wake_at } = self.lease.step(self.now, input);
        self.wake_at = wake_at;
        if let Some(Action::Query { ticket, query, .. }) = action {
            self.asked.push((self.now, query.clone()));
            self.ask(ticket, query);
        }
        match &change {
            Some(Change::Elected(tenure)) => {
                self.work = Some((tenure.term.epoch, tenure.stop_by));
            }
            Some(Change::Lost { stop_by, .. }) => {
                if let Some((_, by_force)) = &mut self.work {
                    *by_force = *stop_by;
                }
            }
            _ => {}
        }
        let lost = matches!(change, Some(Change::Lost { .. }));
        self.changes.extend(change);
        if lost && self.work_obeys {
            self.stop_work();
        }
    }

    fn ask(&mut self, ticket: Ticket, query: Query) {
        let calm = Fate::Served { there: ms(1), back: ms(1) };
        match self.fates.pop_front().unwrap_or(calm) {
            Fate::Served { there, back } => {
                self.due.push((self.now + there, Due::Run { ticket, query, back: Some(back) }));
            }
            Fate::Refused { after, failure } => {
                self.due.push((self.now + after, Due::Tell { ticket, result: Err(failure) }));
            }
            Fate::Unclear { runs, told } => {
                if let Some(told) = told {
                    let result = Err(Failure::Ambiguous);
                    self.due.push((self.now + told, Due::Tell { ticket, result }));
                }
                if let Some(runs) = runs {
                    self.due.push((self.now + runs, Due::Run { ticket, query, back: None }));
                }
            }
        }
    }

    /// As long as this process believes, and as long as its work may run, it holds the row. It
    /// would still hold it until the hard stop if nothing more reached the database.
    fn covered(&self) -> Verdict {
        if let Some(tenure) = self.lease.tenure(self.now) {
            self.held(tenure.term.epoch, tenure.stop_by)?;
        }
        if let Some((epoch, _)) = self.work.filter(|(_, by_force)| self.now < *by_force) {
            self.held(epoch, self.now)?;
        }
        Ok(())
    }

    fn held(&self, epoch: Epoch, until: Timestamp) -> Verdict {
        prop_assert_eq!(self.row.holder.as_ref(), Some(&me()), "at {:?}", self.now);
        prop_assert_eq!(self.row.epoch, epoch.get(), "at {:?}", self.now);
        let until = self.database_millis(until);
        prop_assert!(until < self.row.expires, "{until} is not before {}", self.row.expires);
        Ok(())
    }

    /// What the database's clock shows at the process's time `at`.
    fn database_millis(&self, at: Timestamp) -> u64 {
        let nanos = i128::from(at.as_nanos());
        u64::try_from((nanos + nanos * i128::from(self.rate) / 1_000_000) / 1_000_000).unwrap()
    }
}

impl Table {
    fn attempt(&mut self, by: &Candidate, seen: u64, ttl: Duration, now: u64) -> bool {
        if self.holder.is_some() && self.expires > now {
            return false;
        }
        self.take(by, seen, ttl, now);
        true
    }

    fn take(&mut self, by: &Candidate, seen: u64, ttl: Duration, now: u64) {
        *self = Self {
            epoch: (self.epoch + 1).max(seen + 1).max(now),
            holder: Some(by.clone()),
            expires: now + millis(ttl),
            ttl,
            renewals: 0,
            requested: false,
        };
    }

    fn run(&mut self, query: &Query, now: u64) -> Answer {
        match query {
            Query::Observe => Answer::Seen(self.row(now)),
            Query::Attempt { seen, ttl, .. } => {
                let won = self.attempt(&me(), seen.get(), *ttl, now);
                self.outcome(won, now)
            }
            Query::TakeOver { seen, ttl, epoch, holder, renewals, .. } => {
                let same = self.epoch == epoch.get() && self.renewals == *renewals;
                let won = same && holder.is_some() && self.holder == *holder;
                if won {
                    self.take(&me(), seen.get(), *ttl, now);
                }
                self.outcome(won, now)
            }
            Query::Renew { epoch, ordinal, ttl, .. } => {
                let own = self.owns(*epoch) && self.renewals < *ordinal && self.expires > now;
                if !own {
                    return Answer::Gone;
                }
                (self.expires, self.renewals) = (now + millis(*ttl), *ordinal);
                Answer::Renewed { remaining: *ttl, resign_requested: self.requested }
            }
            Query::Resign { epoch } => {
                if self.owns(*epoch) {
                    (self.holder, self.expires) = (None, now);
                }
                Answer::Released
            }
            Query::Register { .. } | Query::Unregister => Answer::Listed,
            Query::Others => Answer::Others(true),
        }
    }

    fn owns(&self, epoch: Epoch) -> bool {
        self.holder.as_ref() == Some(&me()) && self.epoch == epoch.get()
    }

    fn outcome(&self, won: bool, now: u64) -> Answer {
        if won {
            Answer::Won { epoch: Epoch::new(self.epoch), remaining: self.ttl }
        } else {
            Answer::Seen(self.row(now))
        }
    }

    fn row(&self, now: u64) -> Row {
        Row {
            epoch: Epoch::new(self.epoch),
            holder: self.holder.clone().map(|candidate| Holder { candidate, label: None }),
            remaining: ms(self.expires.saturating_sub(now)),
            ttl: self.ttl,
            renewals: self.renewals,
            resign_requested: self.requested,
            elected_ms: None,
            server: Server::FIRST,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap()
}
