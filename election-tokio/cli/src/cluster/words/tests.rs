use super::*;
use crate::cluster::exchange::Certificates;

/// As a later version may say it: with a field that this one does not know.
fn report(id: &str, error: &str, trusted_ms: Option<u64>) -> Report {
    let peer = |node: &str| {
        json!({
            "node": node, "witness": false, "address": "db2.example.org:7400", "connected": false,
            "error": error,
            "heard": {
                "heard_ms": 123_456, "fresh": false, "dialect": "legacy", "role": "candidate",
                "epoch": u64::MAX, "position": { "history": u64::MAX, "offset": u64::MAX },
                "hears_me": true, "other_list": false,
            },
            "trusted_ms": null, "refusal": "has newer data", "later": true,
        })
    };
    let report = json!({
        "name": "billing", "node": id, "pid": 4_194_304, "witness": false,
        "leader": id, "epoch": u64::MAX, "label": "db1.example.org:5432", "role": "primary",
        "trusted_ms": trusted_ms, "stop_ms": trusted_ms, "supporters": 3, "majority": 2,
        "promised": u64::MAX, "voted_for": id, "durable": true,
        "supports": { "node": id, "epoch": u64::MAX, "left_ms": 4_321 },
        "position": { "history": 7, "offset": 12 },
        "hindrance": format!("automatic failover is paused (ordered at {id})"),
        "hindrance_ms": null, "boots_ms": null, "down_after_ms": 5_000, "later": {},
        "pause": {
            "paused": true, "by": id, "since_unix_ms": 1_795_319_193_933_u64,
            "left_ms": null, "primary": id, "recorded": 3, "changing": true,
        },
        "peers": [peer(&"a".repeat(id.len())), peer(&"b".repeat(id.len()))],
    });
    serde_json::from_value(report).expect("a report")
}

#[test]
fn the_longest_names_fit_into_eighty_columns() {
    let error = "failed to lookup address information: Temporary failure in name resolution";
    for trusted in [None, Some(1_234)] {
        let report = report(&"n".repeat(32), error, trusted);
        for text in [status(&report), list(&report)] {
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
        }
    }
}

#[test]
fn what_keeps_a_member_from_leading_is_said() {
    let text = status(&report("n1", "Connection refused", None));
    let flat = flat(&text);
    for words in [
        "billing: n1 (epoch 18446744073709551615) leads at db1.example.org:5432 member",
        "member n1 (process 4194304): primary",
        "position 7/12",
        "it does not ask for votes, because automatic failover is paused (ordered at n1)",
        "paused by n1, since 2026-11-22T03:46:33Z, until resumed; only n1 can be elected",
        "no connection to aa at db2.example.org:7400: Connection refused",
    ] {
        assert!(flat.contains(words), "no {words:?} in\n{text}");
    }
    assert!(!flat.contains("trust"), "{text}");
    assert_eq!(members(&report("n1", "", None)).len(), 3);
}

/// Its last words are those of a leader.
#[test]
fn a_primary_that_is_silent_was_one() {
    let mut report = report("n1", "", None);
    report.peers[0].heard.as_mut().expect("its words").role = "primary".to_owned();
    for text in [status(&report), list(&report)] {
        assert!(text.contains("was primary"), "{text}");
    }
}

/// Nothing is compared then, and a zero would look like something that is missing.
#[test]
fn a_cluster_without_data_says_nothing_of_positions() {
    let none = Place { history: 0, offset: 0 };
    let mut report = report("n1", "", None);
    report.position = Some(none);
    assert!(status(&report).contains("POSITION"), "a peer has data");
    for heard in report.peers.iter_mut().filter_map(|peer| peer.heard.as_mut()) {
        heard.position = none;
    }
    for text in [status(&report), list(&report)] {
        assert!(!text.to_lowercase().contains("position"), "{text}");
        assert!(text.contains("EPOCH") && text.contains("HEARD"), "{text}");
    }
    let rows = list(&report);
    let own = rows.lines().find(|line| line.ends_with(" this member"));
    assert!(own.is_some_and(|own| own.contains(" n1 ")), "{rows}");
    report.position = None;
    assert!(status(&report).contains("position  not known yet"));
}

#[test]
fn the_end_of_certificates_is_told() {
    let mut report = report("n1", "", None);
    assert!(!status(&report).contains("proof"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let in_days =
        |days: u64| u64::try_from(now.as_millis()).expect("a time") + (days * 24 + 1) * 3_600_000;
    for (days, own) in [(31, "expires in 31 days;"), (30, "expires in 30 days: renew it;")] {
        let (certificate_unix_ms, authority_unix_ms) = (in_days(days), in_days(900));
        report.certificates = Some(Certificates {
            certificate_unix_ms,
            authority_unix_ms,
            ..Certificates::default()
        });
        let text = flat(&status(&report));
        assert!(text.contains(&format!("proof its certificate {own}")), "{text}");
        assert!(text.contains("the authority's expires in 900 days"), "{text}");
    }
    let certificates = Certificates { certificate_unix_ms: 1_000, ..Certificates::default() };
    report.certificates = Some(Certificates { authority_unix_ms: u64::MAX, ..certificates });
    let text = flat(&status(&report));
    assert!(text.contains("its certificate has expired: renew it now"), "{text}");
}

#[test]
fn what_is_accepted_and_what_is_refused_is_told() {
    let mut report = report("n1", "", None);
    let accepted = [("n2", vec!["AB:CD:".repeat(16)]), ("n3", Vec::new())];
    let accepted = accepted.map(|(id, list)| (id.to_owned(), list)).into();
    let refused = Some("key.pem cannot be read: it is gone".to_owned());
    report.certificates = Some(Certificates { accepted, refused, ..Certificates::default() });
    let text = flat(&status(&report));
    for words in [
        "accepts only these certificates of n2: AB:CD:AB:CD:AB:CD:AB:CD…",
        "accepts only these certificates of n3: none",
        "the new certificates cannot be used, and these stay in use: key.pem cannot be read:",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
}

#[test]
fn who_leads_says_how_many_vouch_for_it() {
    let mut report = report("n1", "", Some(1_234));
    let text = status(&report);
    for words in [
        "trust for another 1.2s",
        "3 of 3 members vouch for it, itself included; 2 must",
        "campaign it leads failover",
    ] {
        assert!(flat(&text).contains(words), "no {words:?} in\n{text}");
    }
    assert!(!text.contains("does not ask"), "{text}");
    (report.supporters, report.majority) = (2, 3);
    let text = status(&report);
    assert!(flat(&text).contains("2 of 3 members vouch for it, itself included; 3 must"));
}

/// Whatever a member says, also of instants that no calendar of this program has.
#[test]
fn a_pause_may_begin_and_end_at_any_time() {
    let mut report = report("n1", "", None);
    for at in [0, 253_402_300_800_000, u64::MAX] {
        let pause = report.pause.as_mut().expect("a pause");
        (pause.since_unix_ms, pause.left_ms) = (Some(at), Some(at));
        let text = status(&report);
        assert!(flat(&text).contains(&format!("since {}, for ", UnixMillis(at))), "{text}");
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A pause is never said to be over before it is.
#[test]
fn what_is_left_of_a_pause_is_rounded_up() {
    let mut report = report("n1", "", None);
    for (left_ms, words) in
        [(1, "for another 1s"), (1_000, "for another 1s"), (59_001, "for another 1m")]
    {
        report.pause.as_mut().expect("a pause").left_ms = Some(left_ms);
        let said = failover(report.pause.as_ref());
        assert!(said.contains(words), "{left_ms}: {said}");
    }
}
