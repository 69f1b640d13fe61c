//! The simulator's own promises: it is deterministic, it finds violations, it shrinks them, and it
//! reports them.

use election_core::{Change, Epoch};
use election_sim::{
    App, Budget, Context, Contract, Engine, Failure, Fault, FaultKind, Schedule, Scn, Sim,
    SimError, Swarm, View, shrink,
};
use std::{sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);

fn budget(seeds: std::ops::Range<u64>, jobs: usize) -> Budget {
    Budget { seeds, time: None, jobs }
}

#[test]
fn the_core_is_clean_within_the_contract() {
    let summary = Sim::new("the_core_is_clean_within_the_contract")
        .seeds(0..1_500)
        .sometimes("somebody leads", |view| view.leaders().next().is_some())
        .sometimes("a tenth election", |view| view.elections() == 10)
        .run();
    assert_eq!(summary.seeds, 1_500);
    assert!(summary.replayed > 30, "{} of {} replayed", summary.replayed, summary.seeds);
}

/// Each election by itself, and one that no fault hits keeps its leader.
#[test]
fn shared_connections_are_clean_within_the_contract() {
    let summary = Sim::new("shared_connections_are_clean_within_the_contract")
        .faults(Swarm::within_contract().sharing())
        .seeds(0..150)
        .sometimes("somebody leads", |view| view.leaders().next().is_some())
        .run();
    assert!(summary.elections > 3_000, "{}", summary.elections);
    let code =
        Sim::new("code").faults(Swarm::within_contract().sharing()).app(|_| Careless::default());
    let error = code.check().unwrap_err().to_string();
    assert!(error.contains("leave `sharing` out"), "{error}");
}

#[test]
fn a_register_is_clean_within_the_contract() {
    let summary = Sim::new("a_register_is_clean_within_the_contract")
        .engine(Engine::Register)
        .seeds(0..500)
        .sometimes("somebody leads", |view| view.leaders().next().is_some())
        .sometimes("a tenth election", |view| view.elections() == 10)
        .run();
    assert_eq!(summary.seeds, 500);
    let error = Sim::new("shared")
        .engine(Engine::Register)
        .faults(Swarm::within_contract().sharing())
        .check()
        .unwrap_err()
        .to_string();
    assert!(error.contains("leave `sharing` out"), "{error}");
}

#[test]
fn beyond_the_contract_exclusion_breaks_and_fencing_holds() {
    let two = |view: &View<'_>| view.leaders().count() > 1;
    let summary = Sim::new("beyond_the_contract_exclusion_breaks_and_fencing_holds")
        .faults(Swarm::beyond_contract())
        .seeds(0..600)
        .sometimes("two believe that they lead", two)
        .sometimes("a write comes under a token that is over", |view| view.resource().refused() > 0)
        .run();
    assert!(summary.broken["exclusion"] > 10, "{:?}", summary.broken);
}

/// A token tells leaderships apart, but not two copies of one leader.
#[test]
fn what_a_fence_cannot_tell_apart_is_beyond_fencing() {
    let play = |name: &str| {
        let path = format!("{}/tests/scenarios/{name}.scn", env!("CARGO_MANIFEST_DIR"));
        let scn: Scn = std::fs::read_to_string(path).unwrap().parse().unwrap();
        (scn.schedule.contract(), scn.schedule.play().unwrap().broken)
    };
    assert_eq!(play("cloned-guest"), (Contract::Void, vec!["exclusion", "fencing"]));
    assert_eq!(play("cloned-follower"), (Contract::Void, vec!["exclusion"]));
    assert_eq!(play("one-name-for-all"), (Contract::Within, vec![]));
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    for swarm in [Swarm::within_contract(), Swarm::within_contract().of_quorum()] {
        let workload = Arc::default();
        let make = |seed| swarm.schedule(seed);
        let play = |jobs| budget(0..200, jobs).play(&workload, &make, &|_| {}).unwrap();
        let alone = play(1);
        for jobs in [4, 7] {
            assert_eq!(play(jobs), alone, "{jobs} jobs, quorum: {}", swarm.quorum);
        }
    }
}

#[test]
fn a_schedule_replays_exactly_and_seeds_differ() {
    let swarm = Swarm::within_contract();
    let hashes: Vec<_> = (0..50).map(|seed| swarm.schedule(seed).play().unwrap().hash).collect();
    for (seed, hash) in (0..).zip(&hashes) {
        assert_eq!(swarm.schedule(seed).play().unwrap().hash, *hash);
    }
    let mut different = hashes.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), hashes.len());
}

#[test]
fn what_chance_did_can_be_written_out() {
    let is_chance = |what: &FaultKind| matches!(what, FaultKind::Odds(..) | FaultKind::Frames(..));
    let chance =
        |schedule: &Schedule| schedule.faults.iter().filter(|fault| is_chance(&fault.kind)).count();
    let workload = Arc::default();
    let (lease, quorum) = (Swarm::within_contract(), Swarm::within_contract().of_quorum());
    for (swarm, seeds, enough) in [(lease, 0..200, 10), (quorum, 0..120, 5)] {
        let mut explicit = 0;
        for schedule in seeds.map(|seed| swarm.schedule(seed)).filter(|it| chance(it) > 0) {
            let written = schedule.made_explicit(&workload).unwrap();
            assert_eq!(chance(&written), 0);
            let (before, after) = (schedule.play().unwrap(), written.play().unwrap());
            assert_eq!(before.elections, after.elections, "seed {}", schedule.seed);
            explicit += usize::from(written.faults.len() > schedule.faults.len());
        }
        assert!(explicit > enough, "{explicit} schedules had anything to write out");
    }
}

/// A job that must run at most once in ten seconds. Its author asks whether the process leads, and
/// then takes time.
#[derive(Debug, Default)]
struct Careless {
    /// It relies on the resource's fence.
    fenced: bool,
    led: Option<Epoch>,
}

impl App for Careless {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        if let Change::Elected(tenure) = change {
            self.led = Some(tenure.term.epoch);
            context.wake_in(SECOND);
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        // The mistake: it remembers that it led instead of asking whether it does.
        if let Some(epoch) = self.led {
            if self.fenced {
                context.write_without_leading(epoch, format!("{epoch}"));
            } else {
                context.write(epoch, format!("{epoch}"));
            }
            context.wake_in(SECOND);
        }
    }
}

fn tokens_in_order(view: &View<'_>) -> bool {
    view.resource().accepted().windows(2).all(|pair| pair[0].token <= pair[1].token)
}

fn careless() -> Sim {
    Sim::new("careless").nodes(3).app(|_| Careless::default())
}

#[test]
fn a_careless_app_is_found_shrunk_and_told() {
    let Err(Failure::Violated(report)) = careless().seeds(0..50).check() else {
        panic!("a job that never looks at its deadline got through")
    };
    assert_eq!(report.violation.check, "acts only while leading");
    let why = &report.violation.what;
    assert!(why.contains(": it lost #") && why.ends_with("never asked whether it leads"), "{why}");
    assert!(report.scn.schedule.faults.len() <= 2, "{}", report.scn.schedule);
    assert!(report.scn.schedule.nodes.len() <= 2, "{}", report.scn.schedule);
    let told = report.to_string();
    assert!(told.contains("ELECTION_SIM_SEED=0x"), "{told}");
    assert!(told.contains('█'), "{told}");
    // The report's file plays to the same violation.
    let path = report.path.as_ref().unwrap();
    let scn: Scn = std::fs::read_to_string(path).unwrap().parse().unwrap();
    assert_eq!(scn.schedule, report.scn.schedule);
    assert!(scn.needs_app());
}

#[test]
fn the_same_app_is_safe_behind_a_fence() {
    Sim::new("the_same_app_is_safe_behind_a_fence")
        .nodes(3)
        .seeds(0..300)
        .app(|_| Careless { fenced: true, ..Careless::default() })
        .always("tokens in order", tokens_in_order)
        .sometimes("the fence had to refuse a write", |view| view.resource().refused() > 0)
        .run();
}

#[test]
fn shrinking_keeps_the_violation_and_is_quick() {
    let swarm = Swarm { contract: Contract::Beyond, ..Swarm::within_contract() };
    let workload: Arc<election_sim::Workload> = Arc::new(careless_rig());
    let failing = (0..2_000)
        .map(|seed| swarm.schedule(seed))
        .filter(|schedule| schedule.faults.len() > 8)
        .find(|schedule| schedule.play_with(&workload).unwrap().violation.is_some())
        .unwrap();
    let violation = failing.play_with(&workload).unwrap().violation.unwrap();
    let small = shrink(&failing, &workload, &violation.check, Duration::from_secs(20)).unwrap();
    assert_eq!(small.violation.check, violation.check);
    assert!(small.schedule.faults.len() < failing.faults.len());
    assert!(small.runs < 2_000, "{} runs", small.runs);
    let again = small.schedule.play_with(&workload).unwrap().violation.unwrap();
    assert_eq!(again, small.violation);
    // A schedule that does not fail is not shrunk to another one that does.
    let calm = Schedule::calm(2, SECOND);
    assert!(shrink(&calm, &workload, &violation.check, SECOND).is_none());
}

fn careless_rig() -> election_sim::Workload {
    careless().workload()
}

/// It draws lots outside the simulation, like code that iterates over a hash map.
#[derive(Debug, Default)]
struct Unruly;

static LOTS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

impl App for Unruly {
    fn changed(&mut self, _: &Change, context: &mut Context<'_>) {
        let lot = LOTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        context.wake_in(Duration::from_nanos(lot));
    }

    fn tick(&mut self, _: &mut Context<'_>) {}
}

#[test]
fn an_app_that_is_not_deterministic_is_found() {
    let unruly = Sim::new("unruly").app(|_| Unruly).seeds(0..200).jobs(1).check();
    let Err(Failure::Violated(report)) = unruly else { panic!("passed") };
    assert_eq!(report.violation.check, "determinism");
    // Nothing smaller fails the same way every time. The schedule as it is does.
    assert!(!report.to_string().contains("\nshrunk to "), "{report}");
    let again = Sim::new("unruly").app(|_| Unruly).check_replay(report.path.as_ref().unwrap());
    let Err(Failure::Violated(again)) = again else { panic!("passed") };
    assert_eq!(again.violation.check, "determinism");
}

#[test]
fn a_budget_of_nothing_is_refused() {
    for sim in [Sim::new("none").seeds(5..5), Sim::new("none").budget(Duration::ZERO)] {
        assert!(matches!(sim.check(), Err(Failure::Invalid(SimError::NoBudget))));
    }
    let nobody = Sim::new("nobody").nodes(10_001).seeds(0..1).check();
    assert!(matches!(nobody, Err(Failure::Invalid(SimError::ScheduleError(_)))));
}

#[test]
fn a_leader_is_demanded_after_the_heal() {
    // Nobody can be elected in one millisecond, so the simulation must report the demand as broken.
    let hasty = Sim::new("hasty").seeds(0..300).recovers_within(Duration::from_millis(1)).check();
    let Err(Failure::Violated(report)) = hasty else { panic!("passed") };
    assert_eq!(report.violation.check, "liveness");
}

#[test]
fn a_thousand_nodes_and_an_empty_run() {
    let crowd = Schedule { horizon: 20 * SECOND, ..Schedule::calm(1_000, 15 * SECOND) };
    let outcome = crowd.play().unwrap();
    assert_eq!((outcome.violation, outcome.elections), (None, 1));
    let instant = Schedule { horizon: Duration::from_nanos(1), ..Schedule::calm(5, SECOND) };
    assert_eq!(instant.play().unwrap().violation, None);
}

#[test]
fn overlapping_faults_of_one_kind_end_with_the_last() {
    let pause =
        |at, lasts| Fault { at: at * SECOND, lasts: lasts * SECOND, kind: FaultKind::Pause(0) };
    let schedule = Schedule {
        faults: vec![pause(5, 40), pause(10, 5)],
        horizon: 30 * SECOND,
        ..Schedule::calm(1, 15 * SECOND)
    };
    let (outcome, lines) = schedule.narrate(&Arc::default()).unwrap();
    // The only node is stopped from 5 to 45 s. It renews nothing and reports nothing more.
    assert_eq!(outcome.elections, 1);
    assert!(lines.iter().all(|line| line.node.is_none() || line.at < 6 * SECOND), "{lines:#?}");
}

/// The next test runs this test in a process of its own, with an environment.
#[test]
fn three_seeds() {
    let summary = Sim::new("three_seeds").nodes(2).seeds(0..3).run();
    println!("played {} seeds, hash {:x}", summary.seeds, summary.hash);
}

/// The next test runs this test in a process of its own, with an environment.
#[test]
fn one_millisecond() {
    let summary = Sim::new("one_millisecond").nodes(2).budget(Duration::from_millis(1)).run();
    println!("played {} seeds", summary.seeds);
}

#[test]
fn a_number_of_seeds_overrides_a_budget() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_millisecond", "--nocapture"])
        .env("ELECTION_SIM_SEEDS", "500")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    println!("{said}");
    assert!(said.contains("played 500 seeds"), "{said}");
}

#[test]
fn the_environment_overrides_the_code() {
    let play = |variables: &[(&str, &str)]| {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "three_seeds", "--nocapture"])
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    let says = |variables: &[(&str, &str)], passes: bool, what: &str| {
        let (passed, said) = play(variables);
        assert_eq!(passed, passes, "{variables:?}: {said}");
        assert!(said.contains(what), "{variables:?}: {said}");
    };
    says(&[], true, "played 3 seeds");
    says(&[("ELECTION_SIM_SEEDS", "40"), ("ELECTION_SIM_JOBS", "2")], true, "played 40 seeds");
    says(&[("ELECTION_SIM_SEED", "0x2a")], true, "played 1 seeds");
    says(&[("ELECTION_SIM_BUDGET", "1")], true, "played ");
    says(&[("ELECTION_SIM_BUDGET", "soon")], false, "expected whole seconds");
    says(&[("ELECTION_SIM_SEED", "two")], false, "expected a seed, as in 7 or 0x2a");
    says(&[("ELECTION_SIM_SEEDS", "0")], false, "a budget of nothing");
    says(&[("ELECTION_SIM_BUDGET", "0")], false, "a budget of nothing");
}
