//! The possible moves of a state.

use super::{
    model::{GONE, NodeFacts, Quorum},
    state::{Crash, Move, Place, State, link},
};

/// The cuts that happen at once, as bits of [`State::cut`]: one way, both ways between two nodes,
/// all ways to and from one node.
const CUTS: [u8; 12] = [
    0b00_0001, 0b00_0010, 0b00_0100, 0b00_1000, 0b01_0000, 0b10_0000, // ways
    0b00_0101, 0b01_0010, 0b10_1000, // pairs
    0b01_0111, 0b10_1101, 0b11_1010, // nodes
];

impl Quorum {
    /// Every move out of a state.
    pub(super) fn possible(&self, state: &State, moves: &mut Vec<Move>) {
        if self.is_beyond(state) {
            return;
        }
        let nodes = self.count();
        if let Some(node) = self.first(state) {
            return self.moves_of_node(state, node, moves);
        }
        if state.turn > 0 {
            return self.arrivals(state, state.turn - 1, moves);
        }
        for node in 0..nodes {
            self.moves_of_node(state, node, moves);
            self.arrivals(state, node, moves);
        }
        self.late_arrivals(state, moves);
        self.network(state, moves);
        self.pass_on(state, moves);
    }

    /// A save that ends, work that stops, or the last frame that a node takes in, where nothing else
    /// may become of it.
    pub(super) fn forced_move(&self, state: &State) -> Option<Move> {
        if self.is_beyond(state) {
            return None;
        }
        let (left, never) = (state.left, |counts: &[u8]| counts.iter().all(|count| *count == 0));
        if let Some(node) = self.first(state) {
            let there = self.facts(state, node);
            let what = if there.saving { Move::Saved } else { Move::Stopped };
            let is_only = there.saving != there.stops;
            return (is_only && never(&[left.crashes, left.failures])).then(|| what(node));
        }
        let node = state.turn.checked_sub(1)?;
        let mut full = self.links_to(node).filter(|link| state.links[usize::from(*link)] != GONE);
        let link = full.next()?;
        let is_only = full.next().is_none() && !is_paused(state, node);
        let is_only = is_only && !self.facts(state, node).due;
        let is_only = is_only && never(&[left.twice, left.losses, left.delays]);
        is_only.then_some(Move::Deliver(Place::Link(link)))
    }

    /// Events that wait only for their own node go first: no other node could tell the difference.
    fn goes_first(&self, there: NodeFacts) -> bool {
        let ends = there.stops && !there.works && !self.scope.stuck;
        ends || (there.saving && !self.scope.slow_saves)
    }

    /// The node whose own events go first.
    fn first(&self, state: &State) -> Option<u8> {
        let first =
            |node: &u8| !is_paused(state, *node) && self.goes_first(self.facts(state, *node));
        (0..self.count()).find(first)
    }

    /// Whether this is beyond the scope.
    fn is_beyond(&self, state: &State) -> bool {
        (0..self.count()).any(|node| self.facts(state, node).bound > self.scope.epochs)
    }

    fn moves_of_node(&self, state: &State, node: u8, moves: &mut Vec<Move>) {
        let there = self.facts(state, node);
        if !there.runs {
            if self.scope.free || self.is_early(state) {
                moves.push(Move::Start(node));
            }
            return;
        }
        let left = state.left;
        let first = self.goes_first(there);
        if there.stops {
            moves.push(Move::Stopped(node));
        }
        if there.saving {
            moves.push(Move::Saved(node));
            if left.failures > 0 {
                moves.extend([false, true].map(|through| Move::SaveFailed(node, through)));
            }
        }
        if left.crashes > 0 {
            for saved in [false, true].iter().take(1 + usize::from(there.saving)) {
                for abrupt in [false, true].iter().take(1 + usize::from(left.abrupt > 0)) {
                    for wiped in [false, true].iter().take(1 + usize::from(left.wipes > 0)) {
                        let how = Crash { saved: *saved, abrupt: *abrupt, wiped: *wiped };
                        moves.push(Move::Crash(node, how));
                    }
                }
            }
        }
        if first || is_paused(state, node) {
            return;
        }
        if left.pauses > 0 && there.due {
            moves.push(Move::Pause(node));
        }
        if there.due {
            moves.push(Move::Tick(node));
        }
        if there.leads && left.resigns > 0 {
            moves.push(Move::Resign(node));
        }
        if there.leads && left.handovers > 0 {
            let others = (0..self.count()).filter(|to| *to != node);
            moves.extend(others.map(|to| Move::HandOver(node, to)));
        }
        // The first order is to pause, the next to resume, and so on.
        if left.orders > 0 && self.is_early(state) {
            let given = self.scope.often.orders - state.left.orders;
            let resumes = given % 2 == 1;
            let order = if resumes { Move::ResumeFailover } else { Move::PauseFailover };
            moves.push(order(node));
        }
    }

    /// Whether no node has done anything since time passed.
    fn is_early(&self, state: &State) -> bool {
        (0..self.count()).all(|node| {
            let there = self.facts(state, node);
            (!there.runs || there.due) && !self.has_mail(state, node)
        })
    }

    /// The links to a node.
    pub(super) fn links_to(&self, node: u8) -> impl Iterator<Item = u8> + use<> {
        (0..self.count()).filter(move |other| *other != node).map(move |other| link(other, node))
    }

    /// Whether frames have come that a node has not taken in.
    pub(super) fn has_mail(&self, state: &State, node: u8) -> bool {
        self.links_to(node).any(|link| state.links[usize::from(link)] != GONE)
    }

    /// The possible fates of the frames that have come to a node.
    fn arrivals(&self, state: &State, node: u8, moves: &mut Vec<Move>) {
        if is_paused(state, node) || self.facts(state, node).due {
            return;
        }
        for link in self.links_to(node) {
            let frames = self.on_link(state.links[usize::from(link)]);
            if frames[0] == GONE {
                continue;
            }
            let place = Place::Link(link);
            moves.push(Move::Deliver(place));
            if state.left.twice > 0 && frames[1] == GONE {
                moves.push(Move::DeliverTwice(place));
            }
            if state.left.losses > 0 {
                moves.push(Move::Lose(place));
            }
            let free = state.late.iter().rev().take(self.scope.late).any(|late| *late == GONE);
            if state.left.delays > 0 && free {
                moves.push(Move::Delay(place));
            }
        }
    }

    fn late_arrivals(&self, state: &State, moves: &mut Vec<Move>) {
        for (slot, frame) in (0..).zip(state.late) {
            if frame == GONE {
                continue;
            }
            let to = self.frames.get(frame).to;
            if !is_paused(state, to) && !self.facts(state, to).due {
                moves.push(Move::Deliver(Place::Late(slot)));
            }
        }
    }

    fn network(&self, state: &State, moves: &mut Vec<Move>) {
        if state.left.cuts > 0 {
            let cuts = CUTS.iter().filter(|ways| *ways & !state.cut & self.ways() != 0);
            moves.extend(cuts.map(|ways| Move::Cut(*ways)));
        }
        if state.cut != 0 && (self.scope.free || self.is_early(state)) {
            moves.push(Move::Heal);
        }
    }

    /// Time passes once all frames have arrived or been lost and every node has been called.
    fn pass_on(&self, state: &State, moves: &mut Vec<Move>) {
        let waits = |node: &u8| self.has_mail(state, *node) || self.facts(state, *node).due;
        if !(0..self.count()).any(|node| !is_paused(state, node) && waits(&node)) {
            moves.push(Move::Pass);
        }
    }

    /// All ways there are.
    pub(super) fn ways(&self) -> u8 {
        match self.scope.nodes {
            2 => 0b101,
            3 => 0b11_1111,
            _ => 0,
        }
    }
}

pub(super) fn is_paused(state: &State, node: u8) -> bool {
    state.paused >> node & 1 == 1
}
