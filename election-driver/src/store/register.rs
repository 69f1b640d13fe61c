//! A lease store over any register: a value that is replaced only if it is still the version that was
//! read.

use super::{Clock, Notifications, Pause, Store, StoreError};
use crate::now;
use election_core::{
    Candidate, Drift, Epoch, Namespace,
    lease::{Answer, Candidacy, Config, Failure, Query, Registration, Round, Row},
    register::{Candidates, Client, Key, Leader, Next, Reply, Request, ValueError},
    sql::CandidateRow,
};
use std::{
    collections::BTreeMap,
    future::Future,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use uuid::Uuid;

/// A store of values that can be replaced on a condition: etcd, Consul, NATS, `ZooKeeper`, an object
/// store. Implement it, and [`RegisterStore`] makes a [`Store`] of it.
///
/// [`election_core::register`] says what it has to promise: linearizable reads and writes, versions that
/// never come twice, and no write that is repeated after an unknown outcome. The check
/// `conformance::register::keeps_its_promises` (feature `conformance`) tests what can be tested.
///
/// The futures may be dropped at any time. A write may take effect all the same then, and the next call
/// must work, on a new connection if need be. Each call should end in bounded time with an error that
/// names the cause.
pub trait Register: Send + 'static {
    /// The version of a value. Two versions of one key are never the same, whatever it held.
    type Version: Clone + Send + Sync + 'static;

    /// Called once, before the first call of an elector, with its timing: a call should end well within
    /// [`Config::attempt_timeout`]. The default ignores it.
    fn prepare(&mut self, config: &Config) {
        let _ = config;
    }

    /// What an operator calls a key, for messages. The default is the key itself.
    fn shown(&self, key: &str) -> String {
        format!("{key:?}")
    }

    /// Reads the value of a key and its version; `None` if there is none.
    ///
    /// # Errors
    /// If the value cannot be read. The kind is [`Transient`](Failure::Transient) if that may pass by
    /// itself, and [`Fatal`](Failure::Fatal) if an operator has to mend something.
    fn read(
        &mut self,
        key: &str,
    ) -> impl Future<Output = Result<Option<(String, Self::Version)>, StoreError>> + Send;

    /// Writes the value of a key if its version is `expected`; for `None`, if there is no value. Returns
    /// the new version; `None` if the version was another, and nothing was written.
    ///
    /// # Errors
    /// As for a read. Unless the write has certainly not been made and never will be, the kind is
    /// [`Ambiguous`](Failure::Ambiguous).
    fn write(
        &mut self,
        key: &str,
        value: &str,
        expected: Option<&Self::Version>,
    ) -> impl Future<Output = Result<Option<Self::Version>, StoreError>> + Send;

    /// Notices of changes of this key: a [`Notice::Wake`](crate::Notice::Wake) for each, and one after every
    /// [`Notice::Listening`](crate::Notice::Listening), since something may have changed before.
    /// Neither safety nor progress needs them. The default is none: then a resignation is noticed
    /// within an interval.
    fn watch(&mut self, key: &str, pause: Pause) -> Notifications {
        let _ = (key, pause);
        Box::pin(futures_lite::stream::pending())
    }
}

/// The elections in a [`Register`].
///
/// Each has two keys, `<name>/leader` and `<name>/candidates`, with values for people to read
/// ([`Leader`], [`Candidates`]). Give each [`Election`](crate::Election) a clone; how many of them
/// share a connection is the register's matter.
///
/// The store remembers every election that it was asked about: for names that come from outside, take a
/// new clone for each call. It needs no clock but this process's own. Whoever takes over from a leader that has crashed has seen
/// its value unchanged for a whole lease, so a process that has just started waits that long.
pub struct RegisterStore<R: Register> {
    register: R,
    drift: Drift,
    clock: Clock,
    /// What this store remembers of each election, for each candidate that has used it.
    clients: BTreeMap<(Namespace, Candidate), Client<R::Version>>,
    /// Who asks for callers that are no candidates.
    reader: Candidate,
}

/// A clone has seen nothing yet.
impl<R: Register + Clone> Clone for RegisterStore<R> {
    fn clone(&self) -> Self {
        let (drift, clock) = (self.drift, self.clock.clone());
        Self { drift, clock, ..Self::new(self.register.clone()) }
    }
}

impl<R: Register> RegisterStore<R> {
    /// The elections in this register.
    #[must_use]
    pub fn new(register: R) -> Self {
        let reader = Candidate::from(Uuid::new_v4());
        let (drift, clock) = (Config::DEFAULT_DRIFT, Arc::new(now));
        Self { register, drift, clock, clients: BTreeMap::new(), reader }
    }

    /// Reads who leads in an election. What is left of the lease is counted from when this store has
    /// seen the leader's last renewal.
    ///
    /// # Errors
    /// If the register cannot be read, or the value is not an election's.
    pub async fn leader(&mut self, namespace: &Namespace) -> Result<Row, StoreError> {
        let candidate = self.reader.clone();
        let reader = Registration { namespace: namespace.clone(), candidate, label: None };
        match self.ask(&reader, &Query::Observe).await? {
            Answer::Seen(row) => Ok(row),
            _ => Ok(Row::vacant()),
        }
    }

    /// The candidates of an election whose registration has not run out by this machine's clock and
    /// theirs, by name.
    ///
    /// # Errors
    /// As for [`leader`](Self::leader).
    pub async fn list_candidates(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Vec<CandidateRow>, StoreError> {
        let key = name(namespace, Key::Candidates);
        let Some((value, _)) = self.register.read(&key).await? else { return Ok(Vec::new()) };
        let listed: Candidates =
            value.parse().map_err(|why| refused(why, &self.register.shown(&key)))?;
        Ok(listed.live(wall_ms()).collect())
    }

    /// Asks the holder of one term to resign. Returns whether that term is held. The holder learns of the
    /// request when it next reads or renews.
    ///
    /// # Errors
    /// If the register cannot be written. After an error of kind `Ambiguous` the leader may have been
    /// asked all the same.
    pub async fn request_resign(
        &mut self,
        namespace: &Namespace,
        epoch: Epoch,
    ) -> Result<bool, StoreError> {
        self.ask_to_resign(namespace, Some(epoch)).await.map(|asked| asked.is_some())
    }

    /// Asks the current leader to resign. Returns the term that was asked; none if nobody leads.
    ///
    /// # Errors
    /// As for [`request_resign`](Self::request_resign).
    pub async fn request_resign_of_leader(
        &mut self,
        namespace: &Namespace,
    ) -> Result<Option<Epoch>, StoreError> {
        self.ask_to_resign(namespace, None).await
    }

    async fn ask_to_resign(
        &mut self,
        namespace: &Namespace,
        mut epoch: Option<Epoch>,
    ) -> Result<Option<Epoch>, StoreError> {
        let key = name(namespace, Key::Leader);
        loop {
            let Some((value, version)) = self.register.read(&key).await? else { return Ok(None) };
            let mut leader: Leader =
                value.parse().map_err(|why| refused(why, &self.register.shown(&key)))?;
            let asked = leader.ask_to_resign(epoch);
            let value = leader.to_string();
            if asked.is_none() || self.register.write(&key, &value, Some(&version)).await?.is_some()
            {
                return Ok(asked);
            }
            epoch = asked; // not its successor
        }
    }

    /// Stands for election once: takes the lease if it is vacant or has run out, renews it if it is the
    /// candidate's own, and never preempts another's. Returns who leads after the call. The store
    /// remembers what it has read: keep it between calls. A crashed leader is succeeded by a call that comes
    /// a lease and the drift after an earlier call has read the last renewal.
    ///
    /// Dropping the future may leave the call done or not done; call again.
    ///
    /// Nothing stops leader work when the lease ends: gate the work with
    /// [`is_leader`](Self::is_leader). [`Election`](crate::Election) does all that by itself. Do not
    /// use both under one incarnation.
    ///
    /// # Errors
    /// If the register cannot be written. An error of kind `Ambiguous` may have elected all the same:
    /// call again.
    pub async fn elect(&mut self, who: &mut Candidacy) -> Result<Row, StoreError> {
        let registration = who.registration().clone();
        self.play(&registration, who.elect()).await
    }

    /// Gives up the lease, if the candidate holds it, and leaves the list. Returns the row as it was
    /// before.
    ///
    /// # Errors
    /// If the register cannot be written.
    pub async fn unregister_candidate(&mut self, who: &mut Candidacy) -> Result<Row, StoreError> {
        let registration = who.registration().clone();
        self.play(&registration, who.unregister()).await
    }

    async fn play(
        &mut self,
        registration: &Registration,
        mut round: Round<'_>,
    ) -> Result<Row, StoreError> {
        loop {
            let answer = self.ask(registration, round.query()).await?;
            if let Some(row) = round.advance(answer) {
                return Ok(row);
            }
        }
    }

    /// Whether a candidate that elects by this store holds a lease that nobody has taken, and that
    /// nobody can have taken until the call returns.
    ///
    /// # Errors
    /// If the register cannot be read.
    pub async fn is_leader(&mut self, who: &Candidacy) -> Result<bool, StoreError> {
        let registration = who.registration();
        let answer = self.ask(registration, &Query::Observe).await?;
        let client = self.clients.get(&place_of(registration));
        let until = client.and_then(Client::holds_until);
        let holds = until.is_some_and(|until| (self.clock)() < until);
        Ok(holds && matches!(answer, Answer::Seen(row) if who.leads(&row)))
    }

    async fn ask(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        let new = || Client::new(registration.clone(), self.drift);
        let client = self.clients.entry(place_of(registration)).or_insert_with(new);
        client.ask(query.clone(), (self.clock)(), wall_ms());
        let key = name(&registration.namespace, Key::of(query));
        while let Some(request) = client.request() {
            let reply = match request {
                Request::Read(_) => Reply::Found(self.register.read(&key).await?),
                Request::Write { value, expected, .. } => {
                    let written = self.register.write(&key, value, expected).await?;
                    written.map_or(Reply::Changed, Reply::Written)
                }
            };
            match client
                .advance(reply, (self.clock)())
                .map_err(|why| refused(why, &self.register.shown(&key)))?
            {
                Next::Ask => {}
                Next::Answer(answer) => return Ok(answer),
                Next::Conflict => break,
            }
        }
        let context = format!(
            "key {}: five writes in a row came too late, since others wrote it; the next question \
             tries again, and if this persists, something else writes the key",
            self.register.shown(&key)
        );
        Err(StoreError::new(Failure::Conflict, context))
    }
}

fn place_of(registration: &Registration) -> (Namespace, Candidate) {
    (registration.namespace.clone(), registration.candidate.clone())
}

pub(super) fn name(namespace: &Namespace, key: Key) -> String {
    let kind = match key {
        Key::Leader => "leader",
        Key::Candidates => "candidates",
    };
    format!("{}/{kind}", namespace.as_str())
}

fn refused(why: ValueError, shown: &str) -> StoreError {
    StoreError::new(Failure::Fatal, format!("key {shown}: {why}"))
}

/// By this machine's clock, which may be wrong: nothing depends on it.
fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl<R: Register> Store for RegisterStore<R> {
    fn prepare(&mut self, config: &Config) {
        self.register.prepare(config);
        self.drift = config.drift();
        self.clients.clear();
    }

    fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    async fn answer(
        &mut self,
        registration: &Registration,
        query: &Query,
    ) -> Result<Answer, StoreError> {
        self.ask(registration, query).await
    }

    fn notifications(&mut self, registration: &Registration, pause: Pause) -> Notifications {
        self.register.watch(&name(&registration.namespace, Key::Leader), pause)
    }
}
