//! One life of a node: its tasks, polled when something has come for them.

use super::{
    cell::{Cell, Deed},
    executor::{Executor, Task},
};
use crate::deed::{Moment, Process};
use election_core::{
    Input, Timestamp,
    lease::{Event, Lease},
};
use election_driver::Notice;

/// The most polls at one instant. A service that needs more never waits.
const POLLS: u32 = 100_000;

/// The tasks of a life, and what they share with the world.
pub(super) struct Tasks {
    cell: Cell,
    executor: Executor,
}

impl Tasks {
    pub(super) fn new(cell: Cell, main: Task) -> Self {
        let mut executor = Executor::default();
        executor.spawn(main);
        Self { cell, executor }
    }
}

impl Process<Lease> for Tasks {
    fn receive(&mut self, input: Input<Event>) {
        let mut state = self.cell.state();
        match input {
            Input::Event(Event::Answer { ticket, result }) => state.answer(ticket, result),
            Input::Event(Event::Wake) => state.notices.put(Notice::Wake),
            Input::Event(Event::Resigned(epoch)) => state.notices.put(Notice::Resigned(epoch)),
            order => state.orders.push(order),
        }
    }

    fn awaits(&self, event: &Event) -> bool {
        match event {
            Event::Answer { ticket, .. } => self.cell.state().awaits(*ticket),
            Event::Wake | Event::Resigned(_) | Event::Health(_) => true,
        }
    }

    fn receive_frame(&mut self, from: usize, bytes: Vec<u8>) {
        self.cell.state().frames.put((from, bytes));
    }

    fn receive_verdict(&mut self, nth: u64, accepted: bool) {
        self.cell.state().verdict(nth, accepted);
    }

    fn run(&mut self, moment: &mut Moment) -> (Vec<Deed>, Option<Timestamp>) {
        self.cell.state().enter(moment);
        self.give_orders();
        for polls in 0.. {
            assert!(polls < POLLS, "the service does not wait: {POLLS} polls took no time");
            for task in std::mem::take(&mut self.cell.state().spawned) {
                self.executor.spawn(task);
            }
            let choose = |many: usize| {
                let chosen = self.cell.state().draw(many as u64 - 1);
                usize::try_from(chosen).unwrap_or(0)
            };
            if !self.executor.poll_one(choose) {
                break;
            }
            if self.executor.is_over() {
                self.cell.state().does(Deed::Ended);
                break;
            }
        }
        self.cell.state().leave(moment)
    }
}

impl Tasks {
    /// Passes on what operators say, once there is an elector to say it to.
    fn give_orders(&self) {
        let (order, orders) = {
            let mut state = self.cell.state();
            let Some(order) = state.order.take() else { return };
            (order, std::mem::take(&mut state.orders))
        };
        orders.into_iter().for_each(&order);
        self.cell.state().order = Some(order);
    }
}
