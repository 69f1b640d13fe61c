//! What a machine may ask and report, whoever leads.

use super::history::{Check, Moment, Verdict, me};
use core::time::Duration;
use election_core::{
    Change, Epoch, Input, Protocol, Tenure, Timestamp,
    lease::{Answer, Query},
};
use proptest::{prop_assert, prop_assert_eq};
use std::collections::BTreeSet;

/// Checks nothing except that no input panics.
pub(crate) struct Survives;

impl Check for Survives {
    fn see(&mut self, _: &Moment<'_>) -> Verdict {
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
    pub(crate) met: BTreeSet<String>,
}

pub(crate) const CORNERS: &str = "Elected Lost Followed Vacant Observe Attempt TakeOver Renew \
    Resign Register Unregister by-Attempt by-TakeOver by-Observe expired replaced resigned \
    resign_requested unhealthy withdrawn late-win overtaken finished";

impl Check for &mut Corners {
    fn see(&mut self, moment: &Moment<'_>) -> Verdict {
        let name = |shown: String| shown.split([' ', '(']).next().unwrap_or_default().to_owned();
        let late = moment.heard.as_ref().filter(|heard| !heard.current);
        let late_win = late.is_some_and(|late| matches!(late.result, Ok(Answer::Won { .. })));
        let by = moment.elected().and(moment.learnt());
        self.met.extend(moment.step.change.as_ref().map(|change| name(format!("{change:?}"))));
        self.met.extend(moment.asks().map(|(_, asked)| name(format!("{asked:?}"))));
        self.met.extend(by.map(|(asked, _)| format!("by-{}", name(format!("{:?}", asked.query)))));
        self.met.extend(moment.lost().map(|(_, reason, _)| reason.as_str().into()));
        self.met.extend(late_win.then(|| "late-win".into()));
        self.met.extend(moment.superseded.map(|_| "overtaken".into()));
        self.met.extend(moment.lease.is_finished().then(|| "finished".into()));
        Ok(())
    }
}
