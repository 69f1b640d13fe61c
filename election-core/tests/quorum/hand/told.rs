//! What the node believes, and what it has said.

use super::*;

impl Hand {
    pub(crate) fn tenure(&self) -> Option<Tenure> {
        self.quorum.tenure(at(self.now))
    }

    pub(crate) fn leads(&self) -> Option<u64> {
        self.tenure().map(|tenure| tenure.term.epoch.get())
    }

    /// When belief ends and when its work must have ended, in milliseconds.
    #[track_caller]
    pub(crate) fn trusts(&self) -> (u64, u64) {
        let tenure = self.tenure().expect("a tenure");
        // Rounded up: stamps may run some nanoseconds ahead of the clock.
        (millis(tenure.until), millis(tenure.stop_by))
    }

    /// The votes since the last look: the candidate and the epoch.
    pub(crate) fn votes(&mut self) -> Vec<(Peer, u64)> {
        let votes = self.sent.iter().filter_map(|(to, message)| match (to, message) {
            (Audience::One(to), Message::Accept { epoch, .. }) => Some((*to, epoch.get())),
            _ => None,
        });
        let votes = votes.collect();
        self.sent.clear();
        votes
    }

    /// The heartbeats sent since the last look.
    pub(crate) fn heartbeats(&mut self) -> Vec<(Audience, Heartbeat)> {
        let sent = core::mem::take(&mut self.sent).into_iter();
        sent.filter_map(|(to, message)| match message {
            Message::Heartbeat(heartbeat) => Some((to, heartbeat)),
            _ => None,
        })
        .collect()
    }

    /// The epochs of the offers made since the last look, repetitions aside.
    pub(crate) fn offers(&mut self) -> Vec<u64> {
        let sent = core::mem::take(&mut self.sent).into_iter();
        sent.filter_map(|(_, message)| match message {
            Message::Offer { epoch, .. } => Some(epoch.get()),
            _ => None,
        })
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect()
    }

    /// When it made the first of the offers since the last look.
    pub(crate) fn first_offer(&self) -> Option<u64> {
        self.sent.iter().find_map(|(_, message)| match message {
            Message::Offer { stamp, .. } => Some(millis(stamp.unwrap().at)),
            _ => None,
        })
    }

    /// Waits for a heartbeat to all members, and returns the last one.
    #[track_caller]
    pub(crate) fn next_heartbeat(&mut self) -> Heartbeat {
        self.sent.clear();
        self.run(200);
        let sent = self.heartbeats();
        let to_all = sent.iter().rfind(|(to, _)| *to == Audience::All);
        to_all.expect("a heartbeat").1
    }

    /// The frame that it echoes, as a number among the frames of its sender.
    #[track_caller]
    pub(crate) fn echoes(&mut self) -> Option<Stamp> {
        self.next_heartbeat().extension.unwrap().attestation.echo().copied()
    }

    pub(crate) fn alerts(&self) -> Vec<&Alert> {
        let alerts = self.changes.iter().filter_map(|change| match change {
            Change::Alert(alert) => Some(alert),
            _ => None,
        });
        alerts.collect()
    }
}
