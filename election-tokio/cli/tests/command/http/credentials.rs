//! What an operator sees of certificates while a member runs: in `status`, in the log and in metrics.

use super::client::{get, port};
use crate::{
    members::{IDS, Members, replace, said},
    process::eventually,
};
use rustix::{
    fs::{CWD, Mode, OFlags, mkfifoat, openat},
    io::ioctl_fionread,
};
use serde_json::Value;
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    net::SocketAddr,
    os::fd::AsRawFd as _,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The value of a metric with these words among its labels.
fn value(port: SocketAddr, name: &str, label: &str) -> Option<f64> {
    let body = get(port, "/metrics").body;
    let line = body.lines().find(|line| line.starts_with(name) && line.contains(label))?;
    line.rsplit_once(' ').expect("a value").1.parse().ok()
}

const REFUSED: &str = "election_certificates_refused{";
const EXPIRATION: &str = "election_certificate_expiration_timestamp_seconds{";

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
    eventually("no refusal", || value(port, REFUSED, "").filter(|refused| *refused == 0.0));
    ends_in(value(port, EXPIRATION, "certificate=\"own\"").expect("a gauge"), 365);
    ends_in(value(port, EXPIRATION, "certificate=\"authority\"").expect("a gauge"), 3_650);

    // Another member's certificate is refused.
    let read = |node: &str| fs::read_to_string(members.folder(node).join("certificate.pem"));
    let [own, other] = ["n1", "n2"].map(|node| read(node).expect("a file of our own"));
    let path = members.folder("n1").join("certificate.pem");
    replace(&path, &other);
    let refused = until("a refusal", &|it| it["refused"].is_string());
    assert_eq!(refused["certificates"]["fingerprint"], *before, "{refused}");
    let told = said(&members.ask("status", "n1", &[]));
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("cannot be used, these stay: this member's key does not"), "{told}");
    eventually("a refusal", || value(port, REFUSED, "").filter(|refused| *refused == 1.0));
    replace(&path, &own);
    until("an end of it", &|it| it["refused"].is_null());
    eventually("no refusal", || value(port, REFUSED, "").filter(|refused| *refused == 0.0));

    // A new one of its own is in use, and only that is accepted.
    let mut add =
        members.bare(&["cluster", "add-key", "n1", "--force", "--days", "20", "--cluster"]);
    let told = said(&members.world.output(add.arg(members.file_of("n1"))));
    let (_, after) = told.split_once("accepted certificates: ").expect("a fingerprint");
    let after = after.lines().next().expect("a line").to_owned();
    let used = until("another certificate", &|it| it["fingerprint"] == *after);
    assert_eq!(used["certificates"]["accepted"], serde_json::json!({}));
    member.says(&format!("other certificates are in use; this member's own, {after}, ends at 20"));
    member.says(&format!("fingerprint={after}"));
    let own = |port| value(port, EXPIRATION, "certificate=\"own\"");
    let end = Duration::from_secs(21 * 24 * 3_600).as_secs_f64();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs_f64();
    ends_in(eventually("another end", || own(port).filter(|at| *at < now() + end)), 20);
    members.edit("n1", |text| {
        text.replace("id = \"n2\"\n", &format!("id = \"n2\"\naccepted = [{after:?}]\n"))
    });
    let listed = until("a list", &|it| it["accepted"][IDS[1]].is_array());
    assert_eq!(listed["certificates"]["accepted"]["n2"], serde_json::json!([after]));
    let told = said(&members.ask("status", "n1", &[]));
    assert!(told.contains(&format!("of n2 only the certificates {}…", &after[..23])), "{told}");
}

/// Certificates on a disk that hangs. Here the cluster's file, which is read again with them, is a pipe
/// that nobody writes to.
#[test]
fn a_start_that_hangs_on_a_certificate_says_so() {
    let members = Members::certified();
    let folder = members.folder("n1");
    members.edit("n1", |text| {
        let absolute = |name: &str| format!("= {:?}", folder.join(name).display().to_string());
        ["authority.pem", "certificate.pem", "key.pem"].iter().fold(text, |text, name| {
            assert!(text.contains(&format!("= \"{name}\"")), "{text}");
            text.replace(&format!("= \"{name}\""), &absolute(name))
        })
    });
    let text = fs::read_to_string(members.file_of("n1")).expect("a file of our own");
    let pipe = folder.join("pipe");
    mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o600)).expect("a pipe");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let kept = openat(CWD, &pipe, flags, Mode::empty()).expect("a pipe of our own");
    let mut writer = OpenOptions::new().write(true).open(&pipe).expect("our own reader");
    writer.write_all(text.as_bytes()).expect("room in a pipe");
    let given = format!("/proc/{}/fd/{}", std::process::id(), kept.as_raw_fd());
    let mut serve = members.bare(&["serve", "--node", "n1", "--http", "127.0.0.1:0"]);
    serve.args(["--cluster", &given]);
    let member = members.world.start(serve);
    eventually("a first reading", || (ioctl_fionread(&kept) == Ok(0)).then_some(()));
    drop(writer);
    let port = port(&member);
    let words = "has not joined the election yet: it is reading its certificates";
    for path in ["/leader", "/readyz"] {
        let said = eventually("the reason", || {
            Some(get(port, path)).filter(|answer| answer.body.contains("certificates"))
        });
        assert!(said.status == 503 && said.body.contains(words), "{}", said.body);
    }
    member.says("event=waiting");
    member.says("this member has not started yet: it is reading its certificates");
    fs::write(&pipe, text).expect("a reader");
    member.says("event=joined");
}
