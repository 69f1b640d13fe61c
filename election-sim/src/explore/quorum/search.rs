//! The model as a search sees it: where it starts, and the results of its moves.

use super::{
    model::{GONE, Quorum, Stop, told},
    moves::is_paused,
    node::Node,
    state::{Crash, LINKS, MOST_LATE, Move, Often, Place, State, ends},
    words,
};
use crate::{
    draw::mix,
    explore::model::{Broken, Model},
};

impl Model for Quorum {
    type State = State;
    type Move = Move;

    /// The states in which every process has just started, without a ballot, in every combination
    /// of the clocks' rates.
    fn starts(&mut self) -> Vec<State> {
        let mut start = State {
            nodes: [GONE; 3],
            links: [GONE; LINKS],
            late: [GONE; MOST_LATE],
            votes: 0,
            led: 0,
            held: 0,
            left: self.scope.often,
            cut: 0,
            paused: 0,
            turn: 0,
            clocks: 0,
        };
        for node in 0..self.count() {
            let offset = self.world.offsets[usize::from(node)];
            start.nodes[usize::from(node)] = self.node(Node::new(node, offset));
        }
        for node in 0..self.count() {
            // The nodes start one after the other, so no frame of this start reaches them all. All
            // are dropped.
            if let Ok(started) = self.learned(|model| {
                let mut started = start;
                model.tell(&mut started, node, told::START).map(|()| started)
            }) {
                start = started;
            }
        }
        start.links = [GONE; LINKS];
        let clocks = u8::try_from(self.steps.len()).unwrap_or(u8::MAX);
        let mut starts = vec![start; usize::from(clocks)];
        for (clocks, start) in (0..).zip(&mut starts) {
            start.clocks = clocks;
        }
        starts
    }

    fn moves(&mut self, state: &State, moves: &mut Vec<Move>) {
        self.possible(state, moves);
    }

    fn forced(&self, state: &State) -> Option<Move> {
        self.forced_move(state)
    }

    fn bring<'a>(&self, planned: impl Iterator<Item = (&'a State, &'a Move)>) {
        self.did.bring(planned.filter_map(|(state, what)| {
            let (node, told) = match *what {
                Move::Tick(node) => (node, told::TICK),
                Move::Deliver(place) => (self.receiver(state, place), self.frame(state, place)),
                _ => return None, // rarer
            };
            Some((state.nodes[usize::from(node)], told))
        }));
    }

    fn after(&mut self, state: &State, what: &Move) -> Result<State, Broken> {
        self.learned(|model| model.result(state, *what))
    }

    fn known_moves(&self, state: &State, moves: &mut Vec<Move>) -> bool {
        self.possible(state, moves);
        true
    }

    fn known_after(&self, state: &State, what: &Move) -> Option<Result<State, Broken>> {
        match self.result(state, *what) {
            Ok(next) => Some(Ok(next)),
            Err(Stop::Broken(broken)) => Some(Err(broken)),
            Err(Stop::Unknown(_)) => None,
        }
    }

    fn fingerprint(&self, state: &State) -> u64 {
        let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        let [n0, n1, n2] = state.nodes;
        let [l0, l1, l2, l3, l4, l5] = state.links;
        let counted = u64::from(state.clocks) << 16
            | u64::from(state.paused) << 24
            | u64::from(state.turn) << 8
            | u64::from(state.cut);
        let left =
            state.left.counts().fold(counted, |all, left| all.rotate_left(5) ^ u64::from(left));
        let late = pair(state.late[0], state.late[1]);
        let words = [
            pair(n0, n1),
            pair(n2, l0),
            pair(l1, l2),
            pair(l3, l4),
            pair(l5, state.votes),
            late,
            pair(state.led, state.held) ^ mix(left),
        ];
        // Each is mixed with a key of its own, so they do not wait for one another.
        let key = |nth: u64| nth.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (1..).zip(words).map(|(nth, word)| mix(word ^ key(nth)));
        mix(mixed.fold(0, u64::wrapping_add))
    }

    fn kind(&self, what: &Move) -> u32 {
        what.kind()
    }

    /// The passing of time, calls of processes, and the ends of saves.
    fn essential(&self) -> u64 {
        let called =
            (0..3).flat_map(|node| [Move::Tick(node), Move::Saved(node), Move::Stopped(node)]);
        let kinds = called.chain([Move::Pass]);
        kinds.fold(0, |bits, what| bits | 1 << what.kind())
    }

    fn describe(&mut self, state: &State, what: &Move) -> String {
        words::describe(self, state, *what)
    }
}

impl Quorum {
    /// The state after a move, as far as the model remembers what happens then.
    fn result(&self, state: &State, what: Move) -> Result<State, Stop> {
        let mut next = *state;
        match what {
            Move::Pass => {
                for node in (0..self.count()).filter(|node| is_paused(state, *node)) {
                    for link in self.links_to(node) {
                        next.links[usize::from(link)] = GONE;
                    }
                }
                next.paused = 0;
                return self.pass(&next);
            }
            Move::Tick(node) => {
                self.tell(&mut next, node, told::TICK)?;
                self.turn(&mut next, node);
            }
            Move::Stopped(node) => self.tell(&mut next, node, told::STOPPED)?,
            Move::Pause(node) => {
                next.left.pauses -= 1;
                next.paused |= 1 << node;
            }
            Move::Start(node) => self.tell(&mut next, node, told::START)?,
            Move::Saved(node) => self.tell(&mut next, node, told::SAVED)?,
            Move::SaveFailed(node, through) => {
                next.left.failures -= 1;
                self.tell(&mut next, node, told::FAILED[usize::from(through)])?;
            }
            Move::Resign(node) => {
                next.left.resigns -= 1;
                self.tell(&mut next, node, told::RESIGN)?;
            }
            Move::PauseFailover(node) => {
                next.left.orders -= 1;
                self.tell(&mut next, node, told::PAUSE)?;
            }
            Move::ResumeFailover(node) => {
                next.left.orders -= 1;
                self.tell(&mut next, node, told::RESUME)?;
            }
            Move::HandOver(node, to) => {
                next.left.handovers -= 1;
                self.tell(&mut next, node, told::HAND_OVER + u32::from(to))?;
            }
            Move::Lose(place) => {
                let to = self.receiver(state, place);
                next.left.losses -= u8::from(state.left.losses != Often::ANY);
                self.take(&mut next, place)?;
                self.turn(&mut next, to);
            }
            Move::Delay(place) => {
                next.left.delays -= 1;
                let (frame, to) = (self.frame(state, place), self.receiver(state, place));
                self.take(&mut next, place)?;
                next.late[0] = frame; // empty places have the lower indices
                next.late.sort_unstable();
                self.turn(&mut next, to);
            }
            Move::Cut(ways) => {
                next.left.cuts -= 1;
                next.cut |= ways & self.ways();
                for (link, there) in next.links.iter_mut().enumerate() {
                    if next.cut >> link & 1 == 1 {
                        *there = GONE;
                    }
                }
            }
            Move::Heal => next.cut = 0,
            Move::Crash(node, how) => self.crash(&mut next, node, how)?,
            Move::Deliver(place) => self.deliver(&mut next, place, true)?,
            Move::DeliverTwice(place) => {
                next.left.twice -= 1;
                self.deliver(&mut next, place, false)?;
            }
        }
        Ok(next)
    }

    /// A node that has begun to take in its frames goes on.
    fn turn(&self, next: &mut State, node: u8) {
        let goes_on = !self.scope.free && self.has_mail(next, node);
        next.turn = if goes_on { node + 1 } else { 0 };
    }

    pub(super) fn frame(&self, state: &State, place: Place) -> u32 {
        match place {
            Place::Link(link) => self.on_link(state.links[usize::from(link)])[0],
            Place::Late(slot) => state.late[usize::from(slot)],
        }
    }

    /// The receiver of the frame in this place.
    pub(super) fn receiver(&self, state: &State, place: Place) -> u8 {
        match place {
            Place::Link(link) => ends(link).1,
            Place::Late(slot) => self.frames.get(state.late[usize::from(slot)]).to,
        }
    }

    fn deliver(&self, next: &mut State, place: Place, last: bool) -> Result<(), Stop> {
        let (frame, to) = (self.frame(next, place), self.receiver(next, place));
        if last {
            self.take(next, place)?;
        }
        self.tell(next, to, frame)?;
        if matches!(place, Place::Link(..)) {
            self.turn(next, to);
        }
        Ok(())
    }

    fn take(&self, next: &mut State, place: Place) -> Result<(), Stop> {
        match place {
            Place::Link(link) => {
                let here = usize::from(link);
                next.links[here] = self.without_first(next.links[here])?;
            }
            Place::Late(slot) => {
                next.late[usize::from(slot)] = GONE;
                next.late.sort_unstable();
            }
        }
        Ok(())
    }

    fn crash(&self, next: &mut State, node: u8, how: Crash) -> Result<(), Stop> {
        let Crash { saved, abrupt, wiped } = how;
        next.left.crashes -= 1;
        next.left.abrupt -= u8::from(abrupt);
        next.left.wipes -= u8::from(wiped);
        let told = told::CRASH + u32::from(saved) + 2 * u32::from(wiped);
        next.paused &= !(1 << node);
        self.tell(next, node, told)?;
        self.cut(next, node, abrupt)?;
        let at = next.turn.checked_sub(1);
        at.into_iter().for_each(|at| self.turn(next, at));
        Ok(())
    }
}
