//! Threads that make moves ahead of the search.
//!
//! A model remembers what it has worked out, and nearly every move is one that it remembers. Many
//! threads can look that up at once. So they make the moves out of one batch of states after the
//! other, and the search itself makes those that are left, in order. The model learns nothing while
//! they look, so the results do not depend on how many they are.

use super::{
    known::Reached,
    model::{Broken, Model},
};
use std::{
    ops::Range,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{Scope, available_parallelism},
};

/// How many states one thread takes at a time.
const CHUNK: usize = 64;

/// How many of them it expands together. What the model remembers of each move waits for memory, and
/// these waits overlap.
const EXPANDED: usize = 16;

/// What all threads see: the model, and the states of the level that is searched.
pub(super) struct Stage<'a, M: Model> {
    pub(super) model: &'a mut M,
    pub(super) level: Vec<(u32, M::State)>,
}

/// Some states of a level, expanded as far as the model remembers.
pub(super) struct Chunk<M: Model> {
    /// The states after the moves, and after what had to follow.
    pub(super) reached: Vec<Reached<M::State>>,
    /// Which of them are not complete, and the move that the model has to work out.
    pub(super) open: Vec<(usize, M::Move)>,
    /// The states whose moves the model has to work out.
    pub(super) left: Vec<(u32, M::State)>,
    /// The first way that breaks an invariant.
    pub(super) broken: Option<(usize, Broken)>,
    pub(super) made: u64,
}

/// The threads, and the search's own.
pub(super) struct Team<'a, M: Model> {
    stage: &'a RwLock<Stage<'a, M>>,
    helpers: Vec<Sender<Batch<M>>>,
    room: Room<M>,
}

/// A batch of states, in chunks that whoever has time takes.
struct Batch<M: Model> {
    next: Arc<AtomicUsize>,
    end: usize,
    results: Sender<(usize, Chunk<M>)>,
}

/// A move out of a state, and then whatever must follow it at once.
struct Step<M: Model> {
    parent: u32,
    /// Which of the parent's moves was the first.
    nth: usize,
    state: M::State,
    what: Option<M::Move>,
    /// The model has to work this move out.
    is_open: bool,
}

/// Room that is used again.
struct Room<M: Model> {
    moves: Vec<M::Move>,
    steps: Vec<Step<M>>,
}

impl<'a, M: Model> Team<'a, M> {
    /// One thread for every further processor.
    pub(super) fn new<'scope>(
        scope: &'scope Scope<'scope, 'a>,
        stage: &'a RwLock<Stage<'a, M>>,
    ) -> Self {
        let further = available_parallelism().map_or(0, |all| all.get() - 1);
        let helpers = (0..further).map(|_| {
            let (order, orders) = channel();
            scope.spawn(move || help(stage, &orders));
            order
        });
        Self { stage, helpers: helpers.collect(), room: Room::default() }
    }

    /// The model and the level, for the search alone.
    pub(super) fn stage(&self) -> RwLockWriteGuard<'a, Stage<'a, M>> {
        self.stage.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Expands these states of the level. The chunks are in their order.
    ///
    /// # Panics
    /// If the model has panicked in another thread.
    pub(super) fn expand(&mut self, states: Range<usize>) -> Vec<Chunk<M>> {
        let chunks = states.len().div_ceil(CHUNK);
        let (results, done) = channel();
        let next = Arc::new(AtomicUsize::new(states.start));
        let batch = Batch { next, end: states.end, results };
        for helper in self.helpers.iter().take(chunks - 1) {
            let Batch { next, end, results } = &batch;
            let batch = Batch { next: next.clone(), end: *end, results: results.clone() };
            let _ = helper.send(batch); // it ends only with the search
        }
        take_part(&seen(self.stage), &batch, &mut self.room);
        drop(batch);
        let mut done: Vec<_> = done.into_iter().collect();
        assert_eq!(done.len(), chunks, "a thread of the search has panicked");
        done.sort_unstable_by_key(|(begin, _)| *begin);
        done.into_iter().map(|(_, chunk)| chunk).collect()
    }
}

fn seen<'a, M: Model>(stage: &'a RwLock<Stage<'_, M>>) -> RwLockReadGuard<'a, Stage<'a, M>> {
    stage.read().unwrap_or_else(PoisonError::into_inner)
}

fn help<M: Model>(stage: &RwLock<Stage<'_, M>>, orders: &Receiver<Batch<M>>) {
    let mut room = Room::default();
    while let Ok(batch) = orders.recv() {
        take_part(&seen(stage), &batch, &mut room);
    }
}

fn take_part<M: Model>(stage: &Stage<'_, M>, batch: &Batch<M>, room: &mut Room<M>) {
    loop {
        let begin = batch.next.fetch_add(CHUNK, Ordering::Relaxed);
        if begin >= batch.end {
            return;
        }
        let states = &stage.level[begin..batch.end.min(begin + CHUNK)];
        let mut chunk = Chunk::with_room_for(states.len());
        for together in states.chunks(EXPANDED) {
            chunk.expand(&*stage.model, together, room);
        }
        let _ = batch.results.send((begin, chunk)); // it waits for all chunks
    }
}

impl<M: Model> Chunk<M> {
    fn with_room_for(states: usize) -> Self {
        Self {
            reached: Vec::with_capacity(4 * states),
            open: Vec::new(),
            left: Vec::new(),
            broken: None,
            made: 0,
        }
    }

    fn expand(&mut self, model: &M, together: &[(u32, M::State)], room: &mut Room<M>) {
        let Room { moves, steps } = room;
        for (parent, state) in together {
            if !model.known_moves(state, moves) {
                self.left.push((*parent, state.clone()));
                continue;
            }
            steps.extend(moves.drain(..).enumerate().map(|(nth, what)| {
                let (parent, state, what) = (*parent, state.clone(), Some(what));
                Step { parent, nth, state, what, is_open: false }
            }));
        }
        self.settle(model, steps);
        for Step { parent, nth, state, what, .. } in steps.drain(..) {
            if let Some(what) = what {
                self.open.push((self.reached.len(), what));
            }
            let fingerprint = model.fingerprint(&state);
            self.reached.push(Reached { state, fingerprint, parent: Some(parent), nth });
        }
    }

    /// Makes the moves that were planned, and whatever must follow each of them at once.
    fn settle(&mut self, model: &M, steps: &mut [Step<M>]) {
        loop {
            let planned = steps.iter().filter(|step| !step.is_open);
            model.bring(planned.filter_map(|step| Some((&step.state, step.what.as_ref()?))));
            let mut made = 0;
            for (nth, step) in steps.iter_mut().enumerate().filter(|(_, step)| !step.is_open) {
                let Some(what) = &step.what else { continue };
                match model.known_after(&step.state, what) {
                    None => step.is_open = true,
                    Some(Ok(next)) => {
                        made += 1;
                        step.what = model.forced(&next);
                        step.state = next;
                    }
                    Some(Err(broken)) => {
                        made += 1;
                        step.what = None;
                        self.breaks(self.reached.len() + nth, broken);
                    }
                }
            }
            if made == 0 {
                return;
            }
            self.made += made;
        }
    }

    /// Of several ways that break an invariant the first counts.
    fn breaks(&mut self, nth: usize, broken: Broken) {
        if self.broken.as_ref().is_none_or(|(first, _)| nth < *first) {
            self.broken = Some((nth, broken));
        }
    }

    /// Makes the moves that are left, with a model that works them out.
    pub(super) fn complete(&mut self, model: &mut M) {
        for (nth, what) in std::mem::take(&mut self.open) {
            self.go_on(model, nth, what);
        }
        let mut moves = Vec::new();
        for (parent, state) in std::mem::take(&mut self.left) {
            model.moves(&state, &mut moves);
            for (nth, what) in moves.drain(..).enumerate() {
                let at = self.reached.len();
                let (state, parent) = (state.clone(), Some(parent));
                self.reached.push(Reached { state, fingerprint: 0, parent, nth });
                self.go_on(model, at, what);
            }
        }
    }

    fn go_on(&mut self, model: &mut M, nth: usize, what: M::Move) {
        let mut next = Some(what);
        while let Some(what) = next {
            self.made += 1;
            match model.after(&self.reached[nth].state, &what) {
                Ok(state) => {
                    next = model.forced(&state);
                    self.reached[nth].state = state;
                }
                Err(broken) => return self.breaks(nth, broken),
            }
        }
        self.reached[nth].fingerprint = model.fingerprint(&self.reached[nth].state);
    }
}

impl<M: Model> Default for Room<M> {
    fn default() -> Self {
        Self { moves: Vec::new(), steps: Vec::new() }
    }
}
