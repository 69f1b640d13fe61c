//! Whole clusters under every trouble that a network, a disk or an operator can cause.

use super::cluster::{Cluster, Plan, SECOND, Trouble};
use election_core::Random;

/// The seeds to run; `QUORUM_SEEDS` sets how many.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("QUORUM_FIRST").unwrap_or(0);
    first..first + number("QUORUM_SEEDS").unwrap_or(few)
}

/// A run with some troubles, then a calm, and a leader at its end.
fn weather(plan: Plan, storm: u64) -> usize {
    let shown = format!("{plan:?}");
    let mut cluster = Cluster::new(plan);
    cluster.run(storm * SECOND);
    cluster.calm_down();
    cluster.run(45 * SECOND);
    assert!(
        cluster.leader().is_some(),
        "{}\nnobody leads after a calm: {shown}",
        cluster.log.join("\n")
    );
    cluster.elections()
}

#[test]
fn a_quiet_cluster_elects_once() {
    for nodes in 1..=7 {
        assert_eq!(weather(Plan::new(7, nodes, &[]), 20), 1, "N = {nodes}");
    }
}

#[test]
fn a_wiped_disk_costs_no_exclusion() {
    let mut elections = 0;
    for seed in seeds(100) {
        let mut random = Random::new(seed ^ 0xD15C);
        let nodes = usize::try_from(3 + random.up_to(4)).unwrap();
        let mut troubles = vec![Trouble::Wipes, Trouble::Crashes, Trouble::Operators];
        troubles.extend([Trouble::Cuts, Trouble::Loss, Trouble::Delays]);
        troubles.retain(|trouble| *trouble == Trouble::Wipes || random.up_to(1) == 0);
        elections += weather(Plan::new(seed, nodes, &troubles), 60);
    }
    assert!(elections > 150, "only {elections} elections: the storms are too mild");
}

#[test]
fn old_peers_do_not_stop_elections() {
    for seed in seeds(60) {
        let nodes = usize::try_from(3 + seed % 3).unwrap();
        let troubles = [Trouble::Legacy, Trouble::Crashes, Trouble::Cuts, Trouble::Loss];
        weather(Plan::new(seed, nodes, &troubles), 40);
    }
}

#[test]
fn storms_of_random_troubles() {
    let mut elections = 0;
    for seed in seeds(300) {
        let mut random = Random::new(seed);
        let nodes = usize::try_from(2 + random.up_to(5)).unwrap();
        let may = |trouble: &Trouble| *trouble != Trouble::Legacy && *trouble != Trouble::Wipes;
        let mut troubles: Vec<Trouble> = Trouble::ALL.into_iter().filter(may).collect();
        troubles.retain(|_| random.up_to(1) == 0);
        elections += weather(Plan::new(seed, nodes, &troubles), 60);
    }
    assert!(elections > 600, "only {elections} elections: the storms are too mild");
}
