//! A replica: it falls behind, and takes over without what it lacks.
//!
//! What it lacks are all writes from some moment on. So the model needs one older row and no log.

use super::{
    model::{GONE, Lease, ms},
    state::{Move, State},
};
use election_core::Epoch;

impl Lease {
    /// A replica falls behind, or takes over.
    pub(super) fn moves_of_replica(&self, state: &State, moves: &mut Vec<Move>) {
        if state.left.promotions == 0 {
            return;
        }
        if state.replica == GONE && self.writes_soon(state) {
            moves.push(Move::Behind);
        }
        moves.extend([-1, 0, 1].map(Move::Promote));
    }

    /// Whether a statement may be executed now that the replica can lack.
    fn writes_soon(&self, state: &State) -> bool {
        let slots = 0..u8::try_from(state.statements.len()).unwrap_or(0);
        slots.filter_map(|slot| self.slot(state, slot)).any(|there| there.writes)
    }

    /// The replica falls behind with the first write that it lacks. Before that nothing sees a
    /// difference, so this comes at once.
    pub(super) fn first_loss(&self, state: &State, moves: &mut Vec<Move>) {
        let slots = 0..u8::try_from(state.statements.len()).unwrap_or(0);
        let writes = |slot: &u8| self.slot(state, *slot).is_some_and(|there| there.writes);
        moves.extend(slots.filter(writes).map(Move::Execute));
    }

    /// A replica takes over: what is under way to the server before comes to nothing.
    pub(super) fn promote(&mut self, mut next: State, leases: i8) -> State {
        next.left.promotions -= 1;
        let highest = self.used(&next).highest().max(Epoch::new(u64::from(next.led)));
        let number = if next.replica == GONE { next.row } else { next.replica };
        let mut row = self.rows.get(number).clone();
        row.promote(i64::from(leases) * ms(self.config.ttl()), highest);
        (next.row, next.replica) = (self.row(row.settled()), GONE);
        for slot in 0..next.statements.len() {
            if next.statements[slot] != GONE {
                let cut_off = self.statements.get(next.statements[slot]).cut_off();
                next.statements[slot] = self.statement(cut_off);
            }
        }
        self.forget_answers(&mut next);
        self.dense(&mut next);
        next
    }
}
