//! Questions of one process about many of its elections, asked together.
//!
//! Each question stays what it is. It names its own election, term and ordinal, the conditions are the text of the
//! single statement, and each gets an answer of its own.
//!
//! Most kinds are one statement. Attempts are up to three:
//!
//! 1. a reading finds who leads where somebody does: nothing is locked for those who cannot win;
//! 2. rows that are missing are made (PostgreSQL, MySQL), and the others are attempted;
//! 3. a reading finds who leads where the attempt did not win.
//!
//! A take-over needs only the last two statements, because its row was read before.
//!
//! MySQL's statements return no rows of what they change. There a renewal or an attempt is a transaction: it locks
//! the rows that can be renewed or taken and that nobody else has locked, changes these, and commits. Which terms
//! an attempt has won, the second reading tells.
//!
//! A question may be left without an answer: its row does not match the statement's conditions, cannot be
//! decoded, or is locked by somebody else (it is skipped, so that it holds up no other). Ask it again by itself:
//! the single statement tells what became of the election.
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
use crate::lease::{Answer, Failure, Query, Registration, Row};
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
    /// Those whose row is to be made.
    missing: Vec<bool>,
    answers: Vec<Option<Answer>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Read who holds the rows that are attempted.
    Look,
    Seed,
    SeedFence,
    Begin,
    Lock,
    /// The questions' own statement.
    Act,
    Commit,
    /// Read who holds those that were not won.
    Read,
    Sweep,
}

impl Statements {
    /// Merges questions of one kind about different elections. `None` if they are of several.
    ///
    /// A few thousand at once are enough: the more there are, the more fail together.
    #[must_use]
    pub fn merge<'a>(&'a self, questions: &[Question<'a>]) -> Option<Merged<'a>> {
        let (_, first) = questions.first()?;
        let alike =
            |query: &Query| core::mem::discriminant(query) == core::mem::discriminant(*first);
        if !questions.iter().all(|(_, query)| alike(query)) {
            return None;
        }
        let mut places = BTreeMap::new();
        for (place, (registration, _)) in questions.iter().enumerate() {
            places.entry(registration.namespace.as_str()).or_insert(place);
        }
        let none = vec![false; questions.len()];
        let mut merged = Merged {
            statements: self,
            questions: questions.to_vec(),
            places,
            stage: Stage::Look,
            locked: none.clone(),
            missing: none,
            answers: vec![None; questions.len()],
        };
        if !matches!(first, Query::Attempt { .. }) {
            merged.stage = merged.change();
        }
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
            (Stage::Act, Query::TakeOver { .. }) => &many.take_over,
            (Stage::Act, Query::Renew { .. }) => &many.renew,
            (Stage::Act, Query::Resign { .. }) => &many.resign,
            (Stage::Act, Query::Register { .. }) => &many.register,
            (Stage::Act, Query::Unregister) => &many.unregister,
            (Stage::Act, Query::Others) => &many.others,
            (Stage::Act, Query::Observe) | (Stage::Look | Stage::Read, _) => &many.read,
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
            Stage::Seed | Stage::SeedFence => self.missing[place],
            _ => self.answers[place].is_none(),
        }
    }

    /// The stage that a change begins with.
    fn change(&self) -> Stage {
        if self.is_transaction() { Stage::Begin } else { Stage::Act }
    }

    /// What locks the rows.
    fn lock(&self) -> Option<&'a Rendered> {
        let lock = self.statements.all.many.lock.as_ref()?;
        match self.query() {
            Query::Attempt { .. } => Some(&lock.attempt),
            Query::TakeOver { .. } => Some(&lock.take_over),
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
        let many = &self.statements.all.many;
        let next = match self.stage {
            Stage::Look => {
                self.was_read(rows);
                let seeds = many.seed.is_some() && self.missing.contains(&true);
                self.is_open().then(|| if seeds { Stage::Seed } else { self.change() })
            }
            Stage::Seed if many.seed_fence.is_some() => Some(Stage::SeedFence),
            Stage::Seed | Stage::SeedFence => Some(self.change()),
            Stage::Begin => Some(Stage::Lock),
            Stage::Lock => {
                self.was_locked(rows);
                Some(Stage::Act)
            }
            Stage::Act if self.is_transaction() => {
                let locked = self.locked.iter().filter(|locked| **locked).count();
                if usize::try_from(affected) != Ok(locked) {
                    return Err(RowError::Unwritten);
                }
                Some(Stage::Commit)
            }
            Stage::Act => self.acted(rows),
            Stage::Commit => self.attempts().then_some(Stage::Read),
            Stage::Read => {
                self.was_read(rows);
                None
            }
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

    /// What it means for all the questions that one of the statements has failed like this, once its transaction is
    /// rolled back. A term that an earlier statement has won may stand, or have been undone with this one.
    #[must_use]
    pub fn failed(&self, why: Failure) -> Failure {
        let committed = self.stage == Stage::Read && self.locked.contains(&true);
        let won = self.answers.iter().flatten().any(|it| matches!(it, Answer::Won { .. }));
        if self.attempts() && (won || committed) { Failure::Ambiguous } else { why }
    }

    fn was_locked(&mut self, rows: &[Vec<Value<'_>>]) {
        for row in rows {
            if let Some(place) = self.place(row, 0) {
                self.locked[place] = true;
            }
        }
        if !self.attempts() {
            self.take(rows, 0, renewed);
        }
    }

    /// The questions' own statement has said this.
    fn acted(&mut self, rows: &[Vec<Value<'_>>]) -> Option<Stage> {
        match self.query() {
            Query::Attempt { .. } | Query::TakeOver { .. } => {
                self.take(rows, 0, |row| {
                    let (epoch, remaining) = (row.epoch(1).ok()?, row.span(2).ok()?);
                    Some(Answer::Won { epoch, remaining })
                });
                return self.is_open().then_some(Stage::Read);
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
            Query::Observe => {
                self.take(rows, 9, |row| decode_row(row.0).ok().map(Answer::Seen));
            }
        }
        None
    }

    /// Rows of those that attempt or take over. Who could still take its row has no answer yet.
    fn was_read(&mut self, rows: &[Vec<Value<'_>>]) {
        for place in self.places.values() {
            self.missing[*place] = self.answers[*place].is_none();
        }
        for columns in rows {
            let Some(place) = self.place(columns, 9) else { continue };
            self.missing[place] = false;
            let Ok(row) = decode_row(columns) else { continue };
            let Some(holder) = row.live_holder() else { continue };
            let own = holder.candidate == self.questions[place].0.candidate;
            if self.locked[place] && own {
                let (epoch, remaining) = (row.epoch, row.remaining);
                self.answers[place] = Some(Answer::Won { epoch, remaining });
            } else if !row.server.is_unknown() && !self.is_as_found(place, &row) {
                self.answers[place] = Some(Answer::Seen(row));
            }
        }
    }

    /// Whether a row that is to be taken over has not changed: it could not be locked.
    fn is_as_found(&self, place: usize, row: &Row) -> bool {
        matches!(self.questions[place].1, Query::TakeOver { epoch, renewals, .. }
            if (*epoch, *renewals) == (row.epoch, row.renewals))
    }

    fn attempts(&self) -> bool {
        matches!(self.query(), Query::Attempt { .. } | Query::TakeOver { .. })
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
mod tests;
