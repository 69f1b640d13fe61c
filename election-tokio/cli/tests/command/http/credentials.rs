//! What an operator sees of certificates while a member runs: in `status`, in the log and in metrics.

use super::client::{metric, port};
use crate::{
    members::{IDS, Members, replace, said},
    process::eventually,
};
use serde_json::Value;
use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const REFUSED: &str = "election_certificates_refused";
const EXPIRATION: &str = "election_certificate_expiration_timestamp_seconds";

/// That it ends in so many days, as far as whole days tell.
#[track_caller]
fn ends_in(seconds: f64, days: u32) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let end = now + Duration::from_secs(24 * 3_600) * days;
    assert!((seconds - end.as_secs_f64()).abs() < 3_600.0, "{seconds} is not in {days} days");
}

#[test]
fn what_becomes_of_certificates_is_seen_everywhere() {
    let members = Members::certified();
    let start = members.run("n1", &["--http", "127.0.0.1:0"], "");
    let member = members.world.start(start);
    let port = port(&member);
    let until = |what: &str, holds: &dyn Fn(&Value) -> bool| {
        members.until(what, "n1", |status| holds(&status["certificates"]))
    };
    let before = until("certificates", &|it| it["fingerprint"].is_string());
    let before = before["certificates"]["fingerprint"].as_str().expect("a text").to_owned();
    eventually("no refusal", || metric(port, REFUSED, "").filter(|refused| *refused == 0.0));
    ends_in(metric(port, EXPIRATION, "certificate=\"own\"").expect("a gauge"), 365);
    ends_in(metric(port, EXPIRATION, "certificate=\"authority\"").expect("a gauge"), 3_650);

    // Another member's certificate is refused.
    let read = |node: &str| fs::read_to_string(members.folder(node).join("certificate.pem"));
    let [own, other] = ["n1", "n2"].map(|node| read(node).expect("a file of our own"));
    let path = members.folder("n1").join("certificate.pem");
    replace(&path, &other);
    let refused = until("a refusal", &|it| it["refused"].is_string());
    assert_eq!(refused["certificates"]["fingerprint"], *before, "{refused}");
    let told = said(&members.ask("status", "n1", &[]));
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("cannot be used, and these stay in use: this member's key does not"),
        "{told}"
    );
    eventually("a refusal", || metric(port, REFUSED, "").filter(|refused| *refused == 1.0));
    replace(&path, &own);
    until("an end of it", &|it| it["refused"].is_null());
    eventually("no refusal", || metric(port, REFUSED, "").filter(|refused| *refused == 0.0));

    // A new one of its own is in use, and only that is accepted.
    let mut add =
        members.bare(&["cluster", "add-key", "n1", "--force", "--days", "20", "--cluster"]);
    let told = said(&members.world.output(add.arg(members.file_of("n1"))));
    let (_, after) = told.split_once("accepted certificates: ").expect("a fingerprint");
    let after = after.lines().next().expect("a line").to_owned();
    let used = until("another certificate", &|it| it["fingerprint"] == *after);
    assert_eq!(used["certificates"]["accepted"], serde_json::json!({}));
    member.says(&format!("new certificates are in use; this member's own, {after}, expires at 20"));
    member.says(&format!("fingerprint={after}"));
    let own = |port| metric(port, EXPIRATION, "certificate=\"own\"");
    let end = Duration::from_secs(21 * 24 * 3_600).as_secs_f64();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs_f64();
    ends_in(eventually("another end", || own(port).filter(|at| *at < now() + end)), 20);
    members.edit("n1", |text| {
        text.replace("id = \"n2\"\n", &format!("id = \"n2\"\naccepted = [{after:?}]\n"))
    });
    let listed = until("a list", &|it| it["accepted"][IDS[1]].is_array());
    assert_eq!(listed["certificates"]["accepted"]["n2"], serde_json::json!([after]));
    let told = said(&members.ask("status", "n1", &[]));
    assert!(told.contains(&format!("only these certificates of n2: {}…", &after[..23])), "{told}");
}
