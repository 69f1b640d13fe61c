//! Another process writes for too long; and the file goes away under the elector.

use crate::places::InFile;
use election_core::lease::Candidacy;
use election_driver::{
    Leader, Status, Store as _,
    conformance::{sqlite::*, tasks::timeout},
};
use election_tokio::{Election, Tokio};
use futures_lite::future::yield_now;
use std::time::Duration;

fn is_attempt(asked: &Asked) -> bool {
    matches!(asked.query, Query::Attempt { .. })
}

fn conflicts(line: &Line, of: impl Fn(&Asked) -> bool) -> Vec<(Timestamp, Timestamp)> {
    let conflict = |asked: &Asked| match asked.done {
        Some((done, Err(Failure::Conflict))) => Some((asked.at, done)),
        _ => None,
    };
    line.log().iter().filter(|asked| of(asked)).filter_map(conflict).collect()
}

async fn until<T>(condition: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(value) = condition() {
            return value;
        }
        yield_now().await;
    }
}

/// A contender that meets a lock has learnt that another process is alive: it neither backs off nor
/// believes anything, and wins the lease with its next question.
async fn contenders_wait_a_writer_out_and_win_soon_after(_: InFile) {
    let ttl = Duration::from_secs(6);
    let place = InFile::new().await;
    let mut writer = place.raw().await;
    execute(&mut writer, "BEGIN IMMEDIATE").await;
    let (line, other_line) = (Line::default(), Line::default());
    let election = elector::<Tokio, _>(line.to(place.store()), "a", ttl);
    let attempt = election.config().attempt_timeout();
    let a = election.start();
    let b = elector::<Tokio, _>(other_line.to(place.store()), "b", ttl).start();
    let text = complaint(&a, Failure::Conflict).await;
    assert!(text.contains("another process is writing"), "{text}");
    until(|| (conflicts(&line, is_attempt).len() >= 4).then_some(())).await;
    until(|| (conflicts(&other_line, is_attempt).len() >= 4).then_some(())).await;
    assert!(!a.is_leader() && !b.is_leader());
    let held = conflicts(&line, is_attempt);
    let locked_for = held.last().unwrap().1.since(held[0].0);
    assert!(locked_for > attempt, "longer than one attempt may take");
    // The least back-off is nine tenths of a second; between conflicts there is only jitter.
    let pauses = held.windows(2).skip(1).map(|pair| pair[1].0.since(pair[0].1));
    let least = pauses.min().unwrap();
    assert!(least < Duration::from_millis(450), "backs off for {least:?}");

    execute(&mut writer, "COMMIT").await;
    let committed = now();
    let leader =
        futures_lite::future::or(async { a.elected().await.map(|lease| lease.epoch()) }, async {
            b.elected().await.map(|lease| lease.epoch())
        });
    let epoch = leader.await.unwrap();
    assert_eq!((followed(&a).await, followed(&b).await), (epoch, epoch));
    for line in [line, other_line] {
        let log = line.log();
        let asked = |asked: &&Asked| is_attempt(asked) && asked.at >= committed;
        assert!(log.iter().filter(asked).count() <= 1, "asked more than once: {log:?}");
        let ambiguous = log
            .iter()
            .any(|asked| matches!(asked.done, Some((_, Err(kind))) if kind != Failure::Conflict));
        assert!(!ambiguous, "a lock is a conflict and nothing else: {log:?}");
    }
    a.shutdown().await;
    b.shutdown().await;
}

/// A leader that cannot renew because another process writes stops before its lease can pass on.
async fn a_leader_that_a_writer_keeps_from_renewing_stops_in_time(place: InFile) {
    let (line, journal) = (Line::default(), Journal::default());
    let a = elector::<Tokio, _>(line.to(place.store()), "a", SHORT).start();
    let mut changes = a.changes();
    let a_works = lead(&a, &journal);
    let first = journal.until(|entries| entries.len() == 1).await[0].epoch;
    let b = place.start("b", SHORT);
    let b_works = lead(&b, &journal);
    assert_eq!(followed(&b).await, first);

    let mut writer = place.raw().await;
    execute(&mut writer, "BEGIN IMMEDIATE").await;
    journal.until(|entries| entries[0].to.is_some()).await;
    let stopped = now();
    assert_eq!(next_loss(&mut changes).await, Loss::Expired);
    let row = place.row().await;
    // Whether the lease itself still runs depends on how soon this task was resumed.
    assert!(row.epoch == first && now() >= stopped);
    let renewal = |asked: &Asked| matches!(asked.query, Query::Renew { .. });
    assert!(!conflicts(&line, renewal).is_empty(), "{:?}", line.log());
    while place.row().await.live_holder().is_some() {
        yield_now().await;
    }
    assert_eq!(journal.entries().len(), 1, "nobody can take it while the writer holds on");
    execute(&mut writer, "ROLLBACK").await;
    journal.until(|entries| entries.len() == 2).await;
    journal.assert_one_at_a_time();
    a.shutdown().await;
    b.shutdown().await;
    a_works.await.unwrap();
    b_works.await.unwrap();
    journal.assert_one_at_a_time();
}

/// One hung renewal does not cost the lease: the leader waits for a writer that holds its lock for
/// less than the trust window.
async fn a_short_writer_does_not_cost_the_lease(_: InFile) {
    let ttl = Duration::from_secs(6);
    let place = InFile::new().await;
    let line = Line::default();
    let a = elector::<Tokio, _>(line.to(place.store()), "a", ttl).start();
    let lease = a.elected().await.unwrap();
    let mut writer = place.raw().await;
    execute(&mut writer, "BEGIN IMMEDIATE").await;
    let renewal = |asked: &Asked| matches!(asked.query, Query::Renew { .. });
    until(|| (!conflicts(&line, renewal).is_empty()).then_some(())).await;
    let before = lease.until();
    execute(&mut writer, "COMMIT").await;
    let later = |status: &Status| status.tenure.as_ref().is_none_or(|tenure| tenure.until > before);
    let renewed = a.watch().until(later).await;
    assert_eq!(renewed.tenure.map(|tenure| tenure.term.epoch), Some(lease.epoch()));
    drop(lease);
    a.shutdown().await;
}

fn delete(place: &InFile) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = place.file.clone().into_os_string();
        name.push(suffix);
        let _ = std::fs::remove_file(name);
    }
}

/// The file is deleted: the leader steps down and says what is missing. The file is created again:
/// there is a leader again, under a higher epoch.
async fn a_deleted_file_ends_leadership_until_it_is_made_again(place: InFile) {
    let a = place.start("a", SHORT);
    let epoch = a.elected().await.unwrap().epoch();
    let mut changes = a.changes();
    delete(&place);
    assert_eq!(next_loss(&mut changes).await, Loss::Expired);
    let text = complaint(&a, Failure::Fatal).await;
    assert!(text.contains("cannot be opened") && text.contains("ensure_schema"), "{text}");
    assert!(!place.file.exists(), "an elector makes no files");
    place.store().ensure_schema().await.unwrap();
    assert!(a.elected().await.unwrap().epoch() > epoch);
    assert_eq!(place.row().await.holder.unwrap().candidate, a.registration().candidate);
    a.shutdown().await;
}

/// Another database in its place: the leader's own row is not in it, so it does not lead there.
async fn a_replaced_file_is_noticed(_: InFile) {
    // Without a write-ahead log, so that it is one file.
    let (place, new) = (InFile::new().await, InFile::empty());
    execute(&mut new.raw().await, "CREATE TABLE application (x)").await;
    new.store().ensure_schema().await.unwrap();
    let a = place.start("a", SHORT);
    let epoch = a.elected().await.unwrap().epoch();
    let mut changes = a.changes();
    // SQLite refuses to write to a file that was moved away, but reads it without a word.
    let observer = Election::builder("e").node("reader").ttl(SHORT).observer();
    let observer = observer.store(place.store()).build().unwrap().start();
    assert_eq!(followed(&observer).await, epoch);
    // The new file knows of a far higher epoch than the old one.
    let ahead = Epoch::new(epoch.get() + 1_000_000);
    let other = registration("other");
    let query = Query::Attempt { seen: ahead, ttl: LONG, clock_step: Duration::ZERO };
    let mut store = new.store();
    let Answer::Won { epoch: high, .. } = store.answer(&other, &query).await.unwrap() else {
        panic!("a vacant row")
    };
    drop(store);
    delete(&place);
    std::fs::rename(&new.file, &place.file).unwrap();
    assert_eq!(next_loss(&mut changes).await, Loss::Replaced, "at once, not at expiry");
    assert_eq!(followed(&a).await, high);
    let is_high = |leader: &Leader| leader.term.epoch == high;
    observer.watch().until(|status| status.leader.as_ref().is_some_and(is_high)).await;
    place.store().answer(&other, &Query::Resign { epoch: high }).await.unwrap();
    assert!(a.elected().await.unwrap().epoch() > high);
    observer.shutdown().await;
    a.shutdown().await;
}

/// The connection that `ensure_schema` has opened waits for five seconds; an elector's must not.
async fn a_connection_from_before_the_elector_keeps_to_its_bounds(place: InFile) {
    let mut store = place.store();
    store.ensure_schema().await.unwrap();
    let config = elector::<Tokio, _>(place.store(), "a", SHORT).config().clone();
    store.prepare(&config);
    let mut writer = place.raw().await;
    execute(&mut writer, "BEGIN IMMEDIATE").await;
    let query = Query::Attempt { seen: Epoch::NONE, ttl: SHORT, clock_step: Duration::ZERO };
    let asked = now();
    let error = store.answer(&registration("b"), &query).await.unwrap_err();
    assert_eq!(error.kind, Failure::Conflict);
    assert!(now().since(asked) < Duration::from_secs(2), "{:?}", now().since(asked));
}

/// A connection has a thread, and nobody can cancel that while it waits for a lock.
#[cfg(target_os = "linux")]
async fn calls_that_are_given_up_leave_no_threads_behind(place: InFile) {
    let mut writer = place.raw().await;
    execute(&mut writer, "BEGIN IMMEDIATE").await;
    let mut store = place.store();
    let mut who = Candidacy::new(registration("a"));
    let mut most = 0;
    for _ in 0..30 {
        let given_up = timeout::<Tokio, _>(Duration::from_millis(20), store.elect(&mut who));
        assert!(given_up.await.is_none(), "the writer holds the lock");
        most = most.max(threads_of_sqlx());
    }
    assert!(most <= 2, "{most} threads: the writer's, and how many more?");
    execute(&mut writer, "COMMIT").await;
    let row = store.elect(&mut who).await.unwrap();
    assert!(who.leads(&row), "the answer to this question, and to none before");
}

/// How many threads of this process belong to a connection.
#[cfg(target_os = "linux")]
fn threads_of_sqlx() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let named = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    named.filter(|name| name.starts_with("sqlx-sqlite")).count()
}

tests! {
    contenders_wait_a_writer_out_and_win_soon_after: in_file;
    a_leader_that_a_writer_keeps_from_renewing_stops_in_time: in_file;
    a_short_writer_does_not_cost_the_lease: in_file;
    a_deleted_file_ends_leadership_until_it_is_made_again: in_file;
    a_replaced_file_is_noticed: in_file;
    a_connection_from_before_the_elector_keeps_to_its_bounds: in_file;
    calls_that_are_given_up_leave_no_threads_behind: in_file;
}
