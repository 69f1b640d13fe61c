//! What a node does about its credentials while it runs.

use super::{
    log::Log,
    node::Net,
    security::Security,
    tls::{Keyring, News},
};
use crate::Network;
use async_channel::Receiver;
use election_core::Timestamp;
use futures_core::Stream as _;
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

/// How long before a certificate ends that is worth a warning.
const AHEAD: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The time between two warnings.
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// The credentials of a node, if it has any.
pub(super) struct Keys(Option<Held>);

struct Held {
    keyring: Keyring,
    news: Pin<Box<Receiver<News>>>,
    /// When to look at their end again.
    due: Timestamp,
}

impl Keys {
    pub(super) fn new(security: &Security) -> Self {
        let Security::Tls(keyring) = security else { return Self(None) };
        let (keyring, news) = (keyring.clone(), Box::pin(keyring.news()));
        Self(Some(Held { keyring, news, due: Timestamp::ZERO }))
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.0.as_ref().map(|held| held.due)
    }

    /// Returns whether connections have to be judged anew.
    fn poll(&mut self, cx: &mut Context<'_>, now: Timestamp, log: &mut Log) -> bool {
        let Some(held) = &mut self.0 else { return false };
        let mut judges = false;
        while let Poll::Ready(Some(news)) = held.news.as_mut().poll_next(cx) {
            judges |= matches!(news, News::Renewed { judges: true });
            held.due = now;
            log.keys(&news);
        }
        if held.due <= now {
            held.due = now + DAY;
            let expiry = held.keyring.expiry();
            let ends = [("certificate", expiry.certificate), ("authority", expiry.authority)];
            for (what, end) in ends {
                let left = end.duration_since(SystemTime::now()).unwrap_or_default();
                if left <= AHEAD {
                    log.expires(what, left);
                }
            }
        }
        judges
    }
}

impl<R: Network> Net<R> {
    /// Takes other credentials up: connections that they do not admit any more end.
    pub(super) fn look_at_keys(&mut self, cx: &mut Context<'_>, now: Timestamp) {
        if !self.keys.poll(cx, now, &mut self.log) {
            return;
        }
        for link in &mut self.links {
            link.judge_anew();
        }
        self.callers.judge_anew();
    }
}
