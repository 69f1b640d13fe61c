//! Names are data, end to end: they come out as they went in, byte for byte, and mean nothing.

use crate::places::InFile;
use election_core::InvalidName;
use election_driver::{BuildError, SqliteStore, conformance::sqlite::*};
use election_tokio::{Election, Handle};
use futures_lite::future::yield_now;
use std::time::Duration;

fn start(place: &InFile, name: &str, node: &str, label: &str) -> Handle {
    let builder = Election::builder(name).node(node).label(label).ttl(LONG);
    builder.store(place.store()).build().unwrap().start()
}

async fn odd_names_come_back_as_they_went_in(_: InFile) {
    let longest = "é".repeat(127) + "x";
    assert_eq!(longest.len(), 255);
    let odd = [
        "o'brien",
        "say \"when\"",
        "robert'); DROP TABLE election_leader;--",
        "🦀 läuft",
        "100%_of?1 $1 :x @y",
        "C:\\new\\table",
        "שלום\u{200f}",
        " padded ",
        "NULL",
        "0042",
        "1e5",
        longest.as_str(),
    ];
    let place = InFile::new().await;
    for name in odd {
        let leader = start(&place, name, name, name);
        let epoch = leader.elected().await.unwrap().epoch();
        let other = start(&place, name, "other", "there");
        assert_eq!(followed(&other).await, epoch, "{name:?}");
        let seen = other.status().leader.unwrap();
        assert_eq!(seen.term.leader.as_str(), name);
        assert_eq!(seen.label.as_ref().map(Label::as_str), Some(name));
        assert!(!seen.own);

        let namespace = Namespace::new(name).unwrap();
        let row = place.store().leader(&namespace).await.unwrap();
        assert_eq!(row.holder.unwrap().candidate.id.as_str(), name);
        let listed = async || place.store().list_candidates(&namespace).await.unwrap();
        while listed().await.len() < 2 {
            yield_now().await;
        }
        let mut names: Vec<_> =
            listed().await.iter().map(|row| row.candidate.id.to_string()).collect();
        names.sort_unstable_by_key(|listed| listed == "other");
        assert_eq!(names, [name, "other"]);

        assert!(place.store().request_resign(&namespace, epoch).await.unwrap());
        assert!(other.elected().await.unwrap().epoch() > epoch);
        other.shutdown().await;
        leader.shutdown().await;
    }
    let mut raw = place.raw().await;
    let mut stored = texts(&mut raw, "SELECT ns FROM election_leader").await;
    stored.sort_unstable();
    let mut expected = odd.map(ToOwned::to_owned);
    expected.sort_unstable();
    assert_eq!(stored, expected);
}

async fn names_that_no_database_could_keep_are_typed_errors(_: InFile) {
    let place = InFile::empty();
    let build = |name: &str, node: &str, label: &str| {
        let builder = Election::builder(name).node(node).label(label).ttl(Duration::from_secs(15));
        builder.store(place.store()).build().map(|_| ())
    };
    let long = "x".repeat(300);
    let error = |what, why| Err(BuildError::Name { what, why });
    for (bad, why) in [
        ("", InvalidName::Empty),
        (long.as_str(), InvalidName::TooLong(300)),
        ("a\0b", InvalidName::Nul(1)),
        ("a\nb", InvalidName::Control { character: '\n', at: 1 }),
        ("\u{1b}[2J", InvalidName::Control { character: '\u{1b}', at: 0 }),
    ] {
        assert_eq!(build(bad, "n", "l"), error("name of the election", why));
        assert_eq!(build("e", bad, "l"), error("node", why));
        assert_eq!(build("e", "n", bad), error("label", why));
    }
    let text = build("e", &long, "l").unwrap_err().to_string();
    assert!(text.contains("node") && text.contains("300 bytes") && text.contains("255"), "{text}");
    assert_eq!(build("default", "n", "l"), Ok(()));
}

/// Another program has written them, or an older version of this one.
async fn leaders_with_names_refused_today_are_replaced(_: InFile) {
    use election_driver::Store as _;
    let place = InFile::new().await;
    let mut store = place.store();
    let forged = "a\ne: b leads\u{1b}[2K";
    let mut other = registration("x");
    other.candidate.id = NodeId::recorded(forged).unwrap();
    other.label = Some(Label::recorded(forged).unwrap());
    store.answer(&other, &Query::Register { ttl: LONG, sweep: false }).await.unwrap();
    let epoch = win(&mut store, &other, LONG).await;
    let follower = place.start("follower", LONG);
    assert_eq!(followed(&follower).await, epoch);
    let seen = follower.status().leader.unwrap();
    assert_eq!(seen.term.leader.as_str(), forged);
    let shown = format!("{} at {}", seen.term, seen.label.unwrap());
    assert!(shown.starts_with("a\\ne: b leads\\u{1b}[2K"), "{shown:?}");
    assert!(!shown.contains(char::is_control), "{shown:?}");
    let listed = store.list_candidates(&other.namespace).await.unwrap();
    assert_eq!(listed[0].candidate.id.as_str(), forged);
    store.answer(&other, &Query::Resign { epoch }).await.unwrap();
    assert!(follower.elected().await.unwrap().epoch() > epoch);
    follower.shutdown().await;
}

/// The file's name is data too.
async fn odd_file_names_are_files_of_that_name(_: InFile) {
    let place = InFile::empty();
    for name in ["a b.db", "what?mode=rw#x.db", "100%20.db", "o'brien.db", "🦀.db", "file:x.db"] {
        let file = place.directory().join(name);
        let mut store = SqliteStore::open(&file).unwrap();
        store.ensure_schema().await.unwrap();
        assert!(file.is_file(), "{name:?}");
        win(&mut store, &registration("a"), LONG).await;
    }
}

tests! {
    odd_names_come_back_as_they_went_in: in_file;
    names_that_no_database_could_keep_are_typed_errors: in_file;
    leaders_with_names_refused_today_are_replaced: in_file;
    odd_file_names_are_files_of_that_name: in_file;
}
