//! The searches themselves, on toys with a known number of states; and the lease in small worlds.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use election_sim::{
    Scn,
    explore::{
        Broken, Count, Ended, Exported, Limits, Model, Outcome, Walks, breadth_first,
        lease::{Lease, Move, Often, Scope, export},
        quorum, walk,
    },
};
use std::time::Duration;

/// Two counters that each go from zero to a bound; one pair of values is forbidden.
struct Counters {
    bound: u8,
    forbidden: Option<(u8, u8)>,
    /// The counters may trade places.
    alike: bool,
    /// While the first counter is odd, it must go on at once.
    hurried: bool,
}

impl Model for Counters {
    type State = (u8, u8);
    type Move = u8;

    fn starts(&mut self) -> Vec<(u8, u8)> {
        vec![(0, 0)]
    }

    fn moves(&mut self, state: &(u8, u8), moves: &mut Vec<u8>) {
        if let Some(only) = self.forced(state) {
            return moves.push(only);
        }
        moves.extend((state.0 < self.bound).then_some(0));
        moves.extend((state.1 < self.bound).then_some(1));
        moves.push(2);
    }

    fn forced(&self, state: &(u8, u8)) -> Option<u8> {
        (self.hurried && state.0 % 2 == 1).then_some(0)
    }

    fn after(&mut self, state: &(u8, u8), what: &u8) -> Result<(u8, u8), Broken> {
        let next = match what {
            0 => (state.0 + 1, state.1),
            1 => (state.0, state.1 + 1),
            _ => (0, 0),
        };
        if Some(next) == self.forbidden {
            return Err(Broken { check: "forbidden", what: format!("{next:?}") });
        }
        Ok(next)
    }

    fn fingerprint(&self, state: &(u8, u8)) -> u64 {
        let (a, b) = if self.alike && state.0 > state.1 { (state.1, state.0) } else { *state };
        (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn kind(&self, what: &u8) -> u32 {
        u32::from(*what)
    }

    fn describe(&mut self, state: &(u8, u8), what: &u8) -> String {
        format!("{what} from {state:?}")
    }
}

fn counters(forbidden: Option<(u8, u8)>) -> Counters {
    Counters { bound: 20, forbidden, alike: false, hurried: false }
}

fn all<M: Model>(model: &mut M, limits: &Limits) -> Outcome<M::Move> {
    breadth_first(model, limits, &mut |_| {})
}

/// What a search that must find nothing found.
#[track_caller]
fn clean<M: Model>(model: &mut M, limits: &Limits, name: &str) -> (Ended, Count) {
    let outcome = all(model, limits);
    let found = outcome.counterexample.map(|found| found.trace(model));
    assert_eq!(found, None, "{name}");
    (outcome.ended, outcome.count)
}

#[test]
fn breadth_first_sees_every_state_once() {
    let outcome = all(&mut counters(None), &Limits::default());
    assert_eq!((outcome.ended, outcome.counterexample), (Ended::Exhausted, None));
    let Count { states, moves, depth, .. } = outcome.count;
    // Two moves up from all but the last row and column, and one back from everywhere.
    assert_eq!((states, moves, depth), (21 * 21, 2 * 20 * 21 + 21 * 21, 40));
    let halved = all(&mut Counters { alike: true, ..counters(None) }, &Limits::default());
    assert_eq!(halved.count.states, 21 * 22 / 2);
}

#[test]
fn breadth_first_finds_the_shortest_way() {
    let mut model = counters(Some((3, 4)));
    let outcome = all(&mut model, &Limits::default());
    let found = outcome.counterexample.unwrap();
    assert_eq!((outcome.ended, outcome.count.depth, found.path.len()), (Ended::Violated, 7, 7));
    let trace = found.trace(&mut model);
    assert_eq!(trace.len(), 8, "{trace:?}");
    assert!(trace[7].contains("forbidden violated: (3, 4)"), "{trace:?}");
}

/// States that only one move can follow are not kept, but are judged, and appear on the way.
#[test]
fn what_must_happen_at_once_is_passed_through() {
    let hurried = |forbidden| Counters { hurried: true, ..counters(forbidden) };
    let outcome = all(&mut hurried(None), &Limits::default());
    assert_eq!((outcome.ended, outcome.count.states), (Ended::Exhausted, 11 * 21));
    // Two steps from all but the last row, one from all but the last column, one back.
    assert_eq!(outcome.count.moves, 2 * 10 * 21 + 11 * 20 + 11 * 21);
    for (forbidden, length) in [((3, 4), 7), ((4, 4), 8)] {
        let mut model = hurried(Some(forbidden));
        let outcome = all(&mut model, &Limits::default());
        let found = outcome.counterexample.expect("a way");
        assert_eq!((found.path.len(), outcome.count.depth), (length, length));
        let trace = found.trace(&mut model);
        assert!(trace[length].contains(&format!("violated: {forbidden:?}")), "{trace:?}");
        let mut state = (0, 0);
        for (nth, what) in found.path.iter().enumerate() {
            assert!(model.allows(&state, what), "{nth}: {what} from {state:?}");
            state = model.after(&state, what).unwrap_or(forbidden);
        }
    }
}

/// What the quorum calls forced is the only move there is, and never time.
#[test]
fn only_what_must_happen_at_once_is_forced() {
    let mut random = election_core::Random::new(7);
    let mut forced = 0;
    for (name, scope) in quorum::Scope::presets() {
        let mut model = quorum(scope);
        let mut state = model.starts()[0];
        for _ in 0..3_000 {
            let mut moves = Vec::new();
            model.moves(&state, &mut moves);
            if let Some(only) = model.forced(&state) {
                assert_eq!(moves, [only], "{name}");
                assert_ne!(only, quorum::Move::Pass);
                forced += 1;
            }
            let last = u64::try_from(moves.len().saturating_sub(1)).unwrap();
            let next = moves.get(usize::try_from(random.up_to(last)).unwrap());
            let next = next.map(|what| model.after(&state, what).expect("no violation"));
            state = next.unwrap_or_else(|| model.starts()[0]);
        }
    }
    println!("{forced} forced moves");
    assert!(forced > 1_000, "{forced}");
}

#[test]
fn limits_end_a_search_and_are_named() {
    let limited = |limits: Limits| all(&mut counters(None), &limits);
    let depth = limited(Limits { depth: 3, ..Limits::default() });
    assert_eq!((depth.ended, depth.count.states), (Ended::Depth, 1 + 2 + 3 + 4));
    let states = limited(Limits { states: 100, ..Limits::default() });
    assert_eq!(states.ended, Ended::States);
    assert_eq!(limited(Limits { bytes: 1, ..Limits::default() }).ended, Ended::Memory);
    let time = limited(Limits { time: Some(Duration::ZERO), ..Limits::default() });
    assert_eq!(time.ended, Ended::Time);
}

/// The thread that remembers states may be behind or ahead; what is found does not depend on it.
#[test]
fn a_limit_ends_a_search_at_the_same_state_in_every_run() {
    let presets = quorum::Scope::presets();
    let (_, large) = presets.iter().find(|(preset, _)| *preset == "n3").unwrap();
    for limits in [
        Limits { states: 200_000, ..Limits::default() },
        Limits { bytes: 1 << 23, ..Limits::default() },
        Limits { states: 3, ..Limits::default() },
    ] {
        let run = || all(&mut quorum(large.clone()), &limits);
        let first = run();
        assert_ne!(first.ended, Ended::Exhausted, "{first:?}");
        assert!(first.count.states <= limits.states, "{first:?}");
        for _ in 0..3 {
            assert_eq!(run(), first);
        }
    }
}

#[test]
fn swarm_walks_reach_what_uniform_ones_do_not() {
    // One move in three goes back to the start, so uniform walks get nowhere.
    let walks = |swarm| Walks { seed: 1, walks: 2_000, length: 200, swarm };
    let mut model = counters(Some((17, 16)));
    let uniform = walk(&mut model, &walks(false), &Limits::default(), &mut |_| {});
    assert_eq!((uniform.ended, uniform.count.walks), (Ended::Depth, 2_000));
    let swarm = walk(&mut model, &walks(true), &Limits::default(), &mut |_| {});
    let found = swarm.counterexample.clone().unwrap();
    assert_eq!(found.path.len(), 33, "shortened to what is needed");
    let again = walk(&mut model, &walks(true), &Limits::default(), &mut |_| {});
    assert_eq!(swarm, again);
}

fn lease(scope: Scope) -> Lease {
    Lease::new(scope).unwrap()
}

/// Clocks ten per cent off; a margin in milliseconds for a lease of a hundred.
fn with_margin(margin: u64) -> Scope {
    let mut scope = Scope::small();
    // The configuration is told of only one per cent, or it would refuse the smaller margin.
    scope.timing.drift_ppm = 10_000;
    scope.timing.margin = Some(Duration::from_millis(margin));
    scope
}

#[test]
fn the_margin_has_to_cover_the_drift_and_no_more() {
    let outcome = all(&mut lease(with_margin(10)), &Limits::default());
    assert_eq!((outcome.ended, outcome.counterexample), (Ended::Exhausted, None));
    assert!(outcome.count.states > 100_000, "{:?}", outcome.count);

    let outcome = all(&mut lease(with_margin(9)), &Limits::default());
    assert_eq!((outcome.ended, outcome.count.depth), (Ended::Violated, 17));
    assert_eq!(outcome.counterexample.unwrap().broken.check, "exclusion");
}

#[test]
fn the_boundary_is_the_same_in_finer_time() {
    let fine = |margin| {
        let scope = with_margin(margin);
        Scope { unit: scope.timing.ttl / 10, ..scope }
    };
    let outcome = all(&mut lease(fine(9)), &Limits::default());
    assert_eq!(outcome.counterexample.unwrap().broken.check, "exclusion");
    let limits = Limits { depth: 40, ..Limits::default() };
    assert_eq!(all(&mut lease(fine(10)), &limits).ended, Ended::Depth);
}

#[test]
fn a_small_world_is_clean_to_its_end() {
    let outcome = all(&mut lease(Scope::small()), &Limits::default());
    assert_eq!((outcome.ended, outcome.counterexample), (Ended::Exhausted, None));
    let once_more = all(&mut lease(Scope::small()), &Limits::default());
    assert_eq!(outcome.count, once_more.count);
}

/// The worlds in which things go wrong, searched near their starts.
#[test]
fn troubled_worlds_are_clean() {
    let limits = Limits { states: 150_000, ..Limits::default() };
    for (name, scope) in Scope::presets() {
        clean(&mut lease(scope), &limits, name);
    }
}

/// Nodes that trade places give one state: half as many states, or nearly.
#[test]
fn three_nodes_are_clean_nearby() {
    let scope = Scope { nodes: 3, rates: vec![0], ..Scope::small() };
    let limits = Limits { states: 500_000, ..Limits::default() };
    let outcome = all(&mut lease(scope), &limits);
    assert_eq!((outcome.ended, outcome.counterexample), (Ended::States, None));
}

#[track_caller]
fn walks_are_clean<M: Model>(model: impl Fn() -> M) {
    for swarm in [false, true] {
        let walks = Walks { seed: 3, walks: 3_000, length: 120, swarm };
        let mut model = model();
        let outcome = walk(&mut model, &walks, &Limits::default(), &mut |_| {});
        let found = outcome.counterexample.map(|found| found.trace(&mut model));
        assert_eq!(found, None, "swarm {swarm}");
    }
}

#[test]
fn walks_through_the_lease_are_clean() {
    let often =
        Often { crashes: 1, resigns: 1, failures: 2, pauses: 1, wakes: 1, ..Often::default() };
    let scope = Scope { abandoned: 1, lock_wait: 3, often, ..Scope::small() };
    walks_are_clean(|| lease(scope.clone()));
}

#[test]
fn a_counterexample_is_a_schedule_that_shows_the_same() {
    let mut model = lease(with_margin(9));
    let found = all(&mut model, &Limits::default()).counterexample.unwrap();
    shows_two_leaders(export(&mut model, &found));
    assert!(found.path.iter().any(|what| matches!(what, Move::Lose(_))));
}

/// The schedule goes through its text, as anybody would replay it.
#[track_caller]
fn shows_two_leaders(exported: Exported) {
    let Exported::Schedule(scn) = exported else { panic!("{exported:?}") };
    let scn: Scn = scn.to_string().parse().unwrap();
    let (outcome, transcript) = scn.play(&std::sync::Arc::default()).unwrap();
    assert_eq!(outcome.broken, ["exclusion"], "{transcript}");
    assert_eq!(scn.transcript, Some(transcript));
}

#[test]
fn worlds_that_cannot_be_are_refused() {
    let why = |scope: Scope| Lease::new(scope).err().map(|why| why.to_string());
    let small = Scope::small();
    for (scope, says) in [
        (Scope { nodes: 0, ..small.clone() }, "one to 3"),
        (Scope { nodes: 4, ..small.clone() }, "one to 3"),
        (Scope { unit: Duration::from_micros(500), ..small.clone() }, "whole milliseconds"),
        (Scope { rates: vec![], ..small.clone() }, "rates"),
        (Scope { abandoned: 3, ..small.clone() }, "at most 6"),
        (Scope { often: Often { crashes: 9, ..Often::default() }, ..small.clone() }, "at most 7"),
        (with_margin(1), "does not cover"),
    ] {
        assert!(why(scope).is_some_and(|why| why.contains(says)), "{says}");
    }
}

fn quorum(scope: quorum::Scope) -> quorum::Quorum {
    quorum::Quorum::new(scope).unwrap()
}

#[test]
fn a_small_quorum_is_clean_to_its_end() {
    let outcome = all(&mut quorum(quorum::Scope::small()), &Limits::default());
    assert_eq!((outcome.ended, outcome.counterexample), (Ended::Exhausted, None));
    assert!(outcome.count.states > 5_000, "{:?}", outcome.count);
    let once_more = all(&mut quorum(quorum::Scope::small()), &Limits::default());
    assert_eq!(outcome.count, once_more.count);
}

#[test]
fn troubled_quorums_are_clean() {
    let limits = Limits { states: 150_000, ..Limits::default() };
    for (name, scope) in quorum::Scope::presets() {
        clean(&mut quorum(scope), &limits, name);
    }
}

/// Witnesses, pauses, planned handovers, and the return to the preferred primary.
#[test]
fn what_operators_ask_for_is_clean_to_its_end() {
    let presets = quorum::Scope::presets();
    for name in ["witness", "recording", "planned", "preferred"] {
        let (_, scope) = presets.iter().find(|(preset, _)| *preset == name).unwrap();
        let (ended, count) = clean(&mut quorum(scope.clone()), &Limits::default(), name);
        assert_eq!(ended, Ended::Exhausted, "{name}");
        assert!(count.states > 50_000, "{name}: {count:?}");
    }
}

#[test]
fn walks_through_a_quorum_are_clean() {
    let (_, everything) = quorum::Scope::presets().pop().unwrap();
    walks_are_clean(|| quorum(everything.clone()));
}

/// The clocks are further off than the nodes are told.
#[test]
fn a_quorum_whose_clocks_break_the_bound_has_two_leaders() {
    let (_, scope) =
        quorum::Scope::presets().into_iter().find(|(name, _)| *name == "drift").unwrap();
    let mut model = quorum(quorum::Scope { drift_ppm: 0, ..scope });
    let found = all(&mut model, &Limits::default()).counterexample.unwrap();
    assert_eq!(found.broken.check, "exclusion");
    shows_two_leaders(quorum::export(&mut model, &found));
}
