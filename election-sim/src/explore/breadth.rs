//! Breadth-first search: every state, nearest first, so that a counterexample is as short as
//! possible.
//!
//! The search goes level by level. The states of one level are complete in memory. Of earlier
//! states it keeps only the fingerprint, the number of the parent and the move from the parent;
//! from these it replays a counterexample. A state that only one move can follow at once
//! ([`Model::forced`]) is passed through and not kept: it is judged, and so is what follows.

use super::{
    ahead::{Chunk, Stage, Team},
    known::{Back, Found, Known, Reached},
    model::{Broken, Model},
    outcome::{Count, Counterexample, Ended, Limits, Outcome},
};
use std::{
    mem::take,
    sync::{RwLock, atomic::AtomicBool},
    thread,
    time::Instant,
};

/// The search reports progress, checks the time and works out what its threads have left once in
/// this many states.
const PACE: usize = 1 << 12;

/// Searches until no state is left, an invariant is broken, or a limit is reached. `progress`
/// learns from time to time what has been done so far, as of the last level that is complete.
///
/// One thread remembers the states, and others make moves that the model remembers, one for each
/// processor. The result does not depend on them.
pub fn breadth_first<M: Model>(
    model: &mut M,
    limits: &Limits,
    progress: &mut dyn FnMut(&Count),
) -> Outcome<M::Move> {
    let full = AtomicBool::new(false);
    let stage = RwLock::new(Stage { model, level: Vec::new() });
    thread::scope(|scope| {
        let search = Search {
            team: Team::new(scope, &stage),
            limits,
            ends: limits.time.map(|time| Instant::now() + time),
            known: Known::new(scope, limits, &full),
            count: Count::default(),
        };
        search.run(progress)
    })
}

struct Search<'a, M: Model> {
    team: Team<'a, M>,
    limits: &'a Limits,
    ends: Option<Instant>,
    known: Known<'a, M::State>,
    count: Count,
}

/// The number of a state, which of its moves breaks an invariant, and how.
type Violation = (u32, usize, Broken);

impl<M: Model> Search<'_, M> {
    fn run(mut self, progress: &mut dyn FnMut(&Count)) -> Outcome<M::Move> {
        self.start();
        loop {
            let states = match self.next_level() {
                Ok(0) => break,
                Ok(states) => states,
                Err(ended) => return self.end(ended),
            };
            self.count.widest = self.count.widest.max(states);
            if self.count.depth >= self.limits.depth {
                return self.end(Ended::Depth);
            }
            for begin in (0..states).step_by(PACE) {
                if self.known.is_full() {
                    break; // the end of the level says of what
                }
                let chunks = self.team.expand(begin..states.min(begin + PACE));
                if let Some(violation) = self.take_in(chunks) {
                    return self.violated(violation);
                }
                progress(&self.count);
                if self.ends.is_some_and(|ends| Instant::now() >= ends) {
                    return self.end(Ended::Time);
                }
            }
            self.count.depth += 1;
        }
        self.count.depth = self.count.depth.saturating_sub(1);
        self.end(Ended::Exhausted)
    }

    fn start(&mut self) {
        let mut stage = self.team.stage();
        let starts = stage.model.starts().into_iter().enumerate();
        let reached = starts.map(|(nth, state)| {
            let fingerprint = stage.model.fingerprint(&state);
            Reached { state, fingerprint, parent: None, nth }
        });
        self.known.reach(reached.collect(), 0);
    }

    /// Goes on to the states that the level has reached and that are new, and returns how many.
    fn next_level(&mut self) -> Result<usize, Ended> {
        let mut stage = self.team.stage();
        let mut room = take(&mut stage.level);
        room.clear();
        let (next, found) = self.known.level(room);
        let Found { states, digest, moves, ended } = found;
        (self.count.states, self.count.digest) = (states, digest);
        match ended {
            None => {
                stage.level = next;
                Ok(stage.level.len())
            }
            Some(ended) => {
                // What was done ahead does not count.
                self.count.moves = moves.unwrap_or(self.count.moves);
                self.count.widest = self.count.widest.max(next.len());
                Err(ended)
            }
        }
    }

    /// Completes what was expanded and adds it, up to the first way that breaks an invariant.
    fn take_in(&mut self, chunks: Vec<Chunk<M>>) -> Option<Violation> {
        let mut stage = self.team.stage();
        for mut chunk in chunks {
            chunk.complete(&mut *stage.model);
            self.count.moves += chunk.made;
            if let Some((nth, broken)) = chunk.broken {
                let Reached { parent, nth, .. } = chunk.reached[nth];
                return Some((parent?, nth, broken));
            }
            self.known.reach(chunk.reached, self.count.moves);
        }
        None
    }

    fn end(self, ended: Ended) -> Outcome<M::Move> {
        Outcome { ended, count: self.count, counterexample: None }
    }

    /// Replays the way to the state of this number, and this one of its moves.
    fn violated(mut self, (number, nth, broken): Violation) -> Outcome<M::Move> {
        // What was reached before it counts.
        if let Err(ended) = self.next_level() {
            return self.end(ended);
        }
        let back = self.known.backs();
        let (mut nths, mut at) = (vec![nth], number);
        loop {
            let Back { parent, nth } = back[at as usize];
            nths.push(usize::from(nth));
            if parent == at {
                break;
            }
            at = parent;
        }
        let start = nths.pop().unwrap_or(0);
        let mut path = Vec::new();
        let mut stage = self.team.stage();
        let model = &mut *stage.model;
        let mut at = model.starts().into_iter().nth(start);
        while let Some((state, nth)) = at.take().zip(nths.pop()) {
            let mut moves = Vec::new();
            model.moves(&state, &mut moves);
            let mut what = Some(moves.swap_remove(nth));
            let mut after = Ok(state);
            // The last one breaks the invariant again.
            while let (Ok(state), Some(made)) = (&after, what.take()) {
                after = model.after(state, &made);
                what = after.as_ref().ok().and_then(|state| model.forced(state));
                path.push(made);
            }
            at = after.ok();
        }
        let mut count = self.count;
        count.depth = path.len();
        let counterexample = Some(Counterexample { start, path, broken });
        Outcome { ended: Ended::Violated, count, counterexample }
    }
}
