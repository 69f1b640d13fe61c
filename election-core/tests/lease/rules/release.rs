//! What follows the end of a term: it is given back before anything else is asked, and whom this
//! process followed earlier is forgotten.

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
fn after_a_term_of_its_own_it_does_not_name_the_leader_before_that() {
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
