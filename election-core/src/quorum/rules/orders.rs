//! What the application orders and reports: resign, hand over, withdraw; its health, its position, and
//! that its work has stopped.

use crate::{
    Change, Epoch, Loss,
    quorum::{
        machine::Quorum,
        places::Peer,
        position::Position,
        state::{leadership::Leadership, timers::Timer},
    },
};

impl Quorum {
    pub(crate) fn moved(&mut self, position: Position) {
        // A primary that steps down in this node's favour waits for this.
        if position != self.data.position() && self.succession.names(self.me) {
            self.timers.set(Timer::Heartbeat, self.now);
        }
        self.data.report(position);
    }

    pub(crate) fn health(&mut self, healthy: bool) -> Option<Change> {
        self.healthy = healthy;
        if healthy {
            return None;
        }
        self.end_candidacy();
        self.end_belief(Loss::Unhealthy, None, None)
    }

    pub(crate) fn resign(&mut self) -> Option<Change> {
        self.end_candidacy();
        match &mut self.leadership {
            Leadership::Leading(_) => return self.end_belief(Loss::Resigned, None, None),
            Leadership::Draining(drain) => drain.resigned = true,
            Leadership::None => {
                let timeout = self.config.timing.election_timeout;
                self.timers.set(Timer::StayOut, self.now.after(timeout));
            }
        }
        None
    }

    /// Resigns in favour of a member that could take over. If it could not, resigning would leave
    /// everybody without a leader for nothing.
    pub(crate) fn hand_over(&mut self, to: Peer) -> Option<Change> {
        if self.leadership.lead().is_none() || to == self.me {
            return None;
        }
        let view = self.peers.get(to);
        if view.is_some_and(|view| view.could_take_over(self.now)) {
            return self.end_belief(Loss::Resigned, Some(to), None);
        }
        let heard = view.is_some_and(|view| view.is_heard(self.now) && view.hears_me);
        self.alerts.hand_over_refused(to, heard);
        None
    }

    /// Whether the nominee has all the data, or will never have it.
    pub(crate) fn is_ready(&self, nominee: Peer) -> bool {
        self.peers.get(nominee).is_none_or(|view| {
            let waits = view.is_heard(self.now) && view.availability.stands();
            !waits || view.position >= self.data.position()
        })
    }

    pub(crate) fn withdraw(&mut self) -> Option<Change> {
        self.withdrawn = true;
        if self.candidacy.is_some() {
            self.outbox.bid_farewell();
        }
        self.end_candidacy();
        self.end_belief(Loss::Withdrawn, None, None)
    }

    pub(crate) fn stopped(&mut self, epoch: Epoch) {
        self.unstopped.take_if(|unstopped| *unstopped == epoch);
        if let Some(drain) = self.leadership.drain_mut().filter(|drain| drain.token == epoch) {
            drain.stopped = true;
        }
    }
}
