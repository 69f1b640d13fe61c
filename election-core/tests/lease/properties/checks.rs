//! One checker per invariant. Each keeps only what it needs, and judges by the public interface.

use super::history::{Asked, Check, Moment, Verdict, me};
use core::time::Duration;
use election_core::{
    Change, Epoch, Input, Loss, Protocol, Tenure, Timestamp,
    lease::{Answer, Event, Query, Role, Ticket},
};
use proptest::{prop_assert, prop_assert_eq, prop_assert_ne};
use std::collections::{BTreeMap, BTreeSet};

/// No check at all: that no input panics.
pub(crate) struct Survives;

impl Check for Survives {
    fn see(&mut self, _: &Moment<'_>) -> Verdict {
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct Alternates {
    leading: Option<Epoch>,
}

impl Check for Alternates {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        if let Some(tenure) = moment.elected() {
            prop_assert_eq!(self.leading.replace(tenure.term.epoch), None, "elected twice");
        }
        if let Some((term, ..)) = moment.lost() {
            prop_assert_eq!(self.leading.take(), Some(term.epoch), "lost what was not led");
        }
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct EpochsGrow {
    last: Epoch,
}

impl Check for EpochsGrow {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        if let Some(tenure) = moment.elected() {
            prop_assert!(self.last < tenure.term.epoch, "{} after {}", tenure.term, self.last);
            self.last = tenure.term.epoch;
        }
        Ok(())
    }
}

/// Trust is what the database granted, counted from when it was asked.
#[derive(Default)]
pub(crate) struct Anchored {
    /// Per term, the latest hard stop that an answer about it allows.
    granted: BTreeMap<Epoch, Timestamp>,
}

impl Anchored {
    fn grant(&mut self, moment: &Moment<'_>, asked: &Asked, epoch: Epoch, remaining: Duration) {
        let config = moment.config();
        let stop_by = (asked.at + remaining.min(config.ttl())) - config.margin();
        let granted = self.granted.entry(epoch).or_default();
        *granted = stop_by.max(*granted);
    }
}

impl Check for Anchored {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        match moment.learnt() {
            Some((asked, Answer::Won { epoch, remaining })) => {
                self.grant(moment, asked, *epoch, *remaining);
            }
            Some((asked, Answer::Seen(row))) => {
                self.grant(moment, asked, row.epoch, row.remaining.min(row.ttl));
            }
            Some((asked, Answer::Renewed { remaining, .. })) => {
                if let Query::Renew { epoch, .. } = asked.query {
                    self.grant(moment, asked, epoch, *remaining);
                }
            }
            _ => {}
        }
        for tenure in moment.lease.tenure(moment.now).iter().chain(moment.elected()) {
            let granted = self.granted.get(&tenure.term.epoch).copied();
            let Some(granted) = granted else {
                prop_assert!(false, "{} was never granted", tenure.term);
                continue;
            };
            prop_assert!(tenure.stop_by <= granted, "{tenure:?}, granted until {granted:?}");
            prop_assert!(tenure.until <= granted - moment.config().grace(), "{tenure:?}");
        }
        Ok(())
    }
}

/// Leadership comes from the answer to the question in flight, of a kind that can give it.
pub(crate) struct OnlyCurrentAnswersElect;

impl Check for OnlyCurrentAnswersElect {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        let Some(tenure) = moment.elected() else { return Ok(()) };
        let own = |row: &election_core::lease::Row| {
            row.epoch == tenure.term.epoch
                && row.live_holder().is_some_and(|holder| holder.candidate == me())
        };
        let fits = match moment.learnt() {
            Some((asked, Answer::Won { epoch, .. })) => {
                *epoch == tenure.term.epoch
                    && matches!(asked.query, Query::Attempt { .. } | Query::TakeOver { .. })
            }
            Some((asked, Answer::Seen(row))) => {
                own(row)
                    && matches!(
                        asked.query,
                        Query::Attempt { .. } | Query::TakeOver { .. } | Query::Observe
                    )
            }
            _ => false,
        };
        prop_assert!(fits, "{} from {:?}", tenure.term, moment.input);
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct GoneIsGone {
    gone: BTreeSet<Epoch>,
}

impl Check for GoneIsGone {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        if let Some((Asked { query: Query::Renew { epoch, .. }, .. }, Answer::Gone)) =
            moment.learnt()
        {
            self.gone.insert(*epoch);
        }
        for at in [Timestamp::ZERO, moment.now] {
            if let Some(tenure) = moment.lease.tenure(at) {
                prop_assert!(!self.gone.contains(&tenure.term.epoch), "{} is gone", tenure.term);
            }
        }
        Ok(())
    }
}

/// Belief ends, then work, then the hold on the row.
#[derive(Default)]
pub(crate) struct DrainsBeforeRelease {
    draining: Option<Epoch>,
    led: BTreeSet<Epoch>,
    stopped: BTreeSet<Epoch>,
}

impl Check for DrainsBeforeRelease {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        if let Some(tenure) = moment.elected() {
            self.led.insert(tenure.term.epoch);
        }
        if let Some((term, ..)) = moment.lost() {
            self.draining = Some(term.epoch);
        }
        if let Input::Stopped(epoch) = moment.input {
            if let Some(epoch) = self.draining.take_if(|draining| draining == epoch) {
                self.stopped.insert(epoch);
            }
        }
        prop_assert_eq!(moment.lease.draining(), self.draining);
        if let Some((_, Query::Resign { epoch })) = moment.asks() {
            prop_assert!(
                !self.led.contains(epoch) || self.stopped.contains(epoch),
                "epoch {epoch} is released with its work still running"
            );
            prop_assert_eq!(self.draining, None, "a release while other work runs");
        }
        Ok(())
    }
}

/// Nobody campaigns who could not lead what is won.
pub(crate) struct CampaignsOnlyToLead {
    busy: bool,
    healthy: bool,
    withdrawn: bool,
}

impl Default for CampaignsOnlyToLead {
    fn default() -> Self {
        Self { busy: false, healthy: true, withdrawn: false }
    }
}

impl Check for CampaignsOnlyToLead {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        match moment.input {
            Input::Withdraw => self.withdrawn = true,
            Input::Event(Event::Health(healthy)) => self.healthy = *healthy,
            _ => {}
        }
        // Led, or work still running: until `draining` says that there is none.
        self.busy |= moment.elected().is_some();
        self.busy &= moment.lease.is_leader(moment.now) || moment.lease.draining().is_some();
        let fit = self.healthy && !self.withdrawn && moment.config().role() == Role::Candidate;
        if moment.campaigns() {
            prop_assert!(!self.busy, "campaigns while it leads or drains");
            prop_assert!(fit, "campaigns although it may not lead");
        }
        prop_assert!(moment.elected().is_none() || fit, "elected although it may not lead");
        Ok(())
    }
}

/// Who resigned stays out for an interval after the end of its term, or until another leads.
#[derive(Default)]
pub(crate) struct StaysOut {
    /// A term of this process may still hold the row.
    holds: bool,
    out: Option<Out>,
}

struct Out {
    /// Since when the row is known not to be held by what was resigned.
    since: Option<Timestamp>,
}

impl StaysOut {
    fn learn(&mut self, moment: &Moment<'_>) {
        let vacant = match moment.learnt() {
            Some((asked, Answer::Released)) => matches!(asked.query, Query::Resign { .. }),
            Some((_, Answer::Seen(row))) => {
                if row.live_holder().is_some_and(|holder| holder.candidate != me()) {
                    self.out = None;
                    self.holds = false;
                }
                row.live_holder().is_none()
            }
            _ => false,
        };
        if vacant {
            self.holds = false;
            if let Some(out) = &mut self.out {
                out.since = out.since.or(Some(moment.now));
            }
        }
    }

    fn resign(&mut self, now: Timestamp) {
        let waits = self.holds || matches!(self.out, Some(Out { since: None }));
        self.out = Some(Out { since: (!waits).then_some(now) });
    }
}

impl Check for StaysOut {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        self.learn(moment);
        if *moment.input == Input::Resign {
            self.resign(moment.now);
        }
        let over = self.out.as_ref().is_none_or(|out| {
            out.since.is_some_and(|since| since + moment.config().interval() <= moment.now)
        });
        prop_assert!(over || !moment.campaigns(), "campaigns although it resigned");
        match &moment.step.change {
            Some(Change::Elected(_)) => {
                prop_assert!(over, "leads although it resigned");
                self.holds = true;
                self.out = None;
            }
            Some(Change::Lost { reason: Loss::Replaced, .. }) => self.holds = false,
            Some(Change::Lost { reason: Loss::ResignRequested, .. }) => self.resign(moment.now),
            _ => {}
        }
        Ok(())
    }
}

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
            None => {}
        }
        prop_assert_eq!(tenure.as_ref().map(|tenure| tenure.term.epoch), self.leading);
        let until = tenure.as_ref().map_or(now, |tenure| tenure.until);
        let last = until - Duration::from_nanos(1);
        for at in [Timestamp::ZERO, now, last, until, until + Duration::MAX, Timestamp::MAX] {
            let believed = lease.tenure(at);
            prop_assert_eq!(lease.is_leader(at), believed.is_some());
            // A clock that went back does not bring belief back, nor does one that runs end it early.
            let expected = tenure.as_ref().filter(|tenure| at.max(now) < tenure.until);
            prop_assert_eq!(believed.as_ref(), expected, "at {:?}", at);
        }
        Ok(())
    }
}

/// What has ended stays ended, and what goes on never gets shorter.
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

/// Whoever began the drain, work has ended before anybody else can lead.
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

/// A question is open until it is answered or its time is over; only what nobody's leadership
/// hangs on gives way to a renewal or a release.
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
            Query::Observe | Query::Register { .. } | Query::Unregister => {
                cannot_wait || self.withdrawn
            }
            // It is about a term that nobody believes any more.
            Query::Renew { .. } => moment.lease.tenure(moment.now).is_none(),
            Query::Attempt { .. } | Query::TakeOver { .. } | Query::Resign { .. } => false,
        };
        prop_assert!(gives_way, "{new:?} overtakes {:?}", old.query);
        Ok(())
    }
}

/// Woken again and again at one instant, the machine comes to rest.
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

/// Who has left is left alone, unless a win comes in that has to be given back.
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

/// What the histories have led to, by name.
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
