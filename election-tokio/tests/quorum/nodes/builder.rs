//! What a cluster is refused for: every message names cause, place and remedy.

use crate::on::OnNothing;
use election_core::quorum::ConfigError;
use election_driver::ClusterError;
use election_testing::Lines;
use election_tokio::{Cluster, ClusterBuilder};
use std::time::Duration;

fn of(members: &[(&str, &str)]) -> ClusterBuilder {
    let begun = Cluster::builder("billing").node("n1").without_data().ballot("ballot");
    members.iter().fold(begun, |builder, (id, address)| builder.member(*id, *address))
}

const TWO: [(&str, &str); 2] = [("n1", "127.0.0.1:7401"), ("n2", "127.0.0.1:7402")];

fn refused(builder: ClusterBuilder) -> ClusterError {
    let error = builder.build().err().expect("an error");
    let said = error.to_string();
    for foreign in ["database", "PostgreSQL", "NodeId", "Duration", "u16", "None", "Some("] {
        assert!(!said.contains(foreign), "{foreign:?} in {said}");
    }
    error
}

async fn every_error_names_its_cause_its_place_and_the_remedy(_: OnNothing) {
    let long = "x".repeat(300);
    let secs = Duration::from_secs;
    for (builder, words) in [
        (of(&[("n2", "h:1")]), &["n1 is not on the member list", "add it"][..]),
        (of(&[TWO[0], TWO[0]]), &["n1 is listed twice", "its own"]),
        (of(&[TWO[0], ("n2", "localhost:7401")]), &["n1 and n2", "same address", "its own"]),
        (of(&[TWO[0], ("n2", "h:07401")]), &["address of n2", "leading zero", "remove it"]),
        (of(&[("n1", "LOCALHOST:1"), ("n2", "localhost:1")]), &["n1 and n2", "same address"]),
        (of(&[TWO[0], ("", "h:1")]), &["member \"\"", "empty", "use"]),
        (of(&[TWO[0], ("a\0", "h:1")]), &["member \"a\\0\"", "NUL", "remove it"]),
        (of(&[TWO[0], (&long, "h:1")]), &["member id \"xxx", "…", "300 bytes", "use at most 32"]),
        (of(&[TWO[0], ("n 2", "h:1")]), &["\"n 2\"", "without spaces"]),
        (
            of(&[TWO[0], ("n2", "tcp://h:1")]),
            &["address of n2, \"tcp://h:1\"", "write only host:port"],
        ),
        (of(&[TWO[0], ("n2", "[::1]")]), &["address of n2", "port is missing", "write"]),
        (of(&[TWO[0], ("n2", "::1")]), &["address of n2", "needs brackets", "write it like"]),
        (of(&TWO).listen("0.0.0.0"), &["address to listen at", "port is missing"]),
        (of(&TWO).shards(0), &["shards 0", "use 1"]),
        (of(&TWO).shards(60_000), &["shards 60000", "port 67400", "use at most 58135"]),
        (of(&TWO).down_after(Duration::from_millis(7)), &["7ms is too short", "at least 50ms"]),
        (of(&TWO).down_after(secs(4_000)), &["4000s", "use at most 3600s"]),
        (of(&TWO).config(move |it| it.grace(secs(9))), &["grace 9s", "use at most 1.073s"]),
        (of(&TWO).config(move |it| it.margin(secs(4))), &["margin", "raise down_after"]),
        (of(&TWO).preferred_primary(""), &["preferred primary \"\"", "empty"]),
        (of(&TWO).preferred_primary("n9"), &["n9 is not on the member list"]),
        (of(&TWO).announce("a\nb"), &["address to announce", "U+000A", "remove it"]),
        (of(&TWO).ballot(""), &["no ballot file", "set `ballot`"]),
        (of(&TWO).ballot("a\0b"), &["ballot \"a\\0b\"", "NUL", "remove it"]),
        (of(&TWO).ballot("x".repeat(251)), &["ballot \"xxx", "255 bytes", "shorten it"]),
        (of(&[("n1", "10.0.0.1:1")]), &["n1 is at 10.0.0.1:1", "loopback", "set `insecure`"]),
    ] {
        let said = refused(builder).to_string();
        for word in words {
            assert!(said.contains(word), "no {word:?} in {said}");
        }
    }
    let short = refused(of(&TWO).down_after(Duration::ZERO));
    assert!(matches!(short, ClusterError::Config(ConfigError::DownAfterTooShort { .. })));
}

/// What a cluster's build logs.
fn logged(builder: ClusterBuilder) -> String {
    let lines = Lines::default();
    lines.of(|| builder.build().expect("a cluster"));
    lines.said()
}

async fn an_address_that_leads_others_astray_is_worth_a_warning(_: OnNothing) {
    let far = || of(&[("n1", "10.0.0.1:7400"), ("n2", "10.0.0.2:7400")]).insecure();
    let warning = "this node announces the address";
    let everywhere = logged(of(&TWO).announce("0.0.0.0:80"));
    assert!(
        everywhere.contains(&format!("{warning} 0.0.0.0:80, which nobody can connect to")),
        "{everywhere}"
    );
    for own in ["127.0.0.1:80", "localhost:80", "[::1]:80"] {
        let said = logged(far().announce(own));
        assert!(
            said.contains(&format!("{warning} {own}, which is every other machine's own loopback")),
            "{said}"
        );
        assert!(!logged(of(&TWO).announce(own)).contains(warning));
    }
    for fine in ["10.0.0.1:80", "db1.example.org:5432", "whatever the application means"] {
        assert!(!logged(far().announce(fine)).contains(warning), "{fine}");
    }
    assert!(!logged(far()).contains(warning), "the member's own address");
}

tests! {
    every_error_names_its_cause_its_place_and_the_remedy: by_itself;
    an_address_that_leads_others_astray_is_worth_a_warning: by_itself;
}
