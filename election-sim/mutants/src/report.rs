//! What became of the mutants, in words.

use crate::{mutation::Mutant, trial::Fate};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn word(fate: &Fate) -> String {
    match fate {
        Fate::Killed(by) => format!("killed by {by}"),
        Fate::Endless => "killed: it comes to no end".into(),
        Fate::Survived => "SURVIVED".into(),
        Fate::Unreached => "UNREACHED".into(),
        Fate::Untried => "not tried, no time left".into(),
    }
}

/// Prints how many met which fate. Returns whether no mutant is left that should have been noticed.
pub(crate) fn tell(
    chosen: &[usize],
    fates: &[Fate],
    mutants: &[Mutant],
    accepted: &BTreeMap<String, String>,
) -> bool {
    let mut counts: BTreeMap<&Fate, usize> = BTreeMap::new();
    for fate in fates {
        *counts.entry(fate).or_default() += 1;
    }
    println!("{} mutants, {} of {} accepted", fates.len(), accepted.len(), mutants.len());
    for (fate, count) in counts {
        println!("{count:6} {}", word(fate));
    }
    let mut clean = true;
    for (id, fate) in chosen.iter().zip(fates) {
        let is_left = matches!(fate, Fate::Survived | Fate::Unreached);
        let is_accepted = accepted.contains_key(&mutants[*id].key);
        if is_accepted && matches!(fate, Fate::Killed(_) | Fate::Endless) {
            println!("accepted, but {}: {}", word(fate), mutants[*id]);
        }
        clean &= is_accepted || !is_left;
    }
    if !clean {
        println!(
            "Let a check notice them, delete what they change, or say in \
                  election-sim/mutants/accepted why nobody has to."
        );
    }
    clean
}

/// Whether everything accepted is still there; prints what is not.
pub(crate) fn stale(accepted: &BTreeMap<String, String>, mutants: &[Mutant]) -> bool {
    let known: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.key.as_str()).collect();
    let stale: Vec<_> = accepted.keys().filter(|key| !known.contains(key.as_str())).collect();
    for key in &stale {
        println!("accepted, but no mutant any more: {key}");
    }
    stale.is_empty()
}
