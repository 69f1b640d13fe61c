//! What a breadth-first search remembers: which states it has seen, how it came to each, and those
//! that the next level begins with.
//!
//! Every state that is reached is looked up in a table far larger than any cache. So a thread of its
//! own does that, while the search goes on to make moves. It takes the states in the order in which
//! the search has reached them, and the results are the same as if there were one thread.

use super::{
    outcome::{Ended, Limits},
    visited::Visited,
};
use std::{
    mem::take,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::Scope,
};

/// How many are looked up together. Each lookup waits for memory, and these waits overlap.
const TOGETHER: usize = 64;
/// How many batches of states may wait.
const AHEAD: usize = 128;

/// The way back from a state: the number of its parent, and which of the parent's moves led to it.
/// A start is its own parent.
#[derive(Clone, Copy)]
pub(super) struct Back {
    pub(super) parent: u32,
    pub(super) nth: u16,
}

/// A state, and the way back from it.
pub(super) struct Reached<S> {
    pub(super) state: S,
    pub(super) fingerprint: u64,
    pub(super) parent: Option<u32>,
    pub(super) nth: usize,
}

/// How much has been found.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) states: u64,
    pub(super) digest: u64,
    /// How many moves had been made when a limit was reached.
    pub(super) moves: Option<u64>,
    pub(super) ended: Option<Ended>,
}

enum Told<S> {
    /// States that were reached, and how many moves had been made by then.
    Reached(Vec<Reached<S>>, u64),
    /// The level is complete. Room for the one after the next.
    Level(Vec<(u32, S)>),
    /// The way back from every state is asked for.
    Backs,
}

enum Answer<S> {
    Level(Vec<(u32, S)>, Found),
    Backs(Vec<Back>),
}

/// The search's end of it.
pub(super) struct Known<'a, S> {
    told: SyncSender<Told<S>>,
    answers: Receiver<Answer<S>>,
    full: &'a AtomicBool,
}

impl<'a, S: Clone + Send + 'a> Known<'a, S> {
    /// Begins with nothing.
    pub(super) fn new<'scope>(
        scope: &'scope Scope<'scope, 'a>,
        limits: &'a Limits,
        full: &'a AtomicBool,
    ) -> Self
    where
        S: 'scope,
    {
        let (told, orders) = sync_channel(AHEAD);
        let (answer, answers) = sync_channel(1);
        scope.spawn(move || {
            let mut keeper = Keeper {
                limits,
                full,
                visited: Visited::new(),
                back: Vec::new(),
                next: Vec::new(),
                found: Found::default(),
            };
            // Until the search is over.
            while let Ok(order) = orders.recv() {
                let answered = match order {
                    Told::Reached(reached, moves) => {
                        keeper.take_in(&reached, moves);
                        Ok(())
                    }
                    Told::Level(room) => {
                        let next = std::mem::replace(&mut keeper.next, room);
                        answer.send(Answer::Level(next, keeper.found))
                    }
                    Told::Backs => answer.send(Answer::Backs(take(&mut keeper.back))),
                };
                if answered.is_err() {
                    return;
                }
            }
        });
        Self { told, answers, full }
    }

    /// These states were reached, after so many moves in all.
    pub(super) fn reach(&mut self, reached: Vec<Reached<S>>, moves: u64) {
        // It ends only with this.
        let _ = self.told.send(Told::Reached(reached, moves));
    }

    /// Whether a limit has been reached; the end of the level says which.
    pub(super) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// The states that were reached and are new, in order. `room` is used for those of the next level.
    pub(super) fn level(&mut self, room: Vec<(u32, S)>) -> (Vec<(u32, S)>, Found) {
        let _ = self.told.send(Told::Level(room));
        match self.answers.recv() {
            Ok(Answer::Level(next, found)) => (next, found),
            _ => (Vec::new(), Found::default()),
        }
    }

    /// The way back from every state.
    pub(super) fn backs(&mut self) -> Vec<Back> {
        let _ = self.told.send(Told::Backs);
        match self.answers.recv() {
            Ok(Answer::Backs(backs)) => backs,
            _ => Vec::new(),
        }
    }
}

/// The thread's end of it.
struct Keeper<'a, S> {
    limits: &'a Limits,
    full: &'a AtomicBool,
    visited: Visited,
    back: Vec<Back>,
    next: Vec<(u32, S)>,
    found: Found,
}

impl<S: Clone> Keeper<'_, S> {
    /// Adds the new ones among the states reached, in order, until a limit is reached.
    fn take_in(&mut self, reached: &[Reached<S>], moves: u64) {
        if self.found.ended.is_some() {
            return;
        }
        for together in reached.chunks(TOGETHER) {
            self.visited.bring(together.iter().map(|reached| reached.fingerprint));
            self.add(together);
        }
        self.found.ended = self.limit();
        if self.found.ended.is_some() {
            self.found.moves = Some(moves);
            self.full.store(true, Ordering::Relaxed);
        }
    }

    fn add(&mut self, reached: &[Reached<S>]) {
        for Reached { state, fingerprint, parent, nth } in reached {
            if self.found.states >= self.most() || !self.visited.insert(*fingerprint) {
                continue;
            }
            let number = u32::try_from(self.back.len()).unwrap_or(u32::MAX);
            let nth = u16::try_from(*nth).unwrap_or(u16::MAX);
            self.back.push(Back { parent: parent.unwrap_or(number), nth });
            self.next.push((number, state.clone()));
            self.found.states += 1;
            self.found.digest = self.found.digest.wrapping_add(*fingerprint);
        }
    }

    /// How many states there may be: each has a number.
    fn most(&self) -> u64 {
        self.limits.states.min(u64::from(u32::MAX))
    }

    fn limit(&self) -> Option<Ended> {
        if self.found.states >= self.most() {
            return Some(Ended::States);
        }
        // The level that is searched has been as large as this one gets, or nearly.
        let waiting = 2 * self.next.capacity();
        let bytes = self.visited.bytes()
            + self.back.capacity() * size_of::<Back>()
            + waiting * size_of::<(u32, S)>();
        (bytes >= self.limits.bytes).then_some(Ended::Memory)
    }
}
