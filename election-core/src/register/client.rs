//! One process's side of one election's register: from a query over reads and writes to its answer.

use super::{candidates::Candidates, leader::Leader, memory::Memory, text::ValueError};
use crate::{
    Drift, Timestamp,
    lease::{Answer, Query, Registration},
};
use alloc::string::{String, ToString};

/// The two values of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Who leads: a [`Leader`].
    Leader,
    /// Who stands: [`Candidates`].
    Candidates,
}

impl Key {
    /// The value that a query is about.
    #[must_use]
    pub const fn of(query: &Query) -> Self {
        match query {
            Query::Register { .. } | Query::Unregister | Query::Others => Self::Candidates,
            _ => Self::Leader,
        }
    }
}

/// What to do with the register now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a, V> {
    /// Read the value and its version.
    Read(Key),
    /// Write the value if its version is still the expected one; for `None`, if there is still no
    /// value.
    Write {
        /// Which value.
        key: Key,
        /// What it becomes.
        value: &'a str,
        /// The version that it replaces.
        expected: Option<&'a V>,
    },
}

/// What the register has said to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply<V> {
    /// To a read: the value and its version, if there is one.
    Found(Option<(String, V)>),
    /// To a write: it was made, and this is the new version.
    Written(V),
    /// To a write: the version was another, and nothing was written.
    Changed,
}

/// How a question goes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// With the next request.
    Ask,
    /// It is over, with this answer.
    Answer(Answer),
    /// It is given up, because others have written again and again: a
    /// [`Failure::Conflict`](crate::lease::Failure::Conflict).
    Conflict,
}

/// How often others may come first.
const MOST_RACES: u32 = 4;

/// One process in one election. `V` is the register's version.
///
/// It remembers what it has seen. A process that begins, or that drops it, waits for a whole lease
/// before it takes over from anybody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client<V> {
    pub(super) who: Registration,
    memory: Memory,
    /// The values as last read or written.
    leader: Option<Known<V>>,
    candidates: Option<Known<V>>,
    question: Option<Question<V>>,
}

/// A value and its version; neither if there was none.
type Known<V> = (Option<String>, Option<V>);

/// The question under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Question<V> {
    query: Query,
    /// A lease that it brings counts from here.
    asked: Timestamp,
    wall_ms: i64,
    /// What the write under way writes, what it replaces, and what it means.
    write: Option<(String, Option<V>, Answer)>,
    races: u32,
}

impl<V: Clone> Client<V> {
    /// A process that has seen nothing yet. Its clock and a leader's may drift apart by this much: see
    /// [`Config::drift`](crate::lease::Config::drift).
    #[must_use]
    pub const fn new(who: Registration, drift: Drift) -> Self {
        let memory = Memory::new(drift);
        Self { who, memory, leader: None, candidates: None, question: None }
    }

    /// Until when nobody else takes over what this process has won or renewed, for who elects call by
    /// call; `None` if it has won nothing. (The [lease machine](crate::lease) counts by itself.)
    #[must_use]
    pub fn holds_until(&self) -> Option<Timestamp> {
        self.memory.holds_until()
    }

    /// Begins to answer a query at `now`, and drops the one before, if it is not answered: if a write
    /// of that was under way, its outcome is unknown. `wall_ms` are the milliseconds since 1970 by
    /// this machine's clock, which may be wrong.
    pub fn ask(&mut self, query: Query, now: Timestamp, wall_ms: i64) {
        let mut question = Question { query, asked: now, wall_ms, write: None, races: 0 };
        // What is known saves a read if it leads to a write, which then finds out whether it is
        // still so. An answer has to be new.
        if let Some((value, version)) = self.known(question.key()).take() {
            let decision = question.decide(&self.who, &self.memory, value.as_deref(), now);
            if let Ok(Decision::Write(new, answer)) = decision {
                question.write = Some((new, version, answer));
            }
        }
        self.question = Some(question);
    }

    /// What to do now; nothing if no question is under way.
    #[must_use]
    pub fn request(&self) -> Option<Request<'_, V>> {
        let question = self.question.as_ref()?;
        let key = question.key();
        Some(match &question.write {
            Some((value, expected, _)) => {
                Request::Write { key, value, expected: expected.as_ref() }
            }
            None => Request::Read(key),
        })
    }

    /// Takes what the register has said at `now`. After a request that failed,
    /// [`ask`](Self::ask) the next query instead.
    ///
    /// # Errors
    /// If the value is not one of this library: a
    /// [`Failure::Fatal`](crate::lease::Failure::Fatal).
    pub fn advance(&mut self, reply: Reply<V>, now: Timestamp) -> Result<Next, ValueError> {
        let Some(mut question) = self.question.take() else { return Ok(Next::Conflict) };
        match (reply, question.write.take()) {
            (Reply::Written(version), Some((value, _, answer))) => {
                Ok(self.answer(&question, (Some(value), Some(version)), answer))
            }
            (Reply::Found(found), None) => {
                let (value, version) = found.unzip();
                if question.key() == Key::Leader {
                    self.memory.observe(&leader(value.as_deref())?, now);
                }
                match question.decide(&self.who, &self.memory, value.as_deref(), now)? {
                    Decision::Answer(answer) => {
                        Ok(self.answer(&question, (value, version), answer))
                    }
                    Decision::Write(new, answer) => {
                        question.write = Some((new, version, answer));
                        self.question = Some(question);
                        Ok(Next::Ask)
                    }
                }
            }
            // The value has changed since it was read: read it again.
            _ if question.races < MOST_RACES => {
                question.races += 1;
                self.question = Some(question);
                Ok(Next::Ask)
            }
            _ => Ok(Next::Conflict),
        }
    }

    fn known(&mut self, key: Key) -> &mut Option<Known<V>> {
        match key {
            Key::Leader => &mut self.leader,
            Key::Candidates => &mut self.candidates,
        }
    }

    fn answer(&mut self, question: &Question<V>, known: Known<V>, answer: Answer) -> Next {
        *self.known(question.key()) = Some(known);
        match (&question.query, &answer) {
            (
                Query::Attempt { ttl, .. } | Query::TakeOver { ttl, .. },
                Answer::Won { epoch, .. },
            )
            | (Query::Renew { ttl, epoch, .. }, Answer::Renewed { .. }) => {
                self.memory.granted(*epoch, question.asked, *ttl);
            }
            _ => {}
        }
        Next::Answer(answer)
    }
}

enum Decision {
    Answer(Answer),
    Write(String, Answer),
}

impl Decision {
    fn write(value: &impl ToString, answer: Answer) -> Self {
        Self::Write(value.to_string(), answer)
    }
}

impl<V> Question<V> {
    fn key(&self) -> Key {
        Key::of(&self.query)
    }

    /// What the query means for this value.
    fn decide(
        &self,
        who: &Registration,
        memory: &Memory,
        value: Option<&str>,
        now: Timestamp,
    ) -> Result<Decision, ValueError> {
        match self.key() {
            Key::Leader => Ok(self.decide_on(who, memory, &leader(value)?, now)),
            Key::Candidates => {
                let listed = value.map_or(Ok(Candidates::default()), str::parse)?;
                Ok(self.decide_on_list(who, listed))
            }
        }
    }

    fn decide_on(
        &self,
        who: &Registration,
        memory: &Memory,
        leader: &Leader,
        now: Timestamp,
    ) -> Decision {
        let remaining = memory.remaining(leader, &who.candidate, now);
        let own = |epoch| leader.is_held_by(&who.candidate) && leader.epoch == epoch;
        match self.query {
            Query::Attempt { seen, ttl, .. } | Query::TakeOver { seen, ttl, .. }
                if remaining.is_zero() =>
            {
                let taken = leader.taken(who, seen, ttl, self.wall_ms);
                Decision::write(&taken, Answer::Won { epoch: taken.epoch, remaining: ttl })
            }
            Query::Renew { epoch, ttl, .. } if own(epoch) => {
                let resign_requested = leader.resign_requested;
                let answer = Answer::Renewed { remaining: ttl, resign_requested };
                Decision::write(&leader.renewed(ttl), answer)
            }
            Query::Renew { .. } => Decision::Answer(Answer::Gone),
            Query::Resign { epoch } if own(epoch) => {
                Decision::write(&leader.vacated(), Answer::Released)
            }
            Query::Resign { .. } => Decision::Answer(Answer::Released),
            _ => Decision::Answer(Answer::Seen(leader.row(remaining))),
        }
    }

    fn decide_on_list(&self, who: &Registration, listed: Candidates) -> Decision {
        let (me, wall_ms) = (&who.candidate, self.wall_ms);
        match self.query {
            Query::Register { ttl, .. } => {
                Decision::write(&listed.with(who, ttl, wall_ms), Answer::Listed)
            }
            Query::Unregister => Decision::write(&listed.without(me, wall_ms), Answer::Listed),
            _ => {
                let others = listed.live(wall_ms).any(|row| row.candidate != *me);
                Decision::Answer(Answer::Others(others))
            }
        }
    }
}

fn leader(value: Option<&str>) -> Result<Leader, ValueError> {
    value.map_or(Ok(Leader::default()), str::parse)
}
