//! Whom leadership is not handed over to, and what is said of it: the one reason that there is.

use super::members::{IDS, Members, refused};

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
