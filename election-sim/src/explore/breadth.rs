//! Breadth-first search: every state, nearest first, so that a counterexample is as short as
//! possible.
//!
//! The search goes level by level. The states of one level are complete in memory. Of earlier
//! states it keeps only the fingerprint, the number of the parent and the move from the parent;
//! from these it replays a counterexample. A state that only one move can follow at once
//! ([`Model::forced`]) is passed through and not kept: it is judged, and so is what follows.

use super::{
    known::{Back, Found, Known, Reached},
    model::{Broken, Model},
    outcome::{Count, Counterexample, Ended, Limits, Outcome},
};
use std::{mem::take, sync::atomic::AtomicBool, thread, time::Instant};

/// The search reports progress, and checks the time, once in this many states.
const PACE: usize = 1 << 14;

/// How many states are expanded together. What the model remembers of each move waits for memory, and
/// these waits overlap.
const EXPANDED: usize = 16;

/// Searches until no state is left, an invariant is broken, or a limit is reached. `progress`
/// learns from time to time what has been done so far, as of the last level that is complete.
///
/// A second thread remembers the states. The result does not depend on it.
pub fn breadth_first<M: Model>(
    model: &mut M,
    limits: &Limits,
    progress: &mut dyn FnMut(&Count),
) -> Outcome<M::Move> {
    let full = AtomicBool::new(false);
    thread::scope(|scope| {
        let search = Search {
            model,
            limits,
            ends: limits.time.map(|time| Instant::now() + time),
            known: Known::new(scope, limits, &full),
            moves: Vec::new(),
            steps: Vec::new(),
            count: Count::default(),
        };
        search.run(progress)
    })
}

struct Search<'a, M: Model> {
    model: &'a mut M,
    limits: &'a Limits,
    ends: Option<Instant>,
    known: Known<'a, M::State>,
    /// Room for the moves out of a state, and for those of all states that are expanded together.
    moves: Vec<M::Move>,
    steps: Vec<Step<M>>,
    count: Count,
}

/// A move out of a state, and then whatever must follow it at once.
struct Step<M: Model> {
    parent: u32,
    /// Which of the parent's moves was the first.
    nth: usize,
    state: M::State,
    what: Option<M::Move>,
}

impl<M: Model> Search<'_, M> {
    fn run(mut self, progress: &mut dyn FnMut(&Count)) -> Outcome<M::Move> {
        for (nth, state) in self.model.starts().into_iter().enumerate() {
            self.reach(None, nth, state);
        }
        let mut level = Vec::new();
        loop {
            level = match self.next_level(level) {
                Ok(level) if level.is_empty() => break,
                Ok(level) => level,
                Err(ended) => return self.end(ended),
            };
            self.count.widest = self.count.widest.max(level.len());
            if self.count.depth >= self.limits.depth {
                return self.end(Ended::Depth);
            }
            for (nth, together) in level.chunks(EXPANDED).enumerate() {
                if self.known.is_full() {
                    break; // the end of the level says of what
                }
                if let Some((number, nth, broken)) = self.expand(together) {
                    return self.violated(number, nth, broken);
                }
                if nth % (PACE / EXPANDED) == 0 {
                    progress(&self.count);
                    if self.ends.is_some_and(|ends| Instant::now() >= ends) {
                        return self.end(Ended::Time);
                    }
                }
            }
            self.count.depth += 1;
        }
        self.count.depth = self.count.depth.saturating_sub(1);
        self.end(Ended::Exhausted)
    }

    /// The states that the level has reached and that are new, and `level` for its room.
    fn next_level(
        &mut self,
        mut level: Vec<(u32, M::State)>,
    ) -> Result<Vec<(u32, M::State)>, Ended> {
        level.clear();
        let (next, found) = self.known.level(self.count.moves, level);
        let Found { states, digest, moves, ended } = found;
        (self.count.states, self.count.digest) = (states, digest);
        match ended {
            None => Ok(next),
            Some(ended) => {
                // What was done ahead does not count.
                self.count.moves = moves.unwrap_or(self.count.moves);
                self.count.widest = self.count.widest.max(next.len());
                Err(ended)
            }
        }
    }

    /// Adds the successors of these states. Returns the move out of one that breaks an invariant: the
    /// state's number, and which of its moves.
    fn expand(&mut self, together: &[(u32, M::State)]) -> Option<(u32, usize, Broken)> {
        let (mut moves, mut steps) = (take(&mut self.moves), take(&mut self.steps));
        for (number, state) in together {
            self.model.moves(state, &mut moves);
            let begun = moves.drain(..).enumerate().map(|(nth, what)| {
                let (parent, state, what) = (*number, state.clone(), Some(what));
                Step { parent, nth, state, what }
            });
            steps.extend(begun);
        }
        let broken = self.settle(&mut steps);
        if broken.is_none() {
            steps.drain(..).for_each(|Step { parent, nth, state, .. }| {
                self.reach(Some(parent), nth, state);
            });
        }
        steps.clear();
        (self.moves, self.steps) = (moves, steps);
        broken
    }

    /// Makes the moves that were planned, and whatever must follow each of them at once.
    fn settle(&mut self, steps: &mut [Step<M>]) -> Option<(u32, usize, Broken)> {
        loop {
            let planned = steps.iter().filter_map(|step| Some((&step.state, step.what.as_ref()?)));
            self.model.bring(planned);
            let mut made = 0;
            for step in steps.iter_mut() {
                let Some(what) = step.what.take() else { continue };
                made += 1;
                match self.model.after(&step.state, &what) {
                    Ok(next) => {
                        step.what = self.model.forced(&next);
                        step.state = next;
                    }
                    Err(broken) => return Some((step.parent, step.nth, broken)),
                }
            }
            if made == 0 {
                return None;
            }
            self.count.moves += made;
        }
    }

    fn reach(&mut self, parent: Option<u32>, nth: usize, state: M::State) {
        let fingerprint = self.model.fingerprint(&state);
        self.known.reach(Reached { state, fingerprint, parent, nth }, self.count.moves);
    }

    fn end(self, ended: Ended) -> Outcome<M::Move> {
        Outcome { ended, count: self.count, counterexample: None }
    }

    /// Replays the way to the state of this number, and this one of its moves.
    fn violated(mut self, number: u32, nth: usize, broken: Broken) -> Outcome<M::Move> {
        // What was reached before it counts.
        if let Err(ended) = self.next_level(Vec::new()) {
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
        let mut at = self.model.starts().into_iter().nth(start);
        while let Some((state, nth)) = at.take().zip(nths.pop()) {
            let mut moves = Vec::new();
            self.model.moves(&state, &mut moves);
            let mut what = Some(moves.swap_remove(nth));
            let mut after = Ok(state);
            // The last one breaks the invariant again.
            while let (Ok(state), Some(made)) = (&after, what.take()) {
                after = self.model.after(state, &made);
                what = after.as_ref().ok().and_then(|state| self.model.forced(state));
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
