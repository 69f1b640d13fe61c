//! Logins, each done once for all clones. A login costs etcd far more than a question: it hashes the
//! password, on purpose slowly. So a login that takes longer than a call is not given up with it: the next
//! call goes on to wait for it, or that of another clone.

use super::{
    LIMIT,
    client::{Client, Elsewhere, Final, Shared, Trouble, fatal, in_time, post},
    link::NoAnswer,
    verdict::{Verdict, judge, wants_no_login},
    wire::{self, AUTHENTICATE},
};
use crate::Network;
use std::{
    future::Future,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
};

type Login = Pin<Box<dyn Future<Output = Result<String, Trouble>> + Send>>;

pub(super) struct Logins {
    /// Of the last login; empty if the cluster wants none.
    token: Mutex<Option<String>>,
    /// What is under way at each endpoint. Whoever waits for it drives it.
    under_way: Vec<async_lock::Mutex<Option<Login>>>,
}

impl Logins {
    pub(super) fn new(endpoints: usize) -> Self {
        let under_way = std::iter::repeat_with(async_lock::Mutex::default).take(endpoints);
        Self { token: Mutex::default(), under_way: under_way.collect() }
    }

    fn token(&self) -> MutexGuard<'_, Option<String>> {
        // No panic leaves it half written.
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a token that was refused, unless another has taken its place.
    pub(super) fn forget(&self, refused: &str) {
        self.token().take_if(|token| token == refused);
    }
}

impl Shared {
    /// Whether a login is what a call waits for.
    pub(super) fn lacks_token(&self) -> bool {
        self.url.login.is_some() && self.logins.token().is_none()
    }
}

impl<N: Network> Client<N> {
    /// The token of the URL's user; a new one of this endpoint, if there is none.
    pub(super) async fn token(&mut self, at: usize) -> Result<String, Trouble> {
        let shared = self.shared.clone();
        let known = || shared.logins.token().clone();
        let Some(under_way) = shared.logins.under_way.get(at).filter(|_| shared.lacks_token())
        else {
            return Ok(known().unwrap_or_default());
        };
        let mut login = under_way.lock().await;
        if let Some(token) = known() {
            return Ok(token); // another clone's
        }
        let outcome = login.get_or_insert_with(|| Box::pin(self.again().log_in(at))).await;
        *login = None;
        Ok(shared.logins.token().insert(outcome?).clone())
    }

    async fn log_in(mut self, at: usize) -> Result<String, Trouble> {
        self.limit = LIMIT;
        let late = || Elsewhere(format!("no login in {LIMIT:?}"));
        in_time(&self.runtime.clone(), LIMIT, self.ask_for_token(at)).await.ok_or_else(late)?
    }

    async fn ask_for_token(&mut self, at: usize) -> Result<String, Trouble> {
        let Some((user, password)) = self.shared.url.login.clone() else {
            return Ok(String::new());
        };
        let mut link = self.open(at).await?;
        let asked = post(&mut link, AUTHENTICATE, "", wire::authenticate(&user, &password)).await;
        let (status, body) = asked.map_err(|NoAnswer { why, .. }| Elsewhere(why))?;
        // So that authentication can be enabled while elections go on.
        if wants_no_login(&body) {
            return Ok(String::new());
        }
        match judge(status, &body) {
            Verdict::Done(answer) => {
                wire::text(&answer, "token").map(str::to_owned).ok_or_else(|| {
                    Elsewhere(
                        "it answered the login without a token; check what listens there"
                            .to_owned(),
                    )
                })
            }
            Verdict::Refused(why, code) => Err(Final(fatal(why, code))),
            Verdict::Elsewhere(why) | Verdict::Login(why) | Verdict::Unclear(why) => {
                Err(Elsewhere(why))
            }
        }
    }
}
