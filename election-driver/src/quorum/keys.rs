//! What a node does about its credentials while it runs.

use super::{
    inbound::Inbound,
    link::Link,
    log::Log,
    metrics::Metrics,
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

    /// Takes other credentials up: connections that they do not admit any more end, and members that
    /// have refused this one are tried again.
    pub(super) fn look<R: Network>(
        &mut self,
        cx: &mut Context<'_>,
        now: Timestamp,
        links: &mut [Link<R>],
        inbound: &mut Inbound<R>,
        (log, metrics): (&mut Log, &Metrics),
    ) {
        let Some(recheck) = self.poll(cx, now, log, metrics) else { return };
        if recheck {
            links.iter_mut().for_each(Link::recheck);
            inbound.recheck();
        }
        links.iter_mut().for_each(Link::hurry);
    }

    /// If others are in use now, returns whether connections have to be judged anew.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        now: Timestamp,
        log: &mut Log,
        metrics: &Metrics,
    ) -> Option<bool> {
        let held = self.0.as_mut()?;
        let mut renewed = None;
        while let Poll::Ready(Some(news)) = held.news.as_mut().poll_next(cx) {
            if let News::Renewed { recheck } = news {
                renewed = Some(recheck || renewed == Some(true));
            }
            held.due = now;
            log.keys(&news, &held.keyring.status());
        }
        if held.due <= now {
            held.due = now + DAY;
            let status = held.keyring.status();
            metrics.certificates(&status);
            let expiry = status.expiry;
            let ends = [("certificate", expiry.certificate), ("authority", expiry.authority)];
            for (what, end) in ends {
                let left = end.duration_since(SystemTime::now()).unwrap_or_default();
                if left <= AHEAD {
                    log.expires(what, left);
                }
            }
        }
        renewed
    }
}
