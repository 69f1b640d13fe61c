//! Questions of one process about many of its elections, asked in one statement.
//!
//! What a process asks of an election again and again can be asked of many at once: a reading, a renewal, a
//! resignation, a registration. Each stays what it is. It names its own election, term and ordinal, the
//! conditions are the text of the single statement, and each gets an answer of its own.
//!
//! A question may be left without an answer: its row is missing, does not say what the statement demands,
//! cannot be understood, or is locked by somebody else (PostgreSQL skips it, so that it holds up no other).
//! Ask it again by itself: the single statement tells what became of the election.
//!
//! MySQL's statements return no rows of what they change. There a renewal is a transaction: it locks the rows
//! that can be renewed and that nobody else has locked, renews these, and commits.
//!
//! The questions are one parameter, JSON. So the statement's text does not depend on how many there are,
//! and a server plans it once.

use super::{
    exchange::Progress,
    rows::{Columns, RowError, decode_row},
    statements::{Call, Statements, query_value},
    template::{Param, Rendered},
    value::Value,
};
use crate::lease::{Answer, Query, Registration};
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
    answers: Vec<Option<Answer>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begin,
    Lock,
    Act,
    Commit,
}

impl Statements {
    /// Merges questions of one kind about different elections: readings, renewals, resignations, or
    /// registrations that sweep nothing. `None` if they are of another kind, or of several.
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
        let locks = matches!(first, Query::Renew { .. }) && self.all.many.lock.is_some();
        let stage = if locks { Stage::Begin } else { Stage::Act };
        let (questions, answers) = (questions.to_vec(), vec![None; questions.len()]);
        Some(Merged { statements: self, questions, places, stage, answers })
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
        match self {
            Self::Observe
            | Self::Renew { .. }
            | Self::Resign { .. }
            | Self::Register { sweep: false, .. } => true,
            Self::Attempt { .. }
            | Self::TakeOver { .. }
            | Self::Register { sweep: true, .. }
            | Self::Unregister
            | Self::Others => false,
        }
    }
}

impl<'a> Merged<'a> {
    /// The statement to run now. Fetch all its rows if it returns any. One without parameters belongs to
    /// the transaction: send its text, since not every server prepares such a statement.
    #[must_use]
    pub fn call(&self) -> Call<'a> {
        let many = &self.statements.all.many;
        let rendered = match (self.stage, self.query(), &many.lock) {
            (Stage::Begin, ..) => return plain("START TRANSACTION"),
            (Stage::Commit, ..) => return plain("COMMIT AND NO CHAIN NO RELEASE"),
            (Stage::Lock, _, Some(lock)) => lock,
            (_, Query::Renew { .. }, _) => &many.renew,
            (_, Query::Resign { .. }, _) => &many.resign,
            (_, Query::Register { .. }, _) => &many.register,
            _ => &many.read,
        };
        // What could not be locked is not to be waited for.
        let locked = self.stage == Stage::Act && self.is_transaction();
        let asked = self.places.values().filter(|place| !locked || self.answers[**place].is_some());
        ask_many(rendered, asked.map(|place| self.questions[*place]))
    }

    /// Whether the calls are one transaction: if one of them fails, roll back.
    #[must_use]
    pub fn is_transaction(&self) -> bool {
        matches!(self.query(), Query::Renew { .. }) && self.statements.all.many.lock.is_some()
    }

    /// Takes the rows that it returned, and how many it changed. Yields an answer for each question, in
    /// their order; `None` for a question that has to be asked by itself.
    ///
    /// # Errors
    /// If not all rows were renewed that were locked (MySQL): roll back.
    pub fn advance(
        &mut self,
        rows: &[Vec<Value<'_>>],
        affected: u64,
    ) -> Result<Progress<Vec<Option<Answer>>>, RowError> {
        let renewed = |row: &Columns<'_>| {
            let (remaining, requested) = (row.span(1).ok()?, row.integer(2).ok()? == 1);
            Some(Answer::Renewed { remaining, resign_requested: requested })
        };
        let returns_released = self.statements.all.many.resign.returns_rows;
        let transaction = self.is_transaction();
        self.stage = match (self.stage, self.query()) {
            (Stage::Begin, _) => Stage::Lock,
            (Stage::Lock, _) => {
                self.take(rows, 0, renewed);
                if self.answers.iter().any(Option::is_some) { Stage::Act } else { Stage::Commit }
            }
            (Stage::Act, _) if transaction => {
                let locked = self.answers.iter().flatten().count();
                if usize::try_from(affected) != Ok(locked) {
                    return Err(RowError::Unwritten);
                }
                Stage::Commit
            }
            (Stage::Act, query) => {
                match query {
                    Query::Renew { .. } => self.take(rows, 0, renewed),
                    Query::Resign { .. } if returns_released => {
                        self.take(rows, 0, |_| Some(Answer::Released));
                    }
                    Query::Resign { .. } => self.all(&Answer::Released),
                    Query::Register { .. } => self.all(&Answer::Listed),
                    _ => self.take(rows, 9, |row| decode_row(row.0).ok().map(Answer::Seen)),
                }
                return Ok(Progress::Done(core::mem::take(&mut self.answers)));
            }
            (Stage::Commit, _) => {
                return Ok(Progress::Done(core::mem::take(&mut self.answers)));
            }
        };
        Ok(Progress::More)
    }

    /// They are all of its kind.
    fn query(&self) -> &'a Query {
        self.questions[0].1
    }

    /// A row's answer belongs to the election that its column `name` names.
    fn take(
        &mut self,
        rows: &[Vec<Value<'_>>],
        name: usize,
        answer: impl Fn(&Columns<'_>) -> Option<Answer>,
    ) {
        for row in rows {
            let place = match row.get(name) {
                Some(Value::Text(name)) => self.places.get(name.as_ref()),
                _ => None,
            };
            if let Some(place) = place {
                self.answers[*place] = answer(&Columns(row));
            }
        }
    }

    fn all(&mut self, answer: &Answer) {
        for place in self.places.values() {
            self.answers[*place] = Some(answer.clone());
        }
    }
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
        assert!(merges(renew(1), renew(9)) && merges(register(false), register(false)));
        assert!(!merges(renew(1), Query::Observe) && !merges(Query::Others, Query::Others));
        assert!(!merges(register(false), register(true)));
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
}
