//! Whatever comes in at the HTTP port: it takes a bounded part of the process, a probe comes
//! through, and the election goes on as before.

use super::{
    client::{Answer, connect, get, leader, leader_until, rest, say},
    three::ANY,
};
use crate::{
    process::{eventually, within},
    world::World,
};
use std::{
    fs,
    io::{self, ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// How many connections the port keeps.
const KEPT: usize = 64;
/// How long it waits for the head of a request.
const SLOW: Duration = Duration::from_secs(5);

/// Opens this many connections, says this on each, and reads nothing.
fn crowd(port: SocketAddr, count: usize, words: &str) -> Vec<TcpStream> {
    let open = || {
        let mut stream = connect(port).expect("a port that accepts");
        // The other end may have closed it for a newer one.
        let _ = stream.write_all(words.as_bytes());
        stream
    };
    (0..count).map(|_| open()).collect()
}

/// How many of them the other end still keeps.
fn kept(crowd: &[TcpStream]) -> usize {
    let is_open = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).expect("a socket of our own");
        let mut sink = [0; 4096];
        loop {
            match stream.read(&mut sink) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    };
    crowd.iter().filter(|stream| is_open(stream)).count()
}

/// The memory of a process in KiB: now, or the most that it ever had.
fn memory(pid: i32, line: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a living process");
    let line = status.lines().find_map(|it| it.strip_prefix(line)).expect("a line of memory");
    line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

/// As `nc -N` does: it closes its side when it has said everything.
#[test]
fn a_client_that_has_said_everything_hears_the_answer() {
    let world = World::new();
    let serve = world.start(world.election("serve", &["--http", "127.77.0.1:0"]));
    let mut stream = connect(super::client::port(&serve)).expect("a port that accepts");
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("a socket of our own");
    stream.shutdown(Shutdown::Write).expect("a socket of our own");
    let answer = Answer::of(&rest(&mut stream).expect("an answer")).expect("an answer");
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn hundreds_of_slow_heads_do_not_block_a_probe() {
    let world = World::new();
    let (serving, port) = world.serve("one", &["--ttl", "3s"]);
    let epoch = leader_until("a leader", port, |it| it["is_leader"] == true)["epoch"].clone();
    let began = Instant::now();
    let mut slow = crowd(port, 400, "GET /leader HTTP/1.1\r\nX-Slow: ");
    eventually("no more than are kept", || (kept(&slow) <= KEPT).then_some(()));
    assert!(began.elapsed() < SLOW, "not before their time was over: {:?}", began.elapsed());
    let sockets = || {
        let files = fs::read_dir(format!("/proc/{}/fd", serving.pid())).expect("a living process");
        let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    };
    // The listening one, and perhaps that of the question before.
    assert!(sockets() <= KEPT + 10, "{} sockets", sockets());
    for path in ["/livez", "/readyz", "/leader", "/metrics"] {
        let asked = Instant::now();
        assert_eq!(get(port, path).status, 200, "{path}");
        assert!(asked.elapsed() < Duration::from_secs(2), "{path}: {:?}", asked.elapsed());
    }
    // They go on byte by byte, and are closed all the same.
    eventually("the end of every slow head", || {
        for stream in &mut slow {
            let _ = stream.write_all(b"x");
        }
        (kept(&slow) == 0).then_some(())
    });
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(leader(port)["epoch"], epoch, "it went on leading");
}

/// Only those that are open count: a probe that comes again and again pushes nobody out.
#[test]
fn who_stays_is_not_closed_for_those_that_have_gone() {
    let world = World::new();
    let (_serving, port) = world.serve("one", &[]);
    let mut stays = connect(port).expect("a port that accepts");
    let asks = |stream: &mut TcpStream| {
        let mut answer = [0; 4096];
        stream
            .write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .expect("an open connection");
        let count = stream.read(&mut answer).expect("an answer");
        assert!(answer[..count].starts_with(b"HTTP/1.1 200 "), "{count} bytes");
    };
    for _ in 0..=2 * KEPT {
        asks(&mut stays);
        assert_eq!(get(port, "/livez").status, 200);
    }
    asks(&mut stays);
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let world = World::new();
    let (serving, port) = world.serve("one", &[]);
    leader_until("a leader", port, |it| it["is_leader"] == true);
    let start = "GET /leader HTTP/1.1\r\n";
    let few_too_many = format!("{start}{}\r\n", "a: b\r\n".repeat(100));
    let long = format!("{start}a: {}\r\n\r\n", "b".repeat(10_000_000));
    let path = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    for (what, head) in [("few too many", few_too_many), ("long", long), ("path", path)] {
        let answer = say(port, head.as_bytes()).expect("an end");
        // Whoever sends more than is read may lose the answer to the reset behind it.
        if let Some(answer) = Answer::of(&answer) {
            assert!([400, 414, 431].contains(&answer.status), "{what}: {answer:?}");
        }
        assert!(!String::from_utf8_lossy(&answer).contains("is_leader"), "{what}");
    }
    let usual = format!("{start}{}Connection: close\r\n\r\n", "a: b\r\n".repeat(20));
    let answer = say(port, usual.as_bytes()).expect("an end");
    assert_eq!(Answer::of(&answer).map(|it| it.status), Some(200));
    let most = memory(serving.pid(), "VmHWM:");
    assert!(most < 200_000, "{most} KiB");
}

#[test]
fn a_body_is_not_read() {
    const BODY: usize = 100 << 20;
    let world = World::new();
    let (serving, port) = world.serve("one", &[]);
    leader_until("a leader", port, |it| it["is_leader"] == true);
    let before = memory(serving.pid(), "VmHWM:");
    let bounded = format!("Content-Length: {BODY}\r\n");
    for (method, length, status) in [
        ("POST /leader", bounded.as_str(), 405),
        ("GET /leader", bounded.as_str(), 200),
        ("POST /x", "Transfer-Encoding: chunked\r\n", 404),
    ] {
        let mut stream = connect(port).expect("a port");
        let head = format!("{method} HTTP/1.1\r\n{length}\r\n");
        stream.write_all(head.as_bytes()).expect("a reader");
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("an answer before the body");
        assert_eq!(&first[..], format!("HTTP/1.1 {status}").as_bytes(), "{method}");
        let piece = vec![b'7'; 1 << 16];
        let sent = (0..BODY / piece.len()).take_while(|_| stream.write_all(&piece).is_ok()).count();
        assert!(sent < BODY / piece.len(), "{method}: all of the body was taken");
        let _ = rest(&mut stream).expect("an end");
    }
    let grown = memory(serving.pid(), "VmHWM:") - before;
    assert!(grown < 10_000, "{grown} KiB more");
    assert_eq!(get(port, "/leader").status, 200);
}

/// So many clients ask these paths without a pause and read what comes, until told to stop; counts the
/// answers.
fn flood<T>(
    port: SocketAddr,
    clients: usize,
    paths: &[&str],
    meanwhile: impl FnOnce(&dyn Fn() -> u64) -> T,
) -> T {
    let (over, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for path in paths.iter().cycle().take(clients) {
            let (over, answers) = (&over, &answers);
            let questions = format!("GET {path} HTTP/1.1\r\n\r\n").repeat(256);
            scope.spawn(move || {
                let mut stream = connect(port).expect("a port that accepts");
                let mut asks = stream.try_clone().expect("a socket of our own");
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed)
                        && asks.write_all(questions.as_bytes()).is_ok()
                    {}
                });
                let mut sink = vec![0; 1 << 16];
                while let Ok(read @ 1..) = stream.read(&mut sink) {
                    // An answer begins with HTTP.
                    let heads = sink[..read].windows(4).filter(|word| word == b"HTTP").count();
                    answers.fetch_add(u64::try_from(heads).expect("few"), Ordering::Relaxed);
                    if over.load(Ordering::Relaxed) {
                        let _ = stream.shutdown(Shutdown::Both); // who asks does not wait either
                        break;
                    }
                }
            });
        }
        let answered = || answers.load(Ordering::Relaxed);
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| meanwhile(&answered)));
        over.store(true, Ordering::Relaxed);
        found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn a_flood_of_questions_delays_no_renewal() {
    let world = World::new();
    let options = [&["--node", "one", "--ttl", "2s"][..], &ANY].concat();
    let running = world.start(world.run(&options, ""));
    let port = super::client::port(&running);
    let job = world.start_after(0);
    let renewals = |more: u64| {
        let before = world.row().renewals;
        let began = Instant::now();
        eventually("renewals", || (world.row().renewals >= before + more).then_some(()));
        began.elapsed()
    };
    let calm = renewals(6);
    let paths = ["/metrics", "/leader", "/readyz", "/nowhere"];
    let (flooded, answers) = flood(port, 4, &paths, |answered| {
        eventually("a flood", || (answered() > 100).then_some(()));
        (renewals(6), answered())
    });
    println!("six renewals took {calm:?}, and {flooded:?} beside {answers} answers");
    assert!(flooded < calm * 3 / 2, "{flooded:?} beside {answers} answers, {calm:?} without");
    assert_eq!((world.row().epoch.get(), leader(port)["is_leader"] == true), (job.epoch, true));
}

/// How many bytes the other end has written to this one and this end has not taken.
fn unread(stream: &TcpStream) -> u64 {
    let port =
        |address: io::Result<SocketAddr>| format!(":{:04X}", address.expect("a port").port());
    let (near, far) = (port(stream.local_addr()), port(stream.peer_addr()));
    let table = fs::read_to_string("/proc/net/tcp").expect("a table");
    let row = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut row = row.filter(|row| row[1].ends_with(&far) && row[2].ends_with(&near));
    let row = row.next().expect("the other end");
    let (waits, _) = row[4].split_once(':').expect("two numbers");
    u64::from_str_radix(waits, 16).expect("a number")
}

/// Questions cost little, and answers that nobody reads are not written without end.
#[test]
fn who_asks_and_never_reads_is_answered_until_little_is_unread() {
    let world = World::new();
    let (_serving, port) = world.serve("one", &[]);
    leader_until("a leader", port, |it| it["is_leader"] == true);
    let mut stream = connect(port).expect("a port that accepts");
    stream.set_nonblocking(true).expect("a socket of our own");
    let questions = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    let mut most = 0;
    let grows = within(Duration::from_secs(3), || {
        let _ = stream.write(questions.as_bytes());
        most = unread(&stream).max(most);
        most > 256 * 1024
    });
    assert!(!grows, "{most} bytes");
    assert!(most > 0, "it was answered");
}

/// However many questions wait on each connection, each gets one answer before its turn is over.
#[test]
fn a_probe_is_answered_beside_a_crowd_that_never_stops() {
    const CROWD: usize = 32;
    const ROUNDS: usize = 8;
    let world = World::new();
    let (_serving, port) = world.serve("one", &[]);
    leader_until("a leader", port, |it| it["is_leader"] == true);
    let mut waited = flood(port, CROWD, &["/livez"], |answered| {
        eventually("a crowd", || (answered() > 4_000).then_some(()));
        let probe = |_| {
            let before = answered();
            assert_eq!(get(port, "/livez").status, 200);
            answered() - before
        };
        (0..15).map(probe).collect::<Vec<_>>()
    });
    waited.sort_unstable();
    println!("probes waited for so many answers to others: {waited:?}");
    let most = u64::try_from(CROWD * ROUNDS).expect("few");
    assert!(waited[waited.len() / 2] <= most, "{waited:?}");
}

/// A page of a stranger, whose name leads here (DNS rebinding), may read what this machine's own
/// programs read. Its browser names it.
#[test]
fn a_page_whose_name_leads_to_this_port_reads_nothing() {
    let world = World::new();
    let asked = |port: SocketAddr, host: &str| {
        let request = format!("GET /leader HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
        let answer = say(port, request.as_bytes()).expect("an answer");
        Answer::of(&answer).expect("an answer")
    };
    let strangers = [
        "Host: evil.example\r\n",
        "Host: evil.example:4040\r\n",
        "Host: localhost.evil.example\r\n",
        "Host: localhost@evil.example\r\n",
        "Host: 192.0.2.7\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: \r\n",
        "Host: \u{e9}\r\n",
    ];
    let own = [
        "Host: localhost\r\n",
        "Host: LOCALHOST:1\r\n",
        "Host: 127.77.0.1\r\n",
        "Host: 127.0.0.1:4040\r\n",
        "Host: [::1]:4040\r\n",
        "",
    ];
    let (_serving, port) = world.serve("one", &[]);
    leader_until("a leader", port, |it| it["is_leader"] == true);
    for host in strangers {
        let answer = asked(port, host);
        assert_eq!(answer.status, 421, "{host:?}: {answer:?}");
        assert!(
            answer.body.contains("--http-exposed") && !answer.body.contains("one"),
            "{answer:?}"
        );
    }
    for host in own {
        assert_eq!(asked(port, host).status, 200, "{host:?}");
    }
    // A port that others reach is asked by names that nobody here knows.
    let (_exposed, port) = world.serve("two", &["--http-exposed"]);
    for host in strangers {
        assert_ne!(asked(port, host).status, 421, "{host:?}");
    }
}
