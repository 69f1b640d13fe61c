//! The simulator's promises about quorums: it plays and judges them like leases.

use election_core::{Change, Epoch};
use election_sim::{
    App, Budget, Context, Contract, DiskFault, Fault, FaultKind, FrameFault, SaveFault, Schedule,
    Scn, Sim, Swarm, View,
};
use std::{sync::Arc, time::Duration};

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
fn results_do_not_depend_on_the_number_of_jobs() {
    let workload = Arc::default();
    let play = |jobs| {
        let budget = Budget { seeds: 0..100, time: None, jobs };
        budget.play(&workload, &|seed| swarm().schedule(seed), &|_| {}).unwrap()
    };
    assert_eq!(play(3), play(1));
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

#[test]
fn what_chance_did_to_frames_can_be_written_out() {
    let chance = |schedule: &Schedule| {
        schedule.faults.iter().filter(|fault| matches!(fault.kind, FaultKind::Frames(..))).count()
    };
    let workload = Arc::default();
    let mut explicit = 0;
    for seed in (0..120).filter(|seed| chance(&swarm().schedule(*seed)) > 0) {
        let schedule = swarm().schedule(seed);
        let written = schedule.made_explicit(&workload).unwrap();
        assert_eq!(chance(&written), 0);
        let (before, after) = (schedule.play().unwrap(), written.play().unwrap());
        assert_eq!(before.elections, after.elections, "seed {seed}");
        explicit += usize::from(written.faults.len() > schedule.faults.len());
    }
    assert!(explicit > 5, "{explicit} schedules had anything to write out");
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
            tokens.max() > Some(Epoch::new(1))
        })
        .run();
}

#[test]
fn every_schedule_survives_being_printed_and_read() {
    for swarm in [swarm(), Swarm::beyond_contract().of_quorum()] {
        for seed in 0..300 {
            let scn = Scn::new(swarm.schedule(seed));
            let text = scn.to_string();
            let read: Scn = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
            assert_eq!(read, scn, "{text}");
        }
    }
}

#[test]
fn what_cannot_be_is_located() {
    let refused = |text: &str, line: usize, column: usize, what: &str| {
        let error = text.parse::<Scn>().expect_err(text);
        assert_eq!((error.line, error.column), (line, column), "{error}");
        assert!(error.what.contains(what), "{error}");
    };
    refused("heartbeat 9ms\nnode a\nrun 9s\n", 1, 1, "say `quorum 5s` before it");
    refused("quorum 5s\nnode a\nat 1s for 1s refuse\nrun 9s\n", 3, 1, "what is not there");
    refused("node a\nat 1s for 1s lag a\nrun 9s\n", 2, 1, "what is not there");
    refused("quorum 5s\nelection-timeout 5s\nnode a\nnode b\nrun 9s\n", 1, 1, "election");
    refused("quorum 5s\nnode a data 5\nrun 9s\n", 2, 13, "as in 3/120");
    refused("quorum 5s\nnode a\nat 1s disk a wet\nrun 9s\n", 3, 14, "`stale 3s`");
    refused("quorum 5s\nnode a\nat 1s for 1s saves a slowly\nrun 9s\n", 3, 22, "`lying`");
    refused("quorum 5s\nsave 5ms..1ms\nnode a\nrun 9s\n", 2, 1, "ends before it begins");
    refused("quorum 5s\nnode a named \"a b\"\nrun 9s\n", 1, 1, "a b");
}
