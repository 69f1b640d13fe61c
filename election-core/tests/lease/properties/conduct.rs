//! What a machine may ask and report, whoever leads.

use super::history::{Check, Moment, Verdict};
use core::time::Duration;
use election_core::{
    Change, Epoch, Input, Loss, Protocol, Tenure, Timestamp,
    lease::{Answer, Query, Ticket},
};
use proptest::{prop_assert, prop_assert_eq, prop_assert_ne};
use std::collections::BTreeSet;

/// A late renewal must never undo a later one, so each carries a higher number.
#[derive(Default)]
pub(crate) struct OrdinalsGrow {
    last: Option<(Epoch, u64)>,
}

impl Check for OrdinalsGrow {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        if let (Some(tenure), Some((_, Answer::Seen(row)))) = (moment.elected(), moment.learnt()) {
            self.last = Some((tenure.term.epoch, row.renewals));
        }
        let Some((_, Query::Renew { epoch, ordinal, .. })) = moment.asks() else { return Ok(()) };
        if let Some((_, last)) = self.last.filter(|(of, _)| of == epoch) {
            // At the end of the numbers the database refuses the renewal, which is safe.
            prop_assert!(last < *ordinal || last == u64::MAX, "{ordinal} after {last}");
        }
        self.last = Some((*epoch, *ordinal));
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct TicketsGrow {
    last: Option<Ticket>,
}

impl Check for TicketsGrow {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        if let Some((ticket, _)) = moment.asks() {
            prop_assert!(self.last < Some(ticket), "{ticket:?} after {:?}", self.last);
            self.last = Some(ticket);
        }
        Ok(())
    }
}

/// Every way of asking who leads gives the same answer.
#[derive(Default)]
pub(crate) struct Agrees {
    leading: Option<Epoch>,
}

impl Check for Agrees {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        let (lease, now) = (moment.lease, moment.now);
        let tenure = lease.tenure(now);
        match &moment.step.change {
            Some(Change::Elected(elected)) => {
                prop_assert_eq!(Some(elected), tenure.as_ref());
                self.leading = Some(elected.term.epoch);
            }
            Some(Change::Lost { .. }) => self.leading = None,
            Some(Change::Followed { .. } | Change::Vacant) => {
                prop_assert_eq!(self.leading, None, "follows while it leads");
            }
            Some(Change::Alert(alert)) => prop_assert!(false, "a lease reports no alerts: {alert}"),
            None => {}
        }
        prop_assert_eq!(tenure.as_ref().map(|tenure| tenure.term.epoch), self.leading);
        let until = tenure.as_ref().map_or(now, |tenure| tenure.until);
        let last = until - Duration::from_nanos(1);
        for at in [Timestamp::ZERO, now, last, until, until + Duration::MAX, Timestamp::MAX] {
            let believed = lease.tenure(at);
            prop_assert_eq!(lease.is_leader(at), believed.is_some());
            // A clock that went back does not revive belief, and a running clock does not end it
            // early.
            let expected = tenure.as_ref().filter(|tenure| at.max(now) < tenure.until);
            prop_assert_eq!(believed.as_ref(), expected, "at {:?}", at);
        }
        Ok(())
    }
}

/// Belief that has ended stays ended, and belief that goes on never gets shorter.
#[derive(Default)]
pub(crate) struct NeverRevives {
    last: Option<Tenure>,
    ended: BTreeSet<Epoch>,
}

impl Check for NeverRevives {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        let tenure = moment.lease.tenure(moment.now);
        if let Some(last) = self.last.take() {
            match &tenure {
                Some(tenure) if tenure.term == last.term => {
                    prop_assert!(last.until <= tenure.until, "{last:?} became {tenure:?}");
                    prop_assert!(moment.now < last.until, "extended after its end: {last:?}");
                }
                _ => {
                    self.ended.insert(last.term.epoch);
                }
            }
        }
        if let Some(tenure) = &tenure {
            prop_assert!(!self.ended.contains(&tenure.term.epoch), "{} revived", tenure.term);
        }
        self.last = tenure;
        Ok(())
    }
}

/// Whoever began the drain, the work ends before anybody else can lead.
#[derive(Default)]
pub(crate) struct StopsInTime {
    last: Option<Tenure>,
}

impl Check for StopsInTime {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        if let Some((term, reason, stop_by)) = moment.lost() {
            let Some(last) = &self.last else {
                prop_assert!(false, "lost {term}, which was not led");
                return Ok(());
            };
            prop_assert!(stop_by <= last.stop_by, "{stop_by:?} is after {:?}", last.stop_by);
            prop_assert!(stop_by <= moment.now + moment.config().grace(), "{stop_by:?}");
            prop_assert!(reason != Loss::Replaced || stop_by <= moment.now, "grace for the gone");
        }
        self.last = moment.lease.tenure(moment.now);
        Ok(())
    }
}

/// A question stays open until it is answered or its deadline passes. Only a question that no
/// leadership depends on gives way to a renewal or a release.
#[derive(Default)]
pub(crate) struct OneQuestion {
    withdrawn: bool,
}

impl Check for OneQuestion {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        self.withdrawn |= *moment.input == Input::Withdraw;
        if let Some((_, query)) = moment.asks() {
            let until = moment.lease.tenure(moment.now).map(|tenure| tenure.until);
            let Some(election_core::lease::Action::Query { deadline, .. }) = moment.step.action
            else {
                return Ok(());
            };
            prop_assert!(deadline <= moment.now + moment.config().attempt_timeout());
            if let Query::Renew { .. } = query {
                prop_assert!(Some(deadline) <= until, "renews beyond its belief");
            }
        }
        let (Some(old), Some((_, new))) = (moment.superseded, moment.asks()) else {
            return Ok(());
        };
        let cannot_wait = matches!(new, Query::Renew { .. } | Query::Resign { .. });
        let gives_way = match old.query {
            Query::Observe | Query::Register { .. } | Query::Unregister | Query::Others => {
                cannot_wait || self.withdrawn
            }
            // The renewal is about a term that nobody believes in any more.
            Query::Renew { .. } => moment.lease.tenure(moment.now).is_none(),
            Query::Attempt { .. } | Query::TakeOver { .. } | Query::Resign { .. } => false,
        };
        prop_assert!(gives_way, "{new:?} overtakes {:?}", old.query);
        Ok(())
    }
}

/// A machine that is woken again and again at one instant comes to rest.
pub(crate) struct ComesToRest;

impl Check for ComesToRest {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        let mut lease = moment.lease.clone();
        let mut wake_at = moment.step.wake_at;
        let mut steps = 0;
        while wake_at.is_some_and(|at| at <= moment.now) {
            steps += 1;
            prop_assert_ne!(steps, 6, "spins at {:?}", moment.now);
            wake_at = lease.step(moment.now, Input::Tick).wake_at;
        }
        Ok(())
    }
}

/// A process that has left does nothing more, unless a win comes in that it has to give back.
#[derive(Default)]
pub(crate) struct FinishesForGood {
    finished: bool,
}

impl Check for FinishesForGood {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        let late_win = moment
            .heard
            .as_ref()
            .is_some_and(|heard| matches!(heard.result, Ok(Answer::Won { .. })));
        self.finished &= !late_win;
        if self.finished {
            prop_assert_eq!(moment.asks(), None);
            prop_assert!(moment.lease.is_finished());
        }
        self.finished = moment.lease.is_finished();
        prop_assert!(!self.finished || moment.asks().is_none());
        prop_assert!(!self.finished || !moment.lease.is_leader(moment.now));
        Ok(())
    }
}

/// The situations that the histories have reached, by name.
#[derive(Default)]
pub(crate) struct Corners {
    pub(crate) met: BTreeSet<&'static str>,
}

pub(crate) const CORNERS: [&str; 21] = [
    "elected by an attempt",
    "elected by a take-over",
    "elected by a reading",
    "expired",
    "replaced",
    "resigned",
    "resign_requested",
    "unhealthy",
    "withdrawn",
    "followed",
    "vacant",
    "observe",
    "attempt",
    "take-over",
    "renew",
    "resign",
    "register",
    "unregister",
    "a late win",
    "a question overtaken",
    "finished",
];

impl Check for &mut Corners {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        let query = |query: &Query| match query {
            Query::Observe => "observe",
            Query::Attempt { .. } => "attempt",
            Query::TakeOver { .. } => "take-over",
            Query::Renew { .. } => "renew",
            Query::Resign { .. } => "resign",
            Query::Register { .. } => "register",
            Query::Unregister => "unregister",
            Query::Others => "others",
        };
        self.met.extend(moment.asks().map(|(_, asked)| query(asked)));
        self.met.extend(moment.superseded.map(|_| "a question overtaken"));
        self.met.extend(moment.lease.is_finished().then_some("finished"));
        let late = moment.heard.as_ref().filter(|heard| !heard.current);
        let late_win = late.is_some_and(|late| matches!(late.result, Ok(Answer::Won { .. })));
        self.met.extend(late_win.then_some("a late win"));
        match (&moment.step.change, moment.learnt()) {
            (Some(Change::Elected(_)), Some((asked, _))) => {
                self.met.insert(match asked.query {
                    Query::Attempt { .. } => "elected by an attempt",
                    Query::TakeOver { .. } => "elected by a take-over",
                    _ => "elected by a reading",
                });
            }
            (Some(Change::Lost { reason, .. }), _) => {
                self.met.insert(reason.as_str());
            }
            (Some(Change::Followed { .. }), _) => {
                self.met.insert("followed");
            }
            (Some(Change::Vacant), _) => {
                self.met.insert("vacant");
            }
            _ => {}
        }
        Ok(())
    }
}
