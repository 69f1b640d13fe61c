//! Breadth-first search: every state, nearest first, so that a counterexample is as short as
//! possible.
//!
//! The search goes level by level. The states of one level are complete in memory. Of earlier
//! states it keeps only the fingerprint, the number of the parent and the move from the parent;
//! from these it replays a counterexample. A state that only one move can follow at once
//! ([`Model::forced`]) is passed through and not kept: it is judged, and so is what follows.

use super::{
    model::{Broken, Model},
    outcome::{Count, Counterexample, Ended, Limits, Outcome},
    visited::Visited,
};
use std::{mem::take, time::Instant};

/// The search reports progress, and checks the time, once in this many states.
const PACE: usize = 1 << 14;

/// How many states are looked up together. Each lookup waits for memory, and these waits overlap.
const BATCH: usize = 64;

/// How many states are expanded together, for the same reason.
const EXPANDED: usize = 16;

/// Searches until no state is left, an invariant is broken, or a limit is reached. `progress`
/// learns from time to time what has been done so far.
pub fn breadth_first<M: Model>(
    model: &mut M,
    limits: &Limits,
    progress: &mut dyn FnMut(&Count),
) -> Outcome<M::Move> {
    let search = Search {
        model,
        limits,
        ends: limits.time.map(|time| Instant::now() + time),
        visited: Visited::new(),
        back: Vec::new(),
        level: Vec::new(),
        next: Vec::new(),
        moves: Vec::new(),
        steps: Vec::new(),
        reached: Vec::with_capacity(BATCH * 2),
        count: Count::default(),
    };
    search.run(progress)
}

/// The way back from a state: the number of its parent, and which of the parent's moves led to it.
/// A start is its own parent.
#[derive(Clone, Copy)]
struct Back {
    parent: u32,
    nth: u16,
}

struct Search<'a, M: Model> {
    model: &'a mut M,
    limits: &'a Limits,
    ends: Option<Instant>,
    visited: Visited,
    back: Vec<Back>,
    level: Vec<(u32, M::State)>,
    next: Vec<(u32, M::State)>,
    /// Room for the moves out of a state, and for those of all states that are expanded together.
    moves: Vec<M::Move>,
    steps: Vec<Step<M>>,
    /// States that were reached but not looked up yet.
    reached: Vec<Reached<M::State>>,
    count: Count,
}

/// What ends a search before its end.
enum End {
    Limit(Ended),
    /// This one of the moves out of the state of this number breaks an invariant, or one of those that
    /// must follow it.
    Broken(u32, usize, Broken),
}

/// A move out of a state, and then whatever must follow it at once.
struct Step<M: Model> {
    parent: u32,
    /// Which of the parent's moves was the first.
    nth: usize,
    state: M::State,
    what: Option<M::Move>,
}

/// A state, and the way back from it.
struct Reached<S> {
    state: S,
    fingerprint: u64,
    parent: Option<u32>,
    nth: usize,
}

impl<M: Model> Search<'_, M> {
    fn run(mut self, progress: &mut dyn FnMut(&Count)) -> Outcome<M::Move> {
        for (nth, state) in self.model.starts().into_iter().enumerate() {
            self.reach(None, nth, state);
        }
        self.take_in();
        while !self.next.is_empty() {
            self.level.clear();
            std::mem::swap(&mut self.level, &mut self.next);
            self.count.widest = self.count.widest.max(self.level.len());
            if self.count.depth >= self.limits.depth {
                return self.end(Ended::Depth);
            }
            let level = take(&mut self.level);
            for (nth, together) in level.chunks(EXPANDED).enumerate() {
                match self.expand(together) {
                    None => {}
                    Some(End::Limit(ended)) => return self.end(ended),
                    Some(End::Broken(number, nth, broken)) => {
                        return self.violated(number, nth, broken);
                    }
                }
                if nth % (PACE / EXPANDED) == 0 {
                    progress(&self.count);
                    if self.ends.is_some_and(|ends| Instant::now() >= ends) {
                        return self.end(Ended::Time);
                    }
                }
            }
            self.take_in();
            self.level = level;
            self.count.depth += 1;
        }
        self.count.depth = self.count.depth.saturating_sub(1);
        self.end(Ended::Exhausted)
    }

    /// Adds the successors of these states. Returns what ends the search: the move out of a state
    /// that breaks an invariant, or a limit.
    fn expand(&mut self, together: &[(u32, M::State)]) -> Option<End> {
        let (mut moves, mut steps) = (take(&mut self.moves), take(&mut self.steps));
        for (number, state) in together {
            self.model.moves(state, &mut moves);
            let begun = moves.drain(..).enumerate().map(|(nth, what)| {
                let (parent, state, what) = (*number, state.clone(), Some(what));
                Step { parent, nth, state, what }
            });
            steps.extend(begun);
        }
        let ended = self.settle(&mut steps);
        if ended.is_none() {
            steps.drain(..).for_each(|Step { parent, nth, state, .. }| {
                self.reach(Some(parent), nth, state);
            });
        }
        steps.clear();
        (self.moves, self.steps) = (moves, steps);
        if ended.is_some() || self.reached.len() >= BATCH {
            self.take_in();
        }
        ended.or_else(|| self.full().map(End::Limit))
    }

    /// Makes the moves that were planned, and whatever must follow each of them at once.
    fn settle(&mut self, steps: &mut [Step<M>]) -> Option<End> {
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
                    Err(broken) => return Some(End::Broken(step.parent, step.nth, broken)),
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
        self.reached.push(Reached { state, fingerprint, parent, nth });
    }

    /// Adds the new ones among the states reached, in order.
    fn take_in(&mut self) {
        let mut reached = take(&mut self.reached);
        self.visited.bring(reached.iter().map(|reached| reached.fingerprint));
        reached.drain(..).for_each(|reached| self.add(reached));
        self.reached = reached;
    }

    fn add(&mut self, reached: Reached<M::State>) {
        let Reached { state, fingerprint, parent, nth } = reached;
        if !self.visited.insert(fingerprint) {
            return;
        }
        let number = u32::try_from(self.back.len()).unwrap_or(u32::MAX);
        let nth = u16::try_from(nth).unwrap_or(u16::MAX);
        self.back.push(Back { parent: parent.unwrap_or(number), nth });
        self.next.push((number, state));
        self.count.states += 1;
        self.count.digest = self.count.digest.wrapping_add(fingerprint);
    }

    fn full(&self) -> Option<Ended> {
        if self.count.states >= self.limits.states.min(u64::from(u32::MAX)) {
            return Some(Ended::States);
        }
        let waiting = self.level.capacity() + self.next.capacity();
        let bytes = self.visited.bytes()
            + self.back.capacity() * size_of::<Back>()
            + waiting * size_of::<(u32, M::State)>();
        (bytes >= self.limits.bytes).then_some(Ended::Memory)
    }

    fn end(self, ended: Ended) -> Outcome<M::Move> {
        Outcome { ended, count: self.count, counterexample: None }
    }

    /// Replays the way to the state of this number, and this one of its moves.
    fn violated(self, number: u32, nth: usize, broken: Broken) -> Outcome<M::Move> {
        let (mut nths, mut at) = (vec![nth], number);
        loop {
            let Back { parent, nth } = self.back[at as usize];
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
