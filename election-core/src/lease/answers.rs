//! What an answer means, to the question in flight or to a superseded one.

use super::{
    flight::{Flight, Kind, Poll},
    leadership::{Leadership, Others, StayOut},
    machine::Lease,
    message::{Answer, Failure, Row, Ticket},
    polls::WAKE_SPACING,
    timers::Timer,
    view::View,
};
use crate::{Change, Epoch, Loss, Timestamp};
use core::time::Duration;

impl Lease {
    /// Takes the outcome of a question.
    pub(super) fn answered(
        &mut self,
        ticket: Ticket,
        result: Result<Answer, Failure>,
    ) -> Option<Change> {
        let awaited = self.flight.as_ref().is_some_and(|flight| flight.ticket == ticket);
        match if awaited { self.take_flight() } else { None } {
            None => {
                self.superseded(result);
                None
            }
            Some(flight) => match result {
                Ok(answer) => self.current(&flight, answer),
                Err(failure) => {
                    self.failed(&flight, failure);
                    None
                }
            },
        }
    }

    /// An answer to a superseded question never gives leadership. If it says "won", that term must
    /// be released, unless this process found it by other means and already leads, drains or
    /// releases it.
    fn superseded(&mut self, result: Result<Answer, Failure>) {
        let epoch = match result {
            Ok(Answer::Won { epoch, .. }) => epoch,
            Ok(Answer::Seen(row)) => return self.learn(row.epoch),
            _ => return,
        };
        self.learn(epoch);
        let known = self.leadership.epoch() == Some(epoch)
            || self.release.as_ref().is_some_and(|release| release.epoch == epoch);
        if !known {
            self.vacate(epoch);
        }
    }

    fn current(&mut self, flight: &Flight, answer: Answer) -> Option<Change> {
        match (flight.kind, answer) {
            (Kind::Poll(Poll::Attempt | Poll::TakeOver), Answer::Won { epoch, remaining }) => {
                self.polls.read_back = None;
                self.won(flight.asked, epoch, remaining)
            }
            (Kind::Poll(poll), Answer::Seen(row)) => {
                let unresolved = self.polls.read_back.take();
                // A reading does not show that writes work: after a failed attempt, keep backing off.
                if unresolved.is_none() {
                    self.polls.failures = 0;
                }
                self.row_seen(poll, flight.asked, unresolved, row)
            }
            (Kind::Renew, Answer::Renewed { remaining, resign_requested }) => {
                self.renewed(flight, remaining);
                // A renewal in flight is about the term that is led.
                if resign_requested { self.end_belief(Loss::ResignRequested, None) } else { None }
            }
            (Kind::Renew, Answer::Gone) => self.end_belief(Loss::Replaced, None),
            (Kind::Resign, Answer::Released | Answer::Gone) => {
                self.released(flight.epoch);
                None
            }
            (Kind::Resign, Answer::Renewed { .. }) if self.kept_of(flight.epoch).is_some() => {
                self.cut_down(flight.epoch);
                None
            }
            (Kind::Register, answer @ (Answer::Listed | Answer::Unswept)) => {
                self.sweep.listed(answer == Answer::Unswept);
                self.register_next(flight.asked);
                None
            }
            (Kind::Unregister, Answer::Listed) => {
                self.listed = false;
                None
            }
            (Kind::Others, Answer::Others(others)) => {
                if !others {
                    self.stand_again();
                }
                None
            }
            // If a driver mixes answers up, the outcome counts as unknown.
            (_, Answer::Won { epoch, .. }) => {
                self.vacate(epoch);
                self.failed(flight, Failure::Ambiguous);
                None
            }
            _ => {
                self.failed(flight, Failure::Ambiguous);
                None
            }
        }
    }

    fn won(&mut self, asked: Timestamp, epoch: Epoch, remaining: Duration) -> Option<Change> {
        if epoch <= self.seen {
            self.vacate(epoch); // not above every epoch known when it was asked for
            self.plan_poll(asked);
            return None;
        }
        self.learn(epoch);
        let change = self.begin_belief(epoch, asked, remaining, 0);
        if change.is_none() {
            self.plan_poll(asked);
        }
        change
    }

    fn renewed(&mut self, flight: &Flight, remaining: Duration) {
        let renew_at = self.next_turn(flight.asked);
        let trust = (flight.asked + remaining.min(self.config.ttl)) - self.config.margin;
        if let Some(lead) = self.leadership.lead_mut().filter(|lead| lead.epoch == flight.epoch) {
            lead.trust_until = lead.trust_until.max(trust);
            lead.failures = 0;
            let until = lead.trust_until;
            self.timers.set(Timer::Belief, self.belief_until(until));
            self.timers.set(Timer::Renew, renew_at);
        }
    }

    fn register_next(&mut self, asked: Timestamp) {
        let turn = self.next_turn(asked);
        self.timers.set(Timer::Register, turn);
    }

    /// The lease of the resigned term ends when its least length is over, and not later.
    fn cut_down(&mut self, epoch: Epoch) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.epoch == epoch) {
            kept.is_cut = true;
        }
        if self.release.as_ref().is_some_and(|release| release.epoch == epoch) {
            self.take_release();
        }
        self.view = None; // what it said is out of date
    }

    /// The resigned term no longer holds: the time of staying out begins here.
    fn released(&mut self, epoch: Epoch) {
        if self.release.as_ref().is_some_and(|release| release.epoch == epoch) {
            self.take_release();
        }
        self.view = None; // what it said is out of date
        if self.stay_out == StayOut::No {
            self.timers.advance(Timer::Poll, self.now);
        }
        self.confirm_vacancy();
    }

    fn confirm_vacancy(&mut self) {
        if self.stay_out == StayOut::UntilConfirmed {
            // Every follower polls within an interval and its whole jitter; this process waits
            // longer.
            let end = self.next_turn(self.now) + self.config.jitter + self.config.wake_jitter;
            // A look before that leaves the others time to take the row, and then finds the new
            // leader.
            let look = self.now + self.config.wake_jitter + WAKE_SPACING;
            self.stay_out = StayOut::Until { end, others: Others::AskAfter(look) };
            self.timers.advance(Timer::Poll, look);
        }
    }

    /// Nobody else is on the list: stop staying out.
    fn stand_again(&mut self) {
        if matches!(self.stay_out, StayOut::Until { .. }) {
            self.stay_out = StayOut::No;
            self.timers.advance(Timer::Poll, self.now);
        }
    }

    fn row_seen(
        &mut self,
        poll: Poll,
        asked: Timestamp,
        unresolved: Option<Timestamp>,
        row: Row,
    ) -> Option<Change> {
        self.learn(row.epoch);
        let own = row.live_holder().is_some_and(|holder| holder.candidate == self.candidate);
        if self.is_outdated(&row) {
            self.outdated_seen(asked, unresolved, own, row.epoch);
            return None;
        }
        if self.view.as_ref().is_some_and(|view| view.announces_change(&row)) {
            self.polls.expect_another(asked);
        }
        self.view = Some(View::seen(self.view.as_ref(), row.clone(), self.now, &self.config));
        let change = match self.leadership {
            Leadership::Leading(_) => self.seen_while_leading(&row),
            Leadership::Draining { epoch, ref mut release } => {
                release.take_if(|_| row.epoch > epoch);
                // What is seen now is no news once this term has been released.
                self.retire(row.epoch);
                None
            }
            Leadership::None if own => self.found_own(asked, unresolved, &row),
            Leadership::None => {
                let newer = row.epoch > self.retired;
                // Terms up to this one are over for this process, whatever the row says after the
                // database's clock has gone back.
                self.retire(row.epoch);
                self.seen_while_following(asked, newer, &row);
                None
            }
        };
        if self.leadership.lead().is_some() {
            self.plan_no_poll(asked);
        } else {
            self.plan_poll(asked);
            let invites = self.view.as_ref().is_some_and(|view| view.invites(self.now));
            if poll == Poll::Observe && invites && self.may_lead() {
                self.timers.set(Timer::Poll, self.now); // the reading found what an attempt can take
            }
        }
        change
    }

    /// Whether a row is older than what this process knows.
    fn is_outdated(&self, row: &Row) -> bool {
        self.leadership.epoch().is_some_and(|led| row.epoch < led)
            || self.view.as_ref().is_some_and(|view| view.outdates(row, self.now, &self.config))
    }

    /// A row that is older than what this process knows changes nothing, and tells nothing of an attempt
    /// with unknown outcome. But an own term in it may still have to be released, if the database has
    /// forgotten the newer ones.
    fn outdated_seen(
        &mut self,
        asked: Timestamp,
        unresolved: Option<Timestamp>,
        own: bool,
        epoch: Epoch,
    ) {
        self.polls.read_back = unresolved;
        if self.leadership.lead().is_some() {
            return self.plan_no_poll(asked);
        }
        if own {
            self.vacate(epoch); // as soon as no work is to stop any more
        }
        self.plan_poll_after_outdated(asked);
    }

    /// A leader that looks because something was written learns early what its next renewal would
    /// tell it.
    fn seen_while_leading(&mut self, row: &Row) -> Option<Change> {
        let epoch = self.leadership.epoch()?;
        let own = row.holder.as_ref().is_some_and(|holder| holder.candidate == self.candidate);
        // Behind a new history nobody can have succeeded it yet: the row may lack its renewals.
        let lasts = !row.remaining.is_zero() || !row.server.outlasts_in(row.ttl).is_zero();
        if row.epoch == epoch && own && lasts {
            return if row.resign_requested {
                self.end_belief(Loss::ResignRequested, None)
            } else {
                None
            };
        }
        let successor = if own { None } else { row.live_term() };
        self.end_belief(Loss::Replaced, successor)
    }

    /// The row says that this process holds it, but this process does not lead: an attempt with
    /// unknown outcome had won, or a resignation has not come through.
    ///
    /// If the database's clock has gone back since, the row may say too much time is left. So trust
    /// ends at most one lease after the oldest attempt that can have won was asked. A term that no
    /// open attempt accounts for is not led at all.
    fn found_own(
        &mut self,
        asked: Timestamp,
        unresolved: Option<Timestamp>,
        row: &Row,
    ) -> Option<Change> {
        if self.release.as_ref().is_some_and(|release| release.epoch >= row.epoch) {
            return None;
        }
        let Some(attempted) = unresolved else {
            self.vacate(row.epoch);
            return None;
        };
        let ends = (asked + row.clamped_remaining()).min(attempted + self.config.ttl);
        self.begin_belief(row.epoch, asked, ends.since(asked), row.renewals)
    }

    /// `newer`: no earlier look and no term of this process had an epoch like this.
    fn seen_while_following(&mut self, asked: Timestamp, newer: bool, row: &Row) {
        let others = row.holder.as_ref().is_none_or(|holder| holder.candidate != self.candidate);
        // Looks are spaced: of a short term that has come and gone, the epoch alone tells. Only
        // once the vacancy is confirmed, it tells of a time after the resignation.
        let succeeded = newer && others && matches!(self.stay_out, StayOut::Until { .. });
        if row.live_holder().is_some() || succeeded {
            self.stay_out = StayOut::No;
        } else if self.release.is_none() {
            self.confirm_vacancy();
            self.stay_out.found_vacant(asked);
        }
    }

    /// A question has failed, or its outcome is unknown.
    pub(super) fn failed(&mut self, flight: &Flight, failure: Failure) {
        match flight.kind {
            Kind::Renew => self.renew_failed(failure),
            Kind::Resign => self.resign_failed(flight.epoch),
            Kind::Poll(_) => {
                let unknown = failure == Failure::Ambiguous && flight.kind.may_have_won();
                if unknown {
                    self.polls.read_back.get_or_insert(flight.asked);
                }
                // A process that leaves must not wait for ever for a lock.
                let held = failure == Failure::Conflict && !self.withdrawn;
                if self.leadership.lead().is_some() {
                    self.plan_no_poll(flight.asked);
                } else if held {
                    // The holder of the lock is alive: no reason to back off.
                    let wait = self.random.jitter(self.config.lock_jitter());
                    self.timers.set(Timer::Poll, self.now + wait);
                } else {
                    self.plan_poll_after_failure(flight.asked, unknown);
                }
            }
            Kind::Register => {
                self.sweep.failed(failure);
                self.register_next(flight.asked);
            }
            Kind::Unregister => self.listed = false,
            // Until it is known, there may be others on the list.
            Kind::Others if failure == Failure::Fatal => {}
            Kind::Others => {
                self.stay_out.asks_again();
                self.timers.set(Timer::Others, self.now + self.config.attempt_timeout);
            }
        }
    }

    /// A renewal that has failed is repeated at once, so that one hung call does not cost the lease, and
    /// then ever more slowly. Only for a lock there is no reason to wait.
    fn renew_failed(&mut self, failure: Failure) {
        let jitter = self.config.retry_jitter();
        let wait = self.random.jitter(jitter);
        let longest = self.config.attempt_timeout;
        let Some(lead) = self.leadership.lead_mut() else { return };
        let slower = match failure {
            Failure::Conflict => Duration::ZERO,
            _ => jitter.saturating_mul((1 << lead.failures.min(16)) - 1).min(longest),
        };
        lead.failures = lead.failures.saturating_add(1);
        self.timers.set(Timer::Renew, self.now + wait + slower);
    }

    /// The first repetition follows at once, the others ever more slowly.
    fn resign_failed(&mut self, epoch: Epoch) {
        let (jitter, longest) = (self.config.retry_jitter(), self.longest_pause());
        let spread = self.random.jitter(jitter);
        let Some(release) = self.release.as_mut().filter(|release| release.epoch == epoch) else {
            return;
        };
        let again = self.now + release.pause + spread;
        release.pause = (release.pause * 2 + jitter).min(longest);
        if again < release.until {
            self.timers.set(Timer::Resign, again);
        } else {
            self.take_release();
        }
    }
}
