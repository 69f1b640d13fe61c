//! Notices for many elections from one connection that listens.

use crate::{
    Notice, StoreError,
    log::{self, Notified},
    now,
    store::news::{News, NewsStream},
};
use async_channel::{Receiver, Sender};
use election_core::{Epoch, Timestamp, lease::Registration};
use futures_lite::{StreamExt as _, future::yield_now};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Who listens.
#[derive(Default)]
pub(super) struct Subscribers(Mutex<Known>);

#[derive(Default)]
struct Known {
    of: HashMap<String, Vec<Subscriber>>,
    /// How many there are, and have been.
    present: usize,
    count: u64,
    /// Whether the database notifies, as it was last told; who comes later has to know.
    hearing: Option<Notice>,
    /// The same for the log.
    notified: Notified,
}

struct Subscriber {
    number: u64,
    registration: Registration,
    waiting: Waiting,
    signal: Sender<()>,
}

/// What an elector has not taken yet. Several wake-ups are one, and the highest epoch counts.
#[derive(Default)]
struct Waiting {
    hearing: Option<Notice>,
    resigned: Option<Epoch>,
    wake: bool,
}

/// The notices of one election; they end with this value.
pub(super) struct Subscription {
    number: u64,
    namespace: String,
    signal: Receiver<()>,
    subscribers: Arc<Subscribers>,
}

impl Subscribers {
    /// The notices of one election from now on.
    pub(super) fn subscribe(self: &Arc<Self>, registration: &Registration) -> Subscription {
        let (sender, signal) = async_channel::bounded(1);
        let mut known = self.lock();
        known.count += 1;
        known.present += 1;
        let number = known.count;
        let namespace = registration.namespace.as_str().to_owned();
        let (registration, waiting) = (registration.clone(), Waiting::default());
        let mut subscriber = Subscriber { number, registration, waiting, signal: sender };
        if let Some(hearing) = &known.hearing {
            subscriber.tell(hearing.clone());
            subscriber.tell(Notice::Wake);
        }
        known.of.entry(namespace.clone()).or_default().push(subscriber);
        Subscription { number, namespace, signal, subscribers: self.clone() }
    }

    /// How many electors use the store.
    pub(super) fn count(&self) -> usize {
        self.lock().present
    }

    /// The database was asked. An error that concerns one election is an answer, too.
    pub(super) fn asked(&self, now: Timestamp, error: Option<&StoreError>) {
        let notified = &mut self.lock().notified;
        let fails = error.is_some_and(log::out_of_reach);
        if fails { notified.failed(now) } else { notified.answered(now) }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // A panic elsewhere leaves nothing half-written here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the subscribers what the database tells.
pub(super) async fn dispatch(mut news: NewsStream, subscribers: &Subscribers) {
    while let Some(news) = news.next().await {
        subscribers.lock().take(&news);
        // Whoever floods the channel gets no more than its share.
        yield_now().await;
    }
}

impl Known {
    fn take(&mut self, news: &News) {
        let concerned = match news {
            News::All(notice) => {
                match notice {
                    Notice::Listening => self.notified.hears(),
                    Notice::NotListening(why) => self.notified.lost(now(), why.clone()),
                    Notice::Wake | Notice::Resigned(_) => {}
                }
                if *notice != Notice::Wake {
                    self.hearing = Some(notice.clone());
                }
                None
            }
            News::Of(said) => said.namespace.as_ref(),
        };
        let tell = |subscriber: &mut Subscriber| match news {
            News::All(notice) => subscriber.tell(notice.clone()),
            News::Of(said) => {
                if let Some(notice) = said.notice(&subscriber.registration) {
                    subscriber.tell(notice);
                }
            }
        };
        match concerned {
            Some(name) => self.of.get_mut(name).into_iter().flatten().for_each(tell),
            None => self.of.values_mut().flatten().for_each(tell),
        }
    }
}

impl Subscriber {
    fn tell(&mut self, notice: Notice) {
        match notice {
            Notice::Wake => self.waiting.wake = true,
            Notice::Resigned(epoch) => {
                self.waiting.resigned = self.waiting.resigned.max(Some(epoch));
            }
            Notice::Listening | Notice::NotListening(_) => self.waiting.hearing = Some(notice),
        }
        let _ = self.signal.try_send(()); // one that waits already says the same
    }
}

impl Subscription {
    pub(super) async fn next(&self) -> Notice {
        loop {
            if let Some(notice) = self.take() {
                return notice;
            }
            let _ = self.signal.recv().await; // its sender stays for as long as this subscription
        }
    }

    fn take(&self) -> Option<Notice> {
        let mut known = self.subscribers.lock();
        let mut some = known.of.get_mut(&self.namespace)?.iter_mut();
        let waiting = &mut some.find(|each| each.number == self.number)?.waiting;
        let resigned = |waiting: &mut Waiting| waiting.resigned.take().map(Notice::Resigned);
        let hearing = waiting.hearing.take();
        hearing.or_else(|| resigned(waiting)).or_else(|| {
            let wake = std::mem::take(&mut waiting.wake);
            wake.then_some(Notice::Wake)
        })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut known = self.subscribers.lock();
        known.present -= 1;
        if let Some(some) = known.of.get_mut(&self.namespace) {
            some.retain(|each| each.number != self.number);
            if some.is_empty() {
                known.of.remove(&self.namespace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::capture;
    use election_core::{Candidate, Incarnation, Namespace, NodeId, lease::Failure};
    use std::time::Duration;

    #[test]
    fn a_database_that_does_not_notify_is_told_once_for_all() {
        let subscribers = Subscribers::default();
        let names = capture::told(|| {
            let lost = Notice::NotListening("no room".to_owned());
            subscribers.lock().take(&News::All(lost));
            let locked = StoreError::new(Failure::Conflict, "somebody has locked a row");
            for seconds in 1..=20 {
                let later = now() + Duration::from_secs(seconds);
                subscribers.asked(later, Some(&locked)); // it concerns one election
                subscribers.asked(later, None);
            }
            subscribers.lock().take(&News::All(Notice::Listening));
        });
        assert_eq!(names, ["notifications_lost", "notifications_restored"]);
    }

    fn registration() -> Registration {
        let candidate = Candidate {
            id: NodeId::new("n1").unwrap(),
            incarnation: Incarnation::new(uuid::Uuid::from_u128(1)),
        };
        Registration { namespace: Namespace::new("a").unwrap(), candidate, label: None }
    }

    #[test]
    fn who_subscribes_late_is_told_what_holds_and_to_look() {
        let subscribers = Arc::<Subscribers>::default();
        let lost = || Notice::NotListening("no room".to_owned());
        for notice in [Notice::Listening, lost()] {
            subscribers.lock().take(&News::All(notice));
        }
        let subscription = subscribers.subscribe(&registration());
        assert_eq!(subscription.take(), Some(lost()));
        assert_eq!(subscription.take(), Some(Notice::Wake));
        assert_eq!(subscription.take(), None);
    }

    #[test]
    fn each_elector_counts_until_it_goes() {
        let subscribers = Arc::<Subscribers>::default();
        let both = [(); 2].map(|()| subscribers.subscribe(&registration()));
        assert_eq!(subscribers.count(), 2);
        let [first, second] = both;
        drop(first);
        assert_eq!(subscribers.count(), 1);
        drop(second);
        assert_eq!(subscribers.count(), 0);
    }
}
