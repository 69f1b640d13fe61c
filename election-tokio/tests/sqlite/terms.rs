//! The leader row: who may change it, and what it contains afterwards.

use crate::places::InFile;
use election_driver::{Store as _, conformance::sqlite::*};
use election_tokio::Election;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const INSTANT: Duration = Duration::from_millis(1);

fn clock_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

async fn expired(place: &InFile) -> Row {
    loop {
        let row = place.row().await;
        if row.remaining.is_zero() {
            return row;
        }
    }
}

async fn an_attempt_never_takes_a_live_lease(place: InFile) {
    let mut store = place.store();
    let (a, b) = (registration("a"), registration("b"));
    assert_eq!(place.row().await, Row::vacant());
    let epoch = win(&mut store, &a, LONG).await;
    let held = place.row().await;
    for who in [&b, &a] {
        let Answer::Seen(row) = store.answer(who, &attempt(LONG)).await.unwrap() else {
            panic!("a live lease was taken")
        };
        assert_eq!(row.epoch, epoch);
        assert_eq!(row.holder.unwrap().candidate, a.candidate, "who leads after the call");
        assert_eq!((row.ttl, row.renewals), (held.ttl, 0));
        assert!(row.remaining <= held.remaining, "asking prolongs nothing");
    }
}

async fn a_renewal_counts_for_its_own_term_only(place: InFile) {
    let mut store = place.store();
    let (a, b) = (registration("a"), registration("b"));
    let epoch = win(&mut store, &a, Duration::from_secs(30)).await;
    let renew = |epoch, ordinal| Query::Renew {
        epoch,
        ordinal,
        ttl: LONG,
        clock_step: Duration::ZERO,
        leads: true,
    };
    for wrong in [epoch.get() - 1, epoch.get() + 1] {
        let answer = store.answer(&a, &renew(Epoch::new(wrong), 1)).await.unwrap();
        assert_eq!(answer, Answer::Gone);
    }
    assert_eq!(store.answer(&b, &renew(epoch, 1)).await.unwrap(), Answer::Gone);
    assert!(place.row().await.remaining <= Duration::from_secs(30), "nobody renewed it");
    let answer = store.answer(&a, &renew(epoch, 1)).await.unwrap();
    assert!(
        matches!(answer, Answer::Renewed { remaining, resign_requested: false } if remaining == LONG)
    );
    assert!(place.row().await.remaining > Duration::from_secs(30));
}

async fn a_late_renewal_of_lower_ordinal_changes_nothing(place: InFile) {
    let mut store = place.store();
    let a = registration("a");
    let epoch = win(&mut store, &a, LONG).await;
    let renew = |ordinal, ttl| Query::Renew {
        epoch,
        ordinal,
        ttl,
        clock_step: Duration::ZERO,
        leads: true,
    };
    store.answer(&a, &renew(5, LONG)).await.unwrap();
    for late in [4, 5] {
        let answer = store.answer(&a, &renew(late, INSTANT)).await.unwrap();
        assert_eq!(answer, Answer::Gone, "ordinal {late} after 5");
    }
    let row = place.row().await;
    assert_eq!((row.renewals, row.ttl), (5, LONG));
    assert!(row.live_holder().is_some(), "the lease was cut short by a late statement");
    assert!(matches!(store.answer(&a, &renew(6, LONG)).await, Ok(Answer::Renewed { .. })));
}

async fn an_expired_term_is_not_renewed(place: InFile) {
    let mut store = place.store();
    let a = registration("a");
    let epoch = win(&mut store, &a, INSTANT).await;
    assert_eq!(expired(&place).await.holder.unwrap().candidate, a.candidate);
    let renew =
        Query::Renew { epoch, ordinal: 1, ttl: LONG, clock_step: Duration::ZERO, leads: true };
    assert_eq!(store.answer(&a, &renew).await.unwrap(), Answer::Gone);
    assert!(place.row().await.remaining.is_zero());
    assert!(win(&mut store, &a, LONG).await > epoch, "its own expired lease, as a new term");
}

async fn an_old_terms_resignation_leaves_a_newer_term_alone(place: InFile) {
    let mut store = place.store();
    let (a, b) = (registration("a"), registration("b"));
    let old = win(&mut store, &a, LONG).await;
    store.answer(&a, &Query::Resign { epoch: old }).await.unwrap();
    let new = win(&mut store, &a, LONG).await;
    assert!(new > old);
    // A duplicate that was delayed, and another process's guess.
    store.answer(&a, &Query::Resign { epoch: old }).await.unwrap();
    store.answer(&b, &Query::Resign { epoch: new }).await.unwrap();
    let row = place.row().await;
    assert_eq!(row.epoch, new);
    assert_eq!(row.live_holder().unwrap().candidate, a.candidate);
    let renew =
        Query::Renew { epoch: new, ordinal: 1, ttl: LONG, clock_step: Duration::ZERO, leads: true };
    assert!(matches!(store.answer(&a, &renew).await, Ok(Answer::Renewed { .. })));
}

async fn the_row_survives_a_resignation(place: InFile) {
    let mut store = place.store();
    let mut a = registration("a");
    a.label = Some(Label::new("here").unwrap());
    let epoch = win(&mut store, &a, LONG).await;
    assert_eq!(place.row().await.holder.unwrap().label, a.label);
    store.answer(&a, &Query::Resign { epoch }).await.unwrap();
    let row = place.row().await;
    assert_eq!((row.epoch, &row.holder), (epoch, &None), "vacant, under the term that was");
    assert!(row.remaining.is_zero() && row.live_term().is_none());
    let b = registration("b");
    let next = win(&mut store, &b, LONG).await;
    assert!(next > epoch);
    let row = place.row().await;
    assert_eq!(row.holder.unwrap().label, None, "the label of a leader that is gone");
}

async fn a_take_over_must_describe_the_row_exactly(place: InFile) {
    let mut store = place.store();
    let (a, b) = (registration("a"), registration("b"));
    let held = win(&mut store, &a, LONG).await;
    let renew = Query::Renew {
        epoch: held,
        ordinal: 3,
        ttl: LONG,
        clock_step: Duration::ZERO,
        leads: true,
    };
    store.answer(&a, &renew).await.unwrap();

    let take = |epoch: Epoch, holder: &Registration, renewals| Query::TakeOver {
        seen: Epoch::NONE,
        ttl: LONG,
        epoch,
        holder: Some(holder.candidate.clone()),
        renewals,
        server: Server::FIRST,
        clock_step: Duration::ZERO,
    };
    let same_name = registration("a");
    let wrong = [
        take(Epoch::new(held.get() - 1), &a, 3),
        take(held, &b, 3),
        take(held, &same_name, 3),
        take(held, &a, 2),
        take(held, &a, 4),
    ];
    for query in &wrong {
        let answer = store.answer(&b, query).await.unwrap();
        assert!(matches!(&answer, Answer::Seen(row) if row.epoch == held), "{query:?}: {answer:?}");
    }
    let answer = store.answer(&b, &take(held, &a, 3)).await.unwrap();
    let Answer::Won { epoch, remaining } = answer else { panic!("{answer:?}") };
    assert!(epoch > held);
    assert_eq!(remaining, LONG);
    assert_eq!(place.row().await.renewals, 0, "a new term counts its renewals anew");
    assert_eq!(store.answer(&a, &renew).await.unwrap(), Answer::Gone);
}

async fn a_new_term_is_above_everything_known(place: InFile) {
    let mut store = place.store();
    let a = registration("a");
    let before = clock_ms();
    let first = win(&mut store, &a, LONG).await;
    assert!(first.get() >= before, "above the clock: {first}");
    assert!(first.get() <= clock_ms(), "and not far from it");
    store.answer(&a, &Query::Resign { epoch: first }).await.unwrap();

    let seen = Epoch::new(first.get() + 1_000_000_000);
    let query = Query::Attempt { seen, ttl: LONG, clock_step: Duration::ZERO };
    let answer = store.answer(&a, &query).await.unwrap();
    let Answer::Won { epoch: second, .. } = answer else { panic!("{answer:?}") };
    assert!(second > seen, "above what the candidate has seen");
    store.answer(&a, &Query::Resign { epoch: second }).await.unwrap();

    let third = win(&mut store, &a, LONG).await;
    assert!(third > second, "above the row's own term, which is ahead of the clock");

    // A takeover obeys the same rule.
    let seen = Epoch::new(third.get() + 1_000_000_000);
    let holder = a.candidate.clone();
    let query = Query::TakeOver {
        seen,
        ttl: LONG,
        epoch: third,
        holder: Some(holder),
        server: Server::FIRST,
        renewals: 0,
        clock_step: Duration::ZERO,
    };
    let answer = store.answer(&registration("b"), &query).await.unwrap();
    assert!(matches!(answer, Answer::Won { epoch, .. } if epoch > seen));
}

async fn a_lost_row_does_not_bring_back_an_old_term(place: InFile) {
    let mut store = place.store();
    let a = registration("a");
    let old = win(&mut store, &a, LONG).await;
    execute(&mut place.raw().await, "DELETE FROM election_leader").await;
    let answer = store
        .answer(&a, &Query::Attempt { seen: old, ttl: LONG, clock_step: Duration::ZERO })
        .await
        .unwrap();
    assert!(matches!(answer, Answer::Won { epoch, .. } if epoch > old), "{answer:?}");
}

async fn the_default_namespace_is_the_one_of_that_name(place: InFile) {
    let mut store = place.store();
    let builder = Election::builder("default").store(place.store());
    let named = builder.build().unwrap().into_parts().0.registration().clone();
    let epoch = win(&mut store, &named, LONG).await;
    assert_eq!(store.leader(&Namespace::default()).await.unwrap().epoch, epoch);
    win(&mut store, &registration("a"), LONG).await; // another namespace
}

async fn a_request_to_resign_names_its_term(place: InFile) {
    let mut store = place.store();
    let a = registration("a");
    let namespace = a.namespace.clone();
    let none = store.request_resign(&namespace, Epoch::new(7)).await.unwrap();
    assert!(!none, "nobody ever led");
    let epoch = win(&mut store, &a, LONG).await;
    let other = Epoch::new(epoch.get() - 1);
    assert!(!store.request_resign(&namespace, other).await.unwrap());
    assert!(!place.row().await.resign_requested);
    assert!(store.request_resign(&namespace, epoch).await.unwrap());
    assert!(place.row().await.resign_requested);
    let renew =
        Query::Renew { epoch, ordinal: 1, ttl: LONG, clock_step: Duration::ZERO, leads: true };
    let answer = store.answer(&a, &renew).await.unwrap();
    assert!(matches!(answer, Answer::Renewed { resign_requested: true, .. }), "{answer:?}");

    store.answer(&a, &Query::Resign { epoch }).await.unwrap();
    assert!(!store.request_resign(&namespace, epoch).await.unwrap(), "nobody holds it now");
    win(&mut store, &a, LONG).await;
    assert!(!place.row().await.resign_requested, "the next term inherited the request");
}

/// Through an elector: it steps down, another takes over, and the term is not led again.
async fn a_request_to_resign_reaches_the_leader(place: InFile) {
    let a = place.start("a", LONG);
    let epoch = a.elected().await.unwrap().epoch();
    let b = place.start("b", LONG);
    assert_eq!(followed(&b).await, epoch);
    let mut changes = a.changes();
    let namespace = a.registration().namespace.clone();
    assert!(place.store().request_resign(&namespace, epoch).await.unwrap());
    assert_eq!(next_loss(&mut changes).await, Loss::ResignRequested);
    assert!(b.elected().await.unwrap().epoch() > epoch);
    assert!(!a.is_leader());
    b.shutdown().await;
    a.shutdown().await;
}

tests! {
    an_attempt_never_takes_a_live_lease: in_file;
    a_renewal_counts_for_its_own_term_only: in_file;
    a_late_renewal_of_lower_ordinal_changes_nothing: in_file;
    an_expired_term_is_not_renewed: in_file;
    an_old_terms_resignation_leaves_a_newer_term_alone: in_file;
    the_row_survives_a_resignation: in_file;
    a_take_over_must_describe_the_row_exactly: in_file;
    a_new_term_is_above_everything_known: in_file;
    a_lost_row_does_not_bring_back_an_old_term: in_file;
    the_default_namespace_is_the_one_of_that_name: in_file;
    a_request_to_resign_names_its_term: in_file;
    a_request_to_resign_reaches_the_leader: in_file;
}
