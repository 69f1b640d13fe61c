//! One endpoint's answer: to a question on a connection that is kept, or to a watch on one of its own.

use super::{
    dial::{Dialer, Elsewhere, Final, Socket, Trouble, fatal, post},
    identity::Identity,
    lines::Lines,
    link::{Link, NoAnswer},
    login::Logins,
    url::Url,
    verdict::{Verdict, judge},
    wire::{self, Question, Reading},
};
use crate::{Network, StoreError, StoreErrorCode};
use async_lock::OnceCell;
use election_core::lease::Failure;
use serde_json::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// What all clones share.
pub(super) struct Shared {
    identity: Identity,
    /// Whether the members of the URL were found to belong together.
    pub(super) compared: OnceCell<()>,
    logins: Logins,
}

/// Who asks the endpoints of a URL, one after the other.
pub(super) struct Asker<N: Network> {
    pub(super) dialer: Dialer<N>,
    pub(super) shared: Arc<Shared>,
    /// The connection that the last question has left.
    pub(super) kept: Option<Link<Socket<N>>>,
}

impl<N: Network> Asker<N> {
    pub(super) fn new(runtime: N, url: Url) -> Self {
        let logins = Logins::new(url.endpoints.len());
        let shared = Shared { identity: Identity::default(), compared: OnceCell::new(), logins };
        Self { dialer: Dialer::new(Arc::new(url), runtime), shared: Arc::new(shared), kept: None }
    }

    /// Another of the same cluster, with connections of its own.
    pub(super) fn again(&self) -> Self {
        Self { dialer: self.dialer.again(), shared: self.shared.clone(), kept: None }
    }

    /// What an endpoint has not done in time.
    pub(super) fn silence(&self, share: Duration) -> String {
        let lacks_token = self.dialer.url.login.is_some() && !self.shared.logins.are_done();
        let what = if lacks_token { "login" } else { "answer" };
        format!("no {what} in {} ms", share.as_millis())
    }

    /// Asks one endpoint. `sent` tells whether it may be writing.
    pub(super) async fn ask<T>(
        &mut self,
        at: usize,
        share: Duration,
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
                let mut link = self.dialer.open(at, share).await?;
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
        match self.dialer.url.login {
            Some(_) => Elsewhere(why),
            None => {
                let remedy = "give user and password in the URL: etcd://USER:PASSWORD@HOST";
                Final(fatal(format!("{why}; {remedy}"), Some(StoreErrorCode::Login)))
            }
        }
    }

    async fn token(&mut self, at: usize) -> Result<String, Trouble> {
        self.shared.logins.token(&mut self.dialer, at).await
    }

    /// Begins to watch a key. Whether it does is told by the first of the lines.
    pub(super) async fn watch(
        &mut self,
        at: usize,
        share: Duration,
        key: &str,
    ) -> Result<Lines<Socket<N>>, Trouble> {
        let mut link = self.dialer.open(at, share).await?;
        let token = self.token(at).await?;
        let answer = link.post(wire::WATCH, &token, wire::watch(key)).await;
        let answer = answer.map_err(|error| Elsewhere(error.why))?;
        let (status, body) = (answer.status().as_u16(), answer.into_body());
        if status == 200 {
            let endpoint = self.dialer.endpoint(at);
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

fn unanswered(NoAnswer { was_sent, why }: NoAnswer) -> Verdict {
    if was_sent { Verdict::Unclear(why) } else { Verdict::Elsewhere(why) }
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
