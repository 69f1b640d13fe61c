//! Which check notices a mutant: the cheapest first, and only those that meet it.

use crate::{
    checks::{Built, Check},
    mutation::Branch,
    play::{Reach, Verdict},
};
use std::{
    io,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// A check of no more rounds than this shares a process with others. Such a process performs all of
/// its checks, even if the first one fails. (The time that a check takes says less: it is mostly
/// that of starting a process on a machine that does other things, too.)
const CHEAP: u64 = 1 << 15;
/// A mutant may make a check work this many times harder, and this much more.
const HARDER: u64 = 10;
const MORE: u64 = 5_000_000;

/// All checks, and what each of them meets.
pub(crate) struct Table {
    pub(crate) checks: Vec<(Check, Reach)>,
}

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// This kind of check failed.
    Killed(String),
    /// The checks came to no end.
    Endless,
    /// Every check was content.
    Survived,
    /// No check comes here.
    Unreached,
    /// There was no time left.
    Untried,
}

/// Does `work` for all numbers below `count` on this many threads, each with a directory.
fn share<T: Send>(
    count: usize,
    jobs: usize,
    copy: &Path,
    work: impl Fn(usize, &Path) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let (work, next, done_ref) = (&work, &next, &done);
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for job in 0..jobs {
            let scratch = copy.join(format!("scratch-{job}"));
            workers.push(scope.spawn(move || -> io::Result<()> {
                std::fs::create_dir_all(&scratch)?;
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return Ok(());
                    }
                    let result = work(n, &scratch)?;
                    done_ref.lock().unwrap_or_else(PoisonError::into_inner).push((n, result));
                }
            }));
        }
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(n, _)| *n);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

impl Table {
    /// Performs every check once without a mutant.
    pub(crate) fn count(built: &Built, jobs: usize) -> io::Result<Self> {
        let checks = built.checks()?;
        let reach =
            share(checks.len(), jobs, &built.copy, |n, scratch| built.count(&checks[n], scratch))?;
        Ok(Self { checks: checks.into_iter().zip(reach).collect() })
    }

    /// The branches that no check takes.
    pub(crate) fn untaken<'a>(
        &'a self,
        branches: &'a [Branch],
    ) -> impl Iterator<Item = String> + 'a {
        let taken = |id: &usize| self.checks.iter().any(|(_, reach)| reach.branches.contains(id));
        let untaken = branches.iter().enumerate().filter(move |(id, _)| !taken(id));
        untaken.map(|(_, branch)| branch.to_string())
    }

    /// Tries these mutants until the time is over.
    pub(crate) fn run(
        &self,
        built: &Built,
        mutants: &[usize],
        jobs: usize,
        until: Option<Instant>,
        told: &(dyn Fn(usize, &Fate) + Sync),
    ) -> io::Result<Vec<Fate>> {
        share(mutants.len(), jobs, &built.copy, |n, scratch| {
            let over = until.is_some_and(|until| Instant::now() >= until);
            let fate = if over { Fate::Untried } else { self.fate(built, mutants[n], scratch)? };
            told(mutants[n], &fate);
            Ok(fate)
        })
    }

    fn fate(&self, built: &Built, mutant: usize, scratch: &Path) -> io::Result<Fate> {
        let mut groups: Vec<Vec<&(Check, Reach)>> = Vec::new();
        for check in self.checks.iter().filter(|(_, reach)| reach.mutants.contains(&mutant)) {
            let is_cheap = |(_, reach): &(Check, Reach)| reach.rounds <= CHEAP;
            let fits = |group: &&mut Vec<&(Check, Reach)>| {
                is_cheap(check) && is_cheap(group[0]) && group[0].0.goes_with(&check.0)
            };
            match groups.iter_mut().find(fits) {
                Some(group) => group.push(check),
                None => groups.push(vec![check]),
            }
        }
        if groups.is_empty() {
            return Ok(Fate::Unreached);
        }
        let cost = |group: &Vec<&(Check, Reach)>| -> Duration {
            group.iter().map(|(_, reach)| reach.took).sum()
        };
        groups.sort_by_key(cost);
        for group in groups {
            let rounds: u64 = group.iter().map(|(_, reach)| reach.rounds).sum();
            let fuel = rounds.saturating_mul(HARDER).saturating_add(MORE);
            let checks: Vec<&Check> = group.iter().map(|(check, _)| check).collect();
            match built.play(mutant, &checks, fuel, scratch)? {
                Verdict::Content => {}
                Verdict::Failed => return Ok(Fate::Killed(checks[0].kind())),
                Verdict::Endless => return Ok(Fate::Endless),
            }
        }
        Ok(Fate::Survived)
    }
}
