//! The driver itself in simulated time, used in every way that it offers. `election-sim/planted` has
//! bugs of the driver that these tests find.

use election_driver::{
    Changes, Handle, Lease, Lost, Stopped,
    core::{Change, Epoch},
};
use election_sim::{
    Sim, Summary, Timing,
    service::{Node, SimRuntime},
};
use std::{
    cell::Cell,
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

type Outcome = Result<(), Box<dyn Error>>;

const TTL: Duration = Duration::from_secs(15);

/// `ELECTION_SIM_SEEDS` asks for more.
fn plays(
    name: &str,
    must_write: &'static str,
    service: impl AsyncFn(Node) -> Outcome + Copy + Send + Sync + 'static,
) {
    let passed: Summary = Sim::new(name)
        .nodes(3)
        .timing(Timing::of(TTL))
        .seeds(0..200)
        .service(move |node| async move { service(node).await })
        .sometimes("a third leader is elected", |view| view.elections() > 2)
        .sometimes(must_write, move |view| {
            view.resource().accepted().iter().any(|write| write.what == must_write)
        })
        .run();
    println!("{name}: {} events, {} elections", passed.events, passed.elections);
}

/// A span up to this one.
fn drawn(node: &Node, most: Duration) -> Duration {
    Duration::from_millis(node.draw(u64::try_from(most.as_millis()).unwrap_or(u64::MAX)))
}

#[test]
fn work_runs_while_its_process_leads() {
    plays("work_runs_while_its_process_leads", "clears up", async |node| {
        let handle = node.election().build()?.start();
        let last = Cell::new(Epoch::NONE);
        while !handle.status().closed {
            let done = handle.run_while_leader(async |lease| {
                assert!(
                    last.replace(lease.epoch()) < lease.epoch(),
                    "it has worked under this one"
                );
                work(&node, &lease).await
            });
            let done = done.await;
            if done.is_err() {
                node.sleep(drawn(&node, TTL)).await;
            }
        }
        Ok(())
    });
}

/// Ends well or badly after a while. After a loss it clears up until somebody stops it.
async fn work(node: &Node, lease: &Lease<SimRuntime>) -> Result<(), &'static str> {
    assert!(lease.is_held() || lease.lost().await.term.epoch == lease.epoch());
    let end = node.now() + drawn(node, 20 * TTL);
    while lease.check().is_ok() {
        node.write(lease.epoch(), "works");
        if node.now() > end {
            return if node.draw(1) == 0 { Ok(()) } else { Err("cannot go on") };
        }
        let nap = node.sleep(drawn(node, Duration::from_secs(2)));
        if lease.until_lost(nap).await.is_err() {
            break;
        }
    }
    loop {
        node.write_while_stopping(lease.epoch(), "clears up");
        node.sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn guards_hold_a_leadership_until_the_last_is_dropped() {
    plays("guards_hold_a_leadership_until_the_last_is_dropped", "the last", async |node| {
        let handle = node.election().build()?.start();
        let mut last = None;
        loop {
            let lease = handle.elected().await?;
            assert!(last < Some(lease.epoch()), "elected twice under {}", lease.epoch());
            last = Some(lease.epoch());
            node.spawn(told_at_once(node.clone(), handle.changes(), lease.ended()));
            for _ in 0..=node.draw(1) {
                node.spawn(guarded(node.clone(), lease.clone()));
            }
            let lost = lease.lost().await;
            assert_eq!(lost.term, *lease.term());
            assert!(lease.check().is_err(), "believed after its end");
        }
    });
}

/// Who waits for the end of a leadership learns of it when the change is told.
async fn told_at_once(
    node: Node,
    mut changes: Changes,
    ended: impl Future<Output = Lost> + Send + 'static,
) {
    let told = Arc::new(AtomicBool::new(false));
    let tell = told.clone();
    node.spawn(async move {
        ended.await;
        tell.store(true, Ordering::Relaxed);
    });
    while let Ok(Some(change)) = changes.next().await {
        if matches!(change, Change::Lost { .. }) {
            node.sleep(Duration::from_millis(1)).await;
            return assert!(told.load(Ordering::Relaxed), "the change came first");
        }
    }
}

/// A task with a guard of its own, which it keeps until the hard stop or a little less.
async fn guarded(node: Node, lease: Lease<SimRuntime>) {
    let ended = lease.ended();
    while lease.until_lost(node.sleep(drawn(&node, Duration::from_secs(3)))).await.is_ok() {
        if lease.is_held() {
            node.write(lease.epoch(), "guarded");
        }
    }
    assert_eq!(ended.await.term, *lease.term());
    if node.draw(1) == 0 {
        lease.hard_stop().await;
        assert!(node.now() >= lease.stop_by());
    } else if node.now() < lease.stop_by() {
        node.write_while_stopping(lease.epoch(), "the last");
    }
}

#[test]
fn handles_watches_and_changes_tell_one_story() {
    plays("handles_watches_and_changes_tell_one_story", "held", async |node| {
        let handle = node.election().build()?.start();
        node.spawn(watches(node.clone(), handle.clone()));
        let (mut changes, mut leading) = (handle.changes(), None);
        while let Some(change) = changes.next().await? {
            match change {
                Change::Elected(tenure) => {
                    assert!(leading.replace(tenure.term).is_none(), "elected while it leads");
                }
                Change::Lost { term, .. } => assert_eq!(leading.take(), Some(term)),
                Change::Followed { .. } | Change::Vacant => assert_eq!(leading, None),
                Change::Alert(_) => {}
            }
        }
        assert!(handle.status().closed, "the changes end with the elector");
        Ok(())
    });
}

/// Asks whether it leads, now and then, and acts by the answer.
async fn watches(node: Node, handle: Handle<SimRuntime>) {
    let mut watch = handle.watch();
    while !watch.get().closed {
        if let Some(lease) = handle.lease() {
            node.write(lease.epoch(), "held");
        }
        if let (true, Some(tenure)) = (handle.is_leader(), handle.status().tenure) {
            node.write(tenure.term.epoch, "leads");
        }
        if let Err(other) = handle.require() {
            assert!(other.leader.is_none_or(|term| term.epoch.get() > 0));
        }
        node.sleep(drawn(&node, Duration::from_secs(1))).await;
    }
}

#[test]
fn who_resigns_or_leaves_leads_no_more() {
    plays("who_resigns_or_leaves_leads_no_more", "left", async |node| {
        node.sleep(drawn(&node, Duration::from_secs(2))).await; // operators speak before it listens
        let handle = node.election().build()?.start();
        for _ in 0..node.draw(4) {
            let lease = handle.elected().await?;
            let epoch = lease.epoch();
            let _ = lease.until_lost(node.sleep(drawn(&node, 2 * TTL))).await;
            match node.draw(2) {
                0 => {
                    node.spawn(lingers(node.clone(), lease));
                    handle.resign().await?;
                    assert!(handle.lease().is_none_or(|lease| lease.epoch() > epoch));
                }
                1 => {
                    drop(lease);
                    handle.set_healthy(false);
                    node.sleep(Duration::from_millis(1)).await;
                    assert!(!handle.is_leader(), "it is unfit, and leads");
                    node.sleep(drawn(&node, TTL)).await;
                    handle.set_healthy(true);
                }
                _ => {}
            }
        }
        handle.withdraw();
        for _ in 0..100 {
            if handle.status().closed {
                break;
            }
            node.sleep(Duration::from_secs(1)).await;
        }
        assert!(handle.status().closed, "it has not left within 100 s");
        handle.shutdown().await;
        assert!(handle.status().closed && !handle.is_leader() && handle.lease().is_none());
        assert_eq!(handle.elected().await.map(|lease| lease.epoch()), Err(Stopped));
        assert!(handle.overdue().is_zero());
        node.write_without_leading(None, "left");
        Ok(())
    });
}

/// Work that takes a little longer to stop than it should.
async fn lingers(node: Node, lease: Lease<SimRuntime>) {
    lease.lost().await;
    node.sleep(drawn(&node, Duration::from_secs(2))).await;
}
