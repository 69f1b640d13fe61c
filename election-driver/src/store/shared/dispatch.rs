//! Notices for many elections from one connection that listens.

use super::common::Common;
use crate::{
    Notice,
    store::news::{News, NewsStream},
};
use async_channel::{Receiver, Sender};
use election_core::lease::Registration;
use futures_lite::{StreamExt as _, future::pending};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// How many notices may wait for an elector. More only say again that it should look.
const WAITING: usize = 16;

#[derive(Default)]
pub(super) struct Dispatch {
    subscribers: Arc<Mutex<Subscribers>>,
    /// Runs from the first subscription on.
    listening: OnceLock<Common>,
}

#[derive(Default)]
struct Subscribers {
    of: HashMap<String, Vec<Subscriber>>,
    /// Whether the database notifies, as it was last told; who comes later has to know.
    hearing: Option<Notice>,
}

struct Subscriber {
    registration: Registration,
    notices: Sender<Notice>,
}

impl Dispatch {
    /// The notices of one election from now on.
    pub(super) fn subscribe(
        &self,
        registration: &Registration,
        news: impl FnOnce() -> NewsStream,
    ) -> Receiver<Notice> {
        let (notices, receiver) = async_channel::bounded(WAITING);
        let subscriber = Subscriber { registration: registration.clone(), notices };
        let mut subscribers = lock(&self.subscribers);
        if let Some(hearing) = &subscribers.hearing {
            subscriber.tell(hearing.clone());
            subscriber.tell(Notice::Wake);
        }
        let namespace = registration.namespace.as_str().to_owned();
        subscribers.of.entry(namespace).or_default().push(subscriber);
        drop(subscribers);
        self.listening.get_or_init(|| {
            let (news, subscribers) = (news(), self.subscribers.clone());
            Common::new(async move {
                dispatch(news, &subscribers).await;
                pending::<()>().await;
            })
        });
        receiver
    }

    /// The next notice for a subscriber.
    pub(super) async fn next(&self, notices: &Receiver<Notice>) -> Option<Notice> {
        let listening = self.listening.get()?;
        listening.drive_until(notices.recv()).await.ok()
    }
}

async fn dispatch(mut news: NewsStream, subscribers: &Mutex<Subscribers>) {
    while let Some(news) = news.next().await {
        let mut subscribers = lock(subscribers);
        match news {
            News::All(notice) => {
                if notice != Notice::Wake {
                    subscribers.hearing = Some(notice.clone());
                }
                subscribers.everybody(|subscriber| subscriber.tell(notice.clone()));
            }
            News::Of(said) => {
                let tell = |subscriber: &Subscriber| {
                    if let Some(notice) = said.notice(&subscriber.registration) {
                        subscriber.tell(notice);
                    }
                };
                match &said.namespace {
                    Some(name) => subscribers.of.get(name).into_iter().flatten().for_each(tell),
                    None => subscribers.everybody(tell),
                }
            }
        }
    }
}

impl Subscribers {
    fn everybody(&mut self, tell: impl Fn(&Subscriber)) {
        self.of.retain(|_, some| {
            some.retain(|subscriber| !subscriber.notices.is_closed());
            some.iter().for_each(&tell);
            !some.is_empty()
        });
    }
}

impl Subscriber {
    fn tell(&self, notice: Notice) {
        let _ = self.notices.force_send(notice);
    }
}

fn lock(subscribers: &Mutex<Subscribers>) -> MutexGuard<'_, Subscribers> {
    // A panic elsewhere leaves nothing half-written here.
    subscribers.lock().unwrap_or_else(PoisonError::into_inner)
}
