//! One process: the real machine, its leader work, and the checkers' books about both.
//!
//! All times are relative to *now* ([`NOW`]). The books hold the minimum from which the invariants
//! can be judged at the step that breaks them; the machine itself also knows most of it.

use super::{
    books::{Out, Stepped, Told, moved},
    names::place,
};
use crate::explore::books::{NOW, Verdict, Work, broken};
use election_core::{
    Candidate, Change, Epoch, Input, Loss, Protocol, Timestamp,
    lease::{Action, Answer, Config, Event, Lease, Query, Surroundings, Ticket},
};
use std::time::Duration;

/// One node, with or without a process on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) who: Candidate,
    /// The index of its clock's rate in the scope.
    pub(super) rate: u8,
    pub(super) life: Option<Life>,
}

/// A running process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Life {
    pub(super) lease: Lease,
    pub(super) work: Option<Work>,
    /// When it asked the question whose answer it awaits.
    asked: Option<Timestamp>,
    pub(super) told: Told,
    /// The highest epoch that it lost, or for which it requested a resignation.
    pub(super) given_up: Epoch,
    out: Out,
    unhealthy: bool,
    leaving: bool,
}

impl Process {
    /// A node that has not started yet.
    pub(super) fn down(who: Candidate, rate: u8) -> Self {
        Self { who, rate, life: None }
    }

    /// Starts it as `who`.
    pub(super) fn start(&mut self, who: Candidate, config: &Config, around: &Surroundings) {
        let mut lease = Lease::new(config.clone(), who.clone(), 0);
        lease.rebase(Timestamp::ZERO, NOW, around);
        self.who = who;
        self.life = Some(Life {
            lease,
            work: None,
            asked: None,
            told: Told::Nothing,
            given_up: Epoch::NONE,
            out: Out::No,
            unhealthy: false,
            leaving: false,
        });
    }

    /// One step of the machine.
    pub(super) fn step(&mut self, input: Input<Event>, around: &Surroundings) -> Verdict<Stepped> {
        let who = self.who.clone();
        let Some(life) = &mut self.life else {
            return Ok(Stepped { query: None, elected: None, awaits: false });
        };
        let stepped = life.step(&who, input, around)?;
        if life.lease.is_finished() {
            self.life = None;
        }
        Ok(stepped)
    }

    /// Lets this much of its clock's time pass.
    pub(super) fn age(&mut self, by: Duration, around: &Surroundings) -> Verdict<()> {
        let place = place(&self.who);
        let Some(life) = &mut self.life else { return Ok(()) };
        let (config, now) = (life.lease.config().clone(), NOW + by);
        life.lease.rebase(now, NOW, around);
        if let Some(work) = &mut life.work {
            work.stop_by = moved(work.stop_by, by, Duration::ZERO);
        }
        if let Some(asked) = &mut life.asked {
            *asked = moved(*asked, by, config.ttl());
        }
        if let Out::Until(end) = &mut life.out {
            *end = moved(*end, by, Duration::ZERO);
            if *end <= NOW {
                life.out = Out::No;
            }
        }
        let end = life.work.filter(|work| !work.told).map(|work| work.stop_by - config.grace());
        if life.lease.is_leader(NOW) && end.is_none_or(|end| NOW >= end) {
            return broken(
                "trust-within-grant",
                format!("node {} believes after its time", place.0),
            );
        }
        Ok(())
    }

    pub(super) fn works(&self) -> bool {
        self.work().is_some_and(|work| NOW < work.stop_by)
    }

    pub(super) fn work(&self) -> Option<Work> {
        self.life.as_ref()?.work
    }

    /// The epoch of another process that it has said it follows.
    pub(super) fn follows(&self) -> Epoch {
        match self.life.as_ref().map(|life| life.told) {
            Some(Told::Follows(epoch)) => epoch,
            _ => Epoch::NONE,
        }
    }
}

impl Life {
    fn step(
        &mut self,
        who: &Candidate,
        input: Input<Event>,
        around: &Surroundings,
    ) -> Verdict<Stepped> {
        let node = place(who).0;
        let answer = match &input {
            Input::Event(Event::Answer { ticket, result }) => {
                Some((self.lease.awaited() == Some(*ticket), result.clone().ok()))
            }
            _ => None,
        };
        let current = answer.clone().and_then(|(current, answer)| answer.filter(|_| current));
        self.hear(who, &input, answer.as_ref().and_then(|(_, answer)| answer.as_ref()));
        let granted = current.as_ref().and_then(|answer| self.granted(who, answer));
        let over = self.told_leader().filter(|_| current == Some(Answer::Gone));
        let mut step = self.lease.step(NOW, input);
        // The model has no list of candidates. A process that resigned learns at once that others
        // exist.
        if let Some(Action::Query { ticket, query: Query::Others, .. }) = step.action {
            let result = Ok(Answer::Others(true));
            let answer = Input::Event(Event::Answer { ticket, result });
            step.action = self.lease.step(NOW, answer).action;
        }
        let mut elected = None;
        if let Some(change) = &step.change {
            elected = self.changed(node, change, granted)?;
        }
        self.judge(node, granted, over)?;
        if self.lease.awaited().is_none() {
            self.asked = None;
        }
        let query = step.action.map(|Action::Query { query, .. }| query);
        if let Some(query) = &query {
            self.asks(node, query)?;
            self.asked = Some(NOW);
        }
        self.lease.rebase(NOW, NOW, around);
        Ok(Stepped { query, elected, awaits: self.lease.awaited().is_some() })
    }

    fn told_leader(&self) -> Option<Epoch> {
        self.work.filter(|work| !work.told).map(|work| work.epoch)
    }

    /// Records the input of the process.
    fn hear(&mut self, who: &Candidate, input: &Input<Event>, answer: Option<&Answer>) {
        match input {
            Input::Stopped(epoch) => {
                self.work.take_if(|work| work.epoch == *epoch);
            }
            Input::Resign if self.told_leader().is_some() => self.out = Out::Unconfirmed,
            Input::Withdraw => self.leaving = true,
            Input::Event(Event::Health(healthy)) => self.unhealthy = !healthy,
            _ => {}
        }
        let vacant = match answer {
            Some(Answer::Released) => true,
            Some(Answer::Seen(row)) => {
                let live = row.live_holder().is_some();
                let others = row.holder.as_ref().is_none_or(|holder| holder.candidate != *who);
                // A vacant row with a newer epoch: another leader has come and gone.
                if others && (live || row.epoch > self.given_up) {
                    self.out = Out::No;
                }
                !live
            }
            _ => false,
        };
        if vacant && self.out == Out::Unconfirmed {
            self.out = Out::Until(NOW + self.lease.config().interval());
        }
    }

    /// What an awaited answer allows: work on which epoch, and until when.
    fn granted(&self, who: &Candidate, answer: &Answer) -> Option<(Epoch, Timestamp)> {
        let config = self.lease.config();
        let led = self.work.map(|work| work.epoch);
        let (epoch, remaining) = match answer {
            Answer::Won { epoch, remaining } => (*epoch, *remaining),
            Answer::Renewed { remaining, .. } => (led?, *remaining),
            Answer::Seen(row) => {
                // A leader that reads the row gains nothing more.
                row.live_holder()
                    .filter(|holder| holder.candidate == *who && led != Some(row.epoch))?;
                (row.epoch, row.clamped_remaining())
            }
            _ => return None,
        };
        let until = (self.asked? + remaining.min(config.ttl())) - config.margin();
        Some((epoch, until))
    }

    fn changed(
        &mut self,
        node: usize,
        change: &Change,
        granted: Option<(Epoch, Timestamp)>,
    ) -> Verdict<Option<Epoch>> {
        let leads = match self.told {
            Told::Leads(epoch) => Some(epoch),
            _ => None,
        };
        let now = match change {
            Change::Elected(tenure) if leads.is_none() => Told::Leads(tenure.term.epoch),
            Change::Lost { term, successor, .. } if leads == Some(term.epoch) => {
                Told::Lost(successor.as_ref().map(|term| term.epoch))
            }
            Change::Followed { term, .. } if leads.is_none() => Told::Follows(term.epoch),
            Change::Vacant if leads.is_none() => Told::Vacant,
            _ => {
                let told = self.told;
                return broken(
                    "changes-in-order",
                    format!("node {node} reports {change:?} after {told:?}"),
                );
            }
        };
        let repeats = match (self.told, now) {
            (Told::Lost(Some(successor)), Told::Follows(epoch)) => successor == epoch,
            (Told::Lost(None), Told::Vacant) => true,
            (told, now) => told == now,
        };
        if repeats {
            return broken("changes-in-order", format!("node {node} reports {change:?} twice"));
        }
        self.told = now;
        match change {
            Change::Elected(tenure) => {
                self.elected(node, tenure.term.epoch, tenure.stop_by, granted)
            }
            Change::Lost { term, stop_by, reason, .. } => {
                self.given_up = self.given_up.max(term.epoch);
                if let Some(work) = &mut self.work {
                    // `Replaced` leaves no time at all.
                    let gone = *reason == Loss::Replaced && *stop_by > NOW;
                    if *stop_by > work.stop_by || gone {
                        return broken(
                            "trust-within-grant",
                            format!("node {node} may work on after {change:?}"),
                        );
                    }
                    *work = Work { stop_by: (*stop_by).max(NOW), told: true, ..*work };
                }
                Ok(None)
            }
            Change::Followed { .. } | Change::Vacant | Change::Alert(_) => Ok(None),
        }
    }

    fn elected(
        &mut self,
        node: usize,
        epoch: Epoch,
        stop_by: Timestamp,
        granted: Option<(Epoch, Timestamp)>,
    ) -> Verdict<Option<Epoch>> {
        let Some((_, until)) = granted.filter(|(granted, _)| *granted == epoch) else {
            return broken(
                "win-is-committed",
                format!("node {node} leads {epoch}, which nobody granted"),
            );
        };
        if self.unhealthy || self.leaving {
            return broken("only-eligible-attempt", format!("node {node} leads while it must not"));
        }
        if epoch <= self.given_up {
            let before = self.given_up;
            return broken(
                "epoch-led-once",
                format!("node {node} leads {epoch}, having given up {before}"),
            );
        }
        if stop_by > until {
            let late = stop_by.since(until);
            return broken(
                "trust-within-grant",
                format!("node {node} trusts {epoch} for {late:?} too long"),
            );
        }
        self.work = Some(Work { epoch, stop_by, told: false });
        Ok(Some(epoch))
    }

    /// What must hold after every step.
    fn judge(
        &mut self,
        node: usize,
        granted: Option<(Epoch, Timestamp)>,
        over: Option<Epoch>,
    ) -> Verdict<()> {
        let tenure = self.lease.tenure(NOW);
        if tenure.is_some() != matches!(self.told, Told::Leads(_)) {
            let told = self.told;
            return broken(
                "changes-in-order",
                format!("node {node} was told {told:?}, answers otherwise"),
            );
        }
        if let (Some(tenure), Some(work)) = (&tenure, &mut self.work) {
            let extended = granted.filter(|(epoch, _)| *epoch == work.epoch);
            let until = extended.map_or(work.stop_by, |(_, until)| until.max(work.stop_by));
            if tenure.stop_by > until {
                let (epoch, late) = (work.epoch, tenure.stop_by.since(until));
                return broken(
                    "trust-within-grant",
                    format!("node {node} trusts {epoch} for {late:?} too long"),
                );
            }
            work.stop_by = tenure.stop_by;
        }
        let Some(over) = over else { return Ok(()) };
        let works = self.work.is_some_and(|work| work.epoch == over && NOW < work.stop_by);
        if works || tenure.is_some_and(|tenure| tenure.term.epoch == over) {
            return broken(
                "stops-when-replaced",
                format!("node {node} goes on with {over}, which is over"),
            );
        }
        Ok(())
    }

    /// What must hold of a question.
    fn asks(&mut self, node: usize, query: &Query) -> Verdict<()> {
        let work = self.work;
        let campaigns = matches!(query, Query::Attempt { .. } | Query::TakeOver { .. });
        if let Query::Renew { epoch, .. } = query {
            if work.is_none_or(|work| work.epoch != *epoch) {
                return broken(
                    "writes-own-epoch-only",
                    format!("node {node} renews {epoch}, working on {work:?}"),
                );
            }
        }
        if let Query::Resign { epoch } = query {
            self.given_up = self.given_up.max(*epoch);
            if work.is_some_and(|work| work.epoch == *epoch) {
                return broken(
                    "work-stops-before-release",
                    format!("node {node} releases {epoch} at work"),
                );
            }
        }
        if campaigns && work.is_some() {
            return broken(
                "work-stops-before-release",
                format!("node {node} campaigns while its work runs"),
            );
        }
        if campaigns && (self.unhealthy || self.leaving || self.out != Out::No) {
            return broken(
                "only-eligible-attempt",
                format!("node {node} campaigns while it must not"),
            );
        }
        Ok(())
    }

    /// How long until the machine must be called, by its clock; `None` if it is due.
    pub(super) fn wakes_in(&self, around: &Surroundings) -> Option<Duration> {
        let mut probe = self.lease.clone();
        let step = probe.step(NOW, Input::Tick);
        probe.rebase(NOW, NOW, around);
        let still = step.change.is_none() && step.action.is_none() && probe == self.lease;
        let wake_at = step.wake_at.unwrap_or(Timestamp::MAX);
        still.then(|| wake_at.since(NOW))
    }

    pub(super) fn is_healthy(&self) -> bool {
        !self.unhealthy
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// The ticket of the awaited question, or of one that is no longer awaited.
    pub(super) fn ticket(&self, current: bool) -> Ticket {
        self.lease.awaited().filter(|_| current).unwrap_or(Ticket::NONE)
    }
}
