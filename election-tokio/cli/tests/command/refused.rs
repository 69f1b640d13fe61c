//! A member that others refuse: it tries again ever more rarely, and at once when there is a reason.

use super::members::{DOWN_AFTER, Members, said};
use std::{
    io::Write as _,
    net::TcpListener,
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

/// Longer than any wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers everybody as no member does, and tells when they came.
fn stranger(address: &str) -> Receiver<Instant> {
    let listener = TcpListener::bind(address).expect("a member's port");
    let (tells, told) = mpsc::channel();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            if tells.send(Instant::now()).is_err() {
                return;
            }
        }
    });
    told
}

#[test]
fn a_refused_member_backs_off_until_its_certificate_changes() {
    let members = Members::certified();
    let knocks = stranger(members.address(1));
    let member = members.start("n1", "");
    let next = || knocks.recv_timeout(PATIENCE).expect("another attempt");
    let first: Vec<_> = (0..12).map(|_| next()).collect();
    assert!(first[3] - first[0] < DOWN_AFTER, "the first ones follow each other: {first:?}");
    let rests = first[11] - first[10];
    // Half of a wait is drawn.
    assert!(rests > DOWN_AFTER / 3 && rests < 2 * DOWN_AFTER, "{rests:?} in between");
    let mut add = members.bare(&["cluster", "add-key", "n1", "--force", "--cluster"]);
    said(&members.world.output(add.arg(members.file_of("n1"))));
    member.says("new certificates are in use");
    let quick: Vec<_> = (0..8).map(|_| next()).collect();
    let is_quick = |four: &[Instant]| four[3] - four[0] < DOWN_AFTER / 4;
    assert!(quick.windows(4).any(is_quick), "{quick:?}");
}
