//! What a member notices of the simulated network, and when.

use crate::services::DOWN_AFTER;
use election_driver::Member;
use election_sim::{
    Fault, FaultKind, Schedule, Sim,
    service::{Node, SimRuntime},
};
use std::{error::Error, sync::Arc, time::Duration};

const AT: Duration = Duration::from_secs(20);

/// Who tells what, and how long after the beginning of the faults.
type Told = (Option<usize>, Duration, String);

/// Stays a member, and notes when a connection to another is missing.
async fn stays(node: Node) -> Result<(), Box<dyn Error>> {
    let member: Member<SimRuntime> = node.cluster().build()?.start().await?;
    while !member.handle().status().closed {
        for peer in member.peers().iter().filter(|peer| !peer.connected) {
            node.note(format_args!("no connection to {}", peer.id));
        }
        node.sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Plays three members, of which the first leads, and befalls them with these faults for a while. Returns
/// what each tells from then on, and how much later.
#[track_caller]
fn befallen(lasts: Duration, faults: impl IntoIterator<Item = FaultKind>) -> Vec<Told> {
    let mut schedule = Schedule::calm_quorum(3, DOWN_AFTER);
    let fault = |kind| Fault { at: AT, lasts, kind };
    schedule.faults = faults.into_iter().map(fault).collect();
    let workload = Sim::new("stays").service(stays).workload();
    let (outcome, lines) = schedule.narrate(&Arc::new(workload)).expect("a schedule");
    assert_eq!(outcome.violation, None);
    let leads = lines.iter().filter(|line| line.at < AT && line.text.starts_with("elected"));
    assert_eq!(leads.map(|line| line.node).collect::<Vec<_>>(), [Some(0)]);
    let after = lines.into_iter().filter(|line| line.at >= AT);
    after.map(|line| (line.node, line.at - AT, line.text)).collect()
}

/// When one of these nodes tells this for the first time.
#[track_caller]
fn when(told: &[Told], of: impl Fn(usize) -> bool, what: &str) -> Duration {
    let is_it = |(node, _, text): &&Told| node.is_some_and(&of) && text.starts_with(what);
    told.iter().find(is_it).unwrap_or_else(|| panic!("nobody tells {what:?}: {told:?}")).1
}

#[test]
fn a_primary_that_is_cut_off_is_replaced() {
    let clogged = [FaultKind::Clog(0, 1), FaultKind::Clog(0, 2)];
    for faults in [vec![FaultKind::Part(vec![0])], clogged.to_vec()] {
        let told = befallen(5 * DOWN_AFTER, faults);
        let lost = when(&told, |node| node == 0, "lost");
        let elected = when(&told, |node| node > 0, "elected");
        assert!(lost > DOWN_AFTER / 4 && lost < elected, "lost after {lost:?}");
        assert!(elected < 2 * DOWN_AFTER, "replaced after {elected:?}");
    }
}

#[test]
fn who_starts_again_is_spoken_to_at_once() {
    let told = befallen(DOWN_AFTER / 3, [FaultKind::Crash(1)]);
    let followed = when(&told, |node| node == 1, "follows");
    assert!(followed < 2 * DOWN_AFTER / 3, "it follows again after {followed:?}");
}

#[test]
fn a_connection_that_breaks_is_made_anew() {
    let ways = [(0, 1), (1, 0), (0, 2), (2, 0)].map(|(from, to)| FaultKind::Reset(from, to));
    let told = befallen(Duration::ZERO, ways);
    assert!(!told.iter().any(|(_, _, text)| text.starts_with("lost")), "{told:?}");
    let missing = told.iter().filter(|(.., text)| text.starts_with("no connection"));
    let missing: Vec<_> = missing.map(|(node, at, _)| (*node, *at)).collect();
    for node in 0..3 {
        assert!(missing.iter().any(|(of, _)| *of == Some(node)), "{node} has lost nothing");
    }
    assert!(missing.iter().all(|(_, at)| *at < DOWN_AFTER / 3), "{missing:?}");
}
