//! Random walks: deep rather than wide.
//!
//! A uniform walk takes any possible move. A swarm walk first switches a random part of the kinds
//! of moves off, for its whole length. Only swarm walks find a state that needs many moves of a few
//! kinds in a row and no others.

use super::{
    model::Model,
    outcome::{Count, Counterexample, Ended, Limits, Outcome},
};
use crate::draw::mix;
use election_core::Random;
use std::time::Instant;

/// Walks through the states of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walks {
    /// The seed that decides every walk, together with the walk's number.
    pub seed: u64,
    /// The largest number of walks.
    pub walks: u64,
    /// The largest number of moves in each walk.
    pub length: usize,
    /// Whether each walk switches off a random part of the kinds of moves.
    pub swarm: bool,
}

/// Walks until an invariant is broken or a limit is reached. The walk that breaks an invariant is
/// then shortened: moves are removed as long as the rest, as far as it can be made, breaks the
/// same.
pub fn walk<M: Model>(
    model: &mut M,
    walks: &Walks,
    limits: &Limits,
    progress: &mut dyn FnMut(&Count),
) -> Outcome<M::Move> {
    let ends = limits.time.map(|time| Instant::now() + time);
    let mut count = Count::default();
    let starts = model.starts();
    while count.walks < walks.walks {
        let number = count.walks;
        count.walks += 1;
        let found = one(model, &starts, walks, number, limits, &mut count);
        if let Some(counterexample) = found {
            let counterexample = shortened(model, counterexample);
            return Outcome { ended: Ended::Violated, count, counterexample: Some(counterexample) };
        }
        if number % 64 == 0 {
            progress(&count);
            if ends.is_some_and(|ends| Instant::now() >= ends) {
                return Outcome { ended: Ended::Time, count, counterexample: None };
            }
        }
        if count.states >= limits.states {
            return Outcome { ended: Ended::States, count, counterexample: None };
        }
    }
    Outcome { ended: Ended::Depth, count, counterexample: None }
}

fn one<M: Model>(
    model: &mut M,
    starts: &[M::State],
    walks: &Walks,
    number: u64,
    limits: &Limits,
    count: &mut Count,
) -> Option<Counterexample<M::Move>> {
    let mut random = Random::new(mix(walks.seed ^ mix(number)));
    let off = if walks.swarm { random.next_u64() & !model.essential() } else { 0 };
    let start = pick(&mut random, starts.len())?;
    let mut state = starts[start].clone();
    let (mut path, mut moves) = (Vec::new(), Vec::new());
    for depth in 1..=walks.length.min(limits.depth) {
        moves.clear();
        model.moves(&state, &mut moves);
        moves.retain(|what| off >> model.kind(what) & 1 == 0);
        let Some(nth) = pick(&mut random, moves.len()) else { break };
        let what = moves.swap_remove(nth);
        count.moves += 1;
        count.states += 1;
        count.depth = count.depth.max(depth);
        path.push(what);
        match model.after(&state, &path[path.len() - 1]) {
            Ok(next) => state = next,
            Err(broken) => return Some(Counterexample { start, path, broken }),
        }
        count.digest = count.digest.wrapping_add(model.fingerprint(&state));
    }
    None
}

fn pick(random: &mut Random, from: usize) -> Option<usize> {
    let last = u64::try_from(from).ok()?.checked_sub(1)?;
    usize::try_from(random.up_to(last)).ok()
}

/// Removes unnecessary moves: half of the moves at first, then ever fewer at a time.
fn shortened<M: Model>(
    model: &mut M,
    mut found: Counterexample<M::Move>,
) -> Counterexample<M::Move> {
    let mut chunk = found.path.len().div_ceil(2);
    loop {
        let (mut from, mut gained) = (0, false);
        while from < found.path.len() {
            let to = (from + chunk).min(found.path.len());
            let rest = [&found.path[..from], &found.path[to..]].concat();
            match replayed(model, found.start, &rest, found.broken.check) {
                Some(shorter) => (found, gained) = (shorter, true),
                None => from = to,
            }
        }
        if chunk == 1 && !gained {
            return found;
        }
        chunk = if gained { chunk } else { chunk.div_ceil(2) };
    }
}

/// The moves up to the one that breaks `check`, without the moves that become impossible on the
/// way; `None` if nothing breaks it.
fn replayed<M: Model>(
    model: &mut M,
    start: usize,
    moves: &[M::Move],
    check: &str,
) -> Option<Counterexample<M::Move>> {
    let mut state = model.starts().into_iter().nth(start)?;
    let mut path = Vec::with_capacity(moves.len());
    for what in moves {
        if !model.allows(&state, what) {
            continue;
        }
        path.push(what.clone());
        match model.after(&state, what) {
            Ok(next) => state = next,
            Err(broken) if broken.check == check => {
                return Some(Counterexample { start, path, broken });
            }
            Err(_) => return None,
        }
    }
    None
}
