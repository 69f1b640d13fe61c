//! Services that use a handle in every way that it offers.

use election_driver::{
    Changes, Handle, Lease, Lost, NotElected,
    core::{Change, Epoch, Loss},
};
use election_sim::{
    Sim, Swarm, Timing, View,
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

pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// A ttl, or twice a `down_after`.
pub(crate) const SPAN: Duration = Duration::from_secs(15);

pub(crate) const DOWN_AFTER: Duration = Duration::from_secs(3);

/// How a node takes part.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Lease,
    Quorum,
}

impl Kind {
    async fn start(self, node: &Node) -> Result<Handle<SimRuntime>, Box<dyn Error>> {
        match self {
            Self::Lease => Ok(node.election().build()?.start()),
            Self::Quorum => Ok(node.cluster().build()?.start().await?.handle().clone()),
        }
    }

    fn sim(self, name: &str) -> Sim {
        match self {
            Self::Lease => {
                Sim::new(&format!("lease::{name}")).timing(Timing::of(SPAN)).seeds(0..200)
            }
            Self::Quorum => {
                let swarm = Swarm::within_contract().of_quorum();
                let swarm = Swarm { down_after: Some(DOWN_AFTER), length: 60, ..swarm };
                Sim::new(&format!("quorum::{name}")).faults(swarm).seeds(0..50)
            }
        }
    }

    /// `ELECTION_SIM_SEEDS` asks for more.
    pub(crate) fn plays(
        self,
        name: &str,
        must_write: [&'static str; 2],
        service: impl AsyncFn(Self, Node) -> Outcome + Copy + Send + Sync + 'static,
    ) {
        self.sim(name)
            .nodes(3)
            .service(move |node| async move { service(self, node).await })
            .sometimes("a third leader is elected", |view| view.elections() > 2)
            .sometimes(must_write[0], writes(must_write[0]))
            .sometimes(must_write[1], writes(must_write[1]))
            .run();
    }
}

/// A test for each service, and what it must write at some time.
macro_rules! every_service {
    ($kind:expr) => {
        crate::services::every_service! { $kind =>
            work_runs_while_it_leads: ["works", "clears up"];
            guards_hold_a_leadership: ["guarded", "the last"];
            one_story_is_told: ["held", "leads"];
            who_leaves_leads_no_more: ["resigned", "left"];
        }
    };
    ($kind:expr => $($service:ident: $must_write:expr;)*) => {$(
        #[test]
        fn $service() {
            $kind.plays(stringify!($service), $must_write, crate::services::$service);
        }
    )*};
}
pub(crate) use every_service;

/// Whether such a write has come through.
fn writes(what: &'static str) -> impl Fn(&View<'_>) -> bool + Send + Sync + 'static {
    move |view| view.resource().accepted().iter().any(|write| write.what == what)
}

/// A span up to this one.
pub(crate) fn drawn(node: &Node, most: Duration) -> Duration {
    Duration::from_millis(node.draw(u64::try_from(most.as_millis()).unwrap_or(u64::MAX)))
}

pub(crate) async fn work_runs_while_it_leads(kind: Kind, node: Node) -> Outcome {
    let handle = kind.start(&node).await?;
    let last = Cell::new(Epoch::NONE);
    while !handle.status().closed {
        let done = handle.run_while_leader(async |lease| {
            assert!(last.replace(lease.epoch()) < lease.epoch(), "it has worked under this one");
            work(&node, &lease).await
        });
        let done = done.await;
        if done.is_err() {
            node.sleep(drawn(&node, SPAN)).await;
        }
    }
    Ok(())
}

/// Ends well or badly after a while. After a loss it clears up until somebody stops it.
async fn work(node: &Node, lease: &Lease<SimRuntime>) -> Result<(), &'static str> {
    assert!(lease.is_held() || lease.lost().await.term.epoch == lease.epoch());
    let end = node.now() + drawn(node, 20 * SPAN);
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

pub(crate) async fn guards_hold_a_leadership(kind: Kind, node: Node) -> Outcome {
    let handle = kind.start(&node).await?;
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

pub(crate) async fn one_story_is_told(kind: Kind, node: Node) -> Outcome {
    let handle = kind.start(&node).await?;
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

pub(crate) async fn who_leaves_leads_no_more(kind: Kind, node: Node) -> Outcome {
    node.sleep(drawn(&node, Duration::from_secs(2))).await; // operators speak before it listens
    let handle = kind.start(&node).await?;
    for _ in 0..node.draw(4) {
        let lease = handle.elected().await?;
        let epoch = lease.epoch();
        let _ = lease.until_lost(node.sleep(drawn(&node, 2 * SPAN))).await;
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
                node.sleep(drawn(&node, SPAN)).await;
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
    assert!(matches!(handle.elected().await, Err(NotElected::Stopped(_))));
    assert!(handle.overdue().is_zero());
    node.write_without_leading(None, "left");
    Ok(())
}

/// Work that takes a little longer to stop than it should. Its leadership is resigned now.
async fn lingers(node: Node, lease: Lease<SimRuntime>) {
    let resigned = node.now();
    let lost = lease.lost().await;
    if lost.reason == Loss::Resigned && node.now() == resigned {
        node.write_without_leading(None, "resigned");
    }
    node.sleep(drawn(&node, Duration::from_secs(2))).await;
}
