//! Whom leadership is not handed over to, and what is said of it: the one reason that there is.

use super::{
    members::{IDS, Members, refused},
    process::eventually,
};

#[test]
fn an_unelectable_successor_is_told_with_its_own_reason() {
    let members = Members::with("", ["", "", "witness = true"]);
    let (_all, _job, first) = members.led();
    let output = members.ask("resign", IDS[first], &["--to", "n3"]);
    refused(
        &output,
        125,
        &["n3 cannot be elected now, because it is a witness", "name another member"],
    );
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains("just started"), "one reason, and no list of them: {told}");
}

/// It supports the leader from its first heartbeat on: nothing is left of its last life that could
/// bind it to another.
#[test]
fn a_successor_that_has_just_started_takes_over() {
    let members = Members::new();
    let (mut all, job, first) = members.led();
    let heir = (first + 1) % 3;
    all[heir].kill();
    let again = members.start(IDS[heir], "");
    eventually("an order that is carried out", || {
        members.ask("resign", IDS[first], &["--to", IDS[heir]]).status.success().then_some(())
    });
    let status = members.status(IDS[heir]);
    assert!(status["boots_ms"].is_null(), "{status}");
    let next = members.world.start_after(job.epoch);
    assert_eq!(next.elector, again.pid(), "{next:?}");
    members.world.assert_exclusive();
}
