//! What a step costs, in nanoseconds.
//!
//! An elector steps a few times a second, so no step is worth optimising for its own sake. But the
//! simulator and the explorer take millions of steps a second, and a careful application calls
//! `is_leader` before every write. These figures are for them.

#![allow(clippy::unwrap_used, missing_docs)] // the macros of criterion document nothing

use core::{hint::black_box, time::Duration};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use election_core::{
    Candidate, Epoch, Incarnation, Input, Label, NodeId, Protocol, Step, Timestamp,
    lease::{Action, Answer, Config, Event, Holder, Lease, Query, Row, Server, Ticket},
};
use uuid::Uuid;

const TTL: Duration = Duration::from_secs(15);
/// When the attempt is asked, and when it is answered. The list of candidates is written at the
/// second time, and so falls due a moment after the renewal or the look that is measured.
const ASKED: Timestamp = Timestamp::from_nanos(1_000_000_000);
const ANSWERED: Timestamp = Timestamp::from_nanos(1_200_000_000);
const QUIET: Timestamp = Timestamp::from_nanos(3_000_000_000);
const DUE: Timestamp = Timestamp::from_nanos(6_000_000_000);

fn candidate(id: &str, incarnation: u128) -> Candidate {
    Candidate {
        id: NodeId::new(id).unwrap(),
        incarnation: Incarnation::new(Uuid::from_u128(incarnation)),
    }
}

fn followed() -> Row {
    let holder = Holder { candidate: candidate("b", 2), label: Label::new("b:4711").ok() };
    Row {
        epoch: Epoch::new(7),
        holder: Some(holder),
        remaining: TTL,
        ttl: TTL,
        renewals: 0,
        resign_requested: false,
        elected_ms: None,
        server: Server::FIRST,
    }
}

/// A lease that is on the list of candidates, after its first attempt got this answer.
fn after(answered: Answer) -> Lease {
    let config = Config::builder().ttl(TTL).jitter(Duration::ZERO).build().unwrap();
    let mut lease = Lease::new(config, candidate("me", 1), 42);
    let attempt = asked(lease.step(ASKED, Input::Tick));
    let register = asked(lease.step(ANSWERED, answer(attempt, answered)));
    let _listed = lease.step(ANSWERED, answer(register, Answer::Listed));
    lease
}

fn leading() -> Lease {
    let lease = after(Answer::Won { epoch: Epoch::new(7), remaining: TTL });
    assert!(lease.is_leader(ANSWERED));
    lease
}

/// The question that a lease asks when it is due. A benchmark of another question would mislead.
fn due_question(lease: &Lease) -> Query {
    let step = lease.clone().step(DUE, Input::Tick);
    let Some(Action::Query { query, .. }) = step.action else { panic!("{step:?}") };
    query
}

fn asked(step: Step<Action>) -> Ticket {
    let Some(Action::Query { ticket, .. }) = step.action else { panic!("{step:?}") };
    ticket
}

fn answer(ticket: Ticket, answer: Answer) -> Input<Event> {
    Input::Event(Event::Answer { ticket, result: Ok(answer) })
}

fn lease(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lease");

    let mut idle = leading();
    group.bench_function("idle tick", |bencher| {
        bencher.iter(|| idle.step(black_box(QUIET), Input::Tick));
    });

    let due = leading();
    assert!(matches!(due_question(&due), Query::Renew { .. }));
    group.bench_function("renew: ask, take the answer", |bencher| {
        bencher.iter_batched_ref(
            || due.clone(),
            |lease| {
                let ticket = asked(lease.step(black_box(DUE), Input::Tick));
                let renewed = Answer::Renewed { remaining: TTL, resign_requested: false };
                lease.step(DUE, answer(ticket, renewed))
            },
            BatchSize::SmallInput,
        );
    });

    let follower = after(Answer::Seen(followed()));
    assert_eq!(due_question(&follower), Query::Observe);
    let row = followed();
    group.bench_function("follow: ask, take the answer", |bencher| {
        bencher.iter_batched(
            || (follower.clone(), row.clone()),
            |(mut lease, row)| {
                let ticket = asked(lease.step(black_box(DUE), Input::Tick));
                let step = lease.step(DUE, answer(ticket, Answer::Seen(row)));
                (lease, step)
            },
            BatchSize::SmallInput,
        );
    });

    let leader = leading();
    group.bench_function("tenure", |bencher| {
        bencher.iter(|| leader.tenure(black_box(QUIET)));
    });
    group.bench_function("is_leader", |bencher| {
        bencher.iter(|| leader.is_leader(black_box(QUIET)));
    });
    group.finish();
}

criterion_group!(benches, lease);
criterion_main!(benches);
