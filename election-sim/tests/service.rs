//! Real services, with the real driver, in simulated time.

use election_driver::{
    Handle, Lease,
    core::{Epoch, NodeId},
};
use election_sim::{
    DurationRange, Failure, Schedule, ScheduleError, Sim, Software, Swarm, Timing, View, Write,
    WriteError,
    service::{Node, SimRuntime},
};
use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    error::Error,
    sync::{Arc, Mutex},
    time::Duration,
};

type Outcome = Result<(), Box<dyn Error>>;

const TTL: Duration = Duration::from_secs(15);
const PACE: Duration = Duration::from_millis(700);

fn sim(name: &str) -> Sim {
    Sim::new(name).nodes(3).timing(Timing::of(TTL))
}

/// The check that fails, with its words.
#[track_caller]
fn failure(sim: Sim) -> (u64, String, String) {
    match sim.check() {
        Err(Failure::Violated(report)) => {
            (report.seed.0, report.violation.check.to_string(), report.violation.what.clone())
        }
        other => panic!("not found: {other:?}"),
    }
}

/// Looks at its guard before every write.
async fn careful(node: Node) -> Outcome {
    let work = async |lease: Lease<SimRuntime>| {
        while lease.check().is_ok() {
            node.write(lease.epoch(), "counted");
            node.sleep(PACE).await;
        }
        Ok::<_, Infallible>(())
    };
    Ok(node.election().build()?.run_while_leader(work).await?)
}

#[test]
fn a_service_that_checks_never_acts_without_leading() {
    let name = "a_service_that_checks_never_acts_without_leading";
    let passed = sim(name)
        .seeds(0..200)
        .service(careful)
        .sometimes("a second leader writes", |view| {
            let writes = view.resource().accepted();
            writes.windows(2).any(|pair| pair[0].node != pair[1].node)
        })
        .run();
    assert!(passed.elections > 300, "{passed:?}");
}

/// Remembers for five seconds whether it leads.
async fn caches(node: Node) -> Outcome {
    let handle: Handle<SimRuntime> = node.election().build()?.start();
    loop {
        let lease = handle.elected().await?;
        let epoch = lease.epoch();
        drop(lease);
        for _ in 0..5 {
            node.write(epoch, "counted");
            node.sleep(Duration::from_secs(1)).await;
        }
    }
}

#[test]
fn a_cached_is_leader_is_found() {
    let (seed, check, what) = failure(sim("a_cached_is_leader_is_found").service(caches));
    assert_eq!(check, "acts only while leading");
    assert!(what.contains("it lost"), "{what}");
    assert!(seed < 50);
}

/// Its guard is checked, but a pause between the check and the write is one that only a fence stops.
#[test]
fn a_stall_between_check_and_write_reaches_the_resource() {
    let name = "a_stall_between_check_and_write_reaches_the_resource";
    let short = DurationRange::millis(0, 10);
    let often = async |node: Node| {
        let work = async |lease: Lease<SimRuntime>| {
            while lease.check().is_ok() {
                for _ in 0..5 {
                    if lease.check().is_ok() {
                        node.write(lease.epoch(), "counted");
                    }
                }
                node.sleep(PACE).await;
            }
            Ok::<_, Infallible>(())
        };
        Ok::<_, Box<dyn Error>>(node.election().build()?.run_while_leader(work).await?)
    };
    let sim = sim(name).service(often).unfenced().writes_take(short);
    let sim = sim.each_write("led when it was sent", || (), |(), write| write.led);
    let (_, check, _) = failure(sim);
    assert_eq!(check, "led when it was sent");
}

/// A process is stopped after so many calls. A note is none.
#[test]
fn a_note_changes_nothing_in_a_run() {
    let noting = async |node: Node| {
        let work = async |lease: Lease<SimRuntime>| {
            while lease.check().is_ok() {
                node.note("leads");
                node.write(lease.epoch(), "counted");
                node.sleep(PACE).await;
            }
            Ok::<_, Infallible>(())
        };
        Ok::<_, Box<dyn Error>>(node.election().build()?.run_while_leader(work).await?)
    };
    let sim = sim("noting").service(noting);
    let workload = Arc::new(sim.workload());
    for seed in 0..100 {
        let schedule = sim.schedule(seed);
        let (told, _) = schedule.narrate(&workload).expect("a schedule");
        assert_eq!(schedule.play_with(&workload).expect("a schedule").hash, told.hash, "{seed}");
    }
}

#[test]
fn a_service_may_end_by_itself() {
    let leaves = async |node: Node| {
        let work = async |_: Lease<SimRuntime>| {
            node.sleep(PACE * 10).await;
            Ok::<_, Infallible>(())
        };
        Ok::<_, Box<dyn Error>>(node.election().build()?.run_while_leader(work).await?)
    };
    let short = Timing::of(Duration::from_millis(500));
    Sim::new("leaves").nodes(1).timing(short).seeds(0..100).service(leaves).run();
}

/// What a client does not know: whether a write was taken of which it has heard nothing.
#[test]
fn a_write_that_is_repeated_may_be_taken_twice() {
    let repeats = async |node: Node| {
        let work = async |lease: Lease<SimRuntime>| {
            for count in 0.. {
                let what = format!("{} {count}", lease.epoch());
                while node.write(lease.epoch(), &*what).decided().await == Err(WriteError::Unknown)
                {
                    lease.check().map_err(|_| "lost")?;
                }
                lease.until_lost(node.sleep(PACE)).await.map_err(|_| "lost")?;
            }
            Ok::<_, &str>(())
        };
        node.election().build()?.run_while_leader(work).await?;
        Ok::<_, Box<dyn Error>>(())
    };
    let swift = DurationRange::millis(0, 10);
    let sim = sim("repeats").service(repeats).writes_take(swift);
    let once = |seen: &mut HashSet<String>, write: &Write| seen.insert(write.what.clone());
    let Err(Failure::Violated(report)) =
        sim.each_write("nothing twice", HashSet::new, once).check()
    else {
        panic!("not found")
    };
    assert!(report.violation.check == "nothing twice" && report.seed.0 < 50, "{report}");
    assert!(report.story.contains(": accepted, and the answer is lost"), "{report}");
}

#[test]
fn the_order_of_a_hash_map_is_found() {
    let hashed = async |node: Node| {
        let names: HashMap<_, _> = (0..20).map(|name| (name, name)).collect();
        for name in names.keys() {
            node.write_without_leading(None, name.to_string());
        }
        careful(node).await
    };
    let (_, check, _) = failure(sim("the_order_of_a_hash_map_is_found").service(hashed));
    assert_eq!(check, "determinism");
}

#[test]
fn a_service_that_never_waits_is_told_so() {
    let spins = async |node: Node| {
        let _elector = node.election().build().expect("a name").start(); // dropped in the panic
        node.sleep(PACE).await;
        while node.now() < node.now() + PACE {}
    };
    let (_, check, what) = failure(sim("a_service_that_never_waits_is_told_so").service(spins));
    assert_eq!(check, "panic");
    assert!(what.contains("calls its node in a loop"), "{what}");
}

#[test]
fn services_send_frames_to_each_other() {
    let talks = async |node: Node| {
        let first = NodeId::new("a").expect("a name");
        assert_eq!(node.number_of(&first), Some(0));
        node.send((node.number() + 1) % node.nodes(), [7]);
        let (from, bytes) = node.receive().await;
        assert_eq!(((from + 1) % node.nodes(), &*bytes), (node.number(), &[7][..]));
        node.write_without_leading(None, "heard");
        careful(node).await
    };
    let heard = sim("services_send_frames_to_each_other").seeds(0..20).service(talks);
    heard.sometimes("all are heard", |view| view.resource().accepted().len() > 2).run();
}

#[test]
fn what_a_service_cannot_do_here_is_named() {
    let twice = async |node: Node| {
        let _one = node.election().build().expect("a name").start();
        let _other = node.election().build().expect("a name").start();
    };
    let (_, check, what) = failure(sim("twice").service(twice));
    assert!(check == "panic" && what.contains("a second election"), "{what}");
    let timed = async |node: Node| {
        let _elector = node.election().ttl(2 * TTL).build().expect("a timing").start();
    };
    let (_, check, what) = failure(sim("timed").service(timed));
    assert!(check == "panic" && what.contains("the timing"), "{what}");
    let hasty = async |node: Node| {
        let cluster = node.cluster().config(|config| config.grace(PACE));
        let _member = cluster.build().expect("a timing").start().await;
    };
    let swarm = Swarm { down_after: Some(TTL), ..Swarm::within_contract().of_quorum() };
    let (_, check, what) = failure(Sim::new("hasty").faults(swarm).service(hasty));
    assert!(check == "panic" && what.contains("the timing"), "{what}");
    let of_quorum = sim("member").faults(Swarm::within_contract().of_quorum());
    let (_, check, what) = failure(of_quorum.service(careful));
    assert!(check == "panic" && what.contains("Node::cluster"), "{what}");
    let member = async |node: Node| node.cluster().build().map(drop);
    let (_, check, what) = failure(sim("lease").service(member));
    assert!(check == "panic" && what.contains("Node::election"), "{what}");
    let mut beside = Schedule::calm_quorum(3, TTL);
    beside.nodes[0].software = Software::Legacy;
    let workload = sim("legacy").service(careful).workload();
    let why = beside.play_with(&Arc::new(workload)).err();
    assert_eq!(why, Some(ScheduleError::ServiceBesideLegacy));
}

#[test]
fn a_service_is_told_what_became_of_its_write() {
    let asks = async |node: Node| {
        let leader = node.election().build().expect("a name").start();
        while let Ok(lease) = leader.elected().await {
            let (own, old) = (lease.epoch(), Epoch::new(lease.epoch().get() - 1));
            for count in 0..10 {
                let what = format!("{own} {count}");
                let decided = node.write_without_leading(own, &*what).decided().await;
                let taken = node.read().iter().any(|write| write.what == what);
                match decided {
                    Ok(()) => assert!(taken, "{what} is not there"),
                    Err(WriteError::Refused) => assert!(!taken, "{what} is there"),
                    Err(WriteError::Unknown) => {
                        let fate = if taken { "answer lost" } else { "write lost" };
                        node.write_without_leading(None, fate);
                    }
                }
                let outdated = node.write_without_leading(old, "old").decided().await;
                assert!(outdated.is_err() || decided.is_err(), "{old} was served after {own}");
            }
            lease.lost().await;
        }
    };
    let came = |what: &'static str| {
        move |view: &View<'_>| view.resource().accepted().iter().any(|write| write.what == what)
    };
    let told = sim("a_service_is_told_what_became_of_its_write").seeds(0..50).service(asks);
    told.sometimes("a write is lost", came("write lost"))
        .sometimes("an answer is lost", came("answer lost"))
        .run();
}

/// Two tasks that are ready at one instant.
#[test]
fn the_order_of_ready_tasks_is_drawn() {
    let races = async |node: Node| {
        let order = Arc::new(Mutex::new(String::new()));
        for name in ["a", "b"] {
            let (order, nap) = (order.clone(), node.sleep(PACE));
            node.spawn(async move {
                nap.await;
                order.lock().expect("no panic").push_str(name);
            });
        }
        node.sleep(2 * PACE).await;
        let order = order.lock().expect("no panic").clone();
        node.write_without_leading(None, order);
        careful(node).await
    };
    let is = |order: &'static str| {
        move |view: &View<'_>| view.resource().accepted().iter().any(|write| write.what == order)
    };
    let raced = sim("the_order_of_ready_tasks_is_drawn").seeds(0..20).service(races);
    raced.sometimes("one is first", is("ab")).sometimes("the other is", is("ba")).run();
}

#[test]
fn a_service_that_ends_is_told_with_its_last_error() {
    let ends = async |_: Node| Err::<(), _>("no table");
    let told = sim("a_service_that_ends").seeds(0..1).service(ends);
    let Err(Failure::Violated(report)) = told.always("short", |view| view.now() < PACE * 9).check()
    else {
        panic!("passed")
    };
    assert!(report.story.contains(", the last with Err(\"no table\")"), "{report}");
}
