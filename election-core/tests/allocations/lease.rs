//! The lease.

use core::time::Duration;
use election_core::{
    Candidate, Change, Epoch, Incarnation, Input, Label, Loss, NodeId, Protocol, Timestamp,
    lease::{Action, Answer, Config, Event, Failure, Holder, Lease, Query, Row, Server, Ticket},
};
use uuid::Uuid;

const TTL: Duration = Duration::from_secs(15);

fn candidate(id: &str, incarnation: u128) -> Candidate {
    Candidate {
        id: NodeId::new(id).unwrap(),
        incarnation: Incarnation::new(Uuid::from_u128(incarnation)),
    }
}

/// A lease whose steps are all counted. Inputs are made, and outputs dropped, outside the count.
struct Counted {
    lease: Lease,
    now: Timestamp,
    wake_at: Option<Timestamp>,
    asked: Option<(Ticket, Query)>,
}

impl Counted {
    fn new() -> Self {
        let config = Config::builder().ttl(TTL).build().unwrap();
        let lease = Lease::new(config, candidate("me", 1), 42);
        let now = Timestamp::ZERO + Duration::from_secs(1);
        let mut counted = Self { lease, now, wake_at: None, asked: None };
        counted.step(Input::Tick);
        counted
    }

    #[track_caller]
    fn step(&mut self, input: Input<Event>) -> Option<Change> {
        let told = format!("{input:?}");
        let (lease, now) = (&mut self.lease, self.now);
        let mut step = None;
        let count = allocation_counter::measure(|| step = Some(lease.step(now, input)));
        assert_eq!(count.count_total, 0, "{told} allocated");

        let mut tenure = None;
        let count = allocation_counter::measure(|| tenure = self.lease.tenure(now));
        assert_eq!(count.count_total, 0, "tenure after {told} allocated");

        let step = step.unwrap();
        self.wake_at = step.wake_at;
        if let Some(Action::Query { ticket, query, .. }) = step.action {
            self.asked = Some((ticket, query));
        }
        step.change
    }

    /// Waits for a question like `wanted`, and answers the list of candidates meanwhile.
    #[track_caller]
    fn until(&mut self, wanted: fn(&Query) -> bool) {
        for _ in 0..20 {
            match &self.asked {
                Some((_, query)) if wanted(query) => return,
                Some((_, Query::Register { .. })) => {
                    self.answer(Answer::Listed);
                }
                _ => {
                    self.now = self.now.max(self.wake_at.unwrap());
                    self.step(Input::Tick);
                }
            }
        }
        panic!("never asked: {:?}", self.lease);
    }

    #[track_caller]
    fn hear(&mut self, result: Result<Answer, Failure>) -> Option<Change> {
        let (ticket, _) = self.asked.take().unwrap();
        self.step(Input::Event(Event::Answer { ticket, result }))
    }

    #[track_caller]
    fn answer(&mut self, answer: Answer) -> Option<Change> {
        self.hear(Ok(answer))
    }

    #[track_caller]
    fn win(&mut self, epoch: u64) {
        self.until(|query| matches!(query, Query::Attempt { .. } | Query::TakeOver { .. }));
        let change = self.answer(Answer::Won { epoch: Epoch::new(epoch), remaining: TTL });
        assert!(matches!(change, Some(Change::Elected(_))), "{change:?}");
    }

    /// Work stops, the term is released at the second try, and the lease finds the row vacant.
    fn release(&mut self, epoch: u64) {
        self.step(Input::Stopped(Epoch::new(epoch)));
        self.until(|query| matches!(query, Query::Resign { .. }));
        self.hear(Err(Failure::Ambiguous));
        self.is_released(epoch);
    }

    fn is_released(&mut self, epoch: u64) {
        self.until(|query| matches!(query, Query::Resign { .. }));
        self.answer(Answer::Released);
        self.until(|query| matches!(query, Query::Observe | Query::Attempt { .. }));
        if matches!(self.asked, Some((_, Query::Observe))) {
            self.answer(Answer::Seen(Row { epoch: Epoch::new(epoch), ..Row::vacant() }));
        }
    }
}

#[track_caller]
fn lost(change: Option<&Change>, because: Loss) {
    let Some(Change::Lost { reason, .. }) = change else { panic!("{change:?}") };
    assert_eq!(*reason, because);
}

fn held(by: &str, epoch: u64, remaining: Duration) -> Answer {
    let label = Label::new("10.0.0.2:4711").ok();
    Answer::Seen(Row {
        epoch: Epoch::new(epoch),
        holder: Some(Holder { candidate: candidate(by, 2), label }),
        remaining,
        ttl: TTL,
        renewals: 3,
        resign_requested: false,
        elected_ms: None,
        server: Server::FIRST,
    })
}

fn renews(query: &Query) -> bool {
    matches!(query, Query::Renew { .. })
}

#[test]
fn winning_renewing_and_resigning_allocate_nothing() {
    let mut counted = Counted::new();
    counted.win(7);
    counted.until(renews);
    counted.answer(Answer::Renewed { remaining: TTL, resign_requested: false });
    for failure in [Failure::Transient, Failure::Ambiguous, Failure::Conflict, Failure::Fatal] {
        counted.until(renews);
        counted.hear(Err(failure));
    }
    counted.until(renews);
    counted.answer(Answer::Renewed { remaining: TTL, resign_requested: false });
    counted.step(Input::Event(Event::Wake));
    counted.until(|query| matches!(query, Query::Observe));
    lost(counted.step(Input::Resign).as_ref(), Loss::Resigned);
    counted.release(7);
    counted.win(8);
}

#[test]
fn losing_draining_and_releasing_allocate_nothing() {
    let mut counted = Counted::new();
    counted.win(7);
    counted.now = counted.now + TTL;
    lost(counted.step(Input::Tick).as_ref(), Loss::Expired);
    counted.until(|query| matches!(query, Query::Observe));
    counted.step(Input::Stopped(Epoch::new(7)));
    counted.is_released(7); // it is not tried again: the lease has run out

    counted.win(8);
    counted.until(renews);
    lost(counted.answer(Answer::Gone).as_ref(), Loss::Replaced);
    counted.step(Input::Stopped(Epoch::new(8)));

    counted.win(9);
    counted.until(renews);
    let requested = Answer::Renewed { remaining: TTL, resign_requested: true };
    lost(counted.answer(requested).as_ref(), Loss::ResignRequested);
    counted.release(9);

    counted.win(10);
    lost(counted.step(Input::Event(Event::Health(false))).as_ref(), Loss::Unhealthy);
    counted.release(10);
    counted.step(Input::Event(Event::Health(true)));
    counted.win(11);
}

#[test]
fn following_observing_and_taking_over_allocate_nothing() {
    let mut counted = Counted::new();
    let looks: fn(&Query) -> bool =
        |query| matches!(query, Query::Observe | Query::Attempt { .. } | Query::TakeOver { .. });
    let change = counted.answer(held("b", 7, TTL));
    assert!(matches!(change, Some(Change::Followed { label: Some(_), .. })), "{change:?}");
    counted.until(looks);
    counted.hear(Err(Failure::Transient));
    counted.until(looks);
    let change = counted.answer(held("c", 8, TTL));
    assert!(matches!(change, Some(Change::Followed { .. })), "{change:?}");
    // The database's clock goes back: the lease seems to run for ever.
    loop {
        counted.until(looks);
        if matches!(counted.asked, Some((_, Query::TakeOver { .. }))) {
            break;
        }
        counted.answer(held("c", 8, TTL * 100));
    }
    counted.win(9);
}

#[test]
fn leaving_and_giving_back_a_late_win_allocate_nothing() {
    let mut counted = Counted::new();
    let (late, _) = counted.asked.clone().unwrap();
    counted.until(|query| matches!(query, Query::Observe)); // the attempt is read back
    let won = Answer::Won { epoch: Epoch::new(7), remaining: TTL };
    counted.step(Input::Event(Event::Answer { ticket: late, result: Ok(won) }));
    counted.step(Input::Withdraw);
    counted.until(|query| matches!(query, Query::Resign { .. }));
    counted.answer(Answer::Released);
    counted.until(|query| matches!(query, Query::Observe));
    counted.answer(Answer::Seen(Row::vacant()));
    assert!(counted.lease.is_finished(), "it was never listed");
}
