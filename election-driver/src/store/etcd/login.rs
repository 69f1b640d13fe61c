//! Logins, at most one at each endpoint for all clones. A login costs etcd far more than a question: it hashes
//! the password, on purpose slowly. So a login that takes longer than a call is not given up with it: the next
//! call goes on to wait for it, or that of another clone.

use super::{
    dial::{Dialer, Elsewhere, Final, Trouble, fatal, in_time, post},
    link::NoAnswer,
    verdict::{Verdict, judge, wants_no_login},
    wire::{self, AUTHENTICATE},
};
use crate::{Network, now};
use election_core::Timestamp;
use std::{
    future::Future,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How long a login may take: etcd computes one that was given up to its end, too.
const LONGEST: Duration = Duration::from_secs(60);

/// When it began, and what comes of it.
type Login = (Timestamp, Pin<Box<dyn Future<Output = Result<String, Trouble>> + Send>>);

pub(super) struct Logins {
    /// Of the last login; empty if the cluster wants none.
    token: Mutex<Option<String>>,
    /// What is under way at each endpoint. Whoever holds the lock drives it.
    under_way: Vec<async_lock::Mutex<Option<Login>>>,
}

impl Logins {
    pub(super) fn new(endpoints: usize) -> Self {
        let under_way = std::iter::repeat_with(async_lock::Mutex::default).take(endpoints);
        Self { token: Mutex::default(), under_way: under_way.collect() }
    }

    fn known(&self) -> MutexGuard<'_, Option<String>> {
        // No panic leaves it half written.
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a token.
    pub(super) fn are_done(&self) -> bool {
        self.known().is_some()
    }

    /// The token of the URL's user; a new one of this endpoint, if there is none.
    pub(super) async fn token<N: Network>(
        &self,
        dialer: &mut Dialer<N>,
        at: usize,
    ) -> Result<String, Trouble> {
        let under_way = self.under_way.get(at).filter(|_| dialer.url.login.is_some());
        let Some(under_way) = under_way.filter(|_| !self.are_done()) else {
            return Ok(self.known().clone().unwrap_or_default());
        };
        let mut login = under_way.lock().await;
        if let Some(token) = &*self.known() {
            return Ok(token.clone()); // another clone's
        }
        let now = now();
        login.take_if(|(began, _)| now.since(*began) > LONGEST); // nobody has waited for it
        let new = || (now, Box::pin(log_in(dialer.again(), at)) as _);
        let (_, under_way) = login.get_or_insert_with(new);
        let outcome = under_way.await;
        *login = None;
        let token = self.known().insert(outcome?).clone();
        for slow in self.under_way.iter().filter_map(async_lock::Mutex::try_lock) {
            drop({ slow }.take());
        }
        Ok(token)
    }

    /// Forgets a token that was refused, unless another has taken its place.
    pub(super) fn forget(&self, refused: &str) {
        self.known().take_if(|token| token == refused);
    }
}

async fn log_in<N: Network>(mut dialer: Dialer<N>, at: usize) -> Result<String, Trouble> {
    let late = || Elsewhere(format!("no login in {LONGEST:?}"));
    in_time(&dialer.runtime.clone(), LONGEST, ask_for_token(&mut dialer, at))
        .await
        .ok_or_else(late)?
}

async fn ask_for_token<N: Network>(dialer: &mut Dialer<N>, at: usize) -> Result<String, Trouble> {
    let mut link = dialer.open(at, LONGEST).await?;
    let Some((user, password)) = &dialer.url.login else { return Ok(String::new()) };
    let asked = post(&mut link, AUTHENTICATE, "", wire::authenticate(user, password)).await;
    let (status, body) = asked.map_err(|NoAnswer { why, .. }| Elsewhere(why))?;
    // So that authentication can be enabled while elections go on.
    if wants_no_login(&body) {
        return Ok(String::new());
    }
    match judge(status, &body) {
        Verdict::Done(answer) => wire::text(&answer, "token").map(str::to_owned).ok_or_else(|| {
            Elsewhere("it answered the login without a token; check what listens there".to_owned())
        }),
        Verdict::Refused(why, code) => Err(Final(fatal(why, code))),
        Verdict::Elsewhere(why) | Verdict::Login(why) | Verdict::Unclear(why) => {
            Err(Elsewhere(why))
        }
    }
}
