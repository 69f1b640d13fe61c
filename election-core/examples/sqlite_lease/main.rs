//! A job on exactly one of many processes, with rusqlite, threads and channels, and without async.
//!
//! `election-core` makes the decisions and holds the statements. The connection, the clock and the
//! loop are the program's own. Start it as often as you like on one machine:
//!
//! ```sh
//! cargo run -p election-core --example sqlite_lease -- jobs.db alice 5
//! cargo run -p election-core --example sqlite_lease -- jobs.db bob 5
//! ```
//!
//! Each process does its five pieces of work while it leads, and then leaves. Kill the leader: the
//! other goes on when the lease of five seconds has run out. The numbers in front are
//! `CLOCK_BOOTTIME`, which all processes of a machine share.
//!
//! There are three threads. The loop only decides, so that it is never late. The database and the
//! work may take their time, each on a thread and a connection of its own.

mod database;
#[path = "../host/mod.rs"]
mod host;

use database::Database;
use election_core::{
    Candidate, Change, Epoch, Input, NodeId, Protocol as _,
    lease::{Action, Config, Event, Lease, Query, Ticket},
};
use host::{Leadership, incarnation, next, now};
use std::{
    error::Error,
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(node)) = (arguments.next(), arguments.next()) else {
        return Err("usage: sqlite_lease FILE NODE [PIECES]".into());
    };
    let pieces = arguments.next().map_or(Ok(5), |pieces| pieces.parse());
    let pieces: u32 = pieces.map_err(|_| "PIECES is a number: 5 unless given")?;

    let config = Config::builder().ttl(Duration::from_secs(5)).build()?;
    let slice = config.timer_slice();
    let candidate = Candidate { id: NodeId::new(&node)?, incarnation: incarnation()? };
    let open = || Database::open(&file, &config, candidate.clone());
    let (for_questions, mut for_work) = (open()?, open()?);
    let mut lease = Lease::new(config.clone(), candidate.clone(), 0);
    let leadership = Leadership::default();

    // Whatever happens comes in through one inbox.
    let (inbox, inputs) = mpsc::channel();
    let (ask, questions) = mpsc::channel();
    thread::spawn({
        let inbox = inbox.clone();
        move || answer(&for_questions, &questions, &inbox)
    });
    let (begin, terms) = mpsc::channel();
    thread::spawn({
        let leadership = leadership.clone();
        move || work(&mut for_work, pieces, &terms, &leadership, &inbox)
    });

    let mut wake_at = Some(now());
    while !lease.is_finished() {
        let input = next(&inputs, wake_at, slice).unwrap_or(Input::Tick);
        let step = lease.step(now(), input);
        leadership.publish(lease.tenure(now()));
        if let Some(change) = step.change {
            println!("{} {node}: {change:?}", now().as_nanos());
            if let Change::Elected(tenure) = change {
                begin.send(tenure.term.epoch)?;
            }
        }
        if let Some(Action::Query { ticket, query, .. }) = step.action {
            ask.send((ticket, query))?;
        }
        wake_at = step.wake_at;
    }
    Ok(())
}

/// The thread that asks. An answer may come late: the core counts from the question.
fn answer(
    database: &Database,
    questions: &Receiver<(Ticket, Query)>,
    inbox: &Sender<Input<Event>>,
) {
    while let Ok(first) = questions.recv() {
        // A question supersedes those before it, which a slow disk may have left waiting.
        let (ticket, query) = questions.try_iter().last().unwrap_or(first);
        let result = database.ask(&query);
        let _ = inbox.send(Input::Event(Event::Answer { ticket, result }));
    }
}

/// The thread that works. A term that is over needs no force here: no piece can commit in it.
fn work(
    database: &mut Database,
    mut pieces: u32,
    terms: &Receiver<Epoch>,
    leadership: &Leadership,
    inbox: &Sender<Input<Event>>,
) {
    for epoch in terms {
        while !leadership.is_over(epoch) {
            if pieces > 0 && leadership.in_force(epoch).is_some() {
                match piece(database, epoch) {
                    Ok(true) => pieces -= 1,
                    Ok(false) => {}
                    Err(error) => {
                        eprintln!("{}: the work failed: {error}", database.node());
                        // Somebody else may have more luck.
                        let _ = inbox.send(Input::Resign);
                    }
                }
                if pieces == 0 {
                    let _ = inbox.send(Input::Withdraw);
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
        // Only this permits the core to give the lease to another.
        let _ = inbox.send(Input::Stopped(epoch));
    }
}

/// One piece of work, which lasts only if the term does. `false` if it was not done.
fn piece(database: &mut Database, epoch: Epoch) -> Result<bool, Box<dyn Error>> {
    let node = database.node().clone();
    let Some(transaction) = database.fenced(epoch)? else { return Ok(false) };
    let at = now().as_nanos();
    let entry = (node.as_str(), i64::try_from(epoch.get())?);
    transaction.execute("INSERT INTO work VALUES (?1, ?2)", entry)?;
    transaction.commit()?;
    println!("{at} {node}: a piece of work under epoch {epoch}");
    Ok(true)
}
