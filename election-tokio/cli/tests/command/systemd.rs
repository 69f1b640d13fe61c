//! What the service manager hears: at a real socket, from real processes.

use super::{
    server::{Mute, apply_schema},
    world::{Candidate, World},
};
use election_testing::{Kind, Server};
use rustix::process::Signal;
use std::{
    fs,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram},
    },
    process::Command,
    time::{Duration, Instant},
};

const LONG: [&str; 4] = ["--ttl", "60s", "--grace", "5s"];
/// How long anything may take here.
const PATIENCE: Duration = Duration::from_secs(40);

/// A service manager that only listens.
pub(crate) struct Manager {
    socket: UnixDatagram,
    name: String,
}

impl Manager {
    pub(crate) fn of(world: &World) -> Self {
        let name = world.path().join("notify");
        let socket = UnixDatagram::bind(&name).expect("a socket of our own");
        Self { socket, name: name.display().to_string() }
    }

    /// At a name that is no file.
    fn abstractly(world: &World) -> Self {
        let name = format!("election{}", world.path().display());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let socket = UnixDatagram::bind_addr(&address).expect("a socket of our own");
        Self { socket, name: format!("@{name}") }
    }

    /// Starts a command as a service, whose watchdog may be silent for so many milliseconds.
    pub(crate) fn start(
        &self,
        world: &World,
        mut command: Command,
        watchdog: Option<u32>,
    ) -> Candidate {
        command.env("NOTIFY_SOCKET", &self.name);
        command.envs(watchdog.map(|ms| ("WATCHDOG_USEC", format!("{ms}000"))));
        world.start(command)
    }

    /// The next message, if there is one within this time.
    fn within(&self, time: Duration) -> Option<String> {
        self.socket.set_read_timeout(Some(time)).expect("a socket of our own");
        let mut message = [0; 1024];
        let length = self.socket.recv(&mut message).ok()?;
        Some(String::from_utf8(message[..length].to_vec()).expect("text"))
    }

    #[track_caller]
    pub(crate) fn next(&self) -> String {
        self.within(PATIENCE).expect("another message")
    }

    /// Waits for a message with these words; the news before it, which are no heartbeats.
    #[track_caller]
    fn hears(&self, words: &str) -> Vec<String> {
        let began = Instant::now();
        let mut before = Vec::new();
        while let Some(message) = self.within(PATIENCE.saturating_sub(began.elapsed())) {
            if message.contains(words) {
                return before;
            }
            if message != "WATCHDOG=1" {
                before.push(message);
            }
        }
        panic!("not told {words:?}, but {before:?}");
    }

    /// What has arrived and was not read yet.
    fn rest(&self) -> Vec<String> {
        std::iter::from_fn(|| self.within(Duration::from_millis(1))).collect()
    }
}

#[test]
fn ready_is_not_leading_and_the_status_says_who_leads() {
    let world = World::new();
    let mut first = world.candidate("first", &LONG, "");
    let job = world.start_after(0);
    let manager = Manager::of(&world);
    let run = world.run(&[&["--node", "second"], &LONG[..]].concat(), "slow=1000");
    let mut second = manager.start(&world, run, None);
    let ready = manager.next();
    assert!(ready.starts_with("READY=1\nSTATUS=second: "), "{ready}");
    let epoch = job.epoch;
    let follows = format!("STATUS=second: follows first, under epoch {epoch}");
    if !ready.contains(&follows) {
        manager.hears(&follows);
    }
    assert_eq!(world.notes("start").len(), 1, "it is ready, and does not lead");
    world.listed(2);
    first.send(Signal::TERM);
    assert_eq!(first.exit(), Some(0));
    let next = world.start_after(epoch).epoch;
    manager.hears(&format!("STATUS=second: leads under epoch {next}"));
    assert!(world.output(&mut world.election("resign", &[])).status.success());
    manager.hears("STATUS=second: leadership is over, and its work is ending");
    let last = world.start_after(next).epoch;
    manager.hears(&format!("STATUS=second: leads under epoch {last}"));
    second.send(Signal::TERM);
    manager.hears("STOPPING=1");
    assert!(second.is_running(), "its job has a second to end");
    assert_eq!(second.exit(), Some(0));
    assert_eq!(manager.rest(), ["STATUS=second: leaving"], "it stops once");
    world.assert_exclusive();
}

#[test]
fn an_elector_without_a_job_tells_at_an_abstract_socket() {
    let world = World::new();
    for (command, option) in [("serve", &["--http", "127.77.0.1:0"][..]), ("hold", &[])] {
        let manager = Manager::abstractly(&world);
        let options = [&["--node", "only", "--ttl", "60s", "--grace", "100ms"], option].concat();
        let mut service = manager.start(&world, world.election(command, &options), None);
        let ready = manager.next();
        assert!(ready.starts_with("READY=1\nSTATUS=only: "), "{command}: {ready}");
        if !ready.contains("leads under epoch") {
            manager.hears("STATUS=only: leads under epoch");
        }
        service.send(Signal::TERM);
        manager.hears("STOPPING=1");
        assert_eq!(service.exit(), Some(128 + 15), "{command}");
        assert!(!manager.rest().concat().contains("STOPPING"), "{command} stops twice");
    }
}

/// It works as it would later, when its database goes away.
#[test]
fn a_database_that_is_down_keeps_nothing_from_being_ready() {
    let (world, mute) = (World::new(), Mute::start());
    for url in mute.urls() {
        let manager = Manager::of(&world);
        let mut service = manager.start(&world, world.run_on(&url, &[], ""), Some(200));
        let ready = manager.next();
        // Whoever may ask for the status need not be allowed to read the log.
        assert_eq!(ready, "READY=1\nSTATUS=waiting for the database; see the log");
        (0..3).for_each(|_| assert_eq!(manager.next(), "WATCHDOG=1"));
        service.send(Signal::TERM);
        manager.hears("STOPPING=1");
        assert_eq!(service.exit(), Some(128 + 15));
        fs::remove_file(&manager.name).expect("the socket");
    }
    let manager = Manager::of(&world);
    let only_tries = world.run_on(&mute.urls()[0], &["--try"], "");
    assert_eq!(manager.start(&world, only_tries, None).exit(), Some(125));
    assert!(!manager.rest().concat().contains("READY"), "it has failed, and was never ready");
}

#[test]
fn the_status_says_that_the_database_is_gone() {
    let (world, server) = (World::new(), Server::start(Kind::Postgres));
    apply_schema(&server.url());
    let manager = Manager::of(&world);
    let run = world.run_on(&server.url(), &["--ttl", "2s", "--node", "only"], "");
    let _service = manager.start(&world, run, None);
    world.start_after(0);
    server.freeze();
    manager.hears("; waiting for the database; see the log");
    server.thaw();
}

/// A job that said that it lives would vouch for an elector that is stuck.
#[test]
fn neither_jobs_nor_hooks_can_talk_to_the_manager() {
    let world = World::new();
    let manager = Manager::of(&world);
    let watch = "env > hook.new && mv hook.new hook";
    let job = ["--", "sh", "-c", "env > job; while [ ! -e hook ]; do sleep 0.01; done"];
    let mut run = world.election("run", &["--on-lead", watch]);
    run.args(job).env("WATCHDOG_PID", "1").env("MARK", "there");
    let mut service = manager.start(&world, run, Some(10));
    assert_eq!(service.exit(), Some(0), "{}", service.messages());
    for environment in ["job", "hook"] {
        let text = fs::read_to_string(world.path().join(environment)).expect("a file");
        assert!(text.contains("MARK=there"), "{text}");
        assert!(!text.contains("NOTIFY_SOCKET") && !text.contains("WATCHDOG"), "{text}");
    }
    // And its own watchdog was meant for another process.
    let said = manager.rest();
    assert!(said[0].starts_with("READY=1") && said.contains(&"STOPPING=1".to_owned()), "{said:?}");
    assert!(!said.concat().contains("WATCHDOG"), "{said:?}");
}

#[test]
fn an_unreachable_manager_is_warned_of_once() {
    let world = World::new();
    let absent = world.path().join("absent").display().to_string();
    for (socket, words) in [
        (&*absent, "does NOTIFY_SOCKET name the socket of a running manager?"),
        ("run/notify", "neither an absolute path nor an abstract name with `@`"),
    ] {
        let mut run = world.run(&[], "exit=6");
        run.env("NOTIFY_SOCKET", socket).env("WATCHDOG_USEC", "1000000");
        let mut service = world.start(run);
        assert_eq!(service.exit(), Some(6), "{socket}: {}", service.messages());
        let said = service.messages();
        assert!(said.contains(words), "{socket}: {said}");
        assert_eq!(said.matches("service manager").count(), 1, "{socket}: {said}");
    }
    // A watchdog that makes no sense is none.
    let manager = Manager::of(&world);
    let mut run = world.run(&[], "exit=6");
    run.env("WATCHDOG_USEC", "soon");
    let mut service = manager.start(&world, run, None);
    assert_eq!(service.exit(), Some(6));
    service.says("WATCHDOG_USEC=soon is not a number of microseconds");
    assert!(manager.next().starts_with("READY=1"));
}

/// A manager that does not read holds nothing up.
#[test]
fn a_manager_that_does_not_read_delays_nothing() {
    let world = World::new();
    let manager = Manager::of(&world);
    let own = UnixDatagram::unbound().expect("a socket of our own");
    own.set_nonblocking(true).expect("a socket of our own");
    while own.send_to(b"full", &manager.name).is_ok() {}
    let mut service = manager.start(&world, world.run(&LONG, "code=5"), Some(1000));
    let job = world.start_after(0);
    service.send(Signal::TERM);
    assert_eq!(service.exit(), Some(5), "{}", service.messages());
    assert!(!service.messages().contains("WARN"), "{}", service.messages());
    let mut service = manager.start(&world, world.run(&LONG, "code=5"), Some(1000));
    world.start_after(job.epoch);
    while manager.within(PATIENCE).expect("a message") == "full" {}
    manager.hears("WATCHDOG=1");
    service.send(Signal::TERM);
    manager.hears("STOPPING=1");
    assert_eq!(service.exit(), Some(5), "{}", service.messages());
}
