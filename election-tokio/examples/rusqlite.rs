//! A job on exactly one of many processes, with rusqlite and without async.
//!
//! From this repository it uses only `election-core`, which makes the decisions and holds the
//! statements. The connection, the clock and the loop are the program's own. Start it as often as
//! you like on one machine:
//!
//! ```sh
//! cargo run -p election-tokio --example rusqlite -- jobs.db alice 5
//! cargo run -p election-tokio --example rusqlite -- jobs.db bob 5
//! ```
//!
//! Each process does its five pieces of work while it leads, and then leaves. Kill the leader: the
//! other goes on when the lease of five seconds has run out.

use election_core::{
    Candidate, Change, Epoch, Incarnation, Input, Namespace, NodeId, Protocol as _, Timestamp,
    lease::{Action, Answer, Config, Event, Failure, Lease, Query, Registration},
    sql::{Call, Dialect, Outcome, Progress, Schema, Statements, Tables, Value},
};
use rusqlite::{Connection, ErrorCode, TransactionBehavior, params_from_iter, types};
use rustix::time::{ClockId, clock_gettime};
use std::{collections::VecDeque, error::Error, thread, time::Duration};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(node)) = (arguments.next(), arguments.next()) else {
        return Err("usage: rusqlite FILE NODE [PIECES]".into());
    };
    let mut pieces: u32 = arguments.next().map_or(Ok(5), |pieces| pieces.parse())?;

    let config = Config::builder().ttl(Duration::from_secs(5)).build()?;
    let slice = config.timer_slice();
    let candidate = Candidate {
        id: NodeId::new(&node)?,
        // Each process draws its own: two that are both called alice are still two.
        incarnation: Incarnation::new(uuid::Uuid::new_v4()),
    };
    let mut database = connect(&file, &config)?;
    make_tables(&mut database)?;
    let mut lease = Lease::new(config, candidate.clone(), 0);
    let registration = Registration { namespace: Namespace::new("jobs")?, candidate, label: None };
    let statements = Statements::new(Dialect::Sqlite, &Tables::default());

    // The core only says what to ask and when to come back. All events go into one inbox.
    let mut inbox = VecDeque::new();
    while !lease.is_finished() {
        let step = lease.step(now(), inbox.pop_front().unwrap_or(Input::Tick));
        if let Some(change) = step.change {
            println!("{node}: {change:?}");
            // There is only this thread, so all work of that term has ended.
            if let Change::Lost { term, .. } = change {
                inbox.push_back(Input::Stopped(term.epoch));
            }
        }
        if let Some(Action::Query { ticket, query, .. }) = step.action {
            let result = ask(&database, &statements, &registration, &query);
            inbox.push_back(Input::Event(Event::Answer { ticket, result }));
        }
        if !inbox.is_empty() {
            continue;
        }
        // Checked anew before every piece. A piece takes less than the grace.
        let leads = lease.tenure(now()).filter(|_| pieces > 0);
        if let Some(tenure) = leads {
            let epoch = tenure.term.epoch;
            if work(&mut database, &statements, &registration, epoch)? {
                pieces -= 1;
                println!("{node}: a piece of work under epoch {epoch}");
            }
            if pieces == 0 {
                inbox.push_back(Input::Withdraw);
            }
        }
        // In slices, since a timer may stand still while the machine sleeps, and the clock does
        // not.
        let until = step.wake_at.map_or(slice, |at| at.since(now()).min(slice));
        thread::sleep(until);
    }
    Ok(())
}

/// A monotonic clock that goes on while the machine is suspended, as the lease does.
fn now() -> Timestamp {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
    Timestamp::ZERO + seconds + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

fn connect(file: &str, config: &Config) -> rusqlite::Result<Connection> {
    let database = Connection::open(file)?;
    // Well below the time after which the core gives a question up.
    database.busy_timeout(config.attempt_timeout() / 2)?;
    // An acknowledged renewal has to survive a power failure.
    database.pragma_update(None, "synchronous", "FULL")?;
    // Readers then never wait for writers. This fails if another process does it just now.
    let _ = database.pragma_update(None, "journal_mode", "WAL");
    Ok(database)
}

/// Creates the election's tables, or upgrades older ones, and one table for the work.
fn make_tables(database: &mut Connection) -> Result<(), Box<dyn Error>> {
    let schema = Schema::new(Dialect::Sqlite, &Tables::default());
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    run(&transaction, &schema.create_version_table())?;
    let version = match run(&transaction, &schema.read_version())?.row.as_deref() {
        Some([Value::Integer(version)]) => *version,
        other => return Err(format!("the table of versions says {other:?}").into()),
    };
    for migration in schema.pending(version) {
        for statement in &migration.statements {
            transaction.execute(statement, [])?;
        }
        run(&transaction, &schema.record_version(migration.version))?;
    }
    transaction.execute("CREATE TABLE IF NOT EXISTS work (node TEXT, epoch INTEGER)", [])?;
    Ok(transaction.commit()?)
}

/// One question: mostly one statement, sometimes a few, each in autocommit mode.
fn ask(
    database: &Connection,
    statements: &Statements,
    registration: &Registration,
    query: &Query,
) -> Result<Answer, Failure> {
    let mut exchange = statements.begin(registration, query);
    loop {
        let outcome = run(database, &exchange.call()).map_err(|error| {
            eprintln!("{error}");
            meaning(&error)
        })?;
        match exchange.advance(&outcome).map_err(|_| Failure::Fatal)? {
            Progress::More => {}
            Progress::Done(answer) => return Ok(answer),
        }
    }
}

/// One piece of work, in a transaction that cannot commit once another process leads. `false` if it
/// was not done.
fn work(
    database: &mut Connection,
    statements: &Statements,
    registration: &Registration,
    epoch: Epoch,
) -> rusqlite::Result<bool> {
    let begun = database.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = match begun {
        Err(error) if meaning(&error) == Failure::Conflict => return Ok(false),
        begun => begun?,
    };
    let Registration { namespace, candidate, .. } = registration;
    let mut fence = statements.fence(namespace, candidate, epoch);
    loop {
        let outcome = run(&transaction, &fence.call())?;
        match fence.advance(&outcome) {
            Ok(Progress::More) => {}
            Ok(Progress::Done(Some(_left))) => break,
            // Dropping the transaction rolls it back.
            Ok(Progress::Done(None)) | Err(_) => return Ok(false),
        }
    }
    let entry = (candidate.id.as_str(), i64::try_from(epoch.get()).unwrap_or(i64::MAX));
    transaction.execute("INSERT INTO work VALUES (?1, ?2)", entry)?;
    transaction.commit()?;
    Ok(true)
}

/// Runs one of the core's statements.
fn run(database: &Connection, call: &Call<'_>) -> rusqlite::Result<Outcome> {
    let mut statement = database.prepare_cached(call.sql)?;
    let params = params_from_iter(call.params.iter().map(|value| match value {
        Value::Null => types::Value::Null,
        Value::Integer(number) => types::Value::Integer(*number),
        Value::Text(text) => types::Value::Text(text.to_string()),
    }));
    if !call.returns_rows {
        let affected = statement.execute(params)?.try_into().unwrap_or(u64::MAX);
        return Ok(Outcome { affected, ..Outcome::default() });
    }
    let width = statement.column_count();
    let mut rows = statement.query(params)?;
    let mut outcome = Outcome::default();
    // Read to the end, even if only the first row counts: nothing is committed before.
    while let Some(row) = rows.next()? {
        let columns = (0..width).map(|at| {
            Ok(match row.get(at)? {
                types::Value::Integer(number) => Value::Integer(number),
                types::Value::Text(text) => Value::Text(text.into()),
                _ => Value::Null,
            })
        });
        let columns = columns.collect::<rusqlite::Result<_>>()?;
        outcome.row.get_or_insert(columns);
    }
    Ok(outcome)
}

/// What an error means for the election. In doubt, the statement may have been executed.
fn meaning(error: &rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Failure::Conflict,
        // No such table, no right to write, no database.
        Some(ErrorCode::Unknown | ErrorCode::ReadOnly | ErrorCode::NotADatabase) => Failure::Fatal,
        _ => Failure::Ambiguous,
    }
}
