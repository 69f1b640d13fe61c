//! What a simulator sees of a driver, and what it puts in the place of chance.

use crate::{Runtime, inbox::Report, setup::Setup};
use election_core::{
    Candidate, Change, Input,
    lease::{Action, Config, Event, Lease},
};
use std::sync::Arc;

/// Watches every step of an elector. Only the simulator's runtime has one; no name of it is public
/// outside `election-sim`.
pub trait Observer: Send + Sync {
    /// Whom the process takes part as, in place of its own name and a random incarnation.
    fn candidate(&self) -> Candidate;

    /// An elector is about to start. `order` hands it what an operator may say: resignation,
    /// withdrawal, health.
    fn starts(&self, config: &Config, order: Box<dyn Fn(Input<Event>) + Send + Sync>);

    /// The machine is about to get this input.
    fn takes(&self, input: &Input<Event>);

    /// The machine has taken a step, and nobody knows of it yet.
    fn stepped(&self, lease: &Lease, change: Option<&Change>);

    /// The step has asked for this.
    fn asks(&self, action: &Action);
}

/// What hands an operator's orders to the elector with these settings, while it lives.
pub(crate) fn orders<R: Runtime>(setup: &Arc<Setup<R>>) -> Box<dyn Fn(Input<Event>) + Send + Sync> {
    let setup = Arc::downgrade(setup);
    Box::new(move |order| {
        let Some(setup) = setup.upgrade() else { return };
        match order {
            Input::Resign => setup.inbox.tell(Input::<Report>::Resign),
            Input::Withdraw => setup.inbox.tell(Input::Withdraw),
            Input::Event(Event::Health(healthy)) => setup.inbox.health(healthy),
            Input::Tick | Input::Stopped(_) | Input::Event(_) => {}
        }
    })
}
