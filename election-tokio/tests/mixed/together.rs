//! All runtimes at once in one process, beside one that a user has written.

use crate::threads::Threads;
use async_channel::{Receiver, Sender};
use election_async_std::{AsyncStd, smol::Smol};
use election_driver::{
    Handle, Runtime,
    conformance::sqlite::{LONG, elector},
};
use election_tokio::{SqliteStore, Tokio, core::Epoch, now};
use futures_lite::future::{Boxed, block_on, or};
use std::{path::Path, time::Duration};

/// One leadership: whose, and from when to when it was believed in.
#[derive(Debug)]
struct Turn {
    elector: usize,
    epoch: Epoch,
    from: u64,
    to: u64,
}

/// How long a leader leads.
const TURN: Duration = Duration::from_millis(20);

/// An elector on any runtime, which resigns whenever it has led for a while.
struct Elector {
    name: &'static str,
    /// Whether it campaigns.
    set_healthy: Box<dyn Fn(bool)>,
    leaves: Boxed<()>,
}

impl Elector {
    fn start<R: Runtime + Default>(
        name: &'static str,
        number: usize,
        file: &Path,
        turns: &Sender<Turn>,
    ) -> Self {
        let store = SqliteStore::open(file).expect("a path");
        let handle = elector::<R, _>(store, name, LONG).start();
        R::default().spawn(takes_turns(handle.clone(), turns.clone(), number));
        let health = handle.clone();
        Self {
            name,
            set_healthy: Box::new(move |healthy| health.set_healthy(healthy)),
            leaves: Box::pin(async move { handle.shutdown().await }),
        }
    }
}

async fn takes_turns<R: Runtime + Default>(handle: Handle<R>, turns: Sender<Turn>, elector: usize) {
    while let Ok(lease) = handle.elected().await {
        let from = now().as_nanos();
        R::default().sleep(TURN).await;
        let to = now().as_nanos();
        if lease.is_held() {
            let _ = turns.send(Turn { elector, epoch: lease.epoch(), from, to }).await;
        }
        drop(lease);
        if handle.resign().await.is_err() {
            return;
        }
    }
}

/// By resigning, leadership goes round until each has led, and once more.
#[test]
fn leadership_goes_round_all_runtimes_of_a_process() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = place.path().join("e.db");
    let tokio = tokio::runtime::Runtime::new().expect("a runtime");
    let _entered = tokio.enter();
    let schema = async { SqliteStore::open(&file)?.ensure_schema().await };
    tokio.block_on(schema).expect("a file of our own");
    let (turns, taken) = async_channel::unbounded();
    let electors = [
        Elector::start::<Tokio>("tokio", 0, &file, &turns),
        Elector::start::<AsyncStd>("async-std", 1, &file, &turns),
        Elector::start::<Smol>("smol", 2, &file, &turns),
        Elector::start::<Threads>("threads", 3, &file, &turns),
    ];
    let mut before = Turn { elector: 0, epoch: Epoch::NONE, from: 0, to: 0 };
    for round in 0..2 {
        let mut waiting: Vec<_> = electors.iter().map(|elector| elector.name).collect();
        while !waiting.is_empty() {
            let turn = next(&taken).unwrap_or_else(|| panic!("round {round} without {waiting:?}"));
            assert!(
                turn.epoch > before.epoch && turn.from > before.to,
                "{before:?}, then {turn:?}"
            );
            let Elector { name, set_healthy, .. } = &electors[turn.elector];
            waiting.retain(|other| other != name);
            // The others' turn. The last is succeeded by whoever comes first.
            set_healthy(waiting.is_empty());
            before = turn;
        }
        electors.iter().for_each(|elector| (elector.set_healthy)(true));
    }
    for elector in electors {
        tokio.block_on(elector.leaves);
    }
}

/// The next turn, if it comes in time.
fn next(taken: &Receiver<Turn>) -> Option<Turn> {
    let patience = async {
        Threads.sleep(Duration::from_secs(40)).await;
        None
    };
    block_on(or(async { taken.recv().await.ok() }, patience))
}
