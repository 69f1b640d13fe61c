//! One checker per invariant. Each keeps only the state it needs, and judges by the public
//! interface.

use super::history::{Asked, Check, Moment, Verdict, me};
use core::time::Duration;
use election_core::{
    Change, Epoch, Input, Loss, Protocol, Timestamp,
    lease::{Answer, Event, Query, Role},
};
use proptest::{prop_assert, prop_assert_eq};
use std::collections::{BTreeMap, BTreeSet};

/// Checks nothing except that no input panics.
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

/// Trust is what the database granted, counted from the time of the question.
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

/// Leadership comes only from an answer to the question in flight, if its kind can give leadership.
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

/// Belief ends first, then the work, then the hold on the row.
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

/// A process that could not lead does not campaign.
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
        // It leads, or its work still runs, until `draining` says otherwise.
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

/// A process that resigned stays out for an interval after the end of its term, or until another
/// leads or has led.
#[derive(Default)]
pub(crate) struct StaysOut {
    /// A term of this process may still hold the row.
    holds: bool,
    /// The newest epoch of any answer.
    known: Epoch,
    out: Option<Out>,
}

struct Out {
    /// Since when the row is known not to be held under the resigned term.
    since: Option<Timestamp>,
}

impl StaysOut {
    fn learn(&mut self, moment: &Moment<'_>) {
        let vacant = match moment.learnt() {
            Some((Asked { query: Query::Resign { .. }, .. }, Answer::Released | Answer::Gone)) => {
                true
            }
            // As an answer to anything else it says nothing of the row.
            Some((
                Asked {
                    query: Query::Observe | Query::Attempt { .. } | Query::TakeOver { .. },
                    ..
                },
                Answer::Seen(row),
            )) => {
                let own = row.holder.as_ref().is_some_and(|holder| holder.candidate == me());
                let confirmed = self.out.as_ref().is_some_and(|out| out.since.is_some());
                let live = row.live_holder().is_some();
                if !own && (live || (confirmed && row.epoch > self.known)) {
                    self.out = None;
                    self.holds = false;
                }
                self.known = self.known.max(row.epoch);
                !live
            }
            // Nobody else is on the list: no reason to stay out.
            Some((Asked { query: Query::Others, .. }, Answer::Others(false))) => {
                self.out.take_if(|out| out.since.is_some());
                false
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
