//! What a peer is still due: which frames wait, and which are void.
//!
//! At most one frame of each kind waits. So nothing grows while a peer stalls, however long.

use super::limits::Dialect;
use crate::quorum::message::{Heartbeat, Message, Role};

/// The number of kinds, and so of frames that wait.
pub(super) const KINDS: usize = 6;

/// One frame.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) message: Message,
    /// Its place in the order in which frames were pushed.
    pub(super) nth: u64,
    /// The dialect in which it has left on this connection; `None` until it has left whole.
    sent: Option<Dialect>,
}

impl Entry {
    pub(super) fn is_due(&self) -> bool {
        self.sent.is_none()
    }
}

/// The newest frame of each kind that is not void: the heartbeat as long as there is no newer one,
/// another frame until it has left and counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    entries: [Option<Entry>; KINDS],
    pushed: u64,
}

impl Due {
    /// Takes a frame, and drops those that it makes void.
    pub(super) fn push(&mut self, message: &Message) {
        for entry in &mut self.entries {
            entry.take_if(|entry| voids(message, &entry.message));
        }
        self.pushed += 1;
        let entry = Entry { message: message.clone(), nth: self.pushed, sent: None };
        self.entries[kind(message)] = Some(entry);
    }

    /// The connection has ended, or a new one begins. The other end may be another life of the peer,
    /// so only the heartbeat is due to it: it says nothing that depends on who reads it.
    pub(super) fn begin_anew(&mut self) {
        for entry in &mut self.entries {
            entry.take_if(|entry| !matches!(entry.message, Message::Heartbeat(_)));
            if let Some(heartbeat) = entry {
                heartbeat.sent = None;
            }
        }
    }

    /// This frame has left whole, in this dialect. If it has been replaced meanwhile, there is
    /// nothing to note.
    pub(super) fn left(&mut self, nth: u64, dialect: Dialect) {
        let this = |entry: &&mut Entry| entry.nth == nth;
        if let Some(entry) = self.entries.iter_mut().flatten().find(this) {
            entry.sent = Some(dialect);
        }
    }

    /// The peer understands the extension after all: what has left without it did not count.
    pub(super) fn greetings_again(&mut self) {
        for entry in self.entries.iter_mut().flatten() {
            entry.sent.take_if(|sent| *sent == Dialect::Legacy);
        }
    }

    /// The last heartbeat is due once more.
    pub(super) fn heartbeat_again(&mut self) {
        for entry in self.entries.iter_mut().flatten() {
            if matches!(entry.message, Message::Heartbeat(_)) {
                entry.sent = None;
            }
        }
    }

    /// The first frame in the order of pushing that is due and comes after this place.
    pub(super) fn next_after(&self, nth: u64) -> Option<&Entry> {
        let waits = |entry: &&Entry| entry.is_due() && entry.nth > nth;
        self.entries.iter().flatten().filter(waits).min_by_key(|entry| entry.nth)
    }
}

fn kind(message: &Message) -> usize {
    match message {
        Message::Heartbeat(_) => 0,
        Message::Offer { .. } => 1,
        Message::Accept { .. } => 2,
        Message::Announce { .. } => 3,
        Message::Maintenance { .. } => 4,
        Message::Lists { .. } => 5,
    }
}

/// Whether an older frame must not, or need not, be sent any more once a newer one was pushed.
fn voids(newer: &Message, older: &Message) -> bool {
    let epoch = newer.epoch();
    match older {
        Message::Heartbeat(_) => matches!(newer, Message::Heartbeat(_)),
        // The candidacy is over: it was won, given up, or there is a later one. (A primary that
        // asks again still sends heartbeats of its lower epoch.)
        Message::Offer { epoch: offered, .. } => {
            let is_record = matches!(newer, Message::Maintenance { .. } | Message::Lists { .. });
            let goes_on = is_record || Some(Role::Candidate) == role(newer);
            epoch > *offered || (epoch == *offered && !goes_on)
        }
        // The vote was given again, or the voter is bound to a later epoch.
        Message::Accept { epoch: voted, .. } => {
            epoch > *voted || matches!(newer, Message::Accept { .. })
        }
        // It leads no more, or announces another epoch.
        Message::Announce { .. } => match newer {
            Message::Heartbeat(Heartbeat { role, .. }) => *role != Role::Primary,
            Message::Accept { .. } | Message::Announce { .. } => true,
            Message::Offer { .. } | Message::Maintenance { .. } | Message::Lists { .. } => false,
        },
        // The node sends its newest record until the peer holds it.
        Message::Maintenance { .. } => matches!(newer, Message::Maintenance { .. }),
        Message::Lists { .. } => matches!(newer, Message::Lists { .. }),
    }
}

fn role(message: &Message) -> Option<Role> {
    match message {
        Message::Heartbeat(heartbeat) => Some(heartbeat.role),
        _ => None,
    }
}
