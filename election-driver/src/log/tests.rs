//! What is logged, and above all what is not.

use super::{Log, capture};
use crate::StoreError;
use election_core::{
    Candidate, Change, Epoch, Incarnation, Loss, NodeId, Term, Timestamp,
    lease::{Answer, Config, Failure, Holder, Query, Row, Server},
};
use std::time::Duration;
use tracing::Level;

/// What a course of events leaves in the log, at the default ttl of 15 seconds.
fn told(course: impl FnOnce(&mut Log)) -> Vec<String> {
    told_of(false, course)
}

fn told_of(shared_store: bool, course: impl FnOnce(&mut Log)) -> Vec<String> {
    let config = Config::builder().build().expect("the default timing");
    capture::told(|| course(&mut Log::new(&config, life(0), shared_store)))
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs(seconds)
}

fn fails(log: &mut Log, seconds: u64, query: &Query, kind: Failure) {
    let error = StoreError::new(kind, "it does not work");
    log.failed(at(seconds), at(seconds), query, &error);
}

/// This process is the life 0.
fn life(number: u128) -> Candidate {
    let incarnation = Incarnation::new(uuid::Uuid::from_u128(number));
    Candidate { id: NodeId::new("own").expect("a name"), incarnation }
}

fn seen(held: bool) -> Answer {
    let id = NodeId::new("another").expect("a name");
    let candidate = Candidate { id, incarnation: Incarnation::new(uuid::Uuid::from_u128(1)) };
    let holder = held.then_some(Holder { candidate, label: None });
    Answer::Seen(Row { holder, remaining: Duration::from_secs(9), ..Row::vacant() })
}

const TTL: Duration = Duration::from_secs(15);
const LIST: Query = Query::Register { ttl: TTL, sweep: false };
const RENEW: Query = Query::Renew {
    epoch: Epoch::new(7),
    ordinal: 1,
    ttl: TTL,
    clock_step: Duration::ZERO,
    leads: true,
};

#[test]
fn a_database_that_answers_and_does_not_notify_is_told_once() {
    let names = told(|log| {
        log.notifications_lost(at(0), "no room".to_owned());
        log.answered(at(9), &Query::Observe, &seen(false));
        log.hears();
        log.notifications_lost(at(10), "no room".to_owned());
        for seconds in [15, 20, 25, 30] {
            log.answered(at(seconds), &Query::Observe, &seen(false));
        }
        log.hears();
    });
    assert_eq!(names, ["notifications_lost", "notifications_restored"]);
}

#[test]
fn a_database_that_is_gone_does_not_notify_either() {
    let names = told(|log| {
        log.notifications_lost(at(0), "the connection was lost".to_owned());
        for seconds in 0..60 {
            fails(log, seconds, &Query::Observe, Failure::Transient);
        }
        log.answered(at(60), &Query::Observe, &seen(false));
        log.answered(at(65), &Query::Observe, &seen(false));
        log.hears();
    });
    assert_eq!(names, ["outage", "outage_over"]);
}

#[test]
fn what_the_store_tells_is_not_told_by_its_elections() {
    let leadership = |reason| {
        let term = Term { epoch: Epoch::new(7), leader: life(0).id };
        Change::Lost { term, reason, stop_by: at(60), successor: None }
    };
    let names = told_of(true, |log| {
        log.notifications_lost(at(0), "no room".to_owned());
        (0..60).for_each(|seconds| fails(log, seconds, &RENEW, Failure::Ambiguous));
        log.changed(at(60), &leadership(Loss::Expired));
        (60..80).for_each(|seconds| fails(log, seconds, &ATTEMPT, Failure::Transient));
        log.answered(at(80), &Query::Observe, &seen(true));
        log.answered(at(99), &Query::Observe, &seen(true));
    });
    assert_eq!(names, ["lost"]);
    let its_own = told_of(true, |log| {
        (0..60).for_each(|seconds| fails(log, seconds, &ATTEMPT, Failure::Fatal));
        fails(log, 60, &ATTEMPT, Failure::Transient);
        log.answered(at(61), &ATTEMPT, &seen(true));
        (600..660).for_each(|seconds| fails(log, seconds, &ATTEMPT, Failure::Transient));
        log.answered(at(660), &ATTEMPT, &seen(true));
    });
    assert_eq!(its_own, ["outage", "outage_over"]);
    let a_lock_at_its_end = told_of(true, |log| {
        (0..60).for_each(|seconds| fails(log, seconds, &RENEW, Failure::Transient));
        fails(log, 60, &RENEW, Failure::Conflict);
        log.answered(at(61), &ATTEMPT, &seen(true));
    });
    assert_eq!(a_lock_at_its_end, [] as [&str; 0]);
}

#[test]
fn who_leaves_the_list_is_not_said_to_be_on_it_again() {
    let unlisted = |log: &mut Log| {
        for seconds in (0..30).step_by(5) {
            fails(log, seconds, &LIST, Failure::Fatal);
            log.answered(at(seconds), &Query::Observe, &seen(true));
        }
    };
    let left = |log: &mut Log| {
        unlisted(log);
        log.answered(at(31), &Query::Unregister, &Answer::Listed);
    };
    assert_eq!(told(left), ["unlisted"]);
    let back = |log: &mut Log| {
        unlisted(log);
        log.answered(at(31), &LIST, &Answer::Listed);
    };
    assert_eq!(told(back), ["unlisted", "listed"]);
}

/// A failure of the list during an outage is over with the outage, and was no trouble of the
/// list's.
#[test]
fn a_list_that_was_out_of_reach_with_the_row_is_not_told_of() {
    let names = told(|log| {
        for seconds in 0..52 {
            fails(log, seconds, &Query::Observe, Failure::Transient);
        }
        let error = StoreError::new(Failure::Transient, "no answer in seven seconds");
        log.failed(at(52), at(59), &LIST, &error);
        log.answered(at(60), &Query::Observe, &seen(true));
        log.answered(at(61), &LIST, &Answer::Listed);
    });
    assert_eq!(names, ["outage", "outage_over"]);
}

/// Once or twice somebody else may have come and gone.
const ATTEMPT: Query = Query::Attempt { seen: Epoch::NONE, ttl: TTL, clock_step: Duration::ZERO };

#[test]
fn a_free_row_that_cannot_be_taken_is_told_once() {
    let tries = |log: &mut Log, times| {
        (0..times).for_each(|second| log.answered(at(second), &ATTEMPT, &seen(false)));
    };
    assert_eq!(told(|log| tries(log, 2)), [] as [&str; 0]);
    assert_eq!(told(|log| tries(log, 9)), ["cannot_lead"]);
    let held_between = |log: &mut Log| {
        for _ in 0..3 {
            tries(log, 2);
            log.answered(at(2), &ATTEMPT, &seen(true));
        }
    };
    assert_eq!(told(held_between), [] as [&str; 0]);
    let promoted = |log: &mut Log| {
        let server = Server { history: 2, ..Server::FIRST };
        for second in 0..9 {
            let row = Row { server, ..Row::vacant() };
            log.answered(at(second), &ATTEMPT, &Answer::Seen(row));
        }
    };
    assert_eq!(told(promoted), [] as [&str; 0], "behind a promotion it takes its time");
}

/// A locked row can still be read; a new holder in it shows that the lock is gone.
#[test]
fn a_read_does_not_end_the_report_of_a_write_lock() {
    let locked = |log: &mut Log| {
        for seconds in 0..20 {
            fails(log, seconds, &RENEW, Failure::Conflict);
        }
        log.answered(at(20), &Query::Observe, &seen(false));
    };
    assert_eq!(told(locked), ["outage"]);
    let freed = |log: &mut Log| {
        locked(log);
        log.answered(at(25), &Query::Observe, &seen(true));
    };
    assert_eq!(told(freed), ["outage", "outage_over"]);
}

/// As with a trigger that raises an error: the row can be read, and says that nobody leads.
#[test]
fn reads_between_failed_attempts_hide_nothing() {
    for kind in [Failure::Ambiguous, Failure::Transient] {
        let attempts = |log: &mut Log, held| {
            for seconds in 0..20 {
                fails(log, seconds, &ATTEMPT, kind);
                log.answered(at(seconds), &Query::Observe, &seen(held));
            }
        };
        assert_eq!(told(|log| attempts(log, false)), ["outage"], "{kind:?}");
        assert_eq!(told(|log| attempts(log, true)), [""; 0], "another can write: {kind:?}");
    }
}

/// Trouble with the row ends what was known of trouble with the list: that begins anew.
#[test]
fn a_list_failing_around_the_row_is_not_one_long_failure() {
    let failed_until = |seconds: u64, log: &mut Log| {
        fails(log, seconds, &LIST, Failure::Transient);
        log.answered(at(seconds), &Query::Observe, &seen(true));
    };
    let apart = told(|log| {
        failed_until(0, log);
        fails(log, 1, &Query::Observe, Failure::Transient);
        log.answered(at(2), &Query::Observe, &seen(true));
        failed_until(9, log);
    });
    assert_eq!(apart, [""; 0]);
    let together = told(|log| [0, 9].into_iter().for_each(|seconds| failed_until(seconds, log)));
    assert_eq!(together, ["unlisted"]);
}

fn lost(reason: Loss) -> Change {
    let term = Term { epoch: Epoch::new(7), leader: NodeId::new("this").expect("a name") };
    Change::Lost { term, reason, stop_by: at(2), successor: None }
}

/// What somebody has asked for wakes nobody at night.
#[test]
fn only_a_loss_that_nobody_asked_for_is_a_warning() {
    for (reason, names) in [
        (Loss::Expired, &["lost"][..]),
        (Loss::Replaced, &["lost"]),
        (Loss::Unhealthy, &["lost"]),
        (Loss::Resigned, &[]),
        (Loss::ResignRequested, &[]),
        (Loss::Withdrawn, &[]),
    ] {
        let warned = capture::told_from(Level::WARN, || super::changed(&lost(reason), None));
        assert_eq!(warned, names, "{reason}");
        let told = capture::told(|| super::changed(&lost(reason), None));
        assert_eq!(told, [names.first().copied().unwrap_or("resigning")], "{reason}");
    }
}

/// An outage that has no beginning in the log is over there either never, or to everybody's surprise.
#[test]
fn an_outage_that_costs_leadership_begins_before_it_is_over() {
    let lost = || lost(Loss::Expired);
    let short = told(|log| {
        fails(log, 1, &RENEW, Failure::Transient);
        log.changed(at(1), &lost());
        fails(log, 2, &Query::Observe, Failure::Transient);
        log.answered(at(3), &Query::Observe, &seen(false));
    });
    assert_eq!(short, ["lost", "outage", "outage_over"]);
    let long = told(|log| {
        for seconds in 0..10 {
            fails(log, seconds, &RENEW, Failure::Transient);
        }
        log.changed(at(10), &lost());
        log.answered(at(11), &Query::Observe, &seen(false));
    });
    assert_eq!(long, ["outage", "lost", "outage_over"]);
    let none = told(|log| {
        log.changed(at(1), &lost());
        log.answered(at(2), &Query::Observe, &seen(false));
    });
    assert_eq!(none, ["lost"]);
}

#[test]
fn only_a_namesake_that_lives_is_a_twin() {
    let led_by = |number: u128, epoch: u64, renewals: u64| {
        let holder = Some(Holder { candidate: life(number), label: None });
        let (epoch, remaining) = (Epoch::new(epoch), Duration::from_secs(9));
        Answer::Seen(Row { epoch, holder, remaining, renewals, ..Row::vacant() })
    };
    for (rows, lives) in [
        // A life before this one, which nobody renews, and then this one.
        (&[led_by(1, 5, 3), led_by(1, 5, 3), led_by(0, 6, 0), led_by(0, 6, 1)][..], false),
        (&[led_by(1, 5, 3), led_by(1, 5, 4), led_by(1, 5, 5)], true),
        (&[led_by(1, 5, 3), led_by(0, 6, 9), led_by(1, 7, 0), led_by(1, 7, 1)], true),
        (&[led_by(1, 5, 3), led_by(2, 6, 0)], true),
    ] {
        let names = told(|log| {
            let looks = rows.iter().zip(1..);
            looks.for_each(|(row, seconds)| log.answered(at(seconds), &Query::Observe, row));
        });
        let expected: &[&str] = if lives { &["duplicate_id"] } else { &[] };
        assert_eq!(names, expected, "{rows:?}");
    }
}
