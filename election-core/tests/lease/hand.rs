//! A driver by hand: the test plays the database and the clock.

use core::time::Duration;
use election_core::{
    Candidate, Change, Drift, Epoch, Incarnation, Input, NodeId, Protocol, Step, Timestamp,
    lease::{
        Action, Answer, Candidacy, Config, ConfigBuilder, Event, Failure, Holder, Lease, Query,
        Round, Row, Server, Ticket,
    },
};
use uuid::Uuid;

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn candidate(id: &str, incarnation: u128) -> Candidate {
    Candidate {
        id: NodeId::new(id).unwrap(),
        incarnation: Incarnation::new(Uuid::from_u128(incarnation)),
    }
}

/// ttl 15 s: interval 5 s, attempt 2.5 s, grace 2.5 s, margin 1 s for clocks that drift by at most
/// 1 %, no jitter of the interval.
pub(crate) fn fifteen_seconds() -> ConfigBuilder {
    let drift = Drift::from_ppm(10_000).unwrap();
    let builder = Config::builder().drift(drift).margin(ms(1_000)).attempt_timeout(ms(2_500));
    builder.jitter(Duration::ZERO)
}

/// A row with a holder.
pub(crate) fn held(epoch: u64, by: &Candidate, remaining: u64, renewals: u64) -> Row {
    Row {
        epoch: Epoch::new(epoch),
        holder: Some(Holder { candidate: by.clone(), label: None }),
        remaining: ms(remaining),
        ttl: ms(15_000),
        renewals,
        resign_requested: false,
        elected_ms: None,
        server: Server::FIRST,
    }
}

/// A row without a holder.
pub(crate) fn vacant(epoch: u64) -> Row {
    Row { epoch: Epoch::new(epoch), ..Row::vacant() }
}

pub(crate) fn won(epoch: u64) -> Answer {
    Answer::Won { epoch: Epoch::new(epoch), remaining: ms(15_000) }
}

pub(crate) fn renewed() -> Answer {
    Answer::Renewed { remaining: ms(15_000), resign_requested: false }
}

/// One lease, its clock, and the question in flight. Registrations are answered at once, so that
/// the tables show only questions about leadership.
pub(crate) struct Hand {
    pub(crate) lease: Lease,
    pub(crate) now: u64,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) asked: Option<(Ticket, Query)>,
    pub(crate) changes: Vec<Change>,
    /// Whether the list has other candidates; `None` if it cannot be read.
    pub(crate) others: Option<bool>,
    /// How often it was asked for them.
    pub(crate) asked_for_others: u32,
}

impl Hand {
    pub(crate) fn new(config: Config) -> Self {
        Self::with(Lease::new(config, candidate("me", 1), 42))
    }

    pub(crate) fn with(lease: Lease) -> Self {
        let mut hand = Self {
            lease,
            now: 1_000,
            wake_at: None,
            asked: None,
            changes: Vec::new(),
            others: Some(true),
            asked_for_others: 0,
        };
        hand.input(Input::Tick);
        hand
    }

    pub(crate) fn me(&self) -> Candidate {
        self.lease.candidate().clone()
    }

    pub(crate) fn time(&self) -> Timestamp {
        Timestamp::ZERO + ms(self.now)
    }

    pub(crate) fn input(&mut self, input: Input<Event>) -> Option<Change> {
        let Step { change, action, wake_at } = self.lease.step(self.time(), input);
        self.wake_at = wake_at;
        self.changes.extend(change.clone());
        let Some(Action::Query { ticket, query, .. }) = action else { return change };
        if matches!(query, Query::Register { .. }) {
            let listed = Event::Answer { ticket, result: Ok(Answer::Listed) };
            return change.or(self.input(Input::Event(listed)));
        }
        if query == Query::Others {
            self.asked_for_others += 1;
            let result = self.others.map(Answer::Others).ok_or(Failure::Ambiguous);
            let listed = Event::Answer { ticket, result };
            return change.or(self.input(Input::Event(listed)));
        }
        self.asked = Some((ticket, query));
        change
    }

    /// The question in flight; there must be one.
    #[track_caller]
    pub(crate) fn query(&self) -> &Query {
        &self.asked.as_ref().expect("a question in flight").1
    }

    pub(crate) fn late(&mut self, ticket: Ticket, answer: Answer) -> Option<Change> {
        self.input(Input::Event(Event::Answer { ticket, result: Ok(answer) }))
    }

    #[track_caller]
    pub(crate) fn answer(&mut self, answer: Answer) -> Option<Change> {
        let (ticket, _) = self.asked.take().expect("a question in flight");
        self.late(ticket, answer)
    }

    #[track_caller]
    pub(crate) fn fail(&mut self, failure: Failure) -> Option<Change> {
        let (ticket, _) = self.asked.take().expect("a question in flight");
        self.input(Input::Event(Event::Answer { ticket, result: Err(failure) }))
    }

    pub(crate) fn event(&mut self, event: Event) -> Option<Change> {
        self.input(Input::Event(event))
    }

    /// Lets time pass and wakes the machine whenever it asked for that.
    pub(crate) fn run_to(&mut self, millis: u64) {
        while let Some(at) = self.wake_at {
            let at = at.as_nanos().div_ceil(1_000_000);
            if at > millis {
                break;
            }
            self.now = self.now.max(at);
            self.input(Input::Tick);
        }
        self.now = millis;
    }

    /// Lets time pass until the machine asks something, at most until `millis`.
    #[track_caller]
    pub(crate) fn run_until_asked(&mut self, millis: u64) -> &Query {
        self.asked = None;
        while self.asked.is_none() {
            let at = self.wake_at.expect("something to wait for").as_nanos().div_ceil(1_000_000);
            assert!(at <= millis, "nothing was asked by {millis} ms");
            self.now = self.now.max(at);
            self.input(Input::Tick);
        }
        self.query()
    }

    /// Wakes it, and lets its look find this row.
    #[track_caller]
    pub(crate) fn look(&mut self, row: Row) -> Option<Change> {
        self.event(Event::Wake);
        assert_eq!(self.run_until_asked(self.now + 200), &Query::Observe);
        self.answer(Answer::Seen(row))
    }

    /// Its looks find this row, until it asks something else, at most until `millis`.
    #[track_caller]
    pub(crate) fn look_on(&mut self, millis: u64, row: &Row) -> &Query {
        while *self.run_until_asked(millis) == Query::Observe {
            self.answer(Answer::Seen(row.clone()));
        }
        self.query()
    }

    /// Whatever it asks finds this row, until it takes over, at most until `millis`.
    #[track_caller]
    pub(crate) fn run_until_take_over(&mut self, millis: u64, row: &Row) -> Query {
        while !matches!(self.run_until_asked(millis), Query::TakeOver { .. }) {
            self.answer(Answer::Seen(row.clone()));
        }
        self.query().clone()
    }

    /// A leader of epoch 7 whose attempt was asked at 1,000 ms. Belief ends at 12,500 ms, the hard
    /// stop is 15,000 ms, and the lease lasts until 16,000 ms at least.
    pub(crate) fn leading() -> Self {
        let mut hand = Self::new(fifteen_seconds().build().unwrap());
        assert!(matches!(hand.answer(won(7)), Some(Change::Elected(_))));
        hand
    }

    /// The same leader once it has resigned and its work has stopped: it asks for its release.
    pub(crate) fn resigned() -> Self {
        let mut hand = Self::leading();
        hand.input(Input::Resign);
        hand.input(Input::Stopped(Epoch::new(7)));
        hand
    }

    /// The next time at which the machine wants to be woken, in whole milliseconds.
    pub(crate) fn next_wake(&self) -> u64 {
        self.wake_at.map_or(u64::MAX, |at| at.as_nanos().div_ceil(1_000_000))
    }

    pub(crate) fn leads(&self) -> Option<u64> {
        self.lease.tenure(self.time()).map(|tenure| tenure.term.epoch.get())
    }
}

/// An election, call by call, whose candidate is on the list.
pub(crate) fn elects(who: &mut Candidacy) -> Round<'_> {
    let mut round = who.elect();
    assert_eq!(round.advance(Answer::Listed), None);
    round
}
