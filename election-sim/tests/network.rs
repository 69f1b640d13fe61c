//! The network between the apps of the nodes: what each fault of it does to frames.

use election_core::Change;
use election_sim::{
    App, Context, DurationRange, Fault, FaultKind, FrameFault, Schedule, Scn, Sim, View,
};
use std::{sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);

/// Every node tells the next one, once a second, how often it has done so. The receiver enters the
/// number in the ledger, for which it need not lead.
struct Ring {
    node: usize,
    nodes: usize,
    count: u8,
}

impl App for Ring {
    fn started(&mut self, context: &mut Context<'_>) {
        context.wake_in(SECOND);
    }

    fn changed(&mut self, _: &Change, _: &mut Context<'_>) {}

    fn tick(&mut self, context: &mut Context<'_>) {
        context.send((self.node + 1) % self.nodes, [self.count]);
        self.count += 1;
        context.wake_in(SECOND);
    }

    fn received(&mut self, from: usize, bytes: &[u8], context: &mut Context<'_>) {
        context.write_without_leading(None, format!("{from}:{}", bytes[0]));
    }
}

/// What node 1 heard from node 0, in order, in a run of ten and a half seconds.
fn heard(what: FaultKind, from: u32, lasts: u32) -> Vec<u8> {
    let fault = Fault { at: from * SECOND + SECOND / 2, lasts: lasts * SECOND, kind: what };
    let schedule = Schedule {
        faults: vec![fault],
        act: DurationRange::exactly(Duration::ZERO),
        horizon: 10 * SECOND + SECOND / 2,
        ..Schedule::calm(2, 15 * SECOND)
    };
    let workload = Arc::new(
        Sim::new("ring").unfenced().app(|node| Ring { node, nodes: 2, count: 0 }).workload(),
    );
    let mut world = election_sim::World::with(schedule, workload).expect("a world");
    assert_eq!(world.run(), None);
    let view = world.view();
    let accepted = view.resource().accepted().iter();
    accepted.filter_map(|write| write.what.strip_prefix("0:")?.parse().ok()).collect()
}

#[test]
fn calm_weather_delivers_everything_in_order() {
    assert_eq!(heard(FaultKind::Deaf, 0, 1), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn a_severed_link_loses_one_direction() {
    assert_eq!(heard(FaultKind::Sever(0, 1), 2, 3), [0, 1, 5, 6, 7, 8, 9]);
    assert_eq!(heard(FaultKind::Sever(1, 0), 2, 3), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn a_clogged_link_delivers_everything_at_the_end() {
    assert_eq!(heard(FaultKind::Clog(0, 1), 2, 3), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(heard(FaultKind::Clog(0, 1), 2, 30), [0, 1]);
}

#[test]
fn a_partition_cuts_both_ways() {
    assert_eq!(heard(FaultKind::Part(vec![0]), 2, 3), [0, 1, 5, 6, 7, 8, 9]);
    assert_eq!(heard(FaultKind::Part(vec![1]), 2, 3), [0, 1, 5, 6, 7, 8, 9]);
    assert_eq!(heard(FaultKind::Part(vec![0, 1]), 2, 3).len(), 10);
}

#[test]
fn frames_are_lost_doubled_and_overtaken() {
    assert_eq!(heard(FaultKind::Frames(FrameFault::Lost, 1_000_000), 2, 3), [0, 1, 5, 6, 7, 8, 9]);
    let twice = heard(FaultKind::Frames(FrameFault::Twice, 1_000_000), 2, 3);
    assert_eq!(twice, [0, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9]);
    let late = heard(FaultKind::Frames(FrameFault::Late(4 * SECOND), 1_000_000), 0, 9);
    assert!(late.windows(2).any(|pair| pair[0] > pair[1]), "{late:?} were not reordered");
}

#[test]
fn a_stopped_process_hears_it_when_it_goes_on() {
    assert_eq!(heard(FaultKind::Pause(1), 2, 3), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(heard(FaultKind::Crash(1), 2, 3), [0, 1, 5, 6, 7, 8, 9]);
}

#[test]
fn the_swarm_breaks_the_network_of_those_who_use_it() {
    let nodes = |view: &View<'_>| view.nodes();
    let sim = Sim::new("ring").nodes(4).unfenced().app(|node| Ring { node, nodes: 4, count: 0 });
    let sim = sim.always("four nodes", move |view| nodes(view) == 4);
    let network = |what: &FaultKind| {
        matches!(
            what,
            FaultKind::Sever(..) | FaultKind::Clog(..) | FaultKind::Part(_) | FaultKind::Frames(..)
        )
    };
    let mut seen = 0;
    for seed in 0..100 {
        let schedule = sim.schedule(seed);
        seen += schedule.faults.iter().filter(|fault| network(&fault.kind)).count();
        let scn = Scn::new(schedule);
        assert_eq!(scn.to_string().parse::<Scn>().expect("what was printed"), scn);
    }
    assert!(seen > 50, "{seen} faults of the network");
}
