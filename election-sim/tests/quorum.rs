//! The simulator's promises about quorums: it plays and judges them like leases.

use election_core::{Change, Epoch};
use election_sim::{
    App, Context, Contract, DiskFault, Fault, FaultKind, FrameFault, SaveFault, Schedule, Sim,
    Swarm, View,
};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const DOWN: Duration = Duration::from_secs(5);

fn swarm() -> Swarm {
    Swarm::within_contract().of_quorum()
}

#[test]
fn the_core_is_clean_within_the_contract() {
    let summary = Sim::new("the_core_is_clean_within_the_contract")
        .faults(swarm())
        .seeds(0..600)
        .sometimes("somebody leads", |view| view.leaders().next().is_some())
        .sometimes("a fifth election", |view| view.elections() == 5)
        .sometimes("a late write is refused", |view| view.resource().refused() > 0)
        .run();
    assert!(summary.replayed > 10, "{} of {} replayed", summary.replayed, summary.seeds);
}

#[test]
fn where_clocks_lie_exclusion_breaks_and_the_epoch_fences() {
    let fast = Fault { at: SECOND, lasts: 60 * SECOND, kind: FaultKind::Rate(0, -400_000) };
    let cut = Fault { at: 10 * SECOND, lasts: 40 * SECOND, kind: FaultKind::Part(vec![0]) };
    let schedule = Schedule {
        faults: vec![fast, cut],
        horizon: 60 * SECOND,
        ..Schedule::calm_quorum(3, DOWN)
    };
    assert_eq!(schedule.contract(), Contract::Beyond);
    let outcome = schedule.play().unwrap();
    assert_eq!((outcome.violation, outcome.broken), (None, vec!["exclusion"]));
}

#[test]
fn the_whole_menu_is_drawn() {
    let mut drawn = [0; 12];
    for seed in 0..600 {
        for fault in swarm().schedule(seed).faults {
            let kind = match fault.kind {
                FaultKind::Sever(..) => 0,
                FaultKind::Clog(..) => 1,
                FaultKind::Part(_) => 2,
                FaultKind::Frames(FrameFault::Late(_), _) => 3,
                FaultKind::Reset(..) => 4,
                FaultKind::Saves(_, SaveFault::Slow(_)) => 5,
                FaultKind::Saves(_, SaveFault::Failing | SaveFault::Hanging) => 6,
                FaultKind::HandOver(..) => 7,
                FaultKind::Lag(_) => 8,
                FaultKind::CrashAfter(..) => 9,
                FaultKind::Disk(_, DiskFault::Torn) => 10,
                FaultKind::Disk(_, DiskFault::Lost) => 11,
                _ => continue,
            };
            drawn[kind] += 1;
        }
    }
    assert!(drawn.iter().all(|count| *count > 5), "{drawn:?}");
}

/// A process dies right after its `nth` action, whichever action that is.
#[test]
fn a_crash_at_every_boundary_of_the_first_election_is_survived() {
    for nth in 1..=24 {
        for node in 0..3 {
            let what = FaultKind::CrashAfter(node, nth, 300 * SECOND / 1_000);
            let schedule = Schedule {
                faults: vec![Fault { at: Duration::ZERO, lasts: Duration::ZERO, kind: what }],
                horizon: 30 * SECOND,
                ..Schedule::calm_quorum(3, DOWN)
            };
            let mut world = election_sim::World::new(schedule).unwrap();
            assert_eq!(world.run(), None, "node {node}, after {nth}");
            assert_eq!(world.view().leaders().count(), 1, "node {node}, after {nth}");
        }
    }
}

/// Writes once a second while it leads.
struct Clerk;

impl App for Clerk {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        if matches!(change, Change::Elected(_)) {
            context.wake_in(SECOND);
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        if let Some(epoch) = context.lead() {
            context.write(epoch, "an entry");
            context.wake_in(SECOND);
        }
    }
}

#[test]
fn a_users_app_runs_on_top() {
    let in_order = |view: &View<'_>| {
        let entries = view.resource().accepted();
        entries.windows(2).all(|pair| pair[0].token <= pair[1].token)
    };
    Sim::new("a_users_app_runs_on_top")
        .faults(swarm())
        .nodes(3)
        .seeds(0..150)
        .app(|_| Clerk)
        .always("entries in order", in_order)
        .sometimes("two epochs wrote", |view| {
            let tokens = view.resource().accepted().iter().map(|entry| entry.token);
            tokens.max() > Some(Some(Epoch::new(1)))
        })
        .run();
}
