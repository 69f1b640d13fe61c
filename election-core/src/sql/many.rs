//! Questions of one process about many of its elections, asked in one statement.
//!
//! What a process asks of its elections can be asked of many at once. Each question stays what it is. It names its
//! own election, term and ordinal, the conditions are the text of the single statement, and each gets an answer of
//! its own. Only a take-over, which compares a whole row, is asked by itself.
//!
//! A question may be left without an answer: its row does not say what the statement demands, cannot be
//! understood, or is locked by somebody else (PostgreSQL skips it, so that it holds up no other). Ask it again by
//! itself: the single statement tells what became of the election.
//!
//! Of those who attempt and do not win, a reading finds who leads. Where rows are missing (PostgreSQL, MySQL), they
//! are made, and it is attempted once more.
//!
//! MySQL's statements return no rows of what they change. There an attempt or a renewal is a transaction: it locks
//! the rows that can be taken or renewed and that nobody else has locked, changes these, and commits. Which term an
//! attempt has won, the reading tells.
//!
//! The questions are one parameter, JSON. So the statement's text does not depend on how many there are,
//! and a server plans it once.

use super::{
    common::SWEPT,
    exchange::Progress,
    rows::{Columns, RowError, decode_row},
    statements::{Call, Statements, query_value},
    template::{Param, Rendered},
    value::Value,
};
use crate::lease::{Answer, Failure, Query, Registration};
use alloc::{collections::BTreeMap, format, string::String, vec, vec::Vec};
use core::fmt::Write as _;

/// Who asks, and what.
pub type Question<'a> = (&'a Registration, &'a Query);

/// Questions that are asked together, from their first statement to their answers.
#[derive(Debug)]
pub struct Merged<'a> {
    statements: &'a Statements,
    questions: Vec<Question<'a>>,
    /// The place of each election's question. Of two about one election, only the first is asked.
    places: BTreeMap<&'a str, usize>,
    stage: Stage,
    /// Those whose row this transaction has locked.
    locked: Vec<bool>,
    /// Missing rows were made.
    seeded: bool,
    answers: Vec<Option<Answer>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begin,
    Lock,
    /// The questions' own statement.
    Act,
    Commit,
    /// Read who holds the rows.
    Read,
    Seed,
    SeedFence,
    Sweep,
}

impl Statements {
    /// Merges questions of one kind about different elections. `None` if they are of several, or take over.
    ///
    /// A few thousand at once are enough: the more there are, the more fail together.
    #[must_use]
    pub fn merge<'a>(&'a self, questions: &[Question<'a>]) -> Option<Merged<'a>> {
        let (_, first) = questions.first()?;
        let alike =
            |query: &Query| core::mem::discriminant(query) == core::mem::discriminant(*first);
        if !questions.iter().all(|(_, query)| query.merges() && alike(query)) {
            return None;
        }
        let mut places = BTreeMap::new();
        for (place, (registration, _)) in questions.iter().enumerate() {
            places.entry(registration.namespace.as_str()).or_insert(place);
        }
        let (locked, answers) = (vec![false; questions.len()], vec![None; questions.len()]);
        let (questions, seeded) = (questions.to_vec(), false);
        let stage = Stage::Act;
        let mut merged =
            Merged { statements: self, questions, places, stage, locked, seeded, answers };
        merged.stage = merged.first();
        Some(merged)
    }

    /// [`tell`](Self::tell) for many terms that were released. `None` if the database sends no
    /// notifications.
    #[must_use]
    pub fn tell_many<'a>(&'a self, released: &[&'a Registration]) -> Option<Call<'a>> {
        let tell = self.all.many.tell.as_ref()?;
        let query = Query::Unregister;
        let questions = released.iter().map(|registration| (*registration, &query));
        Some(ask_many(tell, questions))
    }
}

impl Query {
    /// Whether [`Statements::merge`] takes it.
    #[must_use]
    pub fn merges(&self) -> bool {
        !matches!(self, Self::TakeOver { .. })
    }
}

impl<'a> Merged<'a> {
    /// The statement to run now. Fetch all its rows if it returns any. One without parameters belongs to
    /// the transaction: send its text, since not every server prepares such a statement.
    #[must_use]
    pub fn call(&self) -> Call<'a> {
        let many = &self.statements.all.many;
        let rendered = match (self.stage, self.query()) {
            (Stage::Begin, _) => return plain("START TRANSACTION"),
            (Stage::Commit, _) => return plain("COMMIT AND NO CHAIN NO RELEASE"),
            (Stage::Lock, _) => self.lock().unwrap_or(&many.read),
            (Stage::Seed, _) => many.seed.as_ref().unwrap_or(&many.read),
            (Stage::SeedFence, _) => many.seed_fence.as_ref().unwrap_or(&many.read),
            (Stage::Sweep, _) => &many.sweep,
            (Stage::Act, Query::Attempt { .. }) => &many.attempt,
            (Stage::Act, Query::Renew { .. }) => &many.renew,
            (Stage::Act, Query::Resign { .. }) => &many.resign,
            (Stage::Act, Query::Register { .. }) => &many.register,
            (Stage::Act, Query::Unregister) => &many.unregister,
            (Stage::Act, Query::Others) => &many.others,
            (Stage::Act, Query::Observe | Query::TakeOver { .. }) | (Stage::Read, _) => &many.read,
        };
        let asked = self.places.values().filter(|place| self.concerns(**place));
        ask_many(rendered, asked.map(|place| self.questions[*place]))
    }

    /// Whether the statement to run now is about this question.
    fn concerns(&self, place: usize) -> bool {
        match self.stage {
            // What could not be locked is not to be waited for.
            Stage::Act if self.is_transaction() => self.locked[place],
            Stage::Sweep => self.sweeps(place),
            _ => self.answers[place].is_none(),
        }
    }

    /// The stage that a change begins with.
    fn first(&self) -> Stage {
        if self.is_transaction() { Stage::Begin } else { Stage::Act }
    }

    /// What locks the rows.
    fn lock(&self) -> Option<&'a Rendered> {
        let lock = self.statements.all.many.lock.as_ref()?;
        match self.query() {
            Query::Attempt { .. } => Some(&lock.attempt),
            Query::Renew { .. } => Some(&lock.renew),
            _ => None,
        }
    }

    /// Whether the calls are one transaction: if one of them fails, roll back.
    #[must_use]
    pub fn is_transaction(&self) -> bool {
        self.lock().is_some()
    }

    /// Takes the rows that it returned, and how many it changed. Yields an answer for each question, in
    /// their order; `None` for a question that has to be asked by itself.
    ///
    /// # Errors
    /// If not all rows were changed that were locked (MySQL): roll back.
    pub fn advance(
        &mut self,
        rows: &[Vec<Value<'_>>],
        affected: u64,
    ) -> Result<Progress<Vec<Option<Answer>>>, RowError> {
        let next = match self.stage {
            Stage::Begin => Some(Stage::Lock),
            Stage::Lock => Some(self.was_locked(rows)),
            Stage::Act if self.is_transaction() => {
                let locked = self.locked.iter().filter(|locked| **locked).count();
                if usize::try_from(affected) != Ok(locked) {
                    return Err(RowError::Unwritten);
                }
                Some(Stage::Commit)
            }
            Stage::Act => self.acted(rows),
            Stage::Commit => self.read_on(),
            Stage::Read => self.was_read(rows),
            Stage::Seed if self.statements.all.many.seed_fence.is_some() => Some(Stage::SeedFence),
            Stage::Seed | Stage::SeedFence => Some(self.first()),
            Stage::Sweep => {
                self.swept(affected);
                None
            }
        };
        Ok(match next {
            Some(stage) => {
                self.stage = stage;
                Progress::More
            }
            None => Progress::Done(core::mem::take(&mut self.answers)),
        })
    }

    /// One of its statements has failed like this, and its transaction was rolled back. Returns what that means
    /// for all the questions: what an earlier statement has won may stand, or have been undone with this one.
    #[must_use]
    pub fn failed(&self, why: Failure) -> Failure {
        let attempts = matches!(self.query(), Query::Attempt { .. });
        let committed = self.stage == Stage::Read && self.locked.contains(&true);
        let won = self.answers.iter().any(Option::is_some);
        if attempts && (won || committed) { Failure::Ambiguous } else { why }
    }

    fn was_locked(&mut self, rows: &[Vec<Value<'_>>]) -> Stage {
        self.locked.fill(false);
        for place in rows.iter().filter_map(|row| self.place(row, 0)).collect::<Vec<_>>() {
            self.locked[place] = true;
        }
        if matches!(self.query(), Query::Renew { .. }) {
            self.take(rows, 0, renewed);
        }
        if rows.is_empty() { Stage::Commit } else { Stage::Act }
    }

    /// The questions' own statement has said this.
    fn acted(&mut self, rows: &[Vec<Value<'_>>]) -> Option<Stage> {
        match self.query() {
            Query::Attempt { .. } => {
                self.take(rows, 0, |row| {
                    let (epoch, remaining) = (row.epoch(1).ok()?, row.span(2).ok()?);
                    Some(Answer::Won { epoch, remaining })
                });
                return self.read_on();
            }
            Query::Renew { .. } => self.take(rows, 0, renewed),
            Query::Resign { .. } if self.statements.all.many.resign.returns_rows => {
                self.take(rows, 0, |_| Some(Answer::Released));
            }
            Query::Resign { .. } => self.rest(&Answer::Released),
            Query::Register { .. } => {
                self.rest(&Answer::Listed);
                let sweep = (0..self.questions.len()).any(|place| self.sweeps(place));
                return sweep.then_some(Stage::Sweep);
            }
            Query::Unregister => self.rest(&Answer::Listed),
            Query::Others => {
                self.take(rows, 0, |_| Some(Answer::Others(true)));
                self.rest(&Answer::Others(false));
            }
            Query::Observe | Query::TakeOver { .. } => {
                self.take(rows, 9, |row| decode_row(row.0).ok().map(Answer::Seen));
            }
        }
        None
    }

    /// What remains is read, if these are attempts.
    fn read_on(&self) -> Option<Stage> {
        let attempts = matches!(self.query(), Query::Attempt { .. });
        (attempts && self.is_open()).then_some(Stage::Read)
    }

    /// Rows of those that attempt. Who could have taken its row and has not asks by itself.
    fn was_read(&mut self, rows: &[Vec<Value<'_>>]) -> Option<Stage> {
        let asked = self.places.values().filter(|place| self.concerns(**place)).count();
        for columns in rows {
            let Some(place) = self.place(columns, 9) else { continue };
            let Ok(row) = decode_row(columns) else { continue };
            let Some(holder) = row.live_holder() else { continue };
            let own = holder.candidate == self.questions[place].0.candidate;
            if self.locked[place] && own {
                let (epoch, remaining) = (row.epoch, row.remaining);
                self.answers[place] = Some(Answer::Won { epoch, remaining });
            } else if !row.server.is_unknown() {
                self.answers[place] = Some(Answer::Seen(row));
            }
        }
        let missing = rows.len() < asked && !self.seeded && self.statements.all.many.seed.is_some();
        self.seeded |= missing;
        missing.then_some(Stage::Seed)
    }

    fn is_open(&self) -> bool {
        self.places.values().any(|place| self.answers[*place].is_none())
    }

    fn sweeps(&self, place: usize) -> bool {
        matches!(self.questions[place].1, Query::Register { sweep: true, .. })
    }

    fn swept(&mut self, affected: u64) {
        if affected >= SWEPT {
            let sweeps = |place: &&usize| self.sweeps(**place);
            for place in self.places.values().filter(sweeps).copied().collect::<Vec<_>>() {
                self.answers[place] = Some(Answer::Unswept);
            }
        }
    }

    /// They are all of its kind.
    fn query(&self) -> &'a Query {
        self.questions[0].1
    }

    /// A row's answer belongs to the election that its column `name` names.
    fn place(&self, row: &[Value<'_>], name: usize) -> Option<usize> {
        match row.get(name) {
            Some(Value::Text(name)) => self.places.get(name.as_ref()).copied(),
            _ => None,
        }
    }

    fn take(
        &mut self,
        rows: &[Vec<Value<'_>>],
        name: usize,
        answer: impl Fn(&Columns<'_>) -> Option<Answer>,
    ) {
        for row in rows {
            if let Some(place) = self.place(row, name) {
                self.answers[place] = answer(&Columns(row));
            }
        }
    }

    /// The answer to those that have none.
    fn rest(&mut self, answer: &Answer) {
        for place in self.places.values() {
            self.answers[*place].get_or_insert_with(|| answer.clone());
        }
    }
}

fn renewed(row: &Columns<'_>) -> Option<Answer> {
    let (remaining, requested) = (row.span(1).ok()?, row.integer(2).ok()? == 1);
    Some(Answer::Renewed { remaining, resign_requested: requested })
}

fn plain(sql: &str) -> Call<'_> {
    Call { sql, params: Vec::new(), returns_rows: false }
}

/// Binds the questions.
fn ask_many<'a, 'q>(
    rendered: &'a Rendered,
    questions: impl Iterator<Item = Question<'q>>,
) -> Call<'a> {
    let mut asked = String::from("[");
    for (registration, query) in questions {
        asked.push_str(if asked.len() > 1 { ",{" } else { "{" });
        for (at, param) in rendered.columns.iter().enumerate() {
            let value = query_value(registration, query, *param);
            field(&mut asked, if at > 0 { "," } else { "" }, *param, &value);
        }
        asked.push('}');
    }
    asked.push(']');
    let params = vec![Value::Text(asked.into())];
    Call { sql: &rendered.text, params, returns_rows: rendered.returns_rows }
}

/// A member of a JSON object.
fn field(asked: &mut String, before: &str, param: Param, value: &Value<'_>) {
    let name = param.name();
    let _ = match value {
        Value::Null => write!(asked, "{before}\"{name}\":null"),
        Value::Integer(number) => write!(asked, "{before}\"{name}\":{number}"),
        Value::Text(text) => write!(asked, "{before}\"{name}\":{}", quoted(text)),
    };
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            _ if letter.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(letter))),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Candidate, Epoch, Incarnation, Namespace, NodeId,
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

    /// Whoever finds a row that it could have taken learns why by itself.
    #[test]
    fn those_who_do_not_win_learn_who_leads() {
        let (statements, attempt) = (statements(Dialect::Postgres), attempt());
        let who = ["a", "b", "c"].map(me);
        let questions = who.each_ref().map(|me| (me, &attempt));
        let mut merged = statements.merge(&questions).unwrap();
        let vacant = {
            let mut row = held("c", "");
            (row[1], row[2]) = (Value::Null, Value::Null);
            row
        };
        let calls = played(&mut merged, &[&[won("a")], &[held("b", "other"), vacant]]);
        assert_eq!(calls, ["WITH asked", "SELECT epoch,", "won", "seen", "ask again"]);
    }

    #[test]
    fn missing_rows_are_made_and_it_is_attempted_once_more() {
        let (statements, attempt) = (statements(Dialect::Postgres), attempt());
        let who = ["a", "b"].map(me);
        let questions = who.each_ref().map(|me| (me, &attempt));
        let mut merged = statements.merge(&questions).unwrap();
        let calls = played(&mut merged, &[&[won("a")], &[], &[], &[won("b")]]);
        assert_eq!(
            calls,
            ["WITH asked", "SELECT epoch,", "INSERT INTO", "WITH asked", "won", "won"]
        );
        let mut merged = statements.merge(&questions).unwrap();
        let calls = played(&mut merged, &[&[], &[], &[], &[], &[]]);
        assert_eq!(calls[4..], ["SELECT epoch,", "ask again", "ask again"], "it is not made twice");
    }

    /// An answer of an earlier attempt of its own does not tell that this one has won.
    #[test]
    fn mysql_reads_which_of_the_locked_rows_it_has_won() {
        let (statements, attempt) = (statements(Dialect::MySql), attempt());
        let who = ["a", "b"].map(me);
        let questions = who.each_ref().map(|me| (me, &attempt));
        let mut merged = statements.merge(&questions).unwrap();
        let locked = [vec!["a".into()]];
        let rows = [held("a", "me"), held("b", "me")];
        let calls = played(&mut merged, &[&[], &locked, &locked, &[], &rows]);
        assert_eq!(calls[..2], ["START TRANSACTION", "SELECT l.ns"]);
        assert_eq!(calls[3..], ["COMMIT AND", "SELECT epoch,", "won", "seen"]);
    }

    /// A pooler may have put all of them in one transaction.
    #[test]
    fn what_was_won_before_a_failure_is_unknown() {
        use Failure::{Ambiguous, Conflict, Fatal, Transient};
        let attempt = attempt();
        let who = ["a", "b"].map(me);
        let questions = who.each_ref().map(|me| (me, &attempt));
        let (postgres, mysql) = (statements(Dialect::Postgres), statements(Dialect::MySql));
        let failed = |statements: &Statements, rows: &[&[Vec<Value<'_>>]], why| {
            let mut merged = statements.merge(&questions).unwrap();
            played(&mut merged, rows);
            merged.failed(why)
        };
        let (one, locked) = ([won("a")], [vec!["a".into()]]);
        assert_eq!(failed(&postgres, &[], Transient), Transient);
        assert_eq!(failed(&postgres, &[&[], &[]], Conflict), Conflict);
        assert_eq!(failed(&postgres, &[&one], Transient), Ambiguous);
        assert_eq!(failed(&postgres, &[&one, &[]], Fatal), Ambiguous);
        assert_eq!(failed(&mysql, &[&[], &locked], Transient), Transient, "rolled back");
        assert_eq!(failed(&mysql, &[&[], &locked, &locked, &[]], Transient), Ambiguous);
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
}
