//! Whom leadership is not handed over to, and what is said of it: the one reason that there is.

use super::{
    members::{IDS, Members, refused},
    process::eventually,
};

#[test]
fn a_successor_that_could_not_be_elected_is_told_with_its_own_reason() {
    let members = Members::with("", ["", "", "witness = true"]);
    let (_all, _job, first) = members.led();
    let output = members.ask("resign", IDS[first], &["--to", "n3"]);
    refused(
        &output,
        125,
        &["n3 could not be elected now, because it is a witness", "name a member"],
    );
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!told.contains("just started"), "one reason, and no list of them: {told}");
}

/// It supports the leader from its first heartbeat on, and votes for nobody yet.
#[test]
fn a_successor_that_has_just_started_is_said_to_have_just_started() {
    let members = Members::new();
    let (mut all, _job, first) = members.led();
    let heir = (first + 1) % 3;
    all[heir].kill();
    let _again = members.start(IDS[heir], "");
    let said = eventually("a refusal in the words of the successor", || {
        let output = members.ask("resign", IDS[first], &["--to", IDS[heir]]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(125), "before it can be elected: {said}");
        said.contains("could not be elected now").then_some(said)
    });
    // It runs on this machine, so it was asked itself: one reason, and no list of them.
    assert!(said.contains("it has just started, for ") && said.contains("s more"), "{said}");
    assert!(said.contains("try again later") && !said.contains(" or "), "{said}");
}
