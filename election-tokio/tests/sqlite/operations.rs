//! The list of candidates, and the cost of each query.

use crate::places::InFile;
use election_driver::{
    SqliteStore, Store as _,
    conformance::sqlite::*,
    core::sql::{Dialect, Outcome, Progress, Statements, Tables, Value},
};
use futures_lite::future::yield_now;
use sqlx::{Row as _, TypeInfo as _, ValueRef as _};
use std::time::Duration;

const INSTANT: Duration = Duration::from_millis(1);

async fn register(store: &mut SqliteStore, who: &Registration, ttl: Duration) {
    let query = Query::Register { ttl, sweep: false };
    assert_eq!(store.answer(who, &query).await.unwrap(), Answer::Listed);
}

async fn names(store: &mut SqliteStore, who: &Registration) -> Vec<String> {
    let rows = store.list_candidates(&who.namespace).await.unwrap();
    rows.iter().map(|row| row.candidate.id.to_string()).collect()
}

async fn candidates_are_listed_by_name_while_they_report(place: InFile) {
    let mut store = place.store();
    let [c, a, b] = ["c", "a", "b"].map(registration);
    for who in [&c, &a, &b] {
        register(&mut store, who, LONG).await;
    }
    assert_eq!(names(&mut store, &a).await, ["a", "b", "c"]);

    register(&mut store, &b, INSTANT).await; // the same call is the heartbeat
    while names(&mut store, &a).await.len() > 2 {}
    assert_eq!(names(&mut store, &a).await, ["a", "c"], "who falls silent is not listed");
    register(&mut store, &b, LONG).await;
    assert_eq!(names(&mut store, &a).await, ["a", "b", "c"], "a heartbeat brings it back");

    let gone = store.answer(&c, &Query::Unregister).await.unwrap();
    assert_eq!(gone, Answer::Listed);
    assert_eq!(names(&mut store, &a).await, ["a", "b"]);
    let again = store.answer(&c, &Query::Unregister).await.unwrap();
    assert_eq!(again, Answer::Listed, "leaving twice is no error");
}

async fn a_heartbeat_moves_the_time_and_the_label(place: InFile) {
    let mut store = place.store();
    let mut who = registration("a");
    register(&mut store, &who, Duration::from_secs(5)).await;
    let first = store.list_candidates(&who.namespace).await.unwrap().remove(0);
    assert!(first.remaining <= Duration::from_secs(5) && first.label.is_none());
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let off = wall.as_millis().abs_diff(u128::try_from(first.last_heartbeat_ms).unwrap());
    assert!(off < 60_000, "the heartbeat is in milliseconds since 1970; off by {off}");

    who.label = Some(Label::new("10.0.0.7:80").unwrap());
    register(&mut store, &who, LONG).await;
    let rows = store.list_candidates(&who.namespace).await.unwrap();
    assert_eq!(rows.len(), 1, "a heartbeat makes no second row");
    assert!(rows[0].remaining > Duration::from_secs(5));
    assert!(rows[0].last_heartbeat_ms >= first.last_heartbeat_ms);
    assert_eq!(rows[0].label, who.label);
    assert_eq!(rows[0].candidate, who.candidate);
}

async fn two_lives_of_one_name_are_two_candidates(place: InFile) {
    let mut store = place.store();
    let (first, second) = (registration("same"), registration("same"));
    register(&mut store, &first, LONG).await;
    register(&mut store, &second, LONG).await;
    assert_eq!(names(&mut store, &first).await, ["same", "same"]);

    let epoch = win(&mut store, &first, LONG).await;
    let Answer::Seen(row) = store.answer(&second, &attempt(LONG)).await.unwrap() else {
        panic!("two lives lead at once")
    };
    assert_eq!(row.live_holder().unwrap().candidate, first.candidate);
    let renew =
        Query::Renew { epoch, ordinal: 1, ttl: LONG, clock_step: Duration::ZERO, leads: true };
    assert_eq!(store.answer(&second, &renew).await.unwrap(), Answer::Gone);
    let resign = Query::Resign { epoch };
    store.answer(&second, &resign).await.unwrap();
    assert!(place.row().await.live_holder().is_some(), "resigned by another life");

    store.answer(&second, &Query::Unregister).await.unwrap();
    let rows = store.list_candidates(&first.namespace).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].candidate, first.candidate);
}

async fn candidates_long_gone_are_swept_away(place: InFile) {
    let mut store = place.store();
    let [long, lately, new] = ["long", "lately", "new"].map(registration);
    register(&mut store, &long, LONG).await;
    register(&mut store, &lately, LONG).await;
    let mut raw = place.raw().await;
    let age = "UPDATE election_candidate SET expires_ms = expires_ms - ";
    let day = 24 * 3600 * 1000;
    execute(&mut raw, &format!("{age} {} WHERE candidate_id = 'long'", day + 600_000)).await;
    execute(&mut raw, &format!("{age} {} WHERE candidate_id = 'lately'", day - 600_000)).await;
    let query = Query::Register { ttl: LONG, sweep: true };
    assert_eq!(store.answer(&new, &query).await.unwrap(), Answer::Listed);
    let all = "SELECT candidate_id FROM election_candidate ORDER BY 1";
    assert_eq!(texts(&mut raw, all).await, ["lately", "new"]);
}

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

/// Runs one query's exchange on a connection of its own, and counts its statements.
async fn count(
    connection: &mut sqlx::SqliteConnection,
    who: &Registration,
    query: &Query,
) -> (usize, Answer) {
    let statements = Statements::new(Dialect::Sqlite, &Tables::default());
    let mut exchange = statements.begin(who, query);
    for number in 1.. {
        let call = exchange.call();
        let mut run = sqlx::query(sqlx::AssertSqlSafe(call.sql));
        for param in &call.params {
            run = match param {
                Value::Null => run.bind(None::<i64>),
                Value::Integer(number) => run.bind(*number),
                Value::Text(text) => run.bind(text.to_string()),
            };
        }
        let mut outcome = Outcome::default();
        if call.returns_rows {
            let rows = run.fetch_all(&mut *connection).await.unwrap();
            assert!(rows.len() <= 1, "more than one row from {}", call.sql);
            outcome.row =
                rows.first().map(|row| (0..row.len()).map(|at| column(row, at)).collect());
        } else {
            outcome.affected = run.execute(&mut *connection).await.unwrap().rows_affected();
        }
        match exchange.advance(&outcome).unwrap() {
            Progress::More => {}
            Progress::Done(answer) => return (number, answer),
        }
    }
    unreachable!()
}

fn column(row: &sqlx::sqlite::SqliteRow, at: usize) -> Value<'static> {
    let raw = row.try_get_raw(at).unwrap();
    match raw.type_info().name() {
        _ if raw.is_null() => Value::Null,
        "TEXT" => Value::Text(row.get_unchecked::<String, _>(at).into()),
        _ => Value::Integer(row.get_unchecked::<i64, _>(at)),
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
    candidates_are_listed_by_name_while_they_report: in_file;
    a_heartbeat_moves_the_time_and_the_label: in_file;
    two_lives_of_one_name_are_two_candidates: in_file;
    candidates_long_gone_are_swept_away: in_file;
    an_elector_stands_on_the_list_until_it_leaves: in_file;
    winning_renewing_and_resigning_take_one_statement_each: in_file;
}
