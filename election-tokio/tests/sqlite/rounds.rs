//! Many contenders, many rounds, one file: at no time two leaders.

use crate::places::InFile;
use election_core::Tenure;
use election_driver::conformance::{
    sqlite::*,
    tasks::{News, join_all},
};
use election_tokio::{Handle, Lease, Tokio};
use futures_lite::future::or;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

const CONTENDERS: usize = 16;
const ROUNDS: usize = 50;

/// How a leader ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Resigns,
    ShutsDown,
    /// Its elector is dropped silently; that costs a ttl.
    Dies,
}

#[derive(Debug)]
struct Round {
    epoch: Epoch,
    from: Timestamp,
    to: Timestamp,
    end: End,
}

/// The independent observer: it knows nothing of leases.
struct Arena {
    place: InFile,
    working: AtomicUsize,
    rounds: Mutex<Vec<Round>>,
    over: News<bool>,
}

impl Arena {
    /// Leader work, every eighth time until the lease has been renewed once.
    async fn work(&self, handle: &Handle, lease: &Lease) -> End {
        let from = now();
        let others = self.working.fetch_add(1, Ordering::SeqCst);
        assert_eq!(others, 0, "somebody else works at the same time");
        let number = self.rounds.lock().unwrap().len();
        if number % 8 == 7 {
            let first = lease.until();
            let renewed = async {
                let later = |tenure: &Tenure| tenure.until > first;
                handle.watch().until(|status| status.tenure.as_ref().is_none_or(later)).await;
            };
            let _ = lease.until_lost(renewed).await;
        }
        let end = match number % 8 {
            3 => End::Dies,
            even if even % 2 == 0 => End::Resigns,
            _ => End::ShutsDown,
        };
        let to = now();
        self.working.fetch_sub(1, Ordering::SeqCst);
        let mut rounds = self.rounds.lock().unwrap();
        rounds.push(Round { epoch: lease.epoch(), from, to, end });
        if rounds.len() == ROUNDS {
            self.over.change(|over| *over = true);
        }
        end
    }

    async fn contend(self: Arc<Self>, name: String) {
        loop {
            let (handle, driver) = self.place.elector(&name, SHORT).into_parts();
            let driver = spawn::<Tokio, _>(driver);
            let end = loop {
                let elected = or(async { Some(handle.elected().await.unwrap()) }, async {
                    self.over.until(|over| over.then_some(())).await;
                    None
                });
                let Some(lease) = elected.await else {
                    handle.shutdown().await;
                    return;
                };
                let end = self.work(&handle, &lease).await;
                drop(lease);
                match end {
                    End::Resigns => handle.resign().await.unwrap(),
                    _ => break end,
                }
            };
            if end == End::ShutsDown {
                handle.shutdown().await;
            } else {
                driver.abort();
                let _ = driver.outcome().await;
            }
        }
    }
}

async fn sixteen_contenders_fifty_rounds_never_two_leaders(_: InFile) {
    let arena = Arc::new(Arena {
        place: InFile::new().await,
        working: AtomicUsize::new(0),
        rounds: Mutex::default(),
        over: News::new(false),
    });
    let contend = |number| arena.clone().contend(format!("contender-{number}"));
    let contenders = (0..CONTENDERS).map(|number| spawn::<Tokio, _>(contend(number)));
    join_all(contenders.collect()).await;

    let rounds = arena.rounds.lock().unwrap();
    assert!(rounds.len() >= ROUNDS);
    for pair in rounds.windows(2) {
        assert!(pair[0].to <= pair[1].from, "two leaders: {pair:?}");
        assert!(pair[0].epoch < pair[1].epoch, "epochs grow strictly: {pair:?}");
    }
    for end in [End::Resigns, End::ShutsDown, End::Dies] {
        assert!(rounds.iter().filter(|round| round.end == end).count() >= 5, "{end:?}: {rounds:?}");
    }
}

tests! {
    sixteen_contenders_fifty_rounds_never_two_leaders: in_file;
}
