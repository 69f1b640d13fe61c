//! The example of a service, which every adapter has: the same one, in its runtime's words.

use super::{Program, process::PATIENCE};
use rustix::process::Signal;
use std::time::Instant;

/// Two replicas of the example of this name: the leader is told to end, and the other leads at once;
/// then that one is killed, and the first, started again, leads when the lease has run out.
///
/// # Panics
/// If one of them does not.
pub fn a_service_is_handed_over(example: &str) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = place.path().join("job.db");
    let start = |node| {
        let replica = Program::start(example, &[file.to_str().expect("a plain path"), node]);
        replica.says("is ready");
        replica
    };
    let mut a = start("a");
    let first = epoch(&a.says("the job begins"));
    let mut b = start("b");
    for signal in [Signal::TERM, Signal::INT] {
        let told = Instant::now();
        a.send(signal);
        a.says("the job ends");
        a.says("has left");
        let next = epoch(&b.says("the job begins"));
        assert!(next > first, "{next} after {first}");
        let took = told.elapsed();
        assert!(took < PATIENCE / 10, "released, not run out: {took:?}");
        assert!(a.ends().success(), "a graceful end is no error");
        (a, b) = (b, start("again"));
    }
    a.send(Signal::KILL);
    a.ends();
    b.says("the job begins");
}

/// The number at the end of what the example says.
fn epoch(line: &str) -> u64 {
    let (_, epoch) = line.rsplit_once("epoch ").expect("an epoch");
    epoch.parse().expect("a number")
}
