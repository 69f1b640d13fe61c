//! The model as a search sees it: the possible moves of a state, and their results.

use super::{
    model::{FAILED, GONE, Lease, UNKNOWN, ms, told},
    process::Process,
    row::Row,
    scope::Often,
    state::{Move, State},
    statement::{Phase, Statement},
    words,
};
use crate::{
    explore::model::{Broken, Model},
    table::Table,
};
use election_core::Epoch;

impl Model for Lease {
    type State = State;
    type Move = Move;

    /// The states in which no process has been called yet, in every combination of the clocks'
    /// rates.
    fn starts(&mut self) -> Vec<State> {
        let mut starts = vec![self.start()];
        for node in 0..self.scope.nodes {
            let mut all = Vec::new();
            for rate in 0..self.scope.rates.len() {
                let mut process =
                    Process::down(self.cast.of(node, 0), u8::try_from(rate).unwrap_or(0));
                process.start(self.cast.of(node, 0), &self.config, &self.around);
                let number = self.process(process);
                all.extend(starts.iter().map(|start| {
                    let mut start = *start;
                    start.nodes[node] = number;
                    start
                }));
            }
            starts = all;
        }
        starts
    }

    fn moves(&mut self, state: &State, moves: &mut Vec<Move>) {
        if let Some(node) = self.goes_first(state) {
            return self.moves_of_node(state, node, moves);
        }
        if state.replica == state.row {
            return self.first_loss(state, moves);
        }
        for node in 0..self.nodes() {
            self.moves_of_node(state, node, moves);
        }
        for slot in 0..u8::try_from(state.statements.len()).unwrap_or(0) {
            self.moves_of_statement(state, slot, moves);
        }
        if self.time_may_pass(state) {
            moves.push(Move::Pass(1));
            let jump = self.until_something(state);
            if jump > 1 {
                moves.push(Move::Pass(jump));
            }
        }
        let row = self.rows.facts(state.row).own;
        if state.left.requests > 0 && row.holder.is_some() && !row.asked {
            moves.push(Move::Request);
        }
        if state.left.back > 0 {
            moves.push(Move::Back);
        }
        if state.left.ahead > 0 {
            moves.push(Move::Ahead);
        }
        self.moves_of_replica(state, moves);
    }

    fn after(&mut self, state: &State, what: &Move) -> Result<State, Broken> {
        let mut next = *state;
        match *what {
            Move::Pass(units) => {
                for _ in 0..units {
                    next = self.pass(&next)?;
                }
                Ok(next)
            }
            Move::Tick(node) => self.tell(&next, node, told::TICK),
            Move::Stopped(node) => self.tell(&next, node, told::STOPPED),
            Move::Start(node) => self.tell(&next, node, told::START),
            Move::Crash(node) => self.counted(next, |left| &mut left.crashes, node, told::CRASH),
            Move::Resign(node) => self.counted(next, |left| &mut left.resigns, node, told::RESIGN),
            Move::Withdraw(node) => {
                self.counted(next, |left| &mut left.withdrawals, node, told::WITHDRAW)
            }
            Move::Health(node, false) => {
                self.counted(next, |left| &mut left.illnesses, node, told::ILL)
            }
            Move::Health(node, true) => self.tell(&next, node, told::WELL),
            Move::Wake(node) => self.counted(next, |left| &mut left.wakes, node, told::WAKE),
            Move::Rumour(node) => self.counted(next, |left| &mut left.wakes, node, told::RUMOUR),
            Move::Execute(slot) => self.execute(&next, slot),
            Move::Begin(slot) => Ok(self.begin(next, slot)),
            Move::Lose(slot) => {
                next.statements[usize::from(slot)] = GONE;
                self.dense(&mut next);
                Ok(next)
            }
            Move::Deliver(slot) => self.deliver(next, slot, false, 0),
            Move::DeliverTwice(slot) => {
                next.left.twice -= 1;
                self.deliver(next, slot, true, 0)
            }
            Move::Fail(slot) => {
                next.left.failures -= 1;
                self.deliver(next, slot, false, FAILED)
            }
            Move::Pause(node) => {
                next.left.pauses -= 1;
                next.paused |= 1 << node;
                Ok(next)
            }
            Move::Resume(node) => {
                next.paused &= !(1 << node);
                Ok(next)
            }
            Move::Request => Ok(self.request(next)),
            Move::Doubt(slot) => self.doubt(next, slot),
            Move::Back => Ok(self.clock_jump(next, |left| &mut left.back, 1)),
            Move::Ahead => Ok(self.clock_jump(next, |left| &mut left.ahead, -1)),
            Move::Behind => Ok(State { replica: next.row, ..next }),
            Move::Promote(leases) => Ok(self.promote(next, leases)),
        }
    }

    fn fingerprint(&self, state: &State) -> u64 {
        self.smallest(state)
    }

    fn kind(&self, what: &Move) -> u32 {
        what.kind()
    }

    /// The passing of time, and calls of due processes.
    fn essential(&self) -> u64 {
        let kinds = [Move::Pass(1), Move::Tick(0), Move::Tick(1), Move::Tick(2)];
        kinds.iter().fold(0, |bits, what| bits | 1 << what.kind())
    }

    fn describe(&mut self, state: &State, what: &Move) -> String {
        words::describe(self, state, *what)
    }
}

impl Lease {
    fn nodes(&self) -> u8 {
        u8::try_from(self.scope.nodes).unwrap_or(u8::MAX)
    }

    fn start(&mut self) -> State {
        let row = self.row(Row::default());
        let (nodes, statements) = ([0; 3], [GONE; 6]);
        let left = self.scope.often;
        State { nodes, row, replica: GONE, statements, left, led: 0, paused: 0 }
    }

    fn moves_of_node(&mut self, state: &State, node: u8, moves: &mut Vec<Move>) {
        let there = self.node(state, node);
        if !there.runs {
            if self.fits(state, node, told::START, None) {
                moves.push(Move::Start(node));
            }
            return;
        }
        let left = state.left;
        if left.crashes > 0 && self.fits(state, node, told::CRASH, None) {
            moves.push(Move::Crash(node));
        }
        if is_paused(state, node) {
            return moves.push(Move::Resume(node));
        }
        if left.pauses > 0 {
            moves.push(Move::Pause(node));
        }
        for (open, told, what) in [
            (there.due, told::TICK, Move::Tick(node)),
            (there.stops, told::STOPPED, Move::Stopped(node)),
            (left.resigns > 0, told::RESIGN, Move::Resign(node)),
            (left.withdrawals > 0 && !there.leaving, told::WITHDRAW, Move::Withdraw(node)),
            (left.illnesses > 0 && there.healthy, told::ILL, Move::Health(node, false)),
            (!there.healthy, told::WELL, Move::Health(node, true)),
            (left.wakes > 0, told::WAKE, Move::Wake(node)),
            (left.wakes > 0 && there.follows, told::RUMOUR, Move::Rumour(node)),
        ] {
            if open && self.fits(state, node, told, None) {
                moves.push(what);
            }
        }
    }

    fn moves_of_statement(&mut self, state: &State, slot: u8, moves: &mut Vec<Move>) {
        let Some(there) = self.slot(state, slot) else { return };
        let number = state.statements[usize::from(slot)];
        if there.answered {
            let takes = !is_paused(state, there.node);
            if takes && self.fits(state, there.node, number, Some(slot)) {
                moves.push(Move::Deliver(slot));
                if state.left.twice > 0 {
                    moves.push(Move::DeliverTwice(slot));
                }
            }
        } else {
            moves.push(Move::Execute(slot));
            if self.scope.lock_wait > 0 && !there.waits && there.writes {
                moves.push(Move::Begin(slot));
            }
            if state.left.failures > 0
                && there.current
                && !is_paused(state, there.node)
                && self.fits(state, there.node, number | FAILED, Some(slot))
            {
                moves.push(Move::Fail(slot));
            }
        }
        if state.left.failures > 0
            && there.current
            && !is_paused(state, there.node)
            && self.fits(state, there.node, number | UNKNOWN, Some(slot))
        {
            moves.push(Move::Doubt(slot));
        }
        if self.abandoned_by(state, there.node, None) >= self.scope.abandoned {
            moves.push(Move::Lose(slot));
        }
    }

    /// Whether the scope leaves room for the questions without a waiting sender after a process has
    /// got an input. The statement in the slot `without` is that input.
    fn fits(&mut self, state: &State, node: u8, told: u32, without: Option<u8>) -> bool {
        let process = state.nodes[usize::from(node)];
        match self.did(process, told) {
            Ok(did) if did.query != GONE || !did.awaits => {
                self.abandoned_by(state, node, Some(without)) <= self.scope.abandoned
            }
            _ => true,
        }
    }

    /// How many questions of a node have no waiting sender, or would have none if all but the one
    /// in `all` were given up.
    fn abandoned_by(&mut self, state: &State, node: u8, all: Option<Option<u8>>) -> usize {
        let mut count = 0;
        for (slot, number) in (0_u8..).zip(state.statements) {
            let Some(there) = self.slot(state, slot).filter(|there| there.node == node) else {
                continue;
            };
            count += usize::from(match all {
                _ if !there.current => true,
                None => false,
                Some(without) => without != Some(slot) && self.abandoned(number) != GONE,
            });
        }
        count
    }

    /// A due process goes before everything else at the same instant. The search loses nothing by
    /// this: a deadline goes before the inbox (the driver promises so), and events elsewhere
    /// neither see the difference nor make one.
    fn goes_first(&mut self, state: &State) -> Option<u8> {
        if self.scope.late {
            return None;
        }
        (0..self.nodes()).find(|node| {
            let there = self.node(state, *node);
            let due = there.due && self.fits(state, *node, told::TICK, None);
            let stops = there.stops && !there.works && !self.scope.stuck;
            there.runs && !is_paused(state, *node) && (due || stops)
        })
    }

    fn time_may_pass(&self, state: &State) -> bool {
        self.scope.late
            || (0..self.nodes()).all(|node| {
                let there = self.node(state, node);
                let stops = there.stops && !there.works && !self.scope.stuck;
                !there.runs || is_paused(state, node) || !(there.due || stops)
            })
    }

    /// The number of units until something happens by itself; zero for never.
    fn until_something(&self, state: &State) -> u16 {
        let nodes = (0..self.nodes()).map(|node| self.node(state, node).next);
        let row = self.rows.facts(state.row).own;
        let ends = if row.holder.is_some() { row.ends } else { 0 };
        nodes.chain([ends]).filter(|units| *units > 0).min().unwrap_or(0)
    }

    fn counted(
        &mut self,
        mut next: State,
        counts: fn(&mut Often) -> &mut u8,
        node: u8,
        told: u32,
    ) -> Result<State, Broken> {
        *counts(&mut next.left) -= 1;
        self.tell(&next, node, told)
    }

    fn deliver(
        &mut self,
        mut next: State,
        slot: u8,
        again: bool,
        failed: u32,
    ) -> Result<State, Broken> {
        let here = usize::from(slot);
        let number = next.statements[here];
        let node = self.statements.facts(number).own.node;
        next.statements[here] = if again { self.abandoned(number) } else { GONE };
        self.tell(&next, node, number | failed)
    }

    fn begin(&mut self, mut next: State, slot: u8) -> State {
        let here = usize::from(slot);
        let mut statement = self.statements.get(next.statements[here]).clone();
        if let Phase::Sent(query) = statement.phase {
            let mut row = self.rows.get(next.row).clone();
            row.begin(&query, 0);
            next.row = self.row(row);
            statement.phase = Phase::Waits(query, 0);
            next.statements[here] = self.statement(Some(statement));
        }
        next
    }

    fn request(&mut self, mut next: State) -> State {
        next.left.requests -= 1;
        let mut table = Table::new();
        let row = self.rows.get(next.row).clone();
        *table.leader_mut() = row.leader.clone();
        table.request_resignation(Epoch::new(table.leader().term));
        next.row = self.row(Row { leader: table.leader().clone(), ..row });
        next
    }

    fn doubt(&mut self, mut next: State, slot: u8) -> Result<State, Broken> {
        next.left.failures -= 1;
        let number = next.statements[usize::from(slot)];
        let there = self.statements.facts(number).own;
        let room = self.abandoned_by(&next, there.node, None) < self.scope.abandoned;
        let kept = if room && !there.answered { self.abandoned(number) } else { GONE };
        next.statements[usize::from(slot)] = kept;
        self.tell(&next, there.node, number | UNKNOWN)
    }

    /// The database's clock jumps: events due at a reading of it happen later or sooner.
    fn clock_jump(
        &mut self,
        mut next: State,
        counts: fn(&mut Often) -> &mut u8,
        sign: i64,
    ) -> State {
        *counts(&mut next.left) -= 1;
        let by_ms = sign * ms(self.config.ttl() / 2);
        let mut row = self.rows.get(next.row).clone();
        row.leader.expires_ms += by_ms;
        row.server.since_ms = row.server.since_ms.map(|since| since + by_ms);
        next.row = self.row(row);
        for slot in 0..next.statements.len() {
            if next.statements[slot] == GONE {
                continue;
            }
            let mut statement: Statement = self.statements.get(next.statements[slot]).clone();
            if let Phase::Waits(_, at_ms) = &mut statement.phase {
                *at_ms += by_ms;
                next.statements[slot] = self.statement(Some(statement));
            }
        }
        next
    }
}

fn is_paused(state: &State, node: u8) -> bool {
    state.paused >> node & 1 == 1
}
