//! A checker that cannot fail proves nothing: every rule is broken here once, and every excuse
//! covers no more than it says.

use super::*;
use crate::journal::{Excuse, Exit, Line, Window, Write};

const MS: u64 = 1_000_000;

fn line(kind: Kind, epoch: u64, node: usize, at: u64) -> Line {
    Line { kind, election: 0, epoch, node, life: node, pid: 1, at: at * MS }
}

fn write(epoch: u64, seen: u64) -> Write {
    Write { election: 0, epoch, seen }
}

fn writes(epochs: &[u64]) -> Vec<Write> {
    epochs.iter().map(|epoch| write(*epoch, *epoch)).collect()
}

/// Ten seconds in which node 0 leads, then node 1, then an elector of the library on node 2.
fn good() -> History {
    let mut lines = Vec::new();
    for at in (0..10_000).step_by(100) {
        let (epoch, node) = (100 + at / 4_000, usize::try_from(at / 4_000).unwrap_or(0));
        let kind = match (at % 4_000, node) {
            (_, 2) => Kind::Lead,
            (0, _) => Kind::Start,
            (3_900, _) => Kind::End,
            _ => Kind::Beat,
        };
        lines.push(line(kind, epoch, node, at));
    }
    History {
        ttl: Duration::from_secs(1),
        elections: 1,
        lines,
        writes: vec![writes(&[100, 100, 101, 102])],
        end: 10_000 * MS,
        ..History::default()
    }
}

#[track_caller]
fn only(history: &History, rule: &str) {
    let violations = violations(history);
    assert!(!violations.is_empty(), "not noticed: {rule}");
    assert!(violations.iter().all(|violation| violation.rule == rule), "{violations:#?}");
}

fn excuse(waives: Waives, from: u64, to: u64) -> Excuse {
    Excuse { waives, from: from * MS, to: to * MS }
}

#[test]
fn a_good_history_passes() {
    assert_eq!(violations(&good()), []);
}

#[test]
fn two_at_once_by_the_clock() {
    let mut history = good();
    history.lines.insert(40, line(Kind::Child, 100, 0, 4_001));
    only(&history, "two at once");
    for (waives, covers) in [
        (excuse(Waives::Exclusion, 3_500, 4_500), true),
        (excuse(Waives::Exclusion, 4_001, 4_500), false), // the later one had begun before
        (excuse(Waives::Order, 3_500, 4_500), false),
        (excuse(Waives::Life(0), 4_000, 4_500), true),
        (excuse(Waives::Life(0), 3_000, 4_000), false), // it lived on beyond that
        (excuse(Waives::Life(1), 3_000, 5_000), false),
    ] {
        history.excuses = vec![waives.clone()];
        assert_eq!(violations(&history).is_empty(), covers, "{waives:?}");
    }
}

/// While two may lead at once, the one that was elected first may be the later one to begin.
#[test]
fn two_at_once_may_begin_in_either_order() {
    let mut history = good();
    history.lines[80..].iter_mut().for_each(|line| line.epoch = 110);
    history.writes = vec![writes(&[100, 100, 101, 110])];
    history.lines.insert(40, line(Kind::Lead, 105, 3, 3_960));
    let apart = history.clone();
    history.lines.insert(42, line(Kind::Lead, 105, 3, 4_050));
    assert!(violations(&history).iter().any(|one| one.rule == "epochs that do not grow"));
    history.excuses = vec![excuse(Waives::Exclusion, 3_500, 4_500)];
    assert_eq!(violations(&history), []);
    let mut apart = apart;
    apart.excuses = history.excuses;
    only(&apart, "epochs that do not grow");
}

/// A clock that is read early hides nothing: a later write shows.
#[test]
fn two_at_once_by_the_order_of_their_lines() {
    let mut history = good();
    history.lines.insert(42, line(Kind::Beat, 100, 0, 3_950));
    only(&history, "two at once");
    // What the library writes late, it may have been about to write when it was held up.
    history.lines[42] = line(Kind::Lead, 102, 2, 9_950);
    history.lines.truncate(81);
    history.lines[80] = line(Kind::Lead, 102, 2, 8_000);
    history.lines.push(line(Kind::Start, 103, 0, 9_960));
    history.lines.push(line(Kind::Lead, 102, 2, 9_955));
    assert!(violations(&history).iter().all(|violation| violation.what.contains("epoch 102")));
}

#[test]
fn epochs_that_do_not_grow() {
    let mut history = good();
    for line in &mut history.lines[40..80] {
        line.epoch = 99;
    }
    history.writes.clear();
    only(&history, "epochs that do not grow");
    history.excuses = vec![excuse(Waives::Exclusion, 3_000, 5_000)];
    only(&history, "epochs that do not grow");
    history.excuses = vec![excuse(Waives::Order, 3_000, 5_000)];
    assert_eq!(violations(&history), []);
}

#[test]
fn an_epoch_twice() {
    let mut history = good();
    for line in &mut history.lines[80..] {
        line.epoch = 101;
    }
    history.writes.clear();
    only(&history, "an epoch twice");
    history.excuses = vec![excuse(Waives::Order, 7_900, 8_100)];
    assert_eq!(violations(&history), []);
    let mut history = good();
    history.lines[50].kind = Kind::Start;
    only(&history, "an epoch twice");
}

#[test]
fn a_stale_write() {
    let mut history = good();
    history.writes[0].push(write(101, 101));
    only(&history, "a stale fenced write");
    history.excuses = vec![excuse(Waives::Exclusion, 0, 10_000)];
    only(&history, "a stale fenced write");
    history.writes = vec![writes(&[100, 101]), writes(&[100, 102])]; // older data were put in place
    assert_eq!(violations(&history), []);
    history.writes[1][0].seen = 101; // by a job that has written meanwhile
    only(&history, "a stale fenced write");
}

#[test]
fn a_write_that_a_resource_refuses() {
    let mut history = good();
    history.lines[60].kind = Kind::Refused;
    only(&history, "a job that was succeeded writes");
    // Its leadership began, at 4,000 ms, on older data than the resource has seen.
    history.excuses = vec![excuse(Waives::Order, 3_900, 4_100)];
    assert_eq!(violations(&history), []);
    history.excuses = vec![excuse(Waives::Order, 100, 200)];
    only(&history, "a job that was succeeded writes");
}

#[test]
fn nobody_leads_although_nothing_is_wrong() {
    let mut history = good();
    history.lines.retain(|line| !(1_000 * MS..3_900 * MS).contains(&line.at));
    assert_eq!(violations(&history), [], "a lease and the slack");
    history.lines.retain(|line| !(3_900 * MS..4_400 * MS).contains(&line.at));
    only(&history, "nobody leads");
    let window = |from, to| Window { fault: "", from: from * MS, to: to * MS };
    history.windows = vec![window(950, 1_300)];
    only(&history, "nobody leads");
    history.windows = vec![window(950, 1_300), window(8_000, 9_000)]; // long after it
    only(&history, "nobody leads");
    history.windows = vec![window(950, 1_600)];
    assert_eq!(violations(&history), []);
    history.lines.truncate(30); // and until the end
    only(&history, "nobody leads");
}

/// Two elections with the same leaders and epochs at the same time.
fn two_elections() -> History {
    let mut history = good();
    history.elections = 2;
    let second: Vec<Line> =
        history.lines.iter().map(|line| Line { election: 1, ..*line }).collect();
    history.lines.extend(second);
    history.writes[0].push(Write { election: 1, ..write(100, 100) });
    history
}

#[test]
fn each_election_is_judged_by_itself() {
    let mut history = two_elections();
    assert_eq!(violations(&history), []);
    history.writes[0].push(write(100, 100));
    only(&history, "a stale fenced write");
    let mut history = two_elections();
    history.lines.retain(|line| line.election == 0 || line.at < 5_000 * MS);
    only(&history, "nobody leads");
}

#[test]
fn a_lock_on_the_row_of_another_election() {
    let window = |fault, from, to| Window { fault, from: from * MS, to: to * MS };
    let mut history = two_elections();
    history.windows = vec![window("row-locked", 3_000, 5_000)];
    only(&history, "another's locked row");
    let broken = violations(&history);
    assert!(broken.iter().all(|broken| broken.what.starts_with("chaos:")), "{broken:?}");
    history.windows[0].to = 4_000; // it ends as the tenure does
    assert_eq!(violations(&history), []);
    let ttl = u64::try_from(history.ttl.as_millis()).unwrap();
    for (from, to) in [(4_500, 6_000), (0, 3_000 - ttl)] {
        history.windows = vec![window("row-locked", 3_000, 5_000), window("", from, to)];
        assert_eq!(violations(&history), []);
    }
    history.windows[1].to -= 1; // a lease before the lock, all was well
    only(&history, "another's locked row");
}

/// A process that lives on without a lease is no leader.
#[test]
fn the_forsaken_lead_nobody() {
    let mut history = good();
    for line in &mut history.lines[40..80] {
        (line.epoch, line.node, line.life, line.kind) = (100, 0, 0, Kind::Child);
    }
    assert_eq!(violations(&history), []);
    history.excuses = vec![excuse(Waives::Life(0), 4_000, 8_000)];
    only(&history, "nobody leads");
}

#[test]
fn slow_or_dirty_ends() {
    let second = Duration::from_secs(1);
    let stop = Stop { node: 0, at: 0, took: second, limit: second, left: vec![] };
    let mut history = good();
    history.stops = vec![stop.clone()];
    assert_eq!(violations(&history), []);
    history.stops = vec![Stop { took: second * 2, ..stop.clone() }];
    only(&history, "SIGTERM");
    history.stops = vec![Stop { left: vec![7], ..stop }];
    only(&history, "SIGTERM");
}

#[test]
fn electors_that_end_unasked() {
    let status = "exit status: 125".to_owned();
    let exit = Exit { node: 0, at: 0, status, meant: false, refused_to_begin: false };
    let mut history = good();
    history.exits = vec![Exit { meant: true, ..exit.clone() }];
    assert_eq!(violations(&history), []);
    history.exits = vec![Exit { refused_to_begin: true, ..exit.clone() }];
    assert_eq!(violations(&history), []);
    history.exits = vec![exit];
    only(&history, "an elector ends unasked");
}

#[test]
fn what_is_left_or_grows() {
    let mut history = good();
    history.remains = vec!["a socket".to_owned()];
    only(&history, "left behind");
    let weight = |at, memory, descriptors| Weight { at, memory, descriptors };
    let mut history = good();
    history.weights = vec![(0..30).map(|at| weight(at, 20 << 20, 12)).collect()];
    assert_eq!(violations(&history), []);
    history.weights = vec![(0..30).map(|at| weight(at, (20 + 3 * at) << 20, 12)).collect()];
    only(&history, "growth");
    history.weights = vec![(0..30_usize).map(|at| weight(0, 20 << 20, 12 + at)).collect()];
    only(&history, "growth");
}
