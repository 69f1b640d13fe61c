//! Arbitrary histories: everything that can happen to one lease, in any order.
//!
//! A history is drawn before it is known what the machine will ask. So its answers are sketches, to
//! be filled in when the question is known: "say yes", "say that somebody holds the row", "give an
//! answer that does not belong to this question". That keeps most answers sensible enough to reach
//! deep states, and a failing history shrinks to a readable one.

use crate::hand::{candidate, ms};
use core::{fmt, time::Duration};
use election_core::{
    Candidate, Change, Epoch, Input, Loss, Protocol, Step, Tenure, Term, Timestamp,
    lease::{
        Action, Answer, Config, Event, Failure, Holder, Lease, Query, Role, Row, Server, Ticket,
    },
};
use proptest::{prelude::*, sample::select};

pub(crate) const FAILURES: [Failure; 4] =
    [Failure::Transient, Failure::Conflict, Failure::Ambiguous, Failure::Fatal];

pub(crate) type Verdict = Result<(), TestCaseError>;

/// One invariant. It sees every step of a history and says whether the invariant still holds.
pub(crate) trait Check {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict;
}

/// One step, seen through the public interface only.
pub(crate) struct Moment<'a> {
    pub(crate) lease: &'a Lease,
    /// The latest time that any step was given. It counts as "now".
    pub(crate) now: Timestamp,
    pub(crate) input: &'a Input<Event>,
    /// The question that the input answers, if it answers one.
    pub(crate) heard: Option<Heard<'a>>,
    /// The question that was still open when this step asked another.
    pub(crate) superseded: Option<&'a Asked>,
    pub(crate) step: &'a Step<Action>,
}

pub(crate) struct Heard<'a> {
    pub(crate) question: &'a Asked,
    /// The question has not been answered, given up or superseded.
    pub(crate) current: bool,
    pub(crate) result: &'a Result<Answer, Failure>,
}

#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) ticket: Ticket,
    pub(crate) query: Query,
    pub(crate) deadline: Timestamp,
}

impl Moment<'_> {
    pub(crate) fn config(&self) -> &Config {
        self.lease.config()
    }

    pub(crate) fn asks(&self) -> Option<(Ticket, &Query)> {
        let Action::Query { ticket, query, .. } = self.step.action.as_ref()?;
        Some((*ticket, query))
    }

    pub(crate) fn elected(&self) -> Option<&Tenure> {
        match &self.step.change {
            Some(Change::Elected(tenure)) => Some(tenure),
            _ => None,
        }
    }

    pub(crate) fn lost(&self) -> Option<(&Term, Loss, Timestamp)> {
        match &self.step.change {
            Some(Change::Lost { term, reason, stop_by, .. }) => Some((term, *reason, *stop_by)),
            _ => None,
        }
    }

    /// The answer to the current question, with that question.
    pub(crate) fn learnt(&self) -> Option<(&Asked, &Answer)> {
        let heard = self.heard.as_ref().filter(|heard| heard.current)?;
        Some((heard.question, heard.result.as_ref().ok()?))
    }
}

#[derive(Clone)]
pub(crate) struct History {
    config: Config,
    start: Timestamp,
    seed: u64,
    turns: Vec<(Time, Move)>,
}

/// One line per turn, readable enough to make a test of it by hand.
impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}, seed {}, from {:?}", self.config, self.seed, self.start)?;
        for turn in &self.turns {
            writeln!(f, "  {turn:?}")?;
        }
        Ok(())
    }
}

/// Records every step.
pub(crate) struct Transcript<'a> {
    pub(crate) lines: &'a mut Vec<String>,
}

impl Check for Transcript<'_> {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        let Step { change, action, wake_at } = moment.step;
        self.lines.push(format!("{:?} {:?}", moment.now, moment.input));
        self.lines.extend(change.iter().map(|change| format!("    {change:?}")));
        self.lines.extend(action.iter().map(|action| format!("    {action:?}")));
        self.lines.push(format!("    wake at {wake_at:?}"));
        Ok(())
    }
}

/// When the next turn happens, counted from the last.
#[derive(Clone, Debug)]
enum Time {
    Still,
    Forward(Duration),
    AtWake,
    JustBeforeWake,
    Back(Duration),
    Origin,
}

#[derive(Clone, Debug)]
enum Move {
    Tick,
    Answer { back: usize, reply: Reply },
    Wakes(u8),
    Resign,
    Withdraw,
    Stopped(Which),
    Resigned(Which),
    Health(bool),
}

/// An epoch, by its relation to the lease.
#[derive(Clone, Debug)]
enum Which {
    Own,
    Any(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    what: What,
    sketch: Sketch,
}

#[derive(Clone, Debug)]
enum What {
    /// The answer that the question hopes for.
    Yes,
    /// Another answer that belongs to the question.
    No,
    Fail(Failure),
    Won,
    Seen,
    Renewed,
    Gone,
    Released,
    Listed,
}

#[derive(Clone, Debug)]
struct Sketch {
    by: Option<&'static str>,
    /// The epoch, counted from the highest one mentioned so far.
    above: i64,
    remaining: Duration,
    ttl: Duration,
    renewals: u64,
    requested: bool,
}

const ME: &str = "me";

pub(crate) fn me() -> Candidate {
    candidate(ME, 1)
}

/// Histories of lengths that shrink well and still reach a second and third leadership.
pub(crate) fn histories() -> impl Strategy<Value = History> {
    let start = prop_oneof![
        6 => Just(1_000_000_000),
        1 => Just(0),
        1 => any::<u64>(),
        1 => (0..100_000_000_000_u64).prop_map(|left| u64::MAX - left),
    ];
    let start = start.prop_map(Timestamp::from_nanos);
    (configs(), start, any::<u64>(), prop::collection::vec(turn(), 1..150))
        .prop_map(|(config, start, seed, turns)| History { config, start, seed, turns })
}

pub(crate) fn configs() -> impl Strategy<Value = Config> {
    let fifteen = Config::builder;
    let builders = [
        fifteen(),
        fifteen(),
        fifteen().jitter(Duration::ZERO),
        fifteen().grace(Duration::ZERO),
        fifteen().ttl(Config::MIN_TTL),
        fifteen().ttl(Config::MAX_TTL),
        fifteen().role(Role::Observer),
    ];
    select(builders.map(|builder| builder.build().unwrap()).to_vec())
}

fn turn() -> impl Strategy<Value = (Time, Move)> {
    let brief = prop_oneof![Just(Time::Still), (0..900_u64).prop_map(|t| Time::Forward(ms(t)))];
    prop_oneof![
        10 => (brief, answer()),
        6 => (Just(Time::AtWake), Just(Move::Tick)),
        5 => (time(), a_move()),
    ]
}

fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        6 => Just(Time::Still),
        4 => (0..3_000_u64).prop_map(|t| Time::Forward(ms(t))),
        2 => (0..40_000_u64).prop_map(|t| Time::Forward(ms(t))),
        4 => Just(Time::AtWake),
        2 => Just(Time::JustBeforeWake),
        1 => (0..40_000_u64).prop_map(|t| Time::Back(ms(t))),
        1 => Just(Time::Origin),
    ]
}

fn a_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        6 => answer(),
        2 => Just(Move::Tick),
        2 => (1..20_u8).prop_map(Move::Wakes),
        2 => Just(Move::Resign),
        8 => which().prop_map(Move::Stopped),
        1 => which().prop_map(Move::Resigned),
        4 => prop::bool::weighted(0.7).prop_map(Move::Health),
        1 => prop::bool::weighted(0.6)
            .prop_map(|leaves| if leaves { Move::Withdraw } else { Move::Tick }),
    ]
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![4 => Just(Which::Own), 1 => any::<u64>().prop_map(Which::Any),
        1 => (0..9_u64).prop_map(Which::Any)]
}

fn answer() -> impl Strategy<Value = Move> {
    let back = prop_oneof![8 => Just(0_usize), 1 => 1..6_usize];
    (back, replies()).prop_map(|(back, reply)| Move::Answer { back, reply })
}

fn replies() -> impl Strategy<Value = Reply> {
    let wrong = [What::Won, What::Seen, What::Renewed, What::Gone, What::Released, What::Listed];
    let what = prop_oneof![
        14 => Just(What::Yes),
        5 => Just(What::No),
        4 => select(FAILURES.to_vec()).prop_map(What::Fail),
        1 => select(wrong.to_vec()),
    ];
    (what, sketch()).prop_map(|(what, sketch)| Reply { what, sketch })
}

/// The answers of a database to a leaving process; `None` is silence.
pub(crate) fn farewells() -> impl Strategy<Value = Vec<Option<Reply>>> {
    // First silence, so that the outcome of an attempt is unknown; then the same answer for ever.
    let stubborn = (select(FAILURES.to_vec()), sketch()).prop_map(|(failure, sketch)| {
        let mut replies = vec![Some(Reply { what: What::Fail(failure), sketch }); 40];
        replies[0] = None;
        replies
    });
    prop_oneof![1 => prop::collection::vec(prop::option::of(replies()), 1..60), 1 => stubborn]
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let by = select(&[Some(ME), Some("b"), Some("b"), Some("c"), None, None][..]);
    let above = prop_oneof![12 => 1..3_i64, 4 => Just(0), 2 => -3..0_i64, 1 => any::<i64>()];
    let span = || {
        prop_oneof![
            8 => Just(ms(15_000)),
            4 => (0..16_000_u64).prop_map(ms),
            1 => any::<u64>().prop_map(Duration::from_nanos),
            2 => select(&[Duration::ZERO, Duration::MAX, Duration::MAX][..]),
        ]
    };
    let renewals = prop_oneof![12 => 0..4_u64, 1 => Just(u64::MAX)];
    (by, above, span(), span(), renewals, prop::bool::weighted(0.1)).prop_map(
        |(by, above, remaining, ttl, renewals, requested)| Sketch {
            by,
            above,
            remaining,
            ttl,
            renewals,
            requested,
        },
    )
}

/// A lease that plays a history, with everything it ever asked.
pub(crate) struct Life<C> {
    pub(crate) lease: Lease,
    pub(crate) now: Timestamp,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) asked: Vec<Asked>,
    /// Whether the newest question is still open.
    pub(crate) open: bool,
    /// The highest epoch that was mentioned.
    top: u64,
    check: C,
}

/// Plays `history` and checks every step with `check`. A failure comes with a transcript.
pub(crate) fn live<C: Check>(history: &History, check: C) -> Result<Life<C>, TestCaseError> {
    live_through(history, check).map_err(|fault| {
        let mut lines = Vec::new();
        let _ = live_through(history, Transcript { lines: &mut lines });
        TestCaseError::fail(format!("{fault}\n{}\n", lines.join("\n")))
    })
}

fn live_through<C: Check>(history: &History, check: C) -> Result<Life<C>, TestCaseError> {
    let lease = Lease::new(history.config.clone(), me(), history.seed);
    let now = history.start;
    let mut life =
        Life { lease, now, wake_at: None, asked: Vec::new(), open: false, top: 0, check };
    life.step(now, Input::Tick)?;
    for (time, what) in &history.turns {
        let at = life.time(time);
        life.make(at, what)?;
    }
    Ok(life)
}

impl<C: Check> Life<C> {
    pub(crate) fn step(&mut self, at: Timestamp, input: Input<Event>) -> Verdict {
        self.now = self.now.max(at);
        let step = self.lease.step(at, input.clone());
        self.wake_at = step.wake_at;

        let newest = self.asked.last().filter(|_| self.open);
        let heard = match &input {
            Input::Event(Event::Answer { ticket, result }) => {
                self.asked.iter().find(|asked| asked.ticket == *ticket).map(|question| Heard {
                    question,
                    current: newest.is_some_and(|newest| newest.ticket == *ticket),
                    result,
                })
            }
            _ => None,
        };
        let still_open = newest.filter(|newest| {
            newest.deadline > self.now && !heard.as_ref().is_some_and(|heard| heard.current)
        });
        let superseded = still_open.filter(|_| step.action.is_some());
        let open = still_open.is_some() || step.action.is_some();
        let moment = Moment {
            lease: &self.lease,
            now: self.now,
            input: &input,
            heard,
            superseded,
            step: &step,
        };
        self.check.see(&moment)?;
        self.open = open;
        if let Some(Action::Query { ticket, query, deadline }) = step.action {
            self.asked.push(Asked { ticket, query, deadline });
        }
        Ok(())
    }

    fn time(&self, time: &Time) -> Timestamp {
        let wake = self.wake_at.unwrap_or(self.now).max(self.now);
        match time {
            Time::Still => self.now,
            Time::Forward(by) => self.now + *by,
            Time::AtWake => wake,
            Time::JustBeforeWake => self.now.max(wake - Duration::from_nanos(1)),
            Time::Back(by) => self.now - *by,
            Time::Origin => Timestamp::ZERO,
        }
    }

    fn make(&mut self, at: Timestamp, what: &Move) -> Verdict {
        let input = match what {
            Move::Tick => Input::Tick,
            Move::Resign => Input::Resign,
            Move::Withdraw => Input::Withdraw,
            Move::Health(healthy) => Input::Event(Event::Health(*healthy)),
            Move::Stopped(which) => Input::Stopped(self.epoch(which)),
            Move::Resigned(which) => Input::Event(Event::Resigned(self.epoch(which))),
            Move::Wakes(times) => {
                for _ in 0..*times {
                    self.step(at, Input::Event(Event::Wake))?;
                }
                return Ok(());
            }
            Move::Answer { back, reply } => {
                let Some(index) = self.asked.len().checked_sub(1 + back) else { return Ok(()) };
                self.reply(index, reply)
            }
        };
        self.step(at, input)
    }

    fn epoch(&self, which: &Which) -> Epoch {
        match which {
            Which::Own => {
                let led = self.lease.tenure(self.now).map(|tenure| tenure.term.epoch);
                led.or(self.lease.draining()).unwrap_or(Epoch::new(self.top))
            }
            Which::Any(number) => Epoch::new(*number),
        }
    }

    /// The answer that `reply` sketches to the question at `index`.
    pub(crate) fn reply(&mut self, index: usize, reply: &Reply) -> Input<Event> {
        let asked = &self.asked[index];
        let (ticket, query) = (asked.ticket, asked.query.clone());
        let sketch = &reply.sketch;
        let epoch = self.top.saturating_add_signed(sketch.above);
        let won = Answer::Won { epoch: Epoch::new(epoch), remaining: sketch.remaining };
        let seen = Answer::Seen(sketch.row(epoch));
        let renewed =
            Answer::Renewed { remaining: sketch.remaining, resign_requested: sketch.requested };
        let answer = match (&reply.what, &query) {
            (What::Fail(failure), _) => {
                return Input::Event(Event::Answer { ticket, result: Err(*failure) });
            }
            (What::Won, _) | (What::Yes, Query::Attempt { .. } | Query::TakeOver { .. }) => won,
            (What::Seen, _)
            | (What::Yes | What::No, Query::Observe)
            | (What::No, Query::Attempt { .. } | Query::TakeOver { .. }) => seen,
            (What::Renewed, _) | (What::Yes, Query::Renew { .. }) => renewed,
            (What::Gone, _) | (What::No, Query::Renew { .. }) => Answer::Gone,
            (What::Released, _) | (What::Yes | What::No, Query::Resign { .. }) => Answer::Released,
            (What::Listed, _)
            | (What::Yes | What::No, Query::Register { .. } | Query::Unregister) => Answer::Listed,
            (What::Yes, Query::Others) => Answer::Others(true),
            (What::No, Query::Others) => Answer::Others(false),
        };
        if matches!(answer, Answer::Won { .. } | Answer::Seen(_)) {
            self.top = self.top.max(epoch);
        }
        Input::Event(Event::Answer { ticket, result: Ok(answer) })
    }
}

impl Sketch {
    fn row(&self, epoch: u64) -> Row {
        let holder = self.by.map(|id| {
            let candidate = if id == ME { me() } else { candidate(id, 2) };
            Holder { candidate, label: None }
        });
        Row {
            epoch: Epoch::new(epoch),
            holder,
            remaining: self.remaining,
            ttl: self.ttl,
            renewals: self.renewals,
            resign_requested: self.requested,
            elected_ms: None,
            server: Server::FIRST,
        }
    }
}
