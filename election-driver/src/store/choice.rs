//! Which host of a list to use.
//!
//! The hosts are tried one after another, from the one that worked last. Each has a share of the
//! call's time, so that one that swallows everything does not cost the others theirs; a host that
//! has let its share pass gets twice as much in the next round, or a slow link would never carry a
//! login. A connection that has fallen silent has the next round begin behind its host.
//!
//! A host may have let a client in of which it hears nothing more. If nothing bounds such sessions,
//! the host is left alone for a while, or they would pile up on it: it rests.
//!
//! Hosts of two clusters would elect two leaders. So the cluster of the first host that has told
//! one is remembered for as long as the store lives, and a host that tells another, or none any
//! more, is refused. That guards against a wrong list, not against everything: another process may
//! have seen the other cluster first.

use super::{
    calls::is_lost,
    hosts,
    progress::{Progress, lock},
    timeouts::{Stage, Timeouts, within},
    transport::{self, Transport},
};
use crate::{StoreError, now};
use election_core::{Timestamp, lease::Failure};
use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard},
};

/// The hosts, one at least, and what is known of them. Clones share what they learn.
#[derive(Clone)]
pub(super) struct Choice<O> {
    hosts: Arc<[Host<O>]>,
    known: Arc<Mutex<Known>>,
}

struct Host<O> {
    options: O,
    name: String,
}

#[derive(Default)]
struct Known {
    /// Where the next round begins.
    begin: usize,
    /// The host that was connected to last.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code))]
    used: Option<usize>,
    /// A host and its cluster.
    cluster: Option<(String, String)>,
    /// It was said that a host does not tell it.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code))]
    untold: bool,
    hosts: Vec<Tries>,
}

/// What became of a host's tries.
#[derive(Clone, Default)]
struct Tries {
    /// How many in a row had no answer.
    vain: u32,
    rests_until: Option<Timestamp>,
    /// Why the last one failed.
    failed: Option<(Failure, String)>,
}

impl<O> Choice<O> {
    /// Of hosts with these options; the names are shown. `None` if there is none.
    pub(super) fn of(options: Vec<O>, name: impl Fn(&O) -> String) -> Option<Self> {
        let host = |options: O| Host { name: name(&options), options };
        let hosts: Arc<[_]> = options.into_iter().map(host).collect();
        let known = Known { hosts: vec![Tries::default(); hosts.len()], ..Known::default() };
        (!hosts.is_empty()).then(|| Self { hosts, known: Arc::new(Mutex::new(known)) })
    }

    pub(super) fn one(options: O, name: impl Fn(&O) -> String) -> Self {
        let hosts = Arc::new([Host { name: name(&options), options }]);
        let known = Known { hosts: vec![Tries::default()], ..Known::default() };
        Self { hosts, known: Arc::new(Mutex::new(known)) }
    }

    pub(super) fn are_several(&self) -> bool {
        self.hosts.len() > 1
    }

    /// The options of the first, for what they have in common.
    pub(super) fn first(&self) -> &O {
        self.options(0)
    }

    fn all(&self) -> impl Iterator<Item = &O> {
        self.hosts.iter().map(|host| &host.options)
    }

    /// The options of a host.
    pub(super) fn options(&self, at: usize) -> &O {
        &self.hosts[at].options
    }

    /// The name of a host.
    pub(super) fn name(&self, at: usize) -> &str {
        &self.hosts[at].name
    }

    /// Their names, in the order in which they were given.
    pub(super) fn names(&self) -> String {
        let names: Vec<_> = self.hosts.iter().map(|host| &*host.name).collect();
        names.join(", ")
    }

    /// How they are reached.
    pub(super) fn transport(&self, of: impl Fn(&O) -> Transport) -> Transport {
        transport::of_all(self.all().map(&of), &self.names()).unwrap_or_else(|| of(self.first()))
    }

    /// Whether nobody has been told yet that a host does not tell its cluster.
    #[cfg(feature = "postgres")]
    pub(super) fn is_news(&self) -> bool {
        !std::mem::replace(&mut self.known().untold, true)
    }

    /// The host that was connected to last; a single host from the beginning.
    #[cfg(feature = "postgres")]
    pub(super) fn used(&self) -> Option<usize> {
        if self.are_several() { self.known().used } else { Some(0) }
    }

    /// The next round begins with the next host: this one has fallen silent.
    pub(super) fn move_on(&self) {
        let mut known = self.known();
        known.begin = (known.begin + 1) % self.hosts.len();
    }

    /// Enters the first that lets us in. A single one has all the time of the call, and its own error.
    pub(super) async fn enter<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        timeouts: Timeouts,
        progress: &Progress,
        enter: impl Fn(usize) -> F,
    ) -> Result<T, StoreError> {
        if !self.are_several() {
            return enter(0).await;
        }
        let mut round = self.round(timeouts);
        while let Some((host, share)) = round.next(progress) {
            let entered = within(share, enter(host)).await;
            if let Some(opened) = round.heard(entered, progress) {
                return Ok(opened);
            }
        }
        Err(self.failed().unwrap_or_else(hosts::none))
    }

    /// Begins to try them.
    fn round(&self, timeouts: Timeouts) -> Round<'_, O> {
        let (mut known, now) = (self.known(), now());
        for tries in &mut known.hosts {
            tries.failed.take_if(|_| tries.rests_until.is_none_or(|until| until <= now));
        }
        Round { choice: self, timeouts, begin: known.begin, tried: 0, at: 0 }
    }

    /// Why none could be used; `None` if there is only one host, which says so itself.
    pub(super) fn failed(&self) -> Option<StoreError> {
        let known = self.known();
        let tries = || known.hosts.iter().enumerate();
        let failed = tries().filter_map(|(at, tries)| Some((at, tries.failed.as_ref()?)));
        let (mut why, mut kind) = (String::new(), Failure::Fatal);
        for (at, (failure, reason)) in failed {
            let between = if why.is_empty() { "" } else { "; " };
            let _ = write!(why, "{between}{}: {reason}", self.name(at));
            if *failure != Failure::Fatal {
                kind = Failure::Transient;
            }
        }
        let said = self.are_several() && !why.is_empty();
        said.then(|| StoreError::new(kind, format!("no listed host can be used: {why}")))
    }

    /// Refuses a host of another cluster than the first that has told its own.
    pub(super) fn belongs(&self, at: usize, cluster: Option<String>) -> Result<(), StoreError> {
        let mut known = self.known();
        let why = match (&known.cluster, cluster) {
            (None, Some(cluster)) => {
                known.cluster = Some((self.name(at).to_owned(), cluster));
                return Ok(());
            }
            (None, None) => return Ok(()),
            (Some((_, one)), Some(other)) if *one == other => return Ok(()),
            (Some((first, one)), Some(other)) => format!(
                "this host belongs to a different cluster ({other}) from {first} ({one}), and two \
                 clusters would elect two leaders; list hosts of one cluster only, and restart \
                 this process"
            ),
            (Some((first, one)), None) => format!(
                "this host does not reveal its cluster, but {first} belongs to cluster {one}; list \
                 hosts of one cluster only, let this user read the cluster's name on each of them \
                 (pg_control_system() on PostgreSQL, wsrep_cluster_state_uuid on Galera), and \
                 restart this process"
            ),
        };
        Err(StoreError::new(Failure::Fatal, why))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

/// One try of each host. It may be dropped anywhere.
struct Round<'a, O> {
    choice: &'a Choice<O>,
    timeouts: Timeouts,
    begin: usize,
    tried: usize,
    at: usize,
}

impl<O> Round<'_, O> {
    /// The next host to try, and for how long.
    fn next(&mut self, progress: &Progress) -> Option<(usize, std::time::Duration)> {
        let hosts = self.choice.hosts.len();
        while self.tried < hosts {
            self.at = (self.begin + self.tried) % hosts;
            self.tried += 1;
            let mut known = self.choice.known();
            let Some(tries) = known.hosts.get_mut(self.at) else { continue };
            if tries.rests_until.is_none_or(|until| until <= now()) {
                progress.begins();
                // Until it says something else, also to a call that ends meanwhile.
                tries.failed = Some((Failure::Transient, SILENT.to_owned()));
                let share = u32::try_from(hosts).unwrap_or(u32::MAX);
                return Some((self.at, self.timeouts.share(share, tries.vain)));
            }
        }
        None
    }

    /// What has come of it; `None` is no answer in time.
    fn heard<T>(&self, outcome: Option<Result<T, StoreError>>, progress: &Progress) -> Option<T> {
        let mut known = self.choice.known();
        let at = self.at;
        if matches!(outcome, Some(Ok(_))) {
            (known.begin, known.used) = (at, Some(at));
        }
        let tries = known.hosts.get_mut(at)?;
        let stage = progress.stage();
        let broke = match &outcome {
            None => true,
            Some(Err(error)) => is_lost(error),
            Some(Ok(_)) => false,
        };
        if broke && stage == Stage::Inside {
            let rest = self.timeouts.patience(stage, tries.vain);
            tries.rests_until = Some(now() + rest);
        }
        match outcome {
            Some(Ok(opened)) => {
                *tries = Tries::default();
                return Some(opened);
            }
            Some(Err(error)) => {
                tries.vain = if broke { tries.vain.saturating_add(1) } else { 0 };
                tries.failed = Some((error.kind, error.told()));
            }
            None => tries.vain = tries.vain.saturating_add(1),
        }
        let why = tries.failed.as_ref().map(|(_, why)| &**why).unwrap_or_default();
        tracing::debug!(host = self.choice.name(at), why, "trying the next host");
        None
    }
}

const SILENT: &str = "it did not answer in time; check host, port and firewall, and that the \
                      server is neither stopped nor overloaded";

#[cfg(test)]
mod tests;
