//! What a test from outside cannot bring about: an elector that is stuck in a process that is not.

use super::{environment::Environment, service::Service};
use election_tokio::{Election, Handle, SqliteStore};
use std::{
    ffi::OsString,
    os::unix::net::UnixDatagram,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// What a manager says that listens there.
fn told(socket: &str, watchdog: &str, watched: Option<u32>) -> Option<Environment> {
    Environment::by(|variable| match variable {
        "NOTIFY_SOCKET" => Some(OsString::from(socket)),
        "WATCHDOG_USEC" => Some(OsString::from(watchdog)),
        "WATCHDOG_PID" => watched.map(|pid| OsString::from(pid.to_string())),
        _ => None,
    })
}

#[test]
fn a_watchdog_is_understood_only_if_it_is_meant() {
    let watchdog = |text, watched| told("/run/x", text, watched).and_then(|told| told.watchdog);
    let own = std::process::id();
    assert_eq!(watchdog("1500000", None), Some(Duration::from_millis(1500)));
    assert_eq!(watchdog("1500000", Some(own)), Some(Duration::from_millis(1500)));
    assert_eq!(watchdog("1500000", Some(own + 1)), None);
    for wrong in ["0", "-1", "1s", "", "99999999999999999999"] {
        assert_eq!(watchdog(wrong, None), None, "{wrong:?}");
    }
}

/// Later than its time a manager kills, however busy the machine is.
#[test]
fn the_watchdog_hears_twice_as_often_as_it_asks_for() {
    const WATCHDOG: Duration = Duration::from_millis(400);
    const STEPS: usize = 4;
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = place.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket of our own");
    let micros = WATCHDOG.as_micros().to_string();
    let service = Service::new(told(path.to_str().expect("UTF-8"), &micros, None));
    service.waits("waiting".to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Each step takes longer than half that time. A busy machine delays both: a heartbeat that is
    // due comes before the end of the step all the same. Together they fit into the socket.
    runtime.expect("a runtime").block_on(service.telling_of(async {
        for _ in 0..STEPS {
            tokio::time::sleep(WATCHDOG * 3 / 5).await;
        }
    }));
    manager.set_nonblocking(true).expect("a socket of our own");
    let mut message = [0; 512];
    let mut beats = 0;
    while let Ok(length) = manager.recv(&mut message) {
        beats += usize::from(&message[..length] == b"WATCHDOG=1");
    }
    assert!(beats > STEPS, "one at once, and one in each step, but {beats}");
}

#[test]
fn only_a_path_and_an_abstract_name_are_sockets() {
    for right in ["/run/systemd/notify", "@a"] {
        assert!(told(right, "1", None).is_some(), "{right}");
    }
    let long = format!("/{}", "x".repeat(200));
    for wrong in ["", "@", "notify", "./notify", "vsock:2:1234", &long] {
        assert!(told(wrong, "1", None).is_none(), "{wrong}");
    }
}

/// An elector on a thread of its own, which stands still between two words.
fn elector(store: SqliteStore, words: mpsc::Receiver<()>, tell: mpsc::Sender<Handle>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut store = store;
        store.ensure_schema().await.expect("tables");
        let builder = Election::builder("stuck").node("only").store(store);
        let handle = builder.ttl(Duration::from_secs(1)).build().expect("a lease").start();
        tell.send(handle.clone()).expect("a test that listens");
        while words.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let _ = words.recv(); // blocks the only thread there is
        while words.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        handle.shutdown().await;
    });
}

/// Waits for a message that begins like this.
#[track_caller]
fn hears(manager: &UnixDatagram, words: &str) {
    let (began, mut message) = (Instant::now(), [0; 512]);
    while began.elapsed() < Duration::from_secs(40) {
        let length = manager.recv(&mut message).unwrap_or_default();
        if message[..length].starts_with(words.as_bytes()) {
            return;
        }
    }
    panic!("no {words}");
}

#[test]
fn a_stuck_elector_is_not_vouched_for_until_it_goes_on() {
    const WATCHDOG: Duration = Duration::from_secs(1);
    let place = tempfile::tempdir().expect("a temporary directory");
    let store = SqliteStore::open(place.path().join("e.db")).expect("a plain path");
    let path = place.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket of our own");
    manager.set_read_timeout(Some(WATCHDOG * 2)).expect("a socket of our own");
    let service =
        Service::new(told(path.to_str().expect("UTF-8"), &WATCHDOG.as_micros().to_string(), None));
    let (word, words) = mpsc::channel();
    let (tell, hear) = mpsc::channel();
    let stuck = thread::spawn(move || elector(store, words, tell));
    service.joined(&hear.recv().expect("an elector"));
    let (end, ends) = tokio::sync::oneshot::channel::<()>();
    let telling = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(service.telling_of(ends)).expect("a word");
    });
    hears(&manager, "READY=1\nSTATUS=only: ");
    (0..3).for_each(|_| hears(&manager, "WATCHDOG=1"));
    word.send(()).expect("an elector");
    // The thread that tells goes on, and says that leadership is over; then it is silent.
    let (mut beats, mut message) = (0, [0; 512]);
    while let Ok(length) = manager.recv(&mut message) {
        beats += usize::from(&message[..length] == b"WATCHDOG=1");
        assert!(beats < 8, "a stuck elector is vouched for");
    }
    word.send(()).expect("an elector");
    hears(&manager, "WATCHDOG=1");
    word.send(()).expect("an elector");
    stuck.join().expect("an elector that leaves");
    end.send(()).expect("a service");
    hears(&manager, "STOPPING=1");
    telling.join().expect("a service");
}
