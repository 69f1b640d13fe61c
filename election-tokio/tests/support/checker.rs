//! What must hold of a journal, whatever was done to the nodes.
#![allow(dead_code)] // not every test needs all of it

use crate::journal::Entry;
use std::collections::BTreeMap;

/// One leadership as it was seen: who acted, and from when to when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tenure {
    pub(crate) epoch: u64,
    pub(crate) node: String,
    pub(crate) life: u32,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Between a write and the line that tells of it.
const SLACK: u64 = 100_000_000;

/// Reads a journal line by line. It remembers leaderships, not acts, so that a journal may be long.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    tenures: BTreeMap<(u64, String, u32), Tenure>,
    /// The highest epoch that the resource has served, and since when.
    served: (u64, u64),
    wrong: Vec<String>,
}

impl Checker {
    /// Takes a line in; `false` if it is not about acts.
    pub(crate) fn take(&mut self, entry: &Entry) -> bool {
        match entry.kind.as_str() {
            "acts" => self.acts(entry),
            "wrote" => self.wrote(entry),
            _ => return false,
        }
        true
    }

    fn acts(&mut self, entry: &Entry) {
        let key = (entry.epoch(), entry.node.clone(), entry.life);
        let tenure = self.tenures.entry(key).or_insert_with(|| Tenure {
            epoch: entry.epoch(),
            node: entry.node.clone(),
            life: entry.life,
            first: entry.at,
            last: entry.at,
        });
        tenure.first = tenure.first.min(entry.at);
        tenure.last = tenure.last.max(entry.at);
    }

    fn wrote(&mut self, entry: &Entry) {
        let (epoch, (served, since)) = (entry.epoch(), self.served);
        // Two processes write the resource one after the other, but the journal as they come.
        if epoch < served && entry.at > since + SLACK {
            self.wrong.push(format!("the resource took epoch {epoch} after {served}: {entry:?}"));
        }
        if epoch > served {
            self.served = (epoch, entry.at);
        }
    }

    /// The highest epoch that the resource has served.
    pub(crate) fn served(&self) -> u64 {
        self.served.0
    }

    /// The leaderships in the order of their first acts.
    pub(crate) fn tenures(&self) -> Vec<Tenure> {
        let mut tenures: Vec<_> = self.tenures.values().cloned().collect();
        tenures.sort_by_key(|tenure| tenure.first);
        tenures
    }

    /// Everything that is wrong with what was read so far.
    pub(crate) fn violations(&self) -> Vec<String> {
        let (mut wrong, tenures) = (self.wrong.clone(), self.tenures());
        let mut latest: Option<&Tenure> = None;
        for tenure in &tenures {
            if let Some(before) = latest {
                if tenure.first <= before.last {
                    let both = (before.last.min(tenure.last) - tenure.first) / 1_000;
                    wrong.push(format!("two act at once for {both} µs: {before:?} and {tenure:?}"));
                }
                if tenure.epoch <= before.epoch {
                    wrong.push(format!("epochs do not grow: {before:?}, then {tenure:?}"));
                }
            }
            latest = Some(latest.filter(|before| before.last > tenure.last).unwrap_or(tenure));
        }
        wrong
    }
}

fn violations(journal: &[Entry]) -> Vec<String> {
    let mut checker = Checker::default();
    journal.iter().for_each(|entry| assert!(checker.take(entry)));
    checker.violations()
}

fn entry(at: u64, node: &str, kind: &str, epoch: u64) -> Entry {
    Entry { at, node: node.to_owned(), life: 1, kind: kind.to_owned(), about: epoch.to_string() }
}

#[test]
fn two_who_act_at_once_are_seen() {
    let one_after_the_other =
        [entry(1, "a", "acts", 1), entry(5, "a", "acts", 1), entry(6, "b", "acts", 2)];
    assert_eq!(violations(&one_after_the_other), Vec::<String>::new());
    let at_once = [entry(1, "a", "acts", 1), entry(6, "b", "acts", 2), entry(7, "a", "acts", 1)];
    assert_eq!(violations(&at_once).len(), 1, "{:?}", violations(&at_once));
    let backwards = [entry(1, "a", "acts", 2), entry(6, "b", "acts", 2)];
    assert_eq!(violations(&backwards).len(), 1);
    let within = [
        entry(1, "a", "acts", 1),
        entry(3, "b", "acts", 2),
        entry(4, "b", "acts", 2),
        entry(9, "c", "acts", 3),
        entry(20, "a", "acts", 1),
    ];
    assert_eq!(violations(&within).len(), 2, "{:?}", violations(&within));
}

#[test]
fn a_resource_that_takes_a_stale_write_is_seen() {
    let late = 2 * SLACK;
    let stale = [entry(1, "b", "wrote", 2), entry(late, "a", "wrote", 1)];
    assert_eq!(violations(&stale).len(), 1);
    let soon = [entry(1, "b", "wrote", 2), entry(2, "a", "wrote", 1)];
    assert_eq!(violations(&soon), Vec::<String>::new(), "it was written before, and told after");
}
