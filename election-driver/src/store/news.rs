//! What a database tells unasked, and whom it concerns.

use crate::{Notice, Notifications};
use election_core::{Epoch, lease::Registration};
use futures_core::Stream;
use futures_lite::{StreamExt as _, future::yield_now};
use std::pin::Pin;
use uuid::Uuid;

/// What a database tells about all its elections.
pub(super) type NewsStream = Pin<Box<dyn Stream<Item = News> + Send>>;

/// What is told at once.
#[derive(Clone, Debug)]
pub enum News {
    /// It concerns every election.
    All(Notice),
    /// It concerns one.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code))]
    Of(Said),
}

/// A notification. Nothing in it is certain: any user may be able to send one.
#[derive(Clone, Debug)]
pub struct Said {
    /// The election; every one if it names none.
    pub namespace: Option<String>,
    /// Who led, and in which life.
    pub leader: Option<String>,
    pub incarnation: Option<Uuid>,
    pub epoch: Option<Epoch>,
    pub deed: Deed,
}

/// What has happened.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "postgres"), allow(dead_code))]
pub enum Deed {
    Resigned,
    /// The leader was asked to resign.
    Asked,
    Other,
}

impl Said {
    /// The hint for one candidate.
    pub fn notice(&self, registration: &Registration) -> Option<Notice> {
        let Registration { namespace, candidate, .. } = registration;
        if self.namespace.as_deref().is_some_and(|ns| ns != namespace.as_str()) {
            return None;
        }
        let own = self.leader.as_deref() == Some(candidate.id.as_str());
        match self.deed {
            // A node's own resignation must not lead it back into the race (river#286). A
            // resignation without an incarnation may come from another process of the same name.
            Deed::Resigned => {
                let own = own && self.incarnation == Some(candidate.incarnation.get());
                (!own).then_some(self.epoch.map_or(Notice::Wake, Notice::Resigned))
            }
            // The row says whether this node is asked, and for which epoch.
            Deed::Asked => own.then_some(Notice::Wake),
            Deed::Other => Some(Notice::Wake),
        }
    }
}

/// What concerns one candidate.
pub(super) fn of(registration: Registration, news: NewsStream) -> Notifications {
    Box::pin(futures_lite::stream::unfold((registration, news), |(registration, mut news)| async {
        loop {
            let notice = match news.next().await? {
                News::All(notice) => Some(notice),
                News::Of(said) => said.notice(&registration),
            };
            if let Some(notice) = notice {
                return Some((notice, (registration, news)));
            }
            // Other elections' news must not keep the elector from its own work.
            yield_now().await;
        }
    }))
}
