//! A promoted replica may lack the newest win, or renewals.
//!
//! Rule: A promoted replica may have lost the newest win, or renewals.

use super::*;

/// The second history, known for so long.
fn promoted(known: u64) -> Server {
    Server { history: 2, since_ms: Some(77), known: ms(known) }
}

fn unknown() -> Server {
    Server { since_ms: None, ..promoted(0) }
}

fn on(server: Server, row: Row) -> Answer {
    Answer::Seen(Row { server, ..row })
}

fn alone() -> ConfigBuilder {
    fifteen_seconds().wake_jitter(ms(0))
}

fn b() -> Candidate {
    candidate("b", 2)
}

/// Looks until something else is asked than the row, which stays as it is.
fn waits(hand: &mut Hand, row: &Row, since: u64) -> Query {
    loop {
        let query = hand.run_until_asked(since + 60_000).clone();
        if query != Query::Observe {
            return query;
        }
        let known = ms(hand.now - since);
        let server = Server { known, ..row.server };
        hand.answer(on(server, row.clone()));
    }
}

#[test]
fn who_finds_an_unknown_history_attempts_to_record_it() {
    let mut hand = Hand::new(alone().build().unwrap());
    hand.answer(Answer::Seen(held(7, &b(), 14_000, 3)));
    assert_eq!(hand.run_until_asked(7_000), &Query::Observe);
    let before = hand.now;
    hand.answer(on(unknown(), held(7, &b(), 9_000, 3)));
    assert!(matches!(hand.query(), Query::Attempt { .. }), "{:?}", hand.query());
    assert_eq!(hand.now, before, "at once");
    // Without effect it is not repeated before the next turn.
    hand.answer(on(unknown(), held(7, &b(), 9_000, 3)));
    assert!(hand.next_wake() >= before + 4_000, "{}", hand.next_wake());
}

#[test]
fn a_vacant_row_is_taken_only_after_a_whole_lease() {
    // The statement would refuse an attempt that asks for more than has passed.
    for (row, least, lease) in [
        (vacant(7), 0, 15_000),
        (vacant(7), 30_000, 30_000),
        (held(7, &b(), 0, 3), 0, 15_000),
        (Row { ttl: ms(20_000), ..held(7, &b(), 0, 3) }, 0, 20_000),
        (Row { ttl: ms(2_000), ..held(7, &b(), 0, 3) }, 0, 15_000),
    ] {
        let mut hand = Hand::new(alone().at_least_for(ms(least)).build().unwrap());
        let since = hand.now;
        hand.answer(on(promoted(0), row.clone()));
        let query = waits(&mut hand, &Row { server: promoted(0), ..row }, since);
        assert!(matches!(query, Query::Attempt { .. }), "{query:?}");
        assert!((lease..=lease + 1).contains(&(hand.now - since)), "{}", hand.now - since);
    }
}

#[test]
fn a_clock_step_is_outlasted_unless_counted_by_oneself() {
    let mut hand = Hand::new(alone().clock_step(ms(60_000)).build().unwrap());
    let since = hand.now;
    hand.answer(on(promoted(0), vacant(7)));
    let query = waits(&mut hand, &Row { server: promoted(0), ..vacant(7) }, since);
    let Query::TakeOver { holder, server, epoch: of, .. } = query else { panic!("{query:?}") };
    assert_eq!((holder, server.since_ms, of), (None, Some(77), epoch(7)));
    assert_eq!(hand.now - since, 15_000 + 150 + 1);
}

/// The row may lack a holder whose lease is as long as one's own.
#[test]
fn silence_after_a_failover_is_at_least_ones_own_lease() {
    let mut hand = Hand::new(alone().build().unwrap());
    let since = hand.now;
    let row = Row { ttl: ms(2_000), server: promoted(0), ..held(7, &b(), 3_600_000, 3) };
    hand.answer(Answer::Seen(row.clone()));
    // The clock has gone back: the row says that little time is left, for ever.
    hand.run_until_take_over(since + 60_000, &row);
    assert!(hand.now - since > 15_000, "{}", hand.now - since);
}

#[test]
fn silence_starts_anew_in_another_history() {
    let row = || Row { remaining: Duration::from_secs(3_600), ..held(7, &b(), 0, 4) };
    let others = [
        Server { history: 3, ..promoted(20_000) },
        Server { since_ms: Some(78), ..promoted(20_000) },
    ];
    for other in others {
        let mut hand = Hand::new(alone().build().unwrap());
        let first = hand.now;
        hand.answer(on(promoted(20_000), row()));
        hand.run_until_asked(first + 7_000);
        let second = hand.now;
        hand.answer(on(other, row()));
        let query = hand.run_until_take_over(first + 60_000, &Row { server: other, ..row() });
        let Query::TakeOver { server, holder, .. } = query else { panic!("{query:?}") };
        assert!(server.is_same(&other));
        assert_eq!(holder, Some(b()));
        assert_eq!(hand.now - second, 15_000 + 150 + 1);
    }
}

/// What is cut down to its least length is not led again; refused, it would be tried for ever.
#[test]
fn whoever_knows_its_trust_says_so_as_it_renews() {
    let mut hand = Hand::new(alone().at_least_for(ms(60_000)).build().unwrap());
    hand.answer(Answer::Won { epoch: epoch(7), remaining: ms(60_000) });
    assert!(matches!(hand.run_until_asked(7_000), Query::Renew { leads: true, .. }));
    hand.answer(renewed());
    hand.input(Input::Resign);
    hand.asked = None;
    hand.input(Input::Stopped(epoch(7)));
    assert!(matches!(hand.query(), Query::Renew { leads: true, .. }), "{:?}", hand.query());
}

/// Its renewals may be what was lost, and one that comes in time is accepted.
#[test]
fn a_leader_whose_row_has_expired_leads_on_until_it_renews() {
    let row = |server, ttl, me: &Candidate| Row { server, ttl: ms(ttl), ..held(7, me, 0, 3) };
    for (server, ttl) in [
        (unknown(), 15_000),
        (promoted(0), 15_000),
        (promoted(14_999), 15_000),
        (promoted(15_000), 60_000), // as long as the row says, which is longer for a least time
    ] {
        let mut hand = Hand::leading();
        let me = hand.me();
        assert_eq!(hand.look(row(server, ttl, &me)), None);
        assert!(matches!(hand.run_until_asked(6_000), Query::Renew { leads: true, .. }));
        hand.answer(renewed());
        assert_eq!(hand.leads(), Some(7));
    }
    for server in [promoted(15_000), Server::FIRST] {
        let mut hand = Hand::leading();
        let me = hand.me();
        assert_eq!(lost(hand.look(row(server, 15_000, &me))).0, Loss::Replaced);
    }
}

mod call_by_call {
    use super::*;
    use election_core::{
        Namespace,
        lease::{Candidacy, Registration},
    };

    fn candidacy() -> Candidacy {
        let (namespace, candidate) = (Namespace::new("jobs").unwrap(), candidate("me", 1));
        let registration = Registration { namespace, candidate, label: None };
        Candidacy::new(registration).set_expire(ms(15_000)).unwrap()
    }

    /// Its successor's win may be what was lost: the row says nothing, whatever its clock says.
    #[test]
    fn a_holder_does_not_come_back_behind_a_history_that_is_new() {
        let mut who = candidacy();
        let me = who.registration().candidate.clone();
        for remaining in [9_000, 0] {
            let mut round = elects(&mut who);
            let row = Row { server: promoted(14_999), ..held(7, &me, remaining, 4) };
            let told = round.advance(Answer::Seen(row.clone())).expect("no question helps");
            assert_eq!(told.live_holder(), None);
            assert!(!who.leads(&row) && !who.leads(&told));
        }
        let proved = Row { server: promoted(15_000), ..held(7, &me, 9_000, 4) };
        assert!(who.leads(&proved));
        let mut round = elects(&mut who);
        assert_eq!(round.advance(Answer::Seen(proved)), None);
        assert!(matches!(round.query(), Query::Renew { leads: false, .. }), "{:?}", round.query());
    }

    #[test]
    fn another_holder_is_told_as_it_stands() {
        let mut who = candidacy();
        let mut round = elects(&mut who);
        let row = Row { server: promoted(1), ..held(7, &b(), 9_000, 4) };
        assert_eq!(round.advance(Answer::Seen(row.clone())), Some(row));
    }

    #[test]
    fn a_longer_lease_or_an_allowance_takes_longer_to_prove() {
        let who = candidacy().clock_step(ms(5_000)).unwrap();
        let me = who.registration().candidate.clone();
        let row =
            |known, ttl| Row { server: promoted(known), ttl: ms(ttl), ..held(7, &me, 9_000, 4) };
        assert!(!who.leads(&row(19_999, 15_000)) && who.leads(&row(20_000, 15_000)));
        assert!(!who.leads(&row(34_999, 30_000)) && who.leads(&row(35_000, 30_000)));
        // What is lost may be as long as one's own.
        assert!(!who.leads(&row(19_999, 2_000)) && who.leads(&row(20_000, 2_000)));
    }
}

#[test]
fn until_when_nobody_can_be_elected_is_known() {
    let mut hand = Hand::new(alone().build().unwrap());
    hand.answer(Answer::Seen(vacant(7)));
    assert_eq!(hand.lease.opens_at(), None, "it follows no other server");
    hand.run_until_asked(7_000);
    hand.answer(on(promoted(4_000), vacant(7)));
    let opens = at(hand.now + 11_000);
    assert_eq!(hand.lease.opens_at(), Some(opens));
    hand.run_until_asked(60_000);
    let known = 15_000 - u64::try_from(opens.since(at(hand.now)).as_millis()).unwrap();
    hand.answer(on(promoted(known), held(7, &b(), 9_000, 4)));
    assert_eq!(hand.lease.opens_at(), None, "somebody leads");
    hand.run_until_asked(60_000);
    hand.answer(on(promoted(15_000), vacant(7)));
    assert_eq!(hand.lease.opens_at(), None, "it is over");
}
