//! Calls of a register: which endpoint is asked, on which connection, and when another may be.

#[cfg(feature = "tls")]
use super::encryption;
use super::{
    identity::Identity,
    lines::Lines,
    link::{Link, NoAnswer},
    login::Logins,
    url::Url,
    verdict::{Verdict, judge},
    wire::{self, Question, Reading},
};
use crate::{
    Network, StoreError, StoreErrorCode, now,
    quorum::{address::Address, lookup::Lookup, transport::Transport},
};
use async_lock::OnceCell;
use election_core::{Timestamp, lease::Failure};
use futures_lite::{
    future::or,
    io::{AsyncRead, AsyncWrite},
};
use serde_json::Value;
use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// What all clones share.
pub(super) struct Shared {
    pub(super) url: Url,
    identity: Identity,
    /// Whether the members of the URL were found to belong together.
    compared: OnceCell<()>,
    pub(super) logins: Logins,
}

pub(super) type Socket<N> = Transport<<N as Network>::Stream>;

pub(super) struct Client<N: Network> {
    pub(super) shared: Arc<Shared>,
    pub(super) runtime: N,
    pub(super) limit: Duration,
    /// What the names of the endpoints mean, in their order.
    lookups: Vec<Lookup>,
    /// The endpoint that is asked next.
    next: usize,
    /// How long an endpoint may be silent: twice what the last answer took, and twice more after each
    /// call without one. So endpoints that are slow are reached in the end.
    patience: Duration,
    /// The connection that the last call has left.
    kept: Option<Link<Socket<N>>>,
}

/// Why an endpoint gave no answer.
pub(super) enum Trouble {
    /// The request was certainly not executed there. Another endpoint may do it.
    Elsewhere(String),
    /// No other endpoint may be asked.
    Final(StoreError),
}

pub(super) use Trouble::{Elsewhere, Final};

impl<N: Network> Client<N> {
    pub(super) fn new(runtime: N, url: Url, limit: Duration) -> Self {
        let (identity, logins) = (Identity::default(), Logins::new(url.endpoints.len()));
        Self::of(
            Arc::new(Shared { url, identity, compared: OnceCell::new(), logins }),
            runtime,
            limit,
        )
    }

    fn of(shared: Arc<Shared>, runtime: N, limit: Duration) -> Self {
        let lookups = shared.url.endpoints.iter().cloned().map(Lookup::new).collect();
        Self { shared, runtime, limit, lookups, next: 0, patience: Duration::ZERO, kept: None }
    }

    /// A client of the same cluster, with connections of its own.
    pub(super) fn again(&self) -> Self {
        Self::of(self.shared.clone(), self.runtime.clone(), self.limit)
    }

    /// All endpoints, for people.
    pub(super) fn endpoints(&self) -> String {
        let each = self.shared.url.endpoints.iter().map(ToString::to_string);
        each.collect::<Vec<_>>().join(",")
    }

    pub(super) fn is_exposed(&self) -> bool {
        let Url { endpoints, login, encryption } = &self.shared.url;
        let remote = endpoints.iter().any(|endpoint| !endpoint.is_loopback());
        login.is_some() && encryption.is_none() && remote
    }

    fn endpoint(&self, at: usize) -> String {
        let endpoint = self.shared.url.endpoints.get(at);
        endpoint.map_or_else(String::new, |endpoint| format!("etcd at {endpoint}"))
    }

    /// How long one endpoint may take: at least so long that all can be tried in one call.
    fn share(&self) -> Duration {
        // One is tried twice if a connection was kept.
        let least = self.limit / u32::try_from(self.lookups.len() + 1).unwrap_or(u32::MAX);
        self.patience.clamp(least, self.limit)
    }

    /// The endpoint whose turn it is. Unless it is confirmed by [`stay`](Self::stay), because the caller
    /// gave up for instance, it is another's turn afterwards.
    fn turn(&mut self) -> usize {
        let at = self.next;
        self.next = (at + 1) % self.lookups.len().max(1);
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
        let (began, shared) = (now(), self.shared.clone());
        if self.lookups.len() > 1 && shared.compared.get().is_none() {
            let one = self.again();
            shared.compared.get_or_try_init(|| one.compare(question.read())).await?;
        }
        self.call_any(began, question, reading).await
    }

    /// Asks every member whose answer comes in its share: a member that has become a cluster of its own
    /// is to be found before somebody is elected in it.
    async fn compare(mut self, question: Question<'_>) -> Result<(), StoreError> {
        let (runtime, share) = (self.runtime.clone(), self.share());
        for at in 0..self.lookups.len() {
            let unsent = AtomicBool::new(false);
            let asked = self.ask(at, &question, |_| Ok(()), &unsent);
            if let Some(Err(Final(error))) = in_time(&runtime, share, asked).await {
                return Err(error.in_context(&self.endpoint(at)));
            }
        }
        Ok(())
    }

    /// Asks one endpoint after the other until one answers.
    async fn call_any<T>(
        &mut self,
        began: Timestamp,
        question: &Question<'_>,
        reading: Reading<T>,
    ) -> Result<T, StoreError> {
        let mut troubles: Vec<String> = Vec::new();
        let (limit, share) = (self.limit, self.share());
        self.patience = share * 2;
        // A connection that was kept may have ended, which says nothing of its endpoint.
        for _ in 0..self.lookups.len() + usize::from(self.kept.is_some()) {
            let asked_at = now();
            let left = limit.saturating_sub(asked_at.since(began));
            if left.is_zero() {
                break;
            }
            let (at, share) = (self.turn(), share.min(left));
            let (runtime, sent) = (self.runtime.clone(), AtomicBool::new(false));
            let outcome = {
                let mut asked = pin!(self.ask(at, question, reading, &sent));
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
                None => self.silence(share),
            };
            let trouble = format!("{}: {why}", self.endpoint(at));
            if !troubles.contains(&trouble) {
                troubles.push(trouble);
            }
        }
        Err(StoreError::new(Failure::Transient, troubles.join("; ")))
    }

    /// Asks one endpoint. `sent` tells whether it may be writing.
    async fn ask<T>(
        &mut self,
        at: usize,
        question: &Question<'_>,
        reading: Reading<T>,
        sent: &AtomicBool,
    ) -> Result<T, Trouble> {
        let kept = match self.kept.take() {
            Some(mut link) => link.is_open(at).await.then_some(link),
            None => None,
        };
        let mut link = match kept {
            Some(link) => link,
            None => {
                let mut link = self.open(at).await?;
                if question.is_write() {
                    // Whatever is wrong here, it is better known before than after the write.
                    self.exchange(&mut link, &question.read(), &AtomicBool::new(false)).await?;
                }
                link
            }
        };
        let answer = self.exchange(&mut link, question, sent).await?;
        sent.store(false, Ordering::Relaxed);
        let answer = reading(&answer).map_err(|why| malformed(question, &why))?;
        self.kept = Some(link);
        Ok(answer)
    }

    /// What an endpoint has not done in time.
    fn silence(&self, share: Duration) -> String {
        let what = if self.shared.lacks_token() { "login" } else { "answer" };
        format!("no {what} in {} ms", share.as_millis())
    }

    pub(super) async fn open(&mut self, at: usize) -> Result<Link<Socket<N>>, Trouble> {
        let share = self.share();
        let Some(lookup) = self.lookups.get_mut(at) else {
            return Err(Elsewhere("it is not listed".to_owned()));
        };
        let address = lookup.address().clone();
        let found = lookup.look_up(&self.runtime, share / 4).await;
        let found = found.map_err(|error| {
            Elsewhere(format!(
                "its name cannot be resolved: {error}; correct the URL, or check the name server"
            ))
        })?;
        let share = share / u32::try_from(2 * found.addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut why = "its name has no address".to_owned();
        for number in found.addresses {
            match in_time(&self.runtime, share, self.runtime.connect(number)).await {
                Some(Ok(stream)) => {
                    let socket = secured(&self.shared.url, stream, &address).await?;
                    return Link::open(at, socket, address.to_string()).await.map_err(Elsewhere);
                }
                Some(Err(error)) => {
                    why = format!("{number}: {error}: start etcd there, or correct the URL");
                }
                None => {
                    why = format!(
                        "{number} accepts no connection; start etcd there, or open the firewall"
                    );
                }
            }
        }
        match found.stale {
            Some(error) => {
                Err(Elsewhere(format!("{why}; its name cannot be resolved now: {error}")))
            }
            None => Err(Elsewhere(why)),
        }
    }

    /// One question and its answer. A token that has run out is renewed once.
    async fn exchange(
        &mut self,
        link: &mut Link<Socket<N>>,
        question: &Question<'_>,
        sent: &AtomicBool,
    ) -> Result<Value, Trouble> {
        let mut refused = String::new();
        for _ in 0..2 {
            let token = self.token(link.at).await?;
            let known = self.shared.identity.revision();
            sent.store(question.is_write(), Ordering::Relaxed);
            let answer = post(link, question.path(), &token, question.body()).await;
            match answer.map_or_else(unanswered, |(status, body)| judge(status, &body)) {
                Verdict::Done(answer) => {
                    let header = wire::header(&answer).map_err(|why| unclear(question, why))?;
                    let follows = self.shared.identity.follows(header, known);
                    // Wherever it was made, a write was made.
                    return follows.map(|()| answer).map_err(|why| malformed(question, &why));
                }
                Verdict::Unclear(why) => return Err(unclear(question, why)),
                Verdict::Elsewhere(why) => return Err(Elsewhere(why)),
                Verdict::Refused(why, code) => {
                    let why = format!("key {:?}: {why}", question.key());
                    return Err(Final(fatal(why, code)));
                }
                Verdict::Login(why) => {
                    self.shared.logins.forget(&token);
                    refused = why;
                }
            }
            sent.store(false, Ordering::Relaxed);
        }
        Err(self.without_login(refused))
    }

    /// The endpoint has refused a token, or that there was none.
    fn without_login(&self, why: String) -> Trouble {
        match self.shared.url.login {
            Some(_) => Elsewhere(why),
            None => {
                let remedy = "give user and password in the URL: etcd://USER:PASSWORD@HOST";
                Final(fatal(format!("{why}; {remedy}"), Some(StoreErrorCode::Login)))
            }
        }
    }

    /// Begins to watch a key, at the endpoint whose turn it is. Whether it does is told by the first of
    /// its lines.
    pub(super) async fn watch(&mut self, key: &str) -> Result<Lines<Socket<N>>, String> {
        let (at, runtime, share) = (self.turn(), self.runtime.clone(), self.share());
        let asked_at = now();
        self.patience = share * 2;
        let lines = match in_time(&runtime, share, self.begin_to_watch(at, key)).await {
            Some(Ok(lines)) => {
                self.patience = now().since(asked_at) * 2;
                return Ok(lines);
            }
            Some(Err(Elsewhere(why))) => why,
            Some(Err(Final(error))) => error.to_string(),
            None => self.silence(share),
        };
        Err(format!("{}: {lines}", self.endpoint(at)))
    }

    async fn begin_to_watch(&mut self, at: usize, key: &str) -> Result<Lines<Socket<N>>, Trouble> {
        let mut link = self.open(at).await?;
        let token = self.token(at).await?;
        let answer = link.post(wire::WATCH, &token, wire::watch(key)).await;
        let answer = answer.map_err(|error| Elsewhere(error.why))?;
        let (status, body) = (answer.status().as_u16(), answer.into_body());
        if status == 200 {
            let endpoint = self.endpoint(at);
            return Ok(Lines::new(at, endpoint, link, body));
        }
        Err(match judge(status, &link.rest(body).await.map_err(Elsewhere)?) {
            Verdict::Login(why) => {
                self.shared.logins.forget(&token);
                self.without_login(why)
            }
            Verdict::Elsewhere(why) | Verdict::Refused(why, _) | Verdict::Unclear(why) => {
                Elsewhere(why)
            }
            Verdict::Done(_) => {
                Elsewhere("it answered the watch with an error that is none of etcd's".to_owned())
            }
        })
    }

    /// Whether a watch is one of the cluster that is known.
    pub(super) fn belongs(&self, cluster: u64) -> Result<(), String> {
        self.shared.identity.belongs(cluster)
    }
}

/// The status and the body of an answer.
pub(super) async fn post<S>(
    link: &mut Link<S>,
    path: &str,
    token: &str,
    body: String,
) -> Result<(u16, Vec<u8>), NoAnswer>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let answer = link.post(path, token, body).await?;
    let status = answer.status().as_u16();
    let body = link.rest(answer.into_body()).await;
    Ok((status, body.map_err(|why| NoAnswer { was_sent: true, why })?))
}

fn unanswered(NoAnswer { was_sent, why }: NoAnswer) -> Verdict {
    if was_sent { Verdict::Unclear(why) } else { Verdict::Elsewhere(why) }
}

/// The same connection, encrypted if it is to be.
async fn secured<S: AsyncRead + AsyncWrite + Unpin>(
    url: &Url,
    stream: S,
    address: &Address,
) -> Result<Transport<S>, Trouble> {
    #[cfg(feature = "tls")]
    if let Some(encryption) = &url.encryption {
        let connector = encryption.connector().await;
        let connector = connector.map_err(|why| Final(fatal(why, None)))?;
        let made = encryption::encrypted(&connector, address.host(), stream).await;
        return made.map_err(Elsewhere);
    }
    #[cfg(not(feature = "tls"))]
    let _ = (url, address);
    Ok(Transport::Plain(stream))
}

/// Nobody knows whether it was executed: of no importance for a read.
fn unclear(question: &Question<'_>, why: String) -> Trouble {
    if question.is_write() {
        Final(StoreError::new(Failure::Ambiguous, why))
    } else {
        Elsewhere(why)
    }
}

/// An answer that makes no sense.
fn malformed(question: &Question<'_>, why: &str) -> Trouble {
    let why = format!("key {:?}: {why}", question.key());
    if question.is_write() {
        return Final(StoreError::new(Failure::Ambiguous, why));
    }
    Final(fatal(why, None))
}

pub(super) fn fatal(why: String, code: Option<StoreErrorCode>) -> StoreError {
    StoreError { code, ..StoreError::new(Failure::Fatal, why) }
}

/// What comes of a future, unless it takes longer than this.
pub(super) async fn in_time<N: Network, T>(
    runtime: &N,
    limit: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    or(async { Some(future.await) }, async {
        runtime.sleep(limit).await;
        None
    })
    .await
}
