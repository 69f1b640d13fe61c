//! Strangers by the thousand at the control socket: the member goes on, and so does its job.

use super::{
    members::{IDS, Members, leads},
    process::{alive, eventually},
};
use std::{
    fs,
    io::{ErrorKind, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    thread,
    time::Duration,
};

/// How many connections are held at once.
const CROWD: usize = 1_000;
/// What a request may have in bytes, as the command's own documentation says.
const LONGEST: usize = 4 * 1024;

fn descriptors(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("a process").count()
}

/// What comes back for these bytes, until the member hangs up.
fn answer(socket: &PathBuf, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).expect("a member that answers");
    let _ = stream.write_all(bytes); // it may have hung up
    let mut said = Vec::new();
    if let Err(error) = stream.read_to_end(&mut said) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn a_thousand_connections_cost_a_member_a_few_descriptors() {
    let members = Members::new();
    let (all, job, first) = members.led();
    let (socket, pid) = (members.socket(IDS[first]), all[first].pid());
    let before = descriptors(pid);
    let connect = || UnixStream::connect(&socket).expect("a member that answers");
    let crowd: Vec<_> = (0..CROWD).map(|_| connect()).collect();
    // The last one was taken, and told that there are too many, or waits to be.
    let held = descriptors(pid);
    println!("{before} descriptors, and {held} with {CROWD} connections");
    assert!(held < before + 20, "{before} descriptors, then {held}");
    assert!(alive(job.pid));
    drop(crowd);
    members.settled(IDS[first]);
    assert_eq!(members.world.notes("start").len(), 1);
}

#[test]
fn no_bytes_at_the_socket_make_a_member_do_anything() {
    let members = Members::new();
    let (all, job, first) = members.led();
    let socket = members.socket(IDS[first]);
    let unknown = "does not know the request";
    let nested = "[".repeat(LONGEST - 1) + "\n";
    let long =
        format!("{{\"ask\":\"resign\",\"to\":\"{}\",\"within_ms\":1}}\n", "x".repeat(LONGEST));
    let requests: [&[u8]; 9] = [
        b"\xff\xfe\0\n",
        nested.as_bytes(),
        long.as_bytes(),
        b"{\"ask\":\"resign\"}\n",
        b"{\"ask\":\"resign\",\"to\":7,\"within_ms\":1}\n",
        b"{\"ask\":\"pause\",\"for_ms\":-1,\"within_ms\":1}\n",
        b"{\"ask\":\"pause\",\"for_ms\":1e99,\"within_ms\":1}\n",
        b"{\"ask\":\"resume\",\"within_ms\":99999999999999999999}\n",
        b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n",
    ];
    for request in requests {
        let said = answer(&socket, request);
        // Of what is too long, less may come back: who has not read all hangs up on the rest.
        let is_long = request.len() >= LONGEST && said.is_empty();
        assert!(
            is_long || said.contains(unknown),
            "{:?}: {said}",
            String::from_utf8_lossy(request)
        );
    }
    for half in [&b""[..], b"{\"ask\":\"resign\",\"to\":null,"] {
        let mut stream = UnixStream::connect(&socket).expect("a member that answers");
        stream.write_all(half).expect("a reader");
        drop(stream);
    }
    members.settled(IDS[first]);
    assert!(alive(job.pid) && all.len() == 3);
    assert_eq!(members.world.notes("start").len(), 1);
}

/// Writers that never come to an end and readers that never read have their time, and no more.
#[test]
fn who_is_slow_at_the_socket_gets_no_more_than_its_time() {
    let members = Members::new();
    let (all, job, first) = members.led();
    let socket = members.socket(IDS[first]);
    let trickles = thread::spawn({
        let socket = socket.clone();
        move || {
            let mut stream = UnixStream::connect(&socket).expect("a member that answers");
            let pause = Duration::from_millis(20);
            stream.set_read_timeout(Some(pause)).expect("our own socket");
            let mut bytes = 0;
            // A byte now and then, until the member hangs up.
            while stream.write_all(b" ").is_ok() {
                bytes += 1;
                match stream.read(&mut [0; 64]) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    _ => break,
                }
            }
            bytes
        }
    });
    let mut deaf: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = UnixStream::connect(&socket).expect("a member that answers");
            stream.write_all(b"{\"ask\":\"observe\"}\n").expect("a reader");
            stream
        })
        .collect();
    members.status(IDS[first]);
    let bytes = trickles.join().expect("a writer");
    assert!((1..LONGEST).contains(&bytes), "hung up on for its slowness: {bytes} bytes");
    // Leadership moves past those that do not read.
    let resigned = members.ask("resign", IDS[first], &[]);
    assert!(resigned.status.success(), "{resigned:?}");
    let next = members.world.start_after(job.epoch);
    assert!(alive(next.pid) && leads(&all, &next) < 3);
    for stream in &mut deaf {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("our own socket");
        let mut said = Vec::new();
        eventually("what was not read at the time", || {
            let mut piece = [0; 4_096];
            let count = stream.read(&mut piece).expect("a member that goes on");
            said.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&said);
            text.contains(&format!("\"epoch\":{}", next.epoch)).then_some(())
        });
    }
    members.world.assert_exclusive();
}
