//! A node whose credentials change while it runs.

use super::*;
use crate::quorum::{fake::Secured, keys::Keys};
use std::{thread, time::Instant};

/// Whoever is on no list any more is not spoken to.
#[test]
fn a_node_takes_other_credentials_up() {
    let b = Secured::new();
    let mut around = Around::told_the_time();
    around.host.keys = Keys::new(&b.security());
    let told = capture::told(|| drop(around.takes(None)));
    assert_eq!(told, [""; 0]);
    b.becomes_strict();
    b.keyring.ask();
    let began = Instant::now();
    while capture::told(|| drop(around.takes(None))) != ["certificates"] {
        assert!(began.elapsed() < Duration::from_secs(4), "it does not look");
        thread::yield_now();
    }
}
