//! What Prometheus reads, judged by its text format, version 0.0.4.

use super::{
    client::{get, leader_until, port},
    three::ANY,
};
use crate::{
    members::{IDS, Members, NAME},
    process::eventually,
    world::World,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

/// The samples of a text, by name and labels as they stand there; and the type of each metric.
#[derive(Debug, Default)]
struct Read {
    samples: BTreeMap<String, f64>,
    types: BTreeMap<String, String>,
}

impl Read {
    fn at(port: SocketAddr) -> Self {
        Self::of(&get(port, "/metrics").body)
    }

    /// # Panics
    /// If this is not the format.
    fn of(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has no end");
        let mut read = Self::default();
        let mut described = BTreeSet::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, words) = rest.split_once(' ').expect("a text behind the name");
                assert!(is_name(name) && !words.is_empty(), "{line}");
                assert!(described.insert(name.to_owned()), "told twice: {line}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a type behind the name");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                let twice = read.types.insert(name.to_owned(), kind.to_owned());
                assert!(is_name(name) && twice.is_none(), "{line}");
            } else {
                assert!(!line.starts_with('#'), "{line}");
                let (key, value) = line.rsplit_once(' ').expect("a value behind the name");
                let name = key.split('{').next().expect("a name");
                assert!(is_name(name), "{line}");
                assert!(read.types.contains_key(metric(name, &read.types)), "no type: {line}");
                key.find('{').into_iter().for_each(|at| labels(&key[at..]));
                let value = value.parse().unwrap_or_else(|error| panic!("{error}: {line}"));
                assert!(read.samples.insert(key.to_owned(), value).is_none(), "twice: {line}");
            }
        }
        for name in read.types.keys() {
            assert!(described.contains(name), "{name} has no HELP");
        }
        read.histograms_are_whole();
        read
    }

    /// The buckets of each histogram grow, and the last has what `_count` says.
    fn histograms_are_whole(&self) {
        for (name, _) in self.types.iter().filter(|(_, kind)| *kind == "histogram") {
            let infinite = self.samples.iter().filter(|(key, _)| {
                key.starts_with(&format!("{name}_bucket{{")) && key.contains("le=\"+Inf\"")
            });
            let mut found = 0;
            for (key, value) in infinite {
                let labels = key.split_once('{').expect("labels").1.replace(",le=\"+Inf\"", "");
                assert_eq!(self.samples.get(&format!("{name}_count{{{labels}")), Some(value));
                assert!(self.samples.contains_key(&format!("{name}_sum{{{labels}")), "{key}");
                found += 1;
            }
            assert!(found > 0, "{name} has no buckets");
        }
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.samples.get(name).copied()
    }

    fn names(&self) -> BTreeSet<&str> {
        self.types.keys().map(String::as_str).collect()
    }
}

/// The metric of a sample: a histogram has samples of three names.
fn metric<'a>(name: &'a str, types: &BTreeMap<String, String>) -> &'a str {
    let parts = ["_bucket", "_sum", "_count"];
    let whole = parts.iter().find_map(|part| name.strip_suffix(part));
    let is_histogram = |whole: &&str| types.get(*whole).is_some_and(|kind| kind == "histogram");
    whole.filter(is_histogram).unwrap_or(name)
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(fits)
}

/// # Panics
/// Unless this is `{name="value",…}`, with the three escapes that a value may have.
fn labels(text: &str) {
    let mut rest = text.strip_prefix('{').expect("a brace");
    loop {
        let (name, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("a label: {text}"));
        assert!(is_name(name) && !name.contains(':'), "{text}");
        let mut letters = value.char_indices();
        let end = loop {
            match letters.next().unwrap_or_else(|| panic!("the end of a value: {text}")) {
                (at, '"') => break at,
                (_, '\\') => assert!(
                    matches!(letters.next(), Some((_, '\\' | '"' | 'n'))),
                    "an escape: {text}"
                ),
                _ => {}
            }
        };
        match value[end + 1..].strip_prefix(',') {
            Some(more) => rest = more,
            None => return assert_eq!(&value[end + 1..], "}", "{text}"),
        }
    }
}

#[test]
fn a_lease_is_counted_as_prometheus_reads_it() {
    let world = World::new();
    // A name that has to be escaped.
    let name = "a \"b\" \\c";
    let named = ["--name", name, "--ttl", "3s"];
    let (_first, one) = world.serve("one", &named);
    let epoch = leader_until("a leader", one, |said| said["is_leader"] == true)["epoch"].as_f64();
    let (_second, two) = world.serve("two", &named);
    leader_until("a leader", two, |said| said["name"] == "one");
    let shown = "name=\"a \\\"b\\\" \\\\c\"";
    let of = |metric: &str| format!("{metric}{{{shown}}}");
    let (leads, follows) = eventually("a renewal, and a question of the follower", || {
        let both = (Read::at(one), Read::at(two));
        let renewed =
            format!("election_attempts_total{{{shown},op=\"renew\",outcome=\"renewed\"}}");
        both.0.value(&renewed).is_some_and(|count| count >= 1.0).then_some(both)
    });
    for (read, status) in [(&leads, 1.0), (&follows, 0.0)] {
        assert_eq!(read.value(&of("leader_election_master_status")), Some(status), "{read:?}");
        assert_eq!(read.value(&of("election_epoch")), epoch, "{read:?}");
        assert_eq!(read.value(&of("election_transitions_total")), Some(1.0), "{read:?}");
        let names = read.names();
        for name in [
            "leader_election_master_status",
            "election_epoch",
            "election_transitions_total",
            "election_attempts_total",
            "election_attempt_duration_seconds",
            "election_trust_remaining_seconds",
        ] {
            assert!(names.contains(name), "no {name} in {names:?}");
        }
    }
    let trust = leads.value(&of("election_trust_remaining_seconds")).expect("a leader's trust");
    assert!(trust > 0.0 && trust < 3.0, "{trust}");
}

#[test]
fn a_member_counts_what_it_hears_and_saves() {
    let members = Members::new();
    let all: Vec<_> =
        IDS.iter().map(|node| members.world.start(members.command("serve", node, &ANY))).collect();
    let ports: Vec<_> = all.iter().map(port).collect();
    let named = format!("name={:?}", *NAME);
    let of = |metric: &str| format!("{metric}{{{named}}}");
    let leader = leader_until("a leader", ports[0], |said| said["name"] != "");
    for (port, node) in ports.iter().zip(IDS) {
        let other = if node == "n1" { "n2" } else { "n1" };
        let heard = format!("election_heartbeats_heard_total{{{named},peer=\"{other}\"}}");
        let read = eventually("heartbeats", || {
            let read = Read::at(*port);
            let status = read.value(&of("leader_election_master_status"))?;
            let right = (status > 0.5) == (leader["name"] == node);
            // A follower may have heard of nobody yet who leads.
            let right = right && read.value(&of("election_epoch")) == leader["epoch"].as_f64();
            (right && read.value(&heard).is_some_and(|count| count >= 2.0)).then_some(read)
        });
        assert_eq!(read.value(&of("election_failover_paused")), Some(0.0));
        // Whoever leads has kept its vote for itself; a follower's may not have been needed.
        if leader["name"] == node {
            let saved = format!("election_saves_total{{{named},outcome=\"durable\"}}");
            assert!(read.value(&saved).is_some_and(|count| count >= 1.0), "{read:?}");
            assert!(read.names().contains("election_save_duration_seconds"));
        }
    }
}
