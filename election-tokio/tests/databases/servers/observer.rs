//! An outside observer: it sees every tenure from its beginning to its hard stop, on the one
//! clock of this machine, and every fenced write that a database has accepted, in the database's
//! own order.

use crate::database::Backend;
use election_core::{Epoch, Timestamp};
use election_driver::{
    conformance::tasks::{News, spawn},
    now,
};
use election_tokio::{Handle, Tokio};
use std::{sync::Arc, time::Duration};

#[derive(Clone, Debug)]
struct Tenure {
    node: &'static str,
    epoch: Epoch,
    from: Timestamp,
    /// The hard stop, once it is known.
    to: Option<Timestamp>,
}

/// What has been seen so far. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Observer(Arc<News<Vec<Tenure>>>);

impl Observer {
    /// Prepares the database for [`follow`](Self::follow)'s writes.
    pub(crate) async fn new<B: Backend>(database: &B) -> Self {
        database.execute(B::WORK).await;
        Self::default()
    }

    /// Follows an elector: whenever it leads, it writes under the fence, again and again.
    pub(crate) fn follow<B: Backend>(&self, node: &'static str, handle: Handle, database: &Arc<B>) {
        let (this, database) = (self.clone(), database.clone());
        spawn::<Tokio, _>(async move {
            while let Ok(lease) = handle.elected().await {
                let place = this.begin(node, lease.epoch());
                let pace = || tokio::time::sleep(Duration::from_millis(5));
                while lease.until_lost(pace()).await.is_ok() {
                    let _ = lease.until_lost(database.write(&lease)).await;
                }
                let ended = lease.stop_by().min(now());
                this.0.change(|tenures| tenures[place].to = Some(ended));
            }
        });
    }

    fn begin(&self, node: &'static str, epoch: Epoch) -> usize {
        self.0.change(|tenures| {
            tenures.push(Tenure { node, epoch, from: now(), to: None });
            tenures.len() - 1
        })
    }

    /// Waits until some node leads under a higher epoch than this, and returns the node and the
    /// epoch.
    pub(crate) async fn leader_after(&self, epoch: Epoch) -> (Epoch, &'static str) {
        let newer = |tenures: &Vec<Tenure>| {
            let newest = tenures.last().filter(|newest| newest.epoch > epoch)?;
            Some((newest.epoch, newest.node))
        };
        self.0.until(newer).await
    }

    /// Waits until every tenure seen so far has ended.
    pub(crate) async fn nobody_leads(&self) {
        let over = |tenures: &Vec<Tenure>| tenures.iter().all(|tenure| tenure.to.is_some());
        self.0.until(|tenures| over(tenures).then_some(())).await;
    }

    /// Waits until a write under this epoch has been accepted.
    pub(crate) async fn write_under<B: Backend>(&self, database: &B, epoch: Epoch) {
        let written = format!("SELECT count(*) FROM work WHERE epoch = {epoch}");
        loop {
            let mut transaction = database.begin(B::ISOLATIONS[0]).await;
            if B::number(&mut transaction, &written).await.unwrap() > 0 {
                return;
            }
        }
    }

    /// No overlap, and what [`fenced`](Self::fenced) demands.
    pub(crate) async fn verdict<B: Backend>(&self, database: &B) {
        for pair in self.0.get().windows(2) {
            let stopped = pair[0].to.expect("a leader whose successor was seen before its end");
            assert!(stopped <= pair[1].from, "two at once: {pair:?}");
        }
        self.fenced(database).await;
    }

    /// Epochs that grow, and no write of a leader that had been succeeded.
    pub(crate) async fn fenced<B: Backend>(&self, database: &B) {
        let tenures = self.0.get().clone();
        assert!(tenures.len() > 1, "nothing happened: {tenures:?}");
        for pair in tenures.windows(2) {
            assert!(pair[0].epoch < pair[1].epoch, "{pair:?}");
        }
        let mut transaction = database.begin(B::ISOLATIONS[0]).await;
        let stale = "SELECT count(*) FROM (SELECT epoch, lag(epoch) OVER (ORDER BY id) AS earlier \
                     FROM work) AS pairs WHERE earlier > epoch";
        let stale = B::number(&mut transaction, stale).await.unwrap();
        assert_eq!(stale, 0, "writes of leaders that had been succeeded");
        for tenure in &tenures {
            let own = format!("SELECT count(*) FROM work WHERE epoch = {}", tenure.epoch);
            let own = B::number(&mut transaction, &own).await.unwrap();
            println!("{}: epoch {}, {own} writes", tenure.node, tenure.epoch);
        }
    }
}
