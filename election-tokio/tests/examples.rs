//! Runs the examples as their readers do: several processes of each, on real databases, of which
//! one is killed, stopped or told to end.
//!
//! Cargo builds the examples along with the tests, unless only this test was asked for.
#![allow(clippy::unwrap_used)]

use election_testing::{Kind, Program, Server, process::eventually};
use rustix::process::Signal;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// The number after `epoch`.
fn epoch(line: &str) -> u64 {
    let (_, rest) = line.split_once("epoch ").unwrap();
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// A later epoch means later work, and each epoch belongs to one node.
fn assert_one_after_the_other(entries: &[(String, u64)]) {
    for pair in entries.windows(2) {
        let ((before, earlier), (after, later)) = (&pair[0], &pair[1]);
        assert!(earlier < later || (earlier == later && before == after), "{entries:?}");
    }
}

fn of<'a>(node: &str, entries: &'a [(String, u64)]) -> Vec<&'a (String, u64)> {
    entries.iter().filter(|(each, _)| each == node).collect()
}

/// Both on one server.
#[test]
fn on_postgres() {
    let server = Server::start(Kind::Postgres);
    tokio_postgres(&server);
    fenced(&server);
}

fn tokio_postgres(server: &Server) {
    let port = server.port();
    let database =
        format!("host=127.0.0.1 port={port} user=election password=election dbname=election");
    let start = |node, pieces| Program::start("tokio_postgres", &[&database, node, pieces]);
    // Both create the tables at once.
    let (mut alice, mut bob) = (start("alice", "3"), start("bob", "3"));
    assert!(alice.ends().success() && bob.ends().success());
    let of_each = [&alice, &bob].map(|each| {
        let epochs: Vec<u64> =
            (1..=3).map(|piece| epoch(&each.says(&format!("piece {piece} under")))).collect();
        assert!(epochs.iter().all(|epoch| *epoch == epochs[0]), "{epochs:?}");
        epochs[0]
    });
    assert_ne!(of_each[0], of_each[1]);

    let mut doomed = start("doomed", "1000000");
    let before = epoch(&doomed.says("piece 2 under"));
    let mut heir = start("heir", "1");
    doomed.send(Signal::KILL);
    doomed.ends();
    assert!(epoch(&heir.says("piece 1 under")) > before);
    assert!(heir.ends().success());
}

/// A term that begins behind the leader's back, as while the leader is stopped; it soon runs out.
const USURPED: &str = "UPDATE election_leader SET epoch = epoch + 1, leader_id = 'usurper', \
    incarnation = '00000000-0000-0000-0000-000000000000' WHERE ns = 'ledger'";

/// An insert takes a second as long as a row is in `slow`.
const SLOW: &str = "SET ROLE election; CREATE TABLE slow (n int); \
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
    $$ BEGIN PERFORM pg_sleep(1) FROM slow; RETURN NEW; END $$; \
    CREATE TRIGGER slow BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION slow()";

/// The writing process is succeeded without knowing it, and later stopped for longer than its lease
/// in the middle of a transaction.
fn fenced(server: &Server) {
    let url = server.url();
    let start = |node| Program::start("fenced", &[&url, node, "200"]);
    let mut alice = start("alice");
    let first = epoch(&alice.says("entry"));
    let count = |epoch| format!("SELECT count(*) FROM ledger WHERE epoch = {epoch}");
    let entries_of = |epoch| server.administer("election", &count(epoch));
    // In one transaction: the rows that exist when the next term begins are all there may ever be.
    let written = server.administer("election", &format!("{USURPED}; {}", count(first)));
    // She follows the usurper until its lease has run out.
    let again = eventually("her next leadership", || {
        Some(epoch(&alice.says("under epoch"))).filter(|epoch| *epoch != first)
    });
    assert!(again > first + 1, "after the usurper");
    assert_eq!(entries_of(first), written, "a leader that was succeeded wrote");

    let mut bob = start("bob");
    server.administer("election", SLOW);
    server.administer("election", "INSERT INTO slow VALUES (1)");
    let inserting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    eventually("an entry on its way", || {
        (server.administer("election", inserting) == "1").then_some(())
    });
    alice.send(Signal::STOP);
    server.administer("election", "DELETE FROM slow");
    let second = epoch(&bob.says("entry"));
    assert!(second > again);
    let written = entries_of(again);
    alice.send(Signal::CONT);
    assert!(bob.ends().success());
    assert!(alice.ends().success());
    assert_eq!(entries_of(again), written, "a leader that was succeeded wrote");

    let rows = server.administer("election", "SELECT node, epoch FROM ledger ORDER BY entry");
    let entries: Vec<(String, u64)> = rows
        .lines()
        .map(|line| line.split_once('|').unwrap())
        .map(|(node, epoch)| (node.to_owned(), epoch.parse().unwrap()))
        .collect();
    assert_one_after_the_other(&entries);
    for node in ["alice", "bob"] {
        assert_eq!(of(node, &entries).len(), 200, "what was said to be entered is there");
    }
    assert!(of("alice", &entries).last().unwrap().1 > second, "she came back as a new leader");
}

/// Whoever leads writes in the transaction that elects it, and is killed in the middle of one.
#[test]
fn own_transaction() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("app.db");
    let start = |node| Program::start("own_transaction", &[file.to_str().unwrap(), node, "30"]);
    let mut doomed = start("doomed");
    let first = epoch(&doomed.says("entry 2 "));
    let mut heirs = [start("alice"), start("bob")];
    let database = rusqlite::Connection::open(&file).unwrap();
    database.busy_timeout(Duration::from_secs(60)).unwrap();
    // The next to write waits, with the lease renewed and nothing committed.
    let hold = "CREATE TRIGGER hold BEFORE INSERT ON ledger WHEN NEW.node = 'doomed' BEGIN \
                SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                SELECT i FROM n); END";
    database.execute_batch(hold).unwrap();
    let look = "SELECT (SELECT count(*) FROM ledger), renewals FROM election_leader";
    let look = || {
        let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        database.query_row(look, [], columns).unwrap()
    };
    let (written, renewals): (i64, i64) = look();
    // The heirs' transactions are over in no time.
    database.busy_timeout(Duration::from_secs(1)).unwrap();
    eventually("a transaction that does not end", || {
        database.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err().then_some(())
    });
    assert_eq!(look(), (written, renewals), "neither entry nor renewal is there yet");
    doomed.send(Signal::KILL);
    doomed.ends();
    assert!(heirs.iter_mut().all(|each| each.ends().success()));
    let mut all = database.prepare("SELECT node, epoch FROM ledger ORDER BY entry").unwrap();
    let entries = all.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?))).unwrap();
    let entries: Vec<(String, u64)> = entries
        .map(|entry| entry.unwrap())
        .map(|(node, epoch)| (node, u64::try_from(epoch).unwrap()))
        .collect();
    assert_one_after_the_other(&entries);
    assert_eq!(of("doomed", &entries).len(), usize::try_from(written).unwrap());
    assert!(of("doomed", &entries).iter().all(|(_, epoch)| *epoch == first));
    for node in ["alice", "bob"] {
        assert_eq!(of(node, &entries).len(), 30, "what was said to be entered is there");
    }
}

/// Three machines whose timers do not fire at the same time.
#[test]
fn periodic() {
    const PERIOD: u64 = 1_500;
    let (place, turns) = (tempfile::tempdir().unwrap(), "4");
    let file = place.path().join("app.db");
    let file = file.to_str().unwrap();
    let start = |node| Program::start("periodic", &[file, node, &PERIOD.to_string(), turns]);
    let alice = start("alice");
    let first = epoch(&alice.says("of this period"));
    let mut all = [alice, start("bob"), start("carol")];
    assert!(all.iter_mut().all(|each| each.ends().success()));
    let rest = all.iter().flat_map(|each| each.lines.iter().map(|line| epoch(&line)));
    let mut epochs: Vec<u64> = rest.chain([first]).collect();
    epochs.sort_unstable();
    assert!((2..=5).contains(&epochs.len()), "{epochs:?}");
    // Epochs are the milliseconds of the database's clock.
    assert!(epochs.windows(2).all(|pair| pair[1] - pair[0] >= PERIOD * 9 / 10), "{epochs:?}");
}

#[test]
fn axum() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("service.db");
    let start = || {
        let program = Program::start("axum", &[file.to_str().unwrap(), "127.0.0.1:0"]);
        let line = program.says("listening on");
        (program, line.rsplit_once(' ').unwrap().1.to_owned())
    };
    let (mut first, here) = start();
    let (mut second, there) = start();
    let led = |by: &str, at: &str| {
        eventually("the leader", || {
            let (status, said) = http("GET", at, "/leader");
            let said: serde_json::Value = serde_json::from_str(&said).ok()?;
            let own = said["own"] == (by == at);
            (status == 200 && said["address"] == by && own).then(|| said["epoch"].as_u64())
        })
    };
    let leader = eventually("a leader", || {
        let (_, said) = http("GET", &here, "/leader");
        let said: serde_json::Value = serde_json::from_str(&said).ok()?;
        Some(said["address"].as_str()?.to_owned())
    });
    let other = if leader == here { &there } else { &here };
    let before = led(&leader, &leader);
    assert_eq!(led(&leader, other), before);
    for at in [&here, &there] {
        eventually("readiness, of the follower too", || {
            (http("GET", at, "/readyz").0 == 200).then_some(())
        });
        assert_eq!(http("GET", at, "/livez").0, 200);
    }
    assert_eq!(http("POST", &leader, "/jobs").0, 200);
    let (status, head) = http_head("POST", other, "/jobs");
    assert_eq!(status, 307);
    assert!(head.contains(&format!("location: http://{leader}/jobs")), "{head}");

    let (leading, following) =
        if leader == here { (&mut first, &mut second) } else { (&mut second, &mut first) };
    leading.send(Signal::TERM);
    assert!(leading.ends().success());
    assert!(led(other, other) > before);
    assert_eq!(http("POST", other, "/jobs").0, 200);
    following.send(Signal::TERM);
    assert!(following.ends().success());
}

/// One request: the status and the body.
fn http(method: &str, address: &str, path: &str) -> (u16, String) {
    let (status, response) = http_head(method, address, path);
    (status, response.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// One request: the status and the whole response.
fn http_head(method: &str, address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    (status, response)
}

#[test]
fn service() {
    election_testing::a_service_is_handed_over("service");
}
