//! What a test from outside cannot bring about, or only in a minute: an elector that is stuck in a
//! process that is not, and connections that last too long.

use super::{
    knowledge::Knowledge,
    server::{self, Patience},
};
use election_tokio::{Election, SqliteStore};
use metrics_exporter_prometheus::PrometheusBuilder;
use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

/// A port of this test's own.
fn started(patience: Patience) -> (SocketAddr, Arc<Knowledge>) {
    let knowledge =
        Arc::new(Knowledge::new(PrometheusBuilder::new().build_recorder().handle(), false));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    (server::start(listener, knowledge.clone(), patience).expect("a thread"), knowledge)
}

/// Asks, and returns the whole answer.
fn ask(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("an open port");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("a reader");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Asks until the answer has this status, and these words.
fn until(address: SocketAddr, path: &str, status: u16, words: &str) {
    let began = Instant::now();
    loop {
        let answer = ask(address, path);
        if answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(words) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(40), "no {status} with {words}: {answer}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_stuck_elector_is_told_until_it_goes_on() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let store = SqliteStore::open(place.path().join("e.db")).expect("a plain path");
    let (address, knowledge) = started(Patience::USUAL);
    assert!(ask(address, "/livez").starts_with("HTTP/1.1 200 "), "a start is no illness");
    assert!(ask(address, "/readyz").starts_with("HTTP/1.1 503 "));
    let (resume, blocked) = mpsc::channel::<()>();
    let (leave, left) = tokio::sync::oneshot::channel::<()>();
    let elector = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let mut store = store;
            store.ensure_schema().await.expect("tables");
            let builder = Election::builder("stuck").node("only").store(store);
            let handle = builder.ttl(Duration::from_secs(1)).build().expect("a lease").start();
            knowledge.joined(handle.clone(), None);
            handle.elected().await.expect("an elector");
            let _ = blocked.recv(); // blocks the only thread there is
            let _ = left.await;
            handle.shutdown().await;
        });
    });
    until(address, "/leader", 200, "{\"name\":\"only\",\"epoch\":");
    // By the clock alone it does not lead any more; whoever restarts it gives it more time.
    until(
        address,
        "/leader",
        200,
        "{\"name\":\"\",\"epoch\":null,\"label\":null,\"is_leader\":false,\"trusted_ms\":null",
    );
    assert!(ask(address, "/livez").starts_with("HTTP/1.1 200 "), "it is late, and not yet stuck");
    until(address, "/livez", 500, "the elector is stuck: its next step is overdue by 1");
    until(address, "/readyz", 503, "stuck");
    until(address, "/leader", 503, "\"is_leader\":false");
    resume.send(()).expect("a blocked thread");
    until(address, "/livez", 200, "alive");
    until(address, "/readyz", 200, "ready");
    leave.send(()).expect("a waiting elector");
    elector.join().expect("an elector that leaves");
    assert!(ask(address, "/livez").contains("the elector has ended"));
}

/// Its clients are to stop with it.
#[tokio::test]
async fn a_leader_whose_work_is_ending_is_no_leader() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut store = SqliteStore::open(place.path().join("e.db")).expect("a plain path");
    store.ensure_schema().await.expect("tables");
    let election = Election::builder("ending").node("only").store(store).build();
    let handle = election.expect("a lease").start();
    let knowledge = Knowledge::new(PrometheusBuilder::new().build_recorder().handle(), false);
    knowledge.joined(handle.clone(), None);
    let says = || {
        let said = serde_json::to_value(knowledge.leader()).expect("texts and numbers");
        (said["name"].clone(), said["is_leader"].clone(), said["trusted_ms"].is_null())
    };
    let lease = handle.elected().await.expect("an elector");
    assert_eq!(says(), ("only".into(), true.into(), false));
    handle.withdraw();
    lease.lost().await;
    assert!(handle.status().unreleased, "its work goes on for a while");
    assert_eq!(says(), ("".into(), false.into(), true));
    drop(lease);
    handle.shutdown().await;
}

/// Whether it always has another question, or never reads an answer.
#[test]
fn no_connection_lasts_for_ever() {
    let whole = Duration::from_millis(500);
    let (address, _desk) = started(Patience { whole, ..Patience::USUAL });
    for reads in [true, false] {
        let began = Instant::now();
        let mut stream = TcpStream::connect(address).expect("an open port");
        stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a socket of our own");
        let mut sink = [0; 4096];
        let mut asks = || {
            stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
            if reads { stream.read(&mut sink) } else { Ok(1) }
        };
        while matches!(asks(), Ok(1..)) {}
        let took = began.elapsed();
        assert!(took >= whole && took < whole * 10, "reads: {reads}: {took:?}");
    }
    // An idle one has less time.
    let (address, _desk) = started(Patience { head: whole, ..Patience::USUAL });
    let mut stream = TcpStream::connect(address).expect("an open port");
    let began = Instant::now();
    write!(stream, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a reader");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer, and the end");
    assert!(answer.starts_with("HTTP/1.1 200 ") && began.elapsed() >= whole, "{answer}");
    assert!(began.elapsed() < whole * 10, "{:?}", began.elapsed());
}

/// The memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

/// Nobody may ever ask for metrics, and they are recorded all the same.
#[test]
fn what_is_recorded_and_never_read_takes_no_memory() {
    const RECORDED: u32 = 5_000_000;
    let builder = PrometheusBuilder::new().set_buckets(&[1.0]).expect("a bound");
    let recorder = builder.build_recorder();
    let knowledge = Knowledge::new(recorder.handle(), false);
    let before = resident();
    metrics::with_local_recorder(&recorder, || {
        let spans = metrics::histogram!("spans");
        for nth in 0..RECORDED {
            spans.record(0.5);
            if nth % 10_000 == 0 {
                knowledge.tidy();
            }
        }
    });
    let grown = resident().saturating_sub(before);
    // Eight bytes each would be 40,000 KiB.
    assert!(grown < 10_000, "{grown} KiB");
    let told = knowledge.metrics();
    assert!(told.contains(&format!("spans_count {RECORDED}")), "{told}");
}
