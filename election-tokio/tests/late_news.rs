//! A database whose notifications come before what they tell of can be read, as SQLite's do when
//! the disk is slow.

use election_tokio::{
    Election, Notifications, Store, StoreError,
    core::{
        Candidate, Epoch, Incarnation, NodeId,
        lease::{Answer, Config, Event, Holder, Query, Registration, Row},
    },
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

struct Database {
    row: Arc<Mutex<Row>>,
    news: Option<UnboundedReceiver<()>>,
    asked: UnboundedSender<()>,
}

impl Store for Database {
    fn prepare(&mut self, _: &Config) {}

    async fn answer(&mut self, _: &Registration, query: &Query) -> Result<Answer, StoreError> {
        assert_eq!(*query, Query::Observe, "an observer only looks");
        let row = self.row.lock().expect("a lock that nobody poisons").clone();
        let _ = self.asked.send(());
        Ok(Answer::Seen(row))
    }

    fn notifications(&mut self, _: &Registration) -> Notifications {
        let news = self.news.take().expect("asked for once");
        Box::pin(futures_lite::stream::unfold(news, |mut news| async {
            news.recv().await.map(|()| (Event::Wake, news))
        }))
    }
}

#[tokio::test]
async fn a_change_that_becomes_visible_after_its_notification_is_seen_long_before_the_next_poll() {
    let row = Arc::new(Mutex::new(Row::vacant()));
    let (notify, news) = unbounded_channel();
    let (asked, mut looks) = unbounded_channel();
    let database = Database { row: row.clone(), news: Some(news), asked };
    let ttl = Duration::from_secs(3600);
    let election = Election::builder("late").observer().ttl(ttl).store(database).build();
    let handle = election.expect("a valid configuration").start();
    looks.recv().await.expect("a first look");
    notify.send(()).expect("an elector that listens");
    looks.recv().await.expect("a look that the notification brought, too early");
    let candidate = Candidate {
        id: NodeId::new("leader").expect("a valid name"),
        incarnation: Incarnation::new(uuid::Uuid::nil()),
    };
    *row.lock().expect("a lock that nobody poisons") = Row {
        epoch: Epoch::new(7),
        holder: Some(Holder { candidate, label: None }),
        remaining: ttl,
        ttl,
        ..Row::vacant()
    };
    let mut watch = handle.watch();
    let seen = watch.until(|status| status.leader.is_some());
    let status = tokio::time::timeout(Duration::from_secs(30), seen).await;
    let leader = status.expect("a look long before the next poll").leader;
    assert_eq!(leader.map(|leader| leader.term.epoch), Some(Epoch::new(7)));
}
