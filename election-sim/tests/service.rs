//! Real services, with the real driver, in simulated time.

use election_driver::{Handle, Lease, core::Epoch};
use election_sim::{
    DurationRange, Failure, Schedule, ScheduleError, Sim, Software, Swarm, Timing, View,
    service::{Node, SimRuntime},
};
use std::{
    collections::HashMap,
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
    println!("{seed} {check} {what}");
    assert_eq!(check, "acts only while leading");
    assert!(what.contains("it lost"), "{what}");
    assert!(seed < 50);
}

/// Its guard is checked, but a pause between the check and the write is one that only a fence stops.
#[test]
fn a_stall_between_check_and_write_reaches_the_resource() {
    let name = "a_stall_between_check_and_write_reaches_the_resource";
    let short = DurationRange::millis(0, 10);
    let sim = sim(name).service(careful).unfenced().writes_take(short);
    let sim = sim.each_write("led when it was sent", || (), |(), write| write.led);
    let (seed, check, what) = failure(sim);
    println!("{seed} {check} {what}");
    assert_eq!(check, "led when it was sent");
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
    let (seed, check, what) = failure(sim("the_order_of_a_hash_map_is_found").service(hashed));
    println!("{seed} {check} {what}");
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
    assert!(what.contains("reads the clock in a loop"), "{what}");
}

#[test]
fn services_send_frames_to_each_other() {
    let talks = async |node: Node| {
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
    let outdated = async |node: Node| {
        let leader = node.election().build().expect("a name").start();
        while let Ok(lease) = leader.elected().await {
            let (own, old) = (lease.epoch(), Epoch::new(lease.epoch().get() - 1));
            let taken = node.write(own, "new").decided().await.is_ok();
            let refused = node.write_without_leading(old, "old").decided().await.is_err();
            assert!(refused || !taken, "a write under {old} was served after one under {own}");
            lease.lost().await;
        }
    };
    let is_old = |view: &View<'_>| view.resource().accepted().iter().any(|it| it.what == "old");
    let told = sim("a_service_is_told_what_became_of_its_write").seeds(0..20).service(outdated);
    told.sometimes("one is taken", |view| !view.resource().accepted().is_empty())
        .always("no old one is", move |view| !is_old(view))
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
