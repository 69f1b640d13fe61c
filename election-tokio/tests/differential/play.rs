//! One sequence, played on the model and on a database at once.

use super::sequence::{Ask, LIVES, Move, Seen, Sequence, Step, Twist, Which, Who};
use crate::steered::{CANDIDATE, LEADER, Steered};
use election_sim::table::{Leader, Promoted, Table};
use election_tokio::{
    StoreError,
    core::{
        Candidate, Epoch, Incarnation, Label, Namespace, NodeId,
        lease::{Answer, Query, Registration, Row},
        sql::Value,
    },
};
use std::{fmt, time::Duration};
use uuid::Uuid;

/// Why a sequence does not agree.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The model says one thing, the database another.
    Differs(String),
    /// The database does not answer at all.
    Fails(StoreError),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(how) => f.write_str(how),
            Self::Fails(error) => write!(f, "{error}: {:?}", error.source),
        }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Fails(error)
    }
}

/// Where every play begins: an instant like any other.
const BEGIN: i64 = 1_700_000_000_123;
/// Where MariaDB's clock can be set to.
const CLOCK: std::ops::RangeInclusive<i64> = 1_000..=2_100_000_000_000;

/// Plays a sequence from empty tables. After each step the answers agree, and the row itself.
pub(crate) async fn play<D: Steered>(database: &mut D, sequence: &Sequence) -> Result<(), Trouble> {
    database.clear().await?;
    let mut play = Play {
        cast: sequence,
        elections: sequence.namespaces.iter().map(|name| OneElection::new(name)).collect(),
        now: BEGIN,
        database,
    };
    // Where there is no other, the model has none either.
    if sequence.promoted {
        play.serve(Promoted::default().next());
    }
    play.database.set(play.now).await?;
    for (number, step) in sequence.steps.iter().enumerate() {
        let place = || format!("step {number}, {step:?}");
        play.step(step).await.map_err(|trouble| match trouble {
            Trouble::Differs(how) => Trouble::Differs(format!("{}: {how}", place())),
            Trouble::Fails(error) => Trouble::Fails(error.in_context(&place())),
        })?;
    }
    Ok(())
}

struct OneElection {
    namespace: Namespace,
    table: Table,
    /// The terms that were won in it, in order.
    won: Vec<u64>,
}

impl OneElection {
    fn new(name: &str) -> Self {
        Self { namespace: Namespace::recorded(name).unwrap(), table: Table::new(), won: Vec::new() }
    }

    fn leader(&self) -> &Leader {
        self.table.leader()
    }

    fn term(&self, which: Which) -> u64 {
        let current = self.leader().term;
        match which {
            Which::Current => current,
            Which::Near(by) => current.saturating_add_signed(by),
            Which::Earlier => self.won.iter().rev().nth(1).copied().unwrap_or(0),
        }
    }
}

struct Play<'a, D> {
    cast: &'a Sequence,
    elections: Vec<OneElection>,
    now: i64,
    database: &'a mut D,
}

impl<D: Steered> Play<'_, D> {
    async fn step(&mut self, step: &Step) -> Result<(), Trouble> {
        match step {
            Step::Clock(to) => {
                self.now = self.moved(*to).clamp(*CLOCK.start(), *CLOCK.end());
                self.database.set(self.now).await?;
                Ok(())
            }
            Step::Ask { namespace, who, ask } => {
                let query = self.query(*namespace, ask);
                let registration = self.registration(*namespace, *who, ask.label());
                self.ask(*namespace, &registration, &query).await
            }
            Step::List { namespace } => {
                let election = &self.elections[*namespace];
                let ours: Vec<_> = election.table.candidates(self.now).collect();
                let theirs = self.database.list(&election.namespace).await?;
                same("the list", &ours, &theirs)
            }
            Step::Fence { namespace, who, term } => {
                let election = &self.elections[*namespace];
                let epoch = Epoch::new(election.term(*term));
                let registration = self.registration(*namespace, *who, None);
                let passes = election.table.fence(&registration.candidate, epoch, self.now);
                let ours = passes
                    .then(|| election.leader().row(&election.table.server(), self.now).remaining);
                let theirs = self.database.fence(&registration, epoch).await?;
                same("the fence", &ours, &theirs)?;
                self.compare_rows().await
            }
            Step::Forget => {
                if self.cast.promoted {
                    self.database.forget().await?;
                    let server = self.elections[0].table.server();
                    self.serve(Promoted { since_ms: None, ..server });
                }
                Ok(())
            }
            Step::RequestResign { namespace, term } => {
                let election = &mut self.elections[*namespace];
                let term = Epoch::new(election.term(*term));
                let ours = election.table.request_resignation(term);
                let theirs = self.database.request_resign(&election.namespace, term).await?;
                same("whether somebody was asked", &ours, &theirs)?;
                self.compare_rows().await
            }
        }
    }

    async fn ask(
        &mut self,
        at: usize,
        registration: &Registration,
        query: &Query,
    ) -> Result<(), Trouble> {
        let election = &mut self.elections[at];
        let before = election.leader().term;
        let label = registration.label.as_ref();
        let ours = election.table.run(&registration.candidate, label, query, self.now);
        let server = election.table.server();
        let theirs = self.database.answer(registration, query).await?;
        let after = election.leader().term;
        if after != before {
            election.won.push(after);
        }
        self.serve(server);
        same(&format!("{query:?}"), &told(ours), &told(theirs))?;
        self.compare_rows().await
    }

    /// All elections are at one server.
    fn serve(&mut self, server: Promoted) {
        for election in &mut self.elections {
            election.table.set_server(server);
        }
    }

    /// All rows of all elections, since a statement must not touch another's either.
    async fn compare_rows(&mut self) -> Result<(), Trouble> {
        let mut theirs = self.database.rows().await?;
        let mut ours: Vec<_> = self.elections.iter().flat_map(rows).collect();
        // An attempt that had to wait has made a row in which nobody ever led.
        theirs.retain(|row| row[0] != LEADER.into() || row[2] != Value::Integer(0));
        for rows in [&mut ours, &mut theirs] {
            rows.sort_by_cached_key(|row| format!("{row:?}"));
        }
        same("the rows", &ours, &theirs)
    }

    fn moved(&self, to: Move) -> i64 {
        match to {
            Move::By(by) => self.now + by,
            Move::LeaseEnds { namespace, and } => {
                self.elections[namespace].leader().expires_ms + and
            }
            Move::Outlasts { namespace, and } => {
                let election = &self.elections[namespace];
                let since = election.table.server().since_ms.unwrap_or(self.now);
                since + election.leader().ttl_ms.max(15_000) + and
            }
            Move::EntryEnds { namespace, and } => {
                let table = &self.elections[namespace].table;
                let first = table.candidates(self.now).map(|entry| entry.remaining).min();
                let left = first.map_or(0, |left| i64::try_from(left.as_millis()).unwrap());
                self.now + left + and
            }
        }
    }

    fn query(&self, at: usize, ask: &Ask) -> Query {
        let election = &self.elections[at];
        let ttl = Duration::from_millis;
        // None, less than the ttl, more; the same whenever the sequence is played again.
        let step = |long: u64| ttl([0, long / 2, 3 * long, 366 * 86_400_000][(long % 4) as usize]);
        let epoch = |which| Epoch::new(election.term(which));
        let seen = |seen| self.seen(at, seen);
        match *ask {
            Ask::Observe => Query::Observe,
            Ask::Attempt { seen: highest, ttl: long, .. } => {
                Query::Attempt { seen: seen(highest), ttl: ttl(long), clock_step: step(long) }
            }
            Ask::TakeOver { seen: highest, ttl: long, twist } => {
                let (epoch, holder, renewals) = self.described(at, twist);
                // Whether there is a row before the first term, the model does not say.
                let vacant = twist.is_none()
                    && election.leader().holder.is_none()
                    && election.leader().term > 0;
                let holder = if vacant { None } else { Some(holder) };
                let mut server = election.table.server().seen(self.now);
                match twist {
                    Some(Twist::History) if self.cast.promoted => server.history += 1,
                    Some(Twist::Since) if self.cast.promoted => server.since_ms = Some(1),
                    _ => {}
                }
                Query::TakeOver {
                    seen: seen(highest),
                    ttl: ttl(long),
                    epoch,
                    holder,
                    renewals,
                    server,
                    clock_step: step(long),
                }
            }
            Ask::Renew { term, ordinal, ttl: long } => Query::Renew {
                epoch: epoch(term),
                ordinal: election.leader().renewals.saturating_add_signed(ordinal),
                ttl: ttl(long),
                clock_step: step(long),
                leads: ordinal != 2,
            },
            Ask::Resign { term } => Query::Resign { epoch: epoch(term) },
            Ask::Register { ttl: long, sweep, .. } => Query::Register { ttl: ttl(long), sweep },
            Ask::Unregister => Query::Unregister,
            Ask::Others => Query::Others,
        }
    }

    /// The row as it stands, or nearly so.
    fn described(&self, at: usize, twist: Option<Twist>) -> (Epoch, Candidate, u64) {
        let leader = self.elections[at].leader();
        let holder = match twist {
            Some(Twist::Name) => Who::Changeling { name: 0 },
            Some(Twist::Life) => Who::Namesake,
            _ => Who::Holder,
        };
        let off = |twisted: bool| u64::from(twisted);
        let term = leader.term + off(matches!(twist, Some(Twist::Term)));
        let renewals = leader.renewals + off(matches!(twist, Some(Twist::Renewals)));
        (Epoch::new(term), self.candidate(at, holder), renewals)
    }

    fn seen(&self, at: usize, seen: Seen) -> Epoch {
        Epoch::new(match seen {
            Seen::Nothing => 0,
            Seen::Above(by) => self.elections[at].leader().term + by,
            Seen::Far => 1 << 60,
        })
    }

    fn registration(&self, at: usize, who: Who, label: Option<&str>) -> Registration {
        Registration {
            namespace: self.elections[at].namespace.clone(),
            candidate: self.candidate(at, who),
            label: label.map(|label| Label::recorded(label).unwrap()),
        }
    }

    fn candidate(&self, at: usize, who: Who) -> Candidate {
        let holder = self.elections[at].leader().holder.as_ref();
        let holder = holder.map_or_else(|| self.member(0, 0), |held| held.candidate.clone());
        match who {
            Who::Cast { name, life } => self.member(name, life),
            Who::Holder => holder,
            Who::Namesake => {
                let lives = (0..LIVES).map(life);
                let other = lives.into_iter().find(|life| *life != holder.incarnation).unwrap();
                Candidate { incarnation: other, ..holder }
            }
            Who::Changeling { name } => {
                let names = self.cast.names.iter().cycle().skip(name);
                let mut others = names.filter(|name| **name != holder.id.as_str());
                Candidate { id: NodeId::recorded(others.next().unwrap()).unwrap(), ..holder }
            }
        }
    }

    fn member(&self, name: usize, number: usize) -> Candidate {
        let id = NodeId::recorded(self.cast.names[name]).unwrap();
        Candidate { id, incarnation: life(number) }
    }
}

/// The incarnation of this number: as text the letters in it matter.
fn life(number: usize) -> Incarnation {
    Incarnation::new(Uuid::from_u128(0xABCD_EF00_0000_4000_8000_0000_0000_0000 + number as u128))
}

/// What should stand in the tables. There is no leader row before the first attempt.
fn rows(election: &OneElection) -> Vec<Vec<Value<'static>>> {
    let namespace = || text(election.namespace.as_str());
    let of = |candidate: Option<&Candidate>, label: Option<&Label>| {
        [
            candidate.map_or(Value::Null, |candidate| text(candidate.id.as_str())),
            candidate.map_or(Value::Null, |candidate| text(&candidate.incarnation.to_string())),
            label.map_or(Value::Null, |label| text(label.as_str())),
        ]
    };
    let leader = election.leader();
    let held = leader.holder.as_ref();
    let holder = of(held.map(|held| &held.candidate), held.and_then(|held| held.label.as_ref()));
    let mut row = vec![LEADER.into(), namespace(), number(leader.term)];
    row.extend(holder);
    row.extend([leader.elected_ms, leader.expires_ms, leader.ttl_ms].map(Value::Integer));
    row.extend([number(leader.renewals), leader.resign_requested.map_or(Value::Null, number)]);
    let candidates = election.table.entries().map(|(candidate, entry)| {
        let mut row = vec![CANDIDATE.into(), namespace(), entry.heartbeat_ms.into()];
        row.extend(of(Some(candidate), entry.label.as_ref()));
        row.extend([entry.expires_ms.into(), Value::Null, Value::Null, Value::Null, Value::Null]);
        row
    });
    (leader.term > 0).then_some(row).into_iter().chain(candidates).collect()
}

/// Of a row in which nobody ever led, or which is not there, nothing else matters.
fn told(answer: Answer) -> Answer {
    match answer {
        Answer::Seen(row) if row.epoch == Epoch::NONE => Answer::Seen(Row::vacant()),
        other => other,
    }
}

fn text(text: &str) -> Value<'static> {
    Value::Text(text.to_owned().into())
}

fn number(number: u64) -> Value<'static> {
    Value::Integer(i64::try_from(number).unwrap())
}

fn same<T: PartialEq + fmt::Debug>(what: &str, ours: &T, theirs: &T) -> Result<(), Trouble> {
    if ours == theirs {
        return Ok(());
    }
    Err(Trouble::Differs(format!("{what}: the model says {ours:?}, the database {theirs:?}")))
}
