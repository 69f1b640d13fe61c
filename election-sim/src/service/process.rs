//! One life of a node: its tasks, polled when something has come for them.

use super::{
    cell::{Act, Cell, State},
    executor::{Executor, Task},
};
use crate::{
    app::WriteError,
    deed::{Deed, Effect, Moment, Process},
    socket::SocketEvent,
};
use election_core::{
    Input, Protocol, Timestamp,
    lease::{self, Lease},
};
use election_driver::Notice;

/// The most polls at one instant. A service that needs more never waits.
const POLLS: u32 = 100_000;

/// The tasks of a life, and what they share with the world.
pub(crate) struct Tasks {
    cell: Cell,
    executor: Executor,
}

/// What differs between the protocols.
pub(crate) trait Simulated: Protocol + Sized {
    /// Something has come for the elector.
    fn receive(state: &mut State, input: Input<Self::Event>);

    /// Whether anybody waits for this.
    fn awaits(_: &State, _: &Self::Event) -> bool {
        true
    }

    /// What the code has done, if it is of this protocol.
    fn deed(act: Act) -> Option<Deed<Self>>;
}

impl Simulated for Lease {
    fn receive(state: &mut State, input: Input<lease::Event>) {
        match input {
            Input::Event(lease::Event::Answer { ticket, result }) => state.answer(ticket, result),
            Input::Event(lease::Event::Wake) => _ = state.notices.put(Notice::Wake),
            Input::Event(lease::Event::Resigned(epoch)) => {
                state.notices.put(Notice::Resigned(epoch));
            }
            order => state.lease_orders.put(order),
        }
    }

    fn awaits(state: &State, event: &lease::Event) -> bool {
        match event {
            lease::Event::Answer { ticket, .. } => state.awaits(*ticket),
            lease::Event::Wake | lease::Event::Resigned(_) | lease::Event::Health(_) => true,
        }
    }

    fn deed(act: Act) -> Option<Deed<Self>> {
        match act {
            Act::Lease(deed) => Some(deed),
            Act::Did(effect) => Some(Deed::Did(effect)),
            Act::Quorum(_) => None,
        }
    }
}

impl Tasks {
    pub(super) fn new(cell: Cell, main: Task) -> Self {
        let mut executor = Executor::default();
        executor.spawn(main);
        Self { cell, executor }
    }

    /// Passes on what operators say, once there is an elector to say it to.
    fn give_orders(&self) {
        let (lease, quorum) = {
            let mut state = self.cell.state();
            (state.lease_orders.take(), state.quorum_orders.take())
        };
        lease();
        quorum();
    }
}

impl<P: Simulated> Process<P> for Tasks {
    fn receive(&mut self, input: Input<P::Event>) {
        P::receive(&mut self.cell.state(), input);
    }

    fn awaits(&self, event: &P::Event) -> bool {
        P::awaits(&self.cell.state(), event)
    }

    fn receive_frame(&mut self, from: usize, bytes: Vec<u8>) {
        self.cell.state().frames.put((from, bytes));
    }

    fn receive_socket(&mut self, event: SocketEvent) -> bool {
        self.cell.state().sockets.receive(event)
    }

    fn receive_verdict(&mut self, nth: u64, verdict: Result<(), WriteError>) {
        self.cell.state().verdict(nth, verdict);
    }

    fn run(&mut self, moment: &mut Moment) -> (Vec<Deed<P>>, Option<Timestamp>) {
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
                self.cell.state().does(Effect::Ended);
                break;
            }
        }
        let (done, wake_at) = self.cell.state().leave(moment);
        (done.into_iter().filter_map(P::deed).collect(), wake_at)
    }
}
