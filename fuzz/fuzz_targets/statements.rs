//! The simulator's table beside SQLite itself: the same statements of the lease in any order, at
//! any reading of the database's clock, give the same answers and leave the same row and the same
//! list. The simulator and the explorer run on the table, so what they show holds of SQLite as far
//! as this does.
#![no_main]

use arbitrary::Arbitrary;
use election_core::{
    Candidate, Epoch, Incarnation, Label, Namespace, NodeId,
    lease::{Answer, Query, Registration},
    sql::{Call, CandidateRow, Dialect, Outcome, Progress, Schema, Statements, Tables, Value},
};
use election_sim::table::Table;
use libfuzzer_sys::fuzz_target;
use rusqlite::{Connection, functions::FunctionFlags, params_from_iter, types};
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use uuid::Uuid;

#[derive(Arbitrary, Debug)]
struct Step {
    clock: Clock,
    /// Who asks: two names, two lives each.
    who: u8,
    labelled: bool,
    ask: Ask,
}

/// How the database's clock has moved since the last statement.
#[derive(Arbitrary, Debug)]
enum Clock {
    Stands,
    By(i32),
    /// To where the lease ends, or beside it.
    End(i8),
}

#[derive(Arbitrary, Debug)]
enum Ask {
    Observe,
    Attempt { seen: Seen, ttl: u16 },
    TakeOver { seen: Seen, ttl: u16, off: i8, holder: Option<u8>, renewals: i8 },
    Renew { off: i8, ordinal: i8, ttl: u16 },
    Resign { off: i8 },
    RequestResign { off: i8 },
    Register { ttl: u16, sweep: bool },
    Unregister,
    Others,
    Fence { off: i8 },
}

#[derive(Arbitrary, Debug)]
enum Seen {
    Nothing,
    Above(i8),
    Far,
}

/// Where every run begins, and where the clock may go.
const BEGIN: i64 = 1_700_000_000_123;
const RANGE: std::ops::RangeInclusive<i64> = 1_000..=2_100_000_000_000;
/// The two days of this factor let entries of the list be swept.
const STEP_MS: i64 = 86_400;

thread_local! {
    static SQLITE: Rc<Sqlite> = Rc::new(Sqlite::open());
    static NAMESPACE: Namespace = Namespace::new("jobs").expect("a name");
}

fuzz_target!(|steps: Vec<Step>| {
    let sqlite = SQLITE.with(Rc::clone);
    sqlite.clear();
    let mut run = Run { table: Table::new(), now: BEGIN, sqlite: &sqlite };
    for step in &steps {
        run.step(step);
    }
});

struct Run<'a> {
    table: Table,
    now: i64,
    sqlite: &'a Sqlite,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) {
        let to = match step.clock {
            Clock::Stands => self.now,
            Clock::By(by) => self.now + i64::from(by) * STEP_MS / 1_000,
            Clock::End(and) => self.table.leader().expires_ms + i64::from(and),
        };
        self.now = to.clamp(*RANGE.start(), *RANGE.end());
        self.sqlite.clock.store(self.now, Ordering::Relaxed);
        let registration = Registration {
            namespace: NAMESPACE.with(Clone::clone),
            candidate: candidate(step.who),
            label: step.labelled.then(|| Label::new("10.0.0.1:80").expect("a label")),
        };
        let (who, label) = (&registration.candidate, registration.label.as_ref());
        match step.ask {
            Ask::RequestResign { off } => {
                let epoch = self.epoch(off);
                let theirs = self.sqlite.request_resign(&registration.namespace, epoch);
                assert_eq!(theirs, self.table.request_resignation(epoch), "{step:?}");
            }
            Ask::Fence { off } => {
                let epoch = self.epoch(off);
                let theirs = self.sqlite.fence(&registration, epoch);
                assert_eq!(theirs, self.table.fence(who, epoch, self.now), "{step:?}");
            }
            _ => {
                let query = self.query(&step.ask);
                let theirs = self.sqlite.answer(&registration, &query);
                let ours = self.table.run(who, label, &query, self.now);
                assert_eq!(theirs, ours, "{step:?}: {query:?}");
            }
        }
        let row = self.sqlite.answer(&registration, &Query::Observe);
        assert_eq!(
            row,
            Answer::Seen(self.table.leader().row(&self.table.server(), self.now)),
            "after {step:?}"
        );
        let list = self.sqlite.list(&registration.namespace);
        assert_eq!(list, self.table.candidates(self.now).collect::<Vec<_>>(), "after {step:?}");
        assert_eq!(self.sqlite.entries(), self.table.entries().len(), "after {step:?}");
    }

    fn epoch(&self, off: i8) -> Epoch {
        Epoch::new(self.table.leader().term.saturating_add_signed(i64::from(off % 3)))
    }

    fn query(&self, ask: &Ask) -> Query {
        let leader = self.table.leader();
        let ttl = |millis: u16| Duration::from_millis(u64::from(millis) + 1);
        // For every other length none, and for the rest another.
        let step =
            |millis: u16| Duration::from_millis(u64::from(millis % 2) * u64::from(millis) * 7);
        let seen = |seen: &Seen| match seen {
            Seen::Nothing => Epoch::NONE,
            Seen::Above(by) => Epoch::new(leader.term.saturating_add_signed(i64::from(*by))),
            Seen::Far => Epoch::new(1 << 60),
        };
        let near = |off: i8| leader.renewals.saturating_add_signed(i64::from(off % 4));
        match ask {
            Ask::Attempt { seen: highest, ttl: long } => {
                let clock_step = step(*long);
                Query::Attempt { seen: seen(highest), ttl: ttl(*long), clock_step }
            }
            Ask::TakeOver { seen: highest, ttl: long, off, holder, renewals } => {
                let held = leader.holder.as_ref().map(|held| held.candidate.clone());
                let holder = holder.map(candidate).or(held).unwrap_or_else(|| candidate(0));
                let (seen, ttl, clock_step) = (seen(highest), ttl(*long), step(*long));
                let (epoch, renewals) = (self.epoch(*off), near(*renewals));
                let (holder, server) = (Some(holder), self.table.server().seen(self.now));
                Query::TakeOver { seen, ttl, clock_step, epoch, holder, renewals, server }
            }
            Ask::Renew { off, ordinal, ttl: long } => {
                let (epoch, ordinal) = (self.epoch(*off), near(*ordinal));
                let (ttl, clock_step) = (ttl(*long), step(*long));
                Query::Renew { epoch, ordinal, ttl, clock_step, leads: true }
            }
            Ask::Resign { off } => Query::Resign { epoch: self.epoch(*off) },
            Ask::Register { ttl: long, sweep } => {
                Query::Register { ttl: ttl(*long), sweep: *sweep }
            }
            Ask::Unregister => Query::Unregister,
            Ask::Others => Query::Others,
            Ask::Observe | Ask::RequestResign { .. } | Ask::Fence { .. } => Query::Observe,
        }
    }
}

/// A database in memory whose clock is set by hand.
struct Sqlite {
    connection: RefCell<Connection>,
    statements: Statements,
    clock: Arc<AtomicI64>,
}

impl Sqlite {
    fn open() -> Self {
        let connection = Connection::open_in_memory().expect("SQLite");
        let clock = Arc::new(AtomicI64::new(BEGIN));
        let read = clock.clone();
        // What the statements ask for the time: days since noon, 4714 years ago.
        let julianday = move |_: &rusqlite::functions::Context<'_>| {
            Ok(2_440_587.5 + read.load(Ordering::Relaxed) as f64 / 86_400_000.0)
        };
        connection
            .create_scalar_function("julianday", 1, FunctionFlags::SQLITE_UTF8, julianday)
            .expect("a function");
        let tables = Tables::default();
        connection
            .execute_batch(&Schema::new(Dialect::Sqlite, &tables).script())
            .expect("the schema");
        let statements = Statements::new(Dialect::Sqlite, &tables);
        Self { connection: RefCell::new(connection), statements, clock }
    }

    fn clear(&self) {
        let clear = "DELETE FROM election_leader; DELETE FROM election_candidate";
        self.connection.borrow().execute_batch(clear).expect("tables");
    }

    fn rows(&self, call: &Call<'_>) -> (Vec<Vec<Value<'static>>>, u64) {
        let connection = self.connection.borrow();
        let mut statement = connection.prepare_cached(call.sql).expect("a statement");
        let params = params_from_iter(call.params.iter().map(|value| match value {
            Value::Null => types::Value::Null,
            Value::Integer(number) => types::Value::Integer(*number),
            Value::Text(text) => types::Value::Text(text.to_string()),
        }));
        if !call.returns_rows {
            let affected = statement.execute(params).expect("executed");
            return (Vec::new(), affected as u64);
        }
        let width = statement.column_count();
        let mut found = Vec::new();
        let mut rows = statement.query(params).expect("queried");
        while let Some(row) = rows.next().expect("a row") {
            let column = |at| match row.get(at).expect("a column") {
                types::Value::Integer(number) => Value::Integer(number),
                types::Value::Text(text) => Value::Text(text.into()),
                types::Value::Null => Value::Null,
                other => panic!("a column of another type: {other:?}"),
            };
            found.push((0..width).map(column).collect());
        }
        (found, 0)
    }

    fn outcome(&self, call: &Call<'_>) -> Outcome {
        let (rows, affected) = self.rows(call);
        Outcome { row: rows.into_iter().next(), affected, ..Outcome::default() }
    }

    fn answer(&self, registration: &Registration, query: &Query) -> Answer {
        let mut exchange = self.statements.begin(registration, query);
        loop {
            let outcome = self.outcome(&exchange.call());
            if let Progress::Done(answer) = exchange.advance(&outcome).expect("understood") {
                return answer;
            }
        }
    }

    fn fence(&self, registration: &Registration, epoch: Epoch) -> bool {
        let Registration { namespace, candidate, .. } = registration;
        let mut fence = self.statements.fence(namespace, candidate, epoch);
        loop {
            let outcome = self.outcome(&fence.call());
            if let Progress::Done(left) = fence.advance(&outcome).expect("understood") {
                return left.is_some();
            }
        }
    }

    fn request_resign(&self, namespace: &Namespace, epoch: Epoch) -> bool {
        let call = self.statements.request_resign(namespace, epoch);
        let outcome = self.outcome(&call);
        outcome.row.is_some() || outcome.affected > 0
    }

    fn list(&self, namespace: &Namespace) -> Vec<CandidateRow> {
        let (rows, _) = self.rows(&self.statements.list_candidates(namespace));
        rows.iter().map(|row| CandidateRow::decode(row).expect("understood")).collect()
    }

    /// All entries of the list, ended or not.
    fn entries(&self) -> usize {
        let count = "SELECT count(*) FROM election_candidate";
        let count = self.connection.borrow().query_row(count, [], |row| row.get::<_, i64>(0));
        usize::try_from(count.expect("a count")).expect("a small one")
    }
}

fn candidate(number: u8) -> Candidate {
    let id = NodeId::new(if number & 1 == 0 { "a" } else { "b" }).expect("a name");
    // As text, the letters in it matter.
    let life = 0xABCD_EF00_0000_4000_8000_0000_0000_0000 + u128::from(number >> 1 & 1);
    Candidate { id, incarnation: Incarnation::new(Uuid::from_u128(life)) }
}
