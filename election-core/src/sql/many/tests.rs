use super::*;
use crate::{
    Candidate, Epoch, Incarnation, Namespace, NodeId,
    lease::Server,
    sql::{Dialect, Tables},
};
use core::time::Duration;
use uuid::Uuid;

const CLOCK_STEP: Duration = Duration::ZERO;

fn me(namespace: &str) -> Registration {
    let (id, incarnation) = (NodeId::new("me").unwrap(), Incarnation::new(Uuid::nil()));
    let candidate = Candidate { id, incarnation };
    Registration { namespace: Namespace::new(namespace).unwrap(), candidate, label: None }
}

fn renew(ordinal: u64) -> Query {
    let (epoch, ttl) = (Epoch::new(7), Duration::from_secs(15));
    Query::Renew { epoch, ordinal, ttl, clock_step: CLOCK_STEP, leads: true }
}

fn renewed(name: &'static str) -> Vec<Value<'static>> {
    vec![name.into(), Value::Integer(15_000), Value::Integer(0)]
}

fn statements(dialect: Dialect) -> Statements {
    Statements::new(dialect, &Tables::default())
}

#[test]
fn only_questions_of_one_kind_merge() {
    let (statements, a, b) = (statements(Dialect::Sqlite), me("a"), me("b"));
    let register = |sweep| Query::Register { ttl: Duration::from_secs(15), sweep };
    let merges = |one, other| statements.merge(&[(&a, &one), (&b, &other)]).is_some();
    assert!(merges(renew(1), renew(9)) && merges(register(false), register(true)));
    assert!(!merges(renew(1), Query::Observe) && merges(Query::Others, Query::Others));
    assert!(statements.merge(&[]).is_none());
}

/// Its statement could not tell which of the two a row answers.
#[test]
fn of_two_questions_about_one_election_one_is_asked() {
    let (statements, a, b) = (statements(Dialect::Postgres), me("a"), me("b"));
    let (first, second) = (renew(1), renew(2));
    let mut merged = statements.merge(&[(&a, &first), (&a, &second), (&b, &first)]).unwrap();
    let call = merged.call();
    let Value::Text(asked) = &call.params[0] else { panic!("JSON: {call:?}") };
    assert_eq!(asked.matches("\"ns\"").count(), 2, "{asked}");
    let answers = merged.advance(&[renewed("b"), renewed("a"), renewed("c")], 0);
    let Ok(Progress::Done(answers)) = answers else { panic!("one statement") };
    let there: Vec<_> = answers.iter().map(Option::is_some).collect();
    assert_eq!(there, [true, false, true]);
}

#[test]
fn a_row_that_cannot_be_read_answers_nothing() {
    let (statements, a, b) = (statements(Dialect::Sqlite), me("a"), me("b"));
    let renew = renew(1);
    let mut merged = statements.merge(&[(&a, &renew), (&b, &renew)]).unwrap();
    let strange = vec![Value::from("a"), Value::from("soon"), Value::Integer(0)];
    let answers = merged.advance(&[strange, renewed("b")], 0);
    let Ok(Progress::Done(answers)) = answers else { panic!("one statement") };
    assert!(answers[0].is_none() && answers[1].is_some());
}

/// To update a row that somebody else has locked would be to wait for it.
#[test]
fn mysql_renews_the_rows_that_it_has_locked() {
    let (statements, a, b) = (statements(Dialect::MySql), me("a"), me("b"));
    let renew = renew(1);
    let mut merged = statements.merge(&[(&a, &renew), (&b, &renew)]).unwrap();
    assert_eq!(merged.call().sql, "START TRANSACTION");
    assert_eq!(merged.advance(&[], 0), Ok(Progress::More));
    assert!(merged.call().sql.ends_with("FOR UPDATE SKIP LOCKED"));
    assert_eq!(merged.advance(&[renewed("b")], 0), Ok(Progress::More));
    let update = merged.call();
    assert!(update.sql.starts_with("UPDATE"), "{update:?}");
    let Value::Text(asked) = &update.params[0] else { panic!("JSON: {update:?}") };
    assert!(asked.contains("\"ns\":\"b\"") && !asked.contains("\"ns\":\"a\""), "{asked}");
    assert_eq!(merged.advance(&[], 0), Err(RowError::Unwritten));
    assert_eq!(merged.advance(&[], 1), Ok(Progress::More));
    assert!(merged.call().sql.starts_with("COMMIT"));
    let Ok(Progress::Done(answers)) = merged.advance(&[], 0) else { panic!("committed") };
    assert!(answers[0].is_none() && answers[1].is_some());
}

fn attempt() -> Query {
    let (seen, ttl) = (Epoch::NONE, Duration::from_secs(15));
    Query::Attempt { seen, ttl, clock_step: CLOCK_STEP }
}

/// What an attempt returns that has won.
fn won(name: &'static str) -> Vec<Value<'static>> {
    vec![name.into(), Value::Integer(9), Value::Integer(15_000)]
}

/// What a reading returns of a row in term 9.
fn held(name: &'static str, holder: &'static str) -> Vec<Value<'static>> {
    let incarnation = Value::from("00000000-0000-0000-0000-000000000000");
    let mut row = vec![Value::Integer(9), holder.into(), incarnation, Value::Null];
    row.extend([15_000, 15_000, 0, 0, 0].map(Value::Integer));
    row.push(name.into());
    row
}

/// The statements that follow on these rows, by their first two words, and the answers.
fn played(merged: &mut Merged<'_>, rows: &[&[Vec<Value<'_>>]]) -> Vec<String> {
    let mut calls = Vec::new();
    for rows in rows {
        calls.push(merged.call().sql.split(' ').take(2).collect::<Vec<_>>().join(" "));
        let affected = rows.len() as u64;
        if let Progress::Done(answers) = merged.advance(rows, affected).unwrap() {
            calls.extend(answers.iter().map(|answer| match answer {
                Some(Answer::Won { .. }) => String::from("won"),
                Some(Answer::Seen(_)) => String::from("seen"),
                Some(answer) => format!("{answer:?}"),
                None => String::from("ask again"),
            }));
        }
    }
    calls
}

fn vacant(name: &'static str) -> Vec<Value<'static>> {
    let mut row = held(name, "");
    (row[1], row[2]) = (Value::Null, Value::Null);
    row
}

/// An attempt by all of these.
fn attempt_by<const N: usize>(
    dialect: Dialect,
    names: [&str; N],
    rows: &[&[Vec<Value<'_>>]],
) -> Vec<String> {
    let (statements, attempt, who) = (statements(dialect), attempt(), names.map(me));
    let questions = who.each_ref().map(|me| (me, &attempt));
    played(&mut statements.merge(&questions).unwrap(), rows)
}

/// Locked rows would keep the one who leads from renewing.
#[test]
fn nothing_is_written_where_everybody_is_led() {
    for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
        let calls = attempt_by(dialect, ["a", "b"], &[&[held("a", "other"), held("b", "other")]]);
        assert_eq!(calls, ["SELECT epoch,", "seen", "seen"], "{dialect}");
    }
}

/// Whoever finds a row that it could have taken learns why by itself.
#[test]
fn those_who_do_not_win_learn_who_leads() {
    let rows: [&[_]; 3] =
        [&["a", "b", "c"].map(vacant), &[won("a")], &[held("b", "other"), vacant("c")]];
    let calls = attempt_by(Dialect::Postgres, ["a", "b", "c"], &rows);
    let expected = ["SELECT epoch,", "WITH asked", "SELECT epoch,", "won", "seen", "ask again"];
    assert_eq!(calls, expected);
}

/// No attempt can win there before one has recorded since when the history is known.
#[test]
fn a_row_of_an_unknown_history_is_asked_for_alone() {
    let told = |since: Value<'static>| {
        let mut row = held("a", "other");
        row.extend([Value::Integer(2), since, Value::Integer(0)]);
        row
    };
    let known: [&[_]; 2] = [&[told(Value::Integer(5)), vacant("b")], &[won("b")]];
    let calls = attempt_by(Dialect::Postgres, ["a", "b"], &known);
    assert_eq!(calls, ["SELECT epoch,", "WITH asked", "seen", "won"]);
    let unknown: &[_] = &[told(Value::Null), vacant("b")];
    let calls = attempt_by(Dialect::Postgres, ["a", "b"], &[unknown, &[won("b")], unknown]);
    assert_eq!(calls, ["SELECT epoch,", "WITH asked", "SELECT epoch,", "ask again", "won"]);
}

#[test]
fn missing_rows_are_made_and_no_others() {
    let rows: [&[_]; 3] = [&[vacant("a")], &[], &[won("a"), won("b")]];
    let calls = attempt_by(Dialect::Postgres, ["a", "b"], &rows);
    assert_eq!(calls, ["SELECT epoch,", "INSERT INTO", "WITH asked", "won", "won"]);
    let (statements, attempt, who) = (statements(Dialect::MySql), attempt(), ["a", "b"].map(me));
    let questions = who.each_ref().map(|me| (me, &attempt));
    let mut merged = statements.merge(&questions).unwrap();
    for rows in [&[vacant("a")], &[] as &[_]] {
        assert_eq!(merged.advance(rows, 1), Ok(Progress::More));
        let call = merged.call();
        let Value::Text(asked) = &call.params[0] else { panic!("JSON: {call:?}") };
        assert!(call.sql.starts_with("INSERT IGNORE"), "{call:?}");
        assert!(asked.contains("\"b\"") && !asked.contains("\"a\""), "{asked}");
    }
}

/// An answer of an earlier attempt of its own does not tell that this one has won.
#[test]
fn mysql_reads_which_of_the_locked_rows_it_has_won() {
    let locked: &[_] = &[vec!["a".into()]];
    let rows: [&[_]; 6] =
        [&["a", "b"].map(vacant), &[], locked, locked, &[], &[held("a", "me"), held("b", "me")]];
    let calls = attempt_by(Dialect::MySql, ["a", "b"], &rows);
    assert_eq!(calls[..3], ["SELECT epoch,", "START TRANSACTION", "SELECT l.ns"]);
    assert_eq!(calls[4..], ["COMMIT AND", "SELECT epoch,", "won", "seen"]);
}

/// Of those that others have taken, it learns who leads. A row that has not changed was locked.
#[test]
fn take_overs_read_the_rows_that_they_have_not_won() {
    let (seen, ttl, server) = (Epoch::NONE, Duration::from_secs(15), Server::FIRST);
    let take_over = |epoch, renewals| Query::TakeOver {
        seen,
        epoch: Epoch::new(epoch),
        holder: None,
        renewals,
        server,
        ttl,
        clock_step: CLOCK_STEP,
    };
    let (older, other) = (take_over(8, 0), take_over(9, 3));
    let (same, who) = (take_over(9, 0), ["a", "b", "c", "d"].map(me));
    let questions = [(&who[0], &older), (&who[1], &older), (&who[2], &other), (&who[3], &same)];
    let read: &[_] = &["b", "c", "d"].map(|name| held(name, "other"));
    let won_a: &[_] = &[won("a")];
    for (dialect, first) in
        [(Dialect::Postgres, "WITH asked"), (Dialect::Sqlite, "UPDATE election_leader")]
    {
        let statements = statements(dialect);
        let calls = played(&mut statements.merge(&questions).unwrap(), &[won_a, read]);
        assert_eq!(calls, [first, "SELECT epoch,", "won", "seen", "seen", "ask again"]);
    }
    let (statements, locked): (_, &[_]) = (statements(Dialect::MySql), &[vec!["a".into()]]);
    let read: &[_] = &[held("a", "me"), held("b", "other"), held("c", "other"), held("d", "other")];
    let rows: [&[_]; 5] = [&[], locked, locked, &[], read];
    let calls = played(&mut statements.merge(&questions).unwrap(), &rows);
    assert_eq!(calls[..2], ["START TRANSACTION", "SELECT l.ns"]);
    assert_eq!(calls[3..], ["COMMIT AND", "SELECT epoch,", "won", "seen", "seen", "ask again"]);
}

/// A pooler may have put all of them in one transaction.
#[test]
fn what_was_won_before_a_failure_is_unknown() {
    use Failure::{Ambiguous, Conflict, Fatal, Transient};
    let (attempt, who) = (attempt(), ["a", "b"].map(me));
    let questions = who.each_ref().map(|me| (me, &attempt));
    let failed = |dialect, rows: &[&[Vec<Value<'_>>]], why| {
        let statements = statements(dialect);
        let mut merged = statements.merge(&questions).unwrap();
        played(&mut merged, rows);
        merged.failed(why)
    };
    let (free, one): (&[_], &[_]) = (&[vacant("a"), held("b", "other")], &[won("a")]);
    let postgres = |rows: &[&[Vec<Value<'_>>]], why| failed(Dialect::Postgres, rows, why);
    assert_eq!(postgres(&[], Transient), Transient);
    assert_eq!(postgres(&[free], Conflict), Conflict, "somebody leads, and nobody has won");
    assert_eq!(postgres(&[&[vacant("a"), vacant("b")], one], Fatal), Ambiguous);
    let locked: &[_] = &[vec!["a".into()]];
    let mysql = |rows: &[&[Vec<Value<'_>>]], why| failed(Dialect::MySql, rows, why);
    assert_eq!(mysql(&[free, &[], locked], Transient), Transient, "rolled back");
    assert_eq!(mysql(&[free, &[], locked, locked, &[]], Transient), Ambiguous);
}

/// The rows were locked and the answers known, and then it was rolled back.
#[test]
fn renewals_that_were_rolled_back_fail_as_they_did() {
    let (statements, a, renew) = (statements(Dialect::MySql), me("a"), renew(1));
    let mut merged = statements.merge(&[(&a, &renew)]).unwrap();
    played(&mut merged, &[&[], &[renewed("a")]]);
    assert_eq!(merged.failed(Failure::Transient), Failure::Transient);
}

#[test]
fn a_sweep_follows_for_those_who_ask_for_it() {
    let statements = statements(Dialect::Postgres);
    let register = |sweep| Query::Register { ttl: Duration::from_secs(15), sweep };
    let (sweeps, lists, who) = (register(true), register(false), ["a", "b"].map(me));
    let questions = [(&who[0], &sweeps), (&who[1], &lists)];
    for (affected, expected) in [(SWEPT, Answer::Unswept), (SWEPT - 1, Answer::Listed)] {
        let mut merged = statements.merge(&questions).unwrap();
        assert_eq!(merged.advance(&[], 2), Ok(Progress::More));
        let call = merged.call();
        let Value::Text(asked) = &call.params[0] else { panic!("JSON: {call:?}") };
        assert!(call.sql.starts_with("DELETE") && !asked.contains("\"b\""), "{call:?}");
        let answers = vec![Some(expected), Some(Answer::Listed)];
        assert_eq!(merged.advance(&[], affected), Ok(Progress::Done(answers)));
    }
}
