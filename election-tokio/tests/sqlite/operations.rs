//! The list of candidates, and the cost of each query.

use crate::places::InFile;
use election_driver::{
    Fenced,
    conformance::{inside, sqlite::*},
    core::sql::{Dialect, Progress, Statements, Tables},
};
use election_tokio::Election;
use futures_lite::future::yield_now;
use std::time::Duration;

async fn an_elector_stands_on_the_list_until_it_leaves(place: InFile) {
    let mut store = place.store();
    let (a, b) = (place.start("a", LONG), place.start("b", LONG));
    let namespace = a.registration().namespace.clone();
    while store.list_candidates(&namespace).await.unwrap().len() < 2 {
        yield_now().await;
    }
    a.shutdown().await;
    let rows = store.list_candidates(&namespace).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].candidate, b.registration().candidate);
    b.shutdown().await;
    assert!(store.list_candidates(&namespace).await.unwrap().is_empty());
}

async fn the_default_namespace_is_the_one_of_that_name(place: InFile) {
    let mut store = place.store();
    let builder = Election::builder("default").store(place.store());
    let named = builder.build().unwrap().into_parts().0.registration().clone();
    let epoch = win(&mut store, &named, LONG).await;
    assert_eq!(store.leader(&Namespace::default()).await.unwrap().epoch, epoch);
    win(&mut store, &registration("a"), LONG).await; // another namespace
}

/// Runs one query's exchange on a connection of its own, and counts its statements.
async fn count(
    connection: &mut sqlx::SqliteConnection,
    who: &Registration,
    query: &Query,
) -> (usize, Answer) {
    type Client = <sqlx::Transaction<'static, sqlx::Sqlite> as Fenced>::Client;
    let statements = Statements::new(Dialect::Sqlite, &Tables::default());
    let mut exchange = statements.begin(who, query);
    let mut number = 0;
    loop {
        let call = exchange.call();
        let outcome = inside::run::<Client>(connection, &statements, &call).await.unwrap();
        number += 1;
        if let Progress::Done(answer) = exchange.advance(&outcome).unwrap() {
            return (number, answer);
        }
    }
}

/// The statements with any client, at the documented cost.
async fn winning_renewing_and_resigning_take_one_statement_each(place: InFile) {
    let mut connection = place.raw().await;
    let (a, b) = (registration("a"), registration("b"));
    for round in 0..2 {
        let (statements, answer) = count(&mut connection, &a, &attempt(LONG)).await;
        let Answer::Won { epoch, .. } = answer else { panic!("{answer:?}") };
        assert_eq!(statements, 1, "a won attempt, round {round}");
        for ordinal in 1..4 {
            let renew =
                Query::Renew { epoch, ordinal, ttl: LONG, clock_step: Duration::ZERO, leads: true };
            let (statements, answer) = count(&mut connection, &a, &renew).await;
            assert!(matches!(answer, Answer::Renewed { .. }));
            assert_eq!(statements, 1, "a renewal");
        }
        let (statements, answer) = count(&mut connection, &b, &Query::Observe).await;
        assert!(matches!(answer, Answer::Seen(_)));
        assert_eq!(statements, 1, "a look");
        let (statements, answer) = count(&mut connection, &b, &attempt(LONG)).await;
        assert!(matches!(answer, Answer::Seen(_)));
        assert_eq!(statements, 2, "a lost attempt also reads who holds it");
        let gone =
            Query::Renew { epoch, ordinal: 1, ttl: LONG, clock_step: Duration::ZERO, leads: true };
        // What changes nothing also reads why.
        assert_eq!(count(&mut connection, &b, &gone).await, (2, Answer::Gone));
        let resign = Query::Resign { epoch };
        assert_eq!(count(&mut connection, &a, &resign).await, (1, Answer::Released));
        assert_eq!(count(&mut connection, &a, &resign).await, (2, Answer::Released));
        let register = Query::Register { ttl: LONG, sweep: false };
        assert_eq!(count(&mut connection, &a, &register).await, (1, Answer::Listed));
        assert_eq!(count(&mut connection, &a, &Query::Unregister).await, (1, Answer::Listed));
    }
}

tests! {
    the_default_namespace_is_the_one_of_that_name: in_file;
    an_elector_stands_on_the_list_until_it_leaves: in_file;
    winning_renewing_and_resigning_take_one_statement_each: in_file;
}
