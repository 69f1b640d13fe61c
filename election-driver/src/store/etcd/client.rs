//! Calls of a register: which endpoint is asked, for how long, and when another may be.

use super::{
    asker::Asker,
    compare::compare,
    dial::{Elsewhere, Final, Socket, in_time},
    lines::Lines,
    url::Url,
    wire::{Question, Reading},
};
use crate::{Network, StoreError, now};
use election_core::lease::Failure;
use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

pub(super) struct Client<N: Network> {
    pub(super) asker: Asker<N>,
    pub(super) limit: Duration,
    /// The endpoint that is asked next.
    next: usize,
    /// How long an endpoint may be silent: twice what the last answer took, and doubled by each call that
    /// got none. So endpoints that are slow are reached in the end.
    patience: Duration,
}

impl<N: Network> Client<N> {
    pub(super) fn new(runtime: N, url: Url, limit: Duration) -> Self {
        Self::of(Asker::new(runtime, url), limit)
    }

    fn of(asker: Asker<N>, limit: Duration) -> Self {
        Self { asker, limit, next: 0, patience: Duration::ZERO }
    }

    /// A client of the same cluster, with connections of its own.
    pub(super) fn again(&self) -> Self {
        Self::of(self.asker.again(), self.limit)
    }

    /// All endpoints, for people.
    pub(super) fn endpoints(&self) -> String {
        let each = self.asker.dialer.url.endpoints.iter().map(ToString::to_string);
        each.collect::<Vec<_>>().join(",")
    }

    pub(super) fn is_exposed(&self) -> bool {
        let Url { endpoints, login, encryption } = &*self.asker.dialer.url;
        let remote = endpoints.iter().any(|endpoint| !endpoint.is_loopback());
        login.is_some() && encryption.is_none() && remote
    }

    fn endpoint(&self, at: usize) -> String {
        self.asker.dialer.endpoint(at)
    }

    fn runtime(&self) -> N {
        self.asker.dialer.runtime.clone()
    }

    fn count(&self) -> usize {
        self.asker.dialer.count()
    }

    /// How long one endpoint may take: at least so long that all can be tried in one call.
    fn share(&self) -> Duration {
        // One is tried twice if a connection was kept.
        let least = self.limit / u32::try_from(self.count() + 1).unwrap_or(u32::MAX);
        self.patience.clamp(least, self.limit)
    }

    /// The endpoint whose turn it is. Unless it is confirmed by [`stay`](Self::stay), because the caller
    /// gave up for instance, it is another's turn afterwards.
    fn turn(&mut self) -> usize {
        let at = self.next;
        self.next = (at + 1) % self.count().max(1);
        at
    }

    pub(super) fn stay(&mut self, at: usize) {
        self.next = at;
    }

    /// Asks, and reads the answer.
    pub(super) async fn call<T>(
        &mut self,
        question: &Question<'_>,
        reading: Reading<T>,
    ) -> Result<T, StoreError> {
        self.compare(question.read()).await?;
        self.call_any(question, reading).await
    }

    /// Until a majority of the members has answered once, nobody is believed.
    async fn compare(&mut self, question: Question<'_>) -> Result<(), StoreError> {
        let shared = self.asker.shared.clone();
        if self.count() < 2 || shared.compared.get().is_some() {
            return Ok(());
        }
        let (runtime, share) = (self.runtime(), self.share());
        self.patience = share * 2;
        let all = (0..self.count()).map(|_| self.asker.again()).collect();
        let compared = shared.compared.get_or_try_init(|| compare(&runtime, all, share, question));
        let why = match in_time(&runtime, self.limit, compared).await {
            Some(Ok(())) => return Ok(()),
            Some(Err(Final(error))) => return Err(error),
            Some(Err(Elsewhere(why))) => why,
            // Another clone compares them.
            None => format!("etcd at {}: {}", self.endpoints(), self.asker.silence(self.limit)),
        };
        Err(StoreError::new(Failure::Transient, why))
    }

    /// Asks one endpoint after the other until one answers.
    async fn call_any<T>(
        &mut self,
        question: &Question<'_>,
        reading: Reading<T>,
    ) -> Result<T, StoreError> {
        let mut troubles: Vec<String> = Vec::new();
        let (began, limit, share) = (now(), self.limit, self.share());
        self.patience = share * 2;
        // A connection that was kept may have ended, which says nothing of its endpoint.
        for _ in 0..self.count() + usize::from(self.asker.kept.is_some()) {
            let asked_at = now();
            let left = limit.saturating_sub(asked_at.since(began));
            if left.is_zero() {
                break;
            }
            let (at, share) = (self.turn(), share.min(left));
            let (runtime, sent) = (self.runtime(), AtomicBool::new(false));
            let outcome = {
                let mut asked = pin!(self.asker.ask(at, share, question, reading, &sent));
                match in_time(&runtime, share, asked.as_mut()).await {
                    None if sent.load(Ordering::Relaxed) => {
                        in_time(&runtime, left.saturating_sub(share), asked).await
                    }
                    outcome => outcome,
                }
            };
            let why = match outcome {
                Some(Ok(answer)) => {
                    self.stay(at);
                    self.patience = now().since(asked_at) * 2;
                    return Ok(answer);
                }
                Some(Err(Final(error))) => return Err(error.in_context(&self.endpoint(at))),
                Some(Err(Elsewhere(why))) => why,
                None if sent.load(Ordering::Relaxed) => {
                    let why =
                        format!("{}: no answer in {} ms", self.endpoint(at), limit.as_millis());
                    return Err(StoreError::new(Failure::Ambiguous, why));
                }
                None => self.asker.silence(share),
            };
            let trouble = format!("{}: {why}", self.endpoint(at));
            if !troubles.contains(&trouble) {
                troubles.push(trouble);
            }
        }
        Err(StoreError::new(Failure::Transient, troubles.join("; ")))
    }

    /// Begins to watch a key, at the endpoint whose turn it is. Whether it does is told by the first of
    /// its lines.
    pub(super) async fn watch(&mut self, key: &str) -> Result<Lines<Socket<N>>, String> {
        let (at, runtime, share) = (self.turn(), self.runtime(), self.share());
        let asked_at = now();
        self.patience = share * 2;
        let lines = match in_time(&runtime, share, self.asker.watch(at, share, key)).await {
            Some(Ok(lines)) => {
                self.patience = now().since(asked_at) * 2;
                return Ok(lines);
            }
            Some(Err(Elsewhere(why))) => why,
            Some(Err(Final(error))) => error.to_string(),
            None => self.asker.silence(share),
        };
        Err(format!("{}: {lines}", self.endpoint(at)))
    }
}
