//! Rows that are older than what is known: from a server of a cluster that lags, or from a database
//! that has forgotten.
//!
//! Rule: An older epoch is old news.

use super::*;

fn b() -> Candidate {
    candidate("b", 2)
}

fn c() -> Candidate {
    candidate("c", 3)
}

/// Who leads, as this process follows it.
fn followed(hand: &Hand) -> Option<Epoch> {
    hand.lease.followed().map(|(term, _)| term.epoch)
}

fn observer() -> Hand {
    Hand::new(fifteen_seconds().role(Role::Observer).build().unwrap())
}

#[test]
fn a_row_of_an_older_epoch_is_no_news() {
    for newer in [held(8, &c(), 9_000, 3), Row { ttl: ms(15_000), ..vacant(8) }] {
        for older in [held(7, &b(), 9_000, 0), vacant(7)] {
            let mut hand = observer();
            hand.answer(Answer::Seen(newer.clone()));
            let (told, follows) = (hand.changes.clone(), followed(&hand));
            hand.run_until_asked(7_000);
            hand.answer(Answer::Seen(older.clone()));
            hand.run_until_asked(13_000);
            assert_eq!((hand.changes.clone(), followed(&hand)), (told, follows), "{older:?}");
            hand.answer(Answer::Seen(held(9, &b(), 9_000, 0)));
            assert_eq!(followed(&hand), Some(epoch(9)));
        }
    }
}

/// A database that has forgotten may hold a term for this process that nobody leads any more.
#[test]
fn an_own_term_in_an_older_row_is_released() {
    let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
    hand.answer(Answer::Seen(held(9, &b(), 14_000, 0)));
    assert_eq!(hand.run_until_asked(7_000), &Query::Observe);
    let me = hand.me();
    hand.answer(Answer::Seen(held(8, &me, 14_000, 0)));
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(8) });
}

/// Its work may run on, whatever the database has forgotten of the term.
#[test]
fn an_older_own_term_is_not_released_while_work_is_to_stop() {
    let mut hand = Hand::leading();
    let me = hand.me();
    hand.input(Input::Resign);
    assert_eq!(hand.run_until_asked(60_000), &Query::Observe);
    hand.answer(Answer::Seen(held(6, &me, 14_000, 0)));
    assert_eq!(hand.run_until_asked(60_000), &Query::Observe, "work has not stopped");
}

#[test]
fn a_leader_looks_no_sooner_again_for_an_older_row() {
    let mut hand = Hand::leading();
    hand.look(held(6, &b(), 14_000, 0));
    for _ in 0..3 {
        assert!(matches!(hand.run_until_asked(60_000), Query::Renew { .. }), "{:?}", hand.query());
        hand.answer(renewed());
    }
}

/// What a leader has seen last counts for its next attempt, too.
#[test]
fn an_epoch_that_a_leader_has_seen_is_not_forgotten() {
    let mut hand = Hand::leading();
    hand.look(held(9, &b(), 9_000, 0));
    hand.input(Input::Stopped(epoch(7)));
    while *hand.query() == Query::Observe {
        hand.fail(Failure::Transient);
        hand.run_until_asked(60_000);
    }
    assert!(
        matches!(hand.query(), Query::Attempt { seen, .. } if *seen == epoch(9)),
        "{:?}",
        hand.query()
    );
}

/// The newer term must have ended by then, whatever the database has forgotten of it. Nobody waits
/// longer for what is in the row.
#[test]
fn a_database_that_has_forgotten_is_believed_after_a_lease() {
    let mut hand = observer();
    hand.answer(Answer::Seen(held(8, &c(), 15_000, 3)));
    let seen = hand.now;
    while followed(&hand) == Some(epoch(8)) {
        hand.run_until_asked(60_000);
        hand.answer(Answer::Seen(held(7, &b(), 9_000, 0)));
    }
    assert_eq!(followed(&hand), Some(epoch(7)));
    assert!((15_000..=15_001).contains(&(hand.now - seen)), "{} ms", hand.now - seen);
}

#[test]
fn a_returned_terms_lease_is_waited_for_like_a_silent_ones() {
    let mut hand = observer();
    hand.answer(Answer::Seen(Row { ttl: ms(15_000), ..vacant(8) }));
    let seen = hand.now;
    while followed(&hand).is_none() {
        hand.run_until_asked(60_000);
        hand.answer(Answer::Seen(held(7, &b(), 9_000, 0)));
    }
    let silence = 15_000 + 150 + 1;
    assert!((silence..=silence + 1).contains(&(hand.now - seen)), "{} ms", hand.now - seen);
}

/// A row that does not count is no reason to ask more often, whatever the newer one has said.
#[test]
fn older_rows_are_looked_at_once_per_interval() {
    for newer in [held(8, &c(), 14_000, 3), Row { ttl: ms(15_000), ..vacant(8) }] {
        let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
        hand.answer(Answer::Seen(newer.clone()));
        if hand.asked.is_some() {
            hand.answer(Answer::Seen(held(7, &b(), 9_000, 0)));
        }
        let (seen, follows, mut looks) = (hand.now, followed(&hand), 0);
        loop {
            hand.run_until_asked(60_000);
            if hand.now >= seen + 13_000 {
                break;
            }
            hand.answer(Answer::Seen(held(7, &b(), 9_000, 0)));
            looks += 1;
        }
        assert_eq!(looks, 2, "{newer:?}");
        assert_eq!(followed(&hand), follows);
    }
}

/// Another history tells its own news: a promoted replica has lost the newer term for good.
#[test]
fn an_older_epoch_of_another_history_counts_at_once() {
    let mut hand = observer();
    hand.answer(Answer::Seen(held(8, &c(), 9_000, 3)));
    hand.run_until_asked(7_000);
    let server = Server { history: 2, since_ms: None, known: ms(0) };
    hand.answer(Answer::Seen(Row { server, ..held(7, &b(), 9_000, 0) }));
    assert_eq!(followed(&hand), Some(epoch(7)));
}

#[test]
fn a_loser_does_not_tell_an_older_term_that_it_read_before() {
    let mut hand = Hand::leading();
    hand.look(held(6, &b(), 14_000, 0));
    let before = hand.changes.len();
    hand.input(Input::Resign);
    hand.input(Input::Tick);
    let since: Vec<_> = hand.changes[before..].iter().collect();
    assert!(matches!(since[..], [Change::Lost { .. }]), "{since:?}");
}

/// Whether the attempt has won is not told by a row from before it.
#[test]
fn an_older_row_does_not_resolve_an_attempt_of_unknown_outcome() {
    let mut hand = Hand::new(fifteen_seconds().wake_jitter(ms(0)).build().unwrap());
    let gone = Row { ttl: ms(15_000), ..vacant(8) };
    hand.answer(Answer::Seen(gone));
    assert!(matches!(hand.query(), Query::Attempt { .. }), "{:?}", hand.query());
    hand.fail(Failure::Ambiguous);
    assert_eq!(hand.run_until_asked(3_000), &Query::Observe);
    hand.answer(Answer::Seen(held(7, &b(), 9_000, 0)));
    let me = hand.me();
    assert_eq!(hand.run_until_asked(9_000), &Query::Observe, "it reads once more");
    hand.answer(Answer::Seen(held(9, &me, 8_000, 0)));
    assert_eq!(hand.leads(), Some(9));
}
