//! What the simulator knows of a write: whether its sender led, and what earlier writes said.

use election_core::{Change, Epoch};
use election_sim::{App, Context, DurationRange, Failure, Schedule, Sim, Swarm, World, Write};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);

/// It leads for two seconds, and then lets go.
#[derive(Default)]
struct Brief {
    epoch: Option<Epoch>,
    resigned: bool,
}

impl App for Brief {
    fn started(&mut self, context: &mut Context<'_>) {
        context.write_without_leading(None, "started");
    }

    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        match change {
            Change::Elected(tenure) if self.epoch.is_none() => {
                self.epoch = Some(tenure.term.epoch);
                context.write(tenure.term.epoch, "elected");
                context.wake_in(2 * SECOND);
            }
            Change::Lost { term, stop_by, .. } => {
                if context.now() < *stop_by {
                    context.write_while_stopping(term.epoch, "lost");
                }
                context.work_stopped(term.epoch);
                context.wake_in(SECOND);
            }
            _ => {}
        }
    }

    fn tick(&mut self, context: &mut Context<'_>) {
        let Some(epoch) = self.epoch else { return };
        if !std::mem::replace(&mut self.resigned, true) {
            context.write(epoch, "resigns");
            return context.resign();
        }
        context.write_without_leading(epoch, "late");
        context.write_without_leading(None, "anybody");
    }
}

/// The accepted writes of a run of nine seconds, in which each travels for a second.
fn accepted(sim: Sim) -> Vec<Write> {
    let schedule = Schedule {
        act: DurationRange::exactly(SECOND),
        horizon: 9 * SECOND,
        ..Schedule::calm(1, 15 * SECOND)
    };
    let mut world = World::with(schedule, Arc::new(sim.workload())).expect("a world");
    assert_eq!(world.run(), None);
    world.view().resource().accepted().to_vec()
}

#[test]
fn a_write_says_whether_its_sender_led_then_and_on_arrival() {
    let writes = accepted(Sim::new("brief").app(|_| Brief::default()));
    let of = |write: &Write| (write.token.is_some(), write.led, write.led_on_arrival);
    let known: Vec<_> = writes.iter().map(|write| (write.what.as_str(), of(write))).collect();
    let wanted = [
        ("started", (false, false, false)),
        ("elected", (true, true, true)),
        ("resigns", (true, true, false)),
        ("lost", (true, false, false)),
        ("late", (true, false, false)),
        ("anybody", (false, false, false)),
    ];
    assert_eq!(known, wanted);
    assert!(writes.iter().all(|write| write.arrived == write.sent + SECOND), "{writes:?}");
}

/// It writes under an epoch that is not its own.
struct Stranger {
    asks: bool,
}

impl App for Stranger {
    fn changed(&mut self, change: &Change, context: &mut Context<'_>) {
        if let Change::Elected(tenure) = change {
            if self.asks {
                let _ = context.lead();
            }
            context.write(Epoch::new(tenure.term.epoch.get() + 1), "x");
        }
    }

    fn tick(&mut self, _: &mut Context<'_>) {}
}

#[test]
fn who_never_led_under_an_epoch_may_not_write_under_it() {
    for (asks, end) in [(true, "s (the answer: #1)"), (false, "and never asked whether it leads")] {
        let strange = Sim::new("strange").nodes(1).app(move |_| Stranger { asks }).seeds(0..1);
        let Err(Failure::Violated(report)) = strange.check() else { panic!("passed") };
        let what = &report.shrunk.what;
        let begin = "a writes \"x\" under #2: this process never led under #2, and ";
        assert!(what.starts_with(begin) && what.ends_with(end), "{what}");
    }
}

struct Starter;

impl App for Starter {
    fn started(&mut self, context: &mut Context<'_>) {
        context.write_without_leading(None, "started");
    }

    fn changed(&mut self, _: &Change, _: &mut Context<'_>) {}

    fn tick(&mut self, _: &mut Context<'_>) {}
}

#[test]
fn each_run_remembers_its_own_writes() {
    let sim = || Sim::new("once").nodes(1).jobs(1).seeds(0..20).app(|_| Starter);
    let starts = |seen: &mut BTreeSet<u32>, write: &Write| seen.insert(write.life);
    sim().each_write("a life starts once", BTreeSet::new, starts).run();
    // A process that comes back starts again.
    let starts = |count: &mut u32, _: &Write| {
        *count += 1;
        *count < 2
    };
    let Err(Failure::Violated(report)) = sim().each_write("one start", || 0, starts).check() else {
        panic!("no process came back")
    };
    let why = report.violation.to_string();
    assert!(why.starts_with("\"one start\" does not hold at "), "{why}");
    assert!(why.ends_with(": write \"started\" of a"), "{why}");
}

#[test]
fn writes_take_as_long_as_was_said() {
    let range = DurationRange::millis(5, 7);
    let sim = Sim::new("swift").writes_take(range);
    assert!((0..20).all(|seed| sim.schedule(seed).act == range));
    let of_quorum = Sim::new("swift").faults(Swarm::within_contract().of_quorum());
    assert_eq!(of_quorum.writes_take(range).schedule(3).act, range);
}

#[test]
fn a_swarm_keeps_what_it_says_unless_the_simulation_says_it() {
    let swarm = || Swarm { nodes: Some(4), ..Swarm::within_contract() };
    assert_eq!(Sim::new("four").faults(swarm()).schedule(0).nodes.len(), 4);
    assert_eq!(Sim::new("two").nodes(2).faults(swarm()).schedule(0).nodes.len(), 2);
}
