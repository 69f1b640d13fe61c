//! What follows the end of a term: it is given back before anything else is asked, and whom this
//! process followed earlier is forgotten.
//!
//! Rule: A release is tried until its lease has run out.

use super::*;

#[test]
fn a_renewal_that_hangs_does_not_hold_the_release_up() {
    let mut hand = Hand::leading();
    assert!(matches!(hand.run_until_asked(6_000), Query::Renew { .. }));
    hand.input(Input::Resign);
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn a_registration_that_hangs_does_not_hold_the_release_up() {
    let mut lease = Lease::new(fifteen_seconds().build().unwrap(), candidate("me", 1), 42);
    let step = lease.step(at(1_000), Input::Tick);
    let Some(Action::Query { ticket, .. }) = step.action else { panic!("{step:?}") };
    let answer = Event::Answer { ticket, result: Ok(won(7)) };
    let registers = lease.step(at(1_000), Input::Event(answer)).action;
    assert!(matches!(registers, Some(Action::Query { query: Query::Register { .. }, .. })));
    let _lost = lease.step(at(1_500), Input::Resign);
    let step = lease.step(at(1_600), Input::Stopped(epoch(7)));
    assert!(
        matches!(step.action, Some(Action::Query { query: Query::Resign { .. }, .. })),
        "{step:?}"
    );
}

#[test]
fn nobody_stands_again_before_its_last_term_is_released() {
    let mut hand = Hand::leading();
    hand.event(Event::Health(false));
    hand.input(Input::Stopped(epoch(7)));
    hand.event(Event::Health(true));
    hand.now += 100;
    hand.fail(Failure::Transient); // the release
    assert_eq!(hand.query(), &Query::Observe);
}

#[test]
fn after_an_own_term_no_earlier_leader_is_named() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.answer(Answer::Seen(held(7, &candidate("b", 2), 900, 0)));
    assert!(hand.lease.followed().is_some());
    assert!(matches!(hand.run_until_asked(2_100), Query::Attempt { .. }));
    hand.answer(won(8));
    hand.event(Event::Health(false));
    hand.input(Input::Stopped(epoch(8)));
    assert!(matches!(hand.changes.last(), Some(Change::Lost { .. })), "{:?}", hand.changes);
    assert_eq!(hand.lease.followed(), None);
}

#[test]
fn who_was_replaced_looks_again_as_soon_as_its_work_has_stopped() {
    let mut hand = Hand::leading();
    hand.run_until_asked(6_000);
    hand.answer(Answer::Gone);
    hand.answer(Answer::Seen(vacant(9)));
    hand.now = 6_500;
    hand.input(Input::Stopped(epoch(7)));
    assert!(matches!(hand.query(), Query::Attempt { .. }));
}

/// Answers every question as a database that refuses each connection, until this time or the end.
/// Returns when a release was tried.
fn refused_until(hand: &mut Hand, until: u64) -> Vec<u64> {
    let mut tries = Vec::new();
    while hand.now < until && hand.lease.unreleased().is_some() {
        match hand.asked {
            Some((_, Query::Resign { .. })) => {
                tries.push(hand.now);
                hand.fail(Failure::Transient);
            }
            Some(_) => drop(hand.fail(Failure::Transient)),
            None => hand.run_to(hand.next_wake()),
        }
    }
    tries
}

#[test]
fn a_release_is_tried_until_its_lease_has_run_out() {
    let mut hand = Hand::leading(); // until 16,000
    hand.input(Input::Withdraw);
    hand.input(Input::Stopped(epoch(7)));
    let tries = refused_until(&mut hand, 60_000);
    let gaps: Vec<_> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps[0] <= 51, "the second try follows at once: {gaps:?}");
    assert!(gaps.iter().all(|gap| *gap <= 302), "no time to waste: {gaps:?}");
    assert!(gaps[4..].iter().all(|gap| *gap >= 250), "it spins: {gaps:?}");
    assert!((15_600..16_000).contains(tries.last().unwrap()), "the last at {:?}", tries.last());
}

/// Who stays has time; who leaves meanwhile has none any more.
#[test]
fn a_release_of_who_stays_slows_down_until_it_leaves() {
    let mut hand = Hand::resigned();
    let tries = refused_until(&mut hand, 8_000);
    assert!((6..10).contains(&tries.len()), "{tries:?}");
    hand.input(Input::Withdraw);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
    let more = refused_until(&mut hand, 10_000);
    assert!((5..14).contains(&more.len()), "{more:?}");
}

#[test]
fn a_release_whose_lease_has_run_out_is_tried_once() {
    let mut hand = Hand::leading();
    hand.run_to(20_000); // belief ended at 12,500; the work has overrun its hard stop
    hand.input(Input::Withdraw);
    hand.asked = None;
    hand.input(Input::Stopped(epoch(7)));
    assert_eq!(refused_until(&mut hand, 60_000), [20_000]);
}

/// The database's clock has gone back: there, the lease of the term that was given up lasts on.
#[test]
fn a_found_term_whose_release_was_given_up_is_not_led() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    let me = hand.me();
    hand.fail(Failure::Ambiguous);
    assert_eq!(hand.run_until_asked(1_051), &Query::Observe);
    hand.answer(Answer::Seen(held(7, &me, 3_000, 0))); // too little time left
    assert!(!refused_until(&mut hand, 60_000).is_empty());
    while !matches!(hand.asked, Some((_, Query::Attempt { .. }))) {
        hand.run_until_asked(60_000);
    }
    hand.fail(Failure::Ambiguous);
    assert_eq!(hand.run_until_asked(60_000), &Query::Observe);
    hand.answer(Answer::Seen(held(7, &me, 14_000, 0)));
    assert_eq!(hand.leads(), None);
    assert_eq!(hand.query(), &Query::Resign { epoch: epoch(7) });
}

#[test]
fn a_leaving_elector_looks_for_a_win_for_a_whole_lease() {
    let mut hand = Hand::new(fifteen_seconds().build().unwrap());
    hand.fail(Failure::Ambiguous); // the attempt asked at 1,000 may have won
    for _ in 0..3 {
        hand.run_until_asked(60_000);
        hand.fail(Failure::Transient);
    }
    let withdrawn = hand.now;
    assert!(hand.next_wake() > withdrawn + 2_000, "the next look is far away");
    hand.input(Input::Withdraw);
    let mut looks = Vec::new();
    while let Some((_, Query::Observe)) = hand.asked {
        looks.push(hand.now);
        hand.fail(Failure::Transient);
        if !hand.lease.is_finished() {
            hand.run_until_asked(60_000);
        }
    }
    assert_eq!(looks[0], withdrawn, "it looks at once");
    assert!(looks.windows(2).all(|pair| pair[1] - pair[0] <= 302), "{looks:?}");
    assert!((15_600..16_000).contains(looks.last().unwrap()), "the last at {:?}", looks.last());
    assert!(hand.lease.is_finished());
}
