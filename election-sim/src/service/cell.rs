//! What the code of one life and the world share.

use super::{life::Life, mailbox::Mailbox, orders::Orders, sockets::Sockets};
use crate::{
    app::{Resource, WriteError},
    deed::{Deed, Effect, Moment},
    draw::{Draw, Stream},
};
use election_core::{
    Timestamp, lease,
    lease::{Action, Answer, Failure, Lease, Query, Ticket},
    quorum::{self, Quorum},
};
use election_driver::{Notice, Saved};
use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// What the code of a life has done.
pub(crate) enum Act {
    Lease(Deed<Lease>),
    Quorum(Deed<Quorum>),
    Did(Effect),
}

pub(super) type Spawned = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The most calls in one run. Code that makes more waits for the clock in a loop.
const CALLS: u64 = 1_000_000;

/// The one place where the code of a life and the world meet.
#[derive(Clone)]
pub(crate) struct Cell(Arc<Mutex<State>>);

pub(crate) struct State {
    now: Timestamp,
    /// After so many calls of the code the clock reads this: the process has stopped in between.
    stall: Option<(u64, Timestamp)>,
    calls: u64,
    pub(super) resource: Resource,
    pub(super) read: bool,
    draw: Draw,
    pub(super) drawn: u64,
    pub(super) sent: u64,
    node: u64,
    elapsed: u64,
    pub(super) done: Vec<Act>,
    pub(super) spawned: Vec<Spawned>,
    /// The timers, in the order in which they fire.
    timers: BTreeMap<(Timestamp, u64), Waker>,
    armed: u64,
    /// What the machine has asked for last, and when.
    asked: Option<(Action, Timestamp)>,
    /// The statement whose answer somebody waits for.
    statement: Option<(Ticket, Mailbox<Result<Answer, Failure>>)>,
    verdicts: HashMap<u64, Mailbox<Result<(), WriteError>>>,
    pub(super) notices: Mailbox<Notice>,
    pub(super) frames: Mailbox<(usize, Vec<u8>)>,
    pub(super) sockets: Sockets,
    /// Whom to tell that the ballot was saved.
    pub(super) saved: Option<Saved>,
    /// Whether more may be saved, and whether a ballot is being saved.
    pub(super) saves: bool,
    saving: bool,
    /// What operators say to the elector, once there is one.
    pub(super) lease_orders: Orders<lease::Event>,
    pub(crate) quorum_orders: Orders<quorum::Event>,
}

impl Cell {
    pub(super) fn new(life: &Life) -> Self {
        Self(Arc::new(Mutex::new(State {
            now: Timestamp::ZERO,
            stall: None,
            calls: 0,
            resource: Resource::default(),
            read: false,
            draw: Draw::new(0),
            drawn: 0,
            sent: 0,
            node: life.node as u64,
            elapsed: 0,
            done: Vec::new(),
            spawned: Vec::new(),
            timers: BTreeMap::new(),
            armed: 0,
            asked: None,
            statement: None,
            verdicts: HashMap::new(),
            notices: Mailbox::default(),
            frames: Mailbox::default(),
            sockets: Sockets::default(),
            saved: None,
            saves: true,
            saving: false,
            lease_orders: Orders::default(),
            quorum_orders: Orders::default(),
        })))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic of the user's code ends the run anyway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Time has passed, and the code is about to run.
    pub(super) fn enter(&mut self, moment: &mut Moment) {
        (self.now, self.read) = (moment.now, moment.read);
        (self.stall, self.elapsed) = (moment.stall, moment.elapsed);
        (self.draw, self.drawn, self.sent) = (moment.draw, moment.drawn, moment.sent);
        self.resource = std::mem::take(&mut moment.resource);
        self.calls = 0;
        while let Some(timer) = self.timers.first_entry() {
            if timer.key().0 > self.now {
                break;
            }
            timer.remove().wake();
        }
    }

    /// The code waits. Returns what it did, and when its next timer fires.
    pub(super) fn leave(&mut self, moment: &mut Moment) -> (Vec<Act>, Option<Timestamp>) {
        (moment.drawn, moment.resource) = (self.drawn, std::mem::take(&mut self.resource));
        let next = self.timers.first_key_value().map(|((at, _), _)| *at);
        (std::mem::take(&mut self.done), next)
    }

    /// Reads the clock.
    pub(super) fn now(&mut self) -> Timestamp {
        self.called();
        self.now
    }

    /// The code has called. The process may have stopped before that.
    fn called(&mut self) {
        self.calls += 1;
        // What is dropped after a panic reads the clock as well.
        assert!(
            self.calls <= CALLS || std::thread::panicking(),
            "the service calls its node in a loop: time passes only while it awaits something"
        );
        if let Some((_, later)) = self.stall.take_if(|(after, _)| *after < self.calls) {
            self.now = self.now.max(later);
            self.does(Effect::Stalled(self.now));
        }
    }

    pub(super) fn draw(&mut self, most: u64) -> u64 {
        self.drawn += 1;
        self.draw.between(Stream::App, self.node, self.drawn, (0, most))
    }

    /// The reading of a wall clock that read so many milliseconds at the beginning.
    pub(super) fn wall_clock(&self, began: u64) -> u64 {
        began + self.elapsed / 1_000_000
    }

    /// What happens at the instant at which the driver has last read the clock.
    pub(super) fn does(&mut self, effect: Effect) {
        self.done.push(Act::Did(effect));
    }

    /// The user's code does something. The process may have stopped before that.
    pub(super) fn acts(&mut self, effect: Effect) {
        self.called();
        self.does(effect);
    }

    /// Sets a timer, or says anew whom it wakes.
    pub(super) fn arm(&mut self, at: Timestamp, timer: &mut Option<u64>, waker: &Waker) {
        let number = *timer.get_or_insert_with(|| {
            self.armed += 1;
            self.armed
        });
        self.timers.insert((at, number), waker.clone());
    }

    pub(super) fn disarm(&mut self, at: Timestamp, timer: u64) {
        self.timers.remove(&(at, timer));
    }

    /// The machine has asked for this.
    pub(super) fn asks(&mut self, action: &Action) {
        self.asked = Some((action.clone(), self.now));
        self.done.push(Act::Lease(Deed::Requested(action.clone())));
    }

    /// The driver sends a statement: the one that the machine has asked for last.
    pub(super) fn send(&mut self, query: &Query) {
        let Some((Action::Query { ticket, deadline, .. }, at)) = self.asked.clone() else { return };
        self.statement = Some((ticket, Mailbox::default()));
        let action = Action::Query { ticket, query: query.clone(), deadline };
        self.done.push(Act::Lease(Deed::Acted(action, at)));
    }

    /// The driver of a member does what its machine has asked for.
    pub(super) fn begin(&mut self, action: quorum::Action) {
        self.saving |= matches!(action, quorum::Action::Save(_));
        self.done.push(Act::Quorum(Deed::Acted(action, self.now)));
    }

    /// The driver saves nothing more. It may still wait for what is being saved.
    pub(super) fn save_no_more(&mut self) {
        self.saves = false;
        self.saved.take_if(|_| !self.saving);
    }

    /// The disk has saved a ballot, or failed.
    pub(crate) fn saved(&mut self, result: io::Result<()>) {
        self.saving = false;
        if let Some(saved) = &self.saved {
            saved(result);
        }
        self.saved.take_if(|_| !self.saves);
    }

    pub(super) fn awaits(&self, ticket: Ticket) -> bool {
        self.statement.as_ref().is_some_and(|(asked, _)| *asked == ticket)
    }

    /// The driver waits no longer for the answer.
    pub(super) fn give_up(&mut self) {
        self.statement = None;
    }

    pub(super) fn poll_answer(&mut self, cx: &Context<'_>) -> Poll<Result<Answer, Failure>> {
        self.statement.as_mut().map_or(Poll::Pending, |(_, waiting)| waiting.poll(cx))
    }

    pub(super) fn answer(&mut self, ticket: Ticket, result: Result<Answer, Failure>) {
        if let Some((_, waiting)) = self.statement.as_mut().filter(|(asked, _)| *asked == ticket) {
            waiting.put(result);
        }
    }

    /// Somebody waits for what becomes of this write.
    pub(super) fn await_verdict(&mut self, nth: u64) {
        self.verdicts.insert(nth, Mailbox::default());
    }

    pub(super) fn forget_verdict(&mut self, nth: u64) {
        self.verdicts.remove(&nth);
    }

    pub(super) fn verdict(&mut self, nth: u64, verdict: Result<(), WriteError>) {
        if let Some(waiting) = self.verdicts.get_mut(&nth) {
            waiting.put(verdict);
        }
    }

    pub(super) fn poll_verdict(
        &mut self,
        nth: u64,
        cx: &Context<'_>,
    ) -> Poll<Result<(), WriteError>> {
        self.verdicts.get_mut(&nth).map_or(Poll::Pending, |waiting| waiting.poll(cx))
    }
}
