//! One node's disk, as far as its ballot is concerned.
//!
//! A ballot is one record that is replaced as a whole, so a crash in the middle of a save leaves
//! the old one or the new one. What a disk reports durable and what a crash leaves can differ: a
//! lying disk reports success and keeps the record where a crash takes it away.

use election_core::quorum::{Ballot, Restored};

/// How the ballots of a node are saved at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Saves {
    pub(super) slower: u64,
    pub(super) failing: bool,
    pub(super) hanging: bool,
    pub(super) lying: bool,
}

/// What a process can read from the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // one on each disk
pub(crate) enum Stored {
    /// Nothing.
    #[default]
    Nothing,
    /// A ballot.
    Ballot(Ballot),
    /// Something that is not a ballot.
    Torn,
}

impl Stored {
    /// The same, as a process finds it when it starts.
    pub(crate) fn restored(&self) -> Restored {
        match self {
            Self::Nothing => Restored::Nothing,
            Self::Ballot(ballot) => Restored::Ballot(ballot.clone()),
            Self::Torn => Restored::Unusable,
        }
    }
}

/// The disk, and the save that is under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    /// What a crash would leave.
    durable: Stored,
    /// A ballot that was reported saved and that a crash would take away.
    cached: Option<Ballot>,
    /// Every durable state so far, with its start time.
    history: Vec<(u64, Stored)>,
    pending: Option<Ballot>,
    /// The number of saves begun, over all lives.
    saves: u64,
}

impl Disk {
    /// What a crash would leave now.
    pub(crate) fn durable(&self) -> &Stored {
        &self.durable
    }

    /// Begins a save and returns its number. At most one save is under way.
    pub(crate) fn begin(&mut self, ballot: Ballot) -> u64 {
        self.saves += 1;
        self.pending = Some(ballot);
        self.saves
    }

    /// The save with this number, if it is still under way.
    pub(crate) fn pending(&self, nth: u64) -> Option<&Ballot> {
        self.pending.as_ref().filter(|_| self.saves == nth)
    }

    /// The save succeeds.
    pub(crate) fn finish(&mut self, now: u64) {
        if let Some(ballot) = self.pending.take() {
            self.cached = None;
            self.write(now, Stored::Ballot(ballot));
        }
    }

    /// The save is reported successful, but is not durable until a later save really succeeds.
    pub(crate) fn pretend(&mut self) {
        self.cached = self.pending.take();
    }

    /// The save is reported failed; the caller decides whether the ballot is durable all the same.
    pub(crate) fn fail(&mut self, now: u64, all_the_same: bool) {
        if all_the_same {
            return self.finish(now);
        }
        self.pending = None;
    }

    /// The process is killed, or the power fails. A save under way may have succeeded.
    pub(crate) fn crash(&mut self, now: u64, came_through: bool) {
        self.cached = None;
        self.fail(now, came_through);
    }

    /// Empties the disk.
    pub(crate) fn lose(&mut self, now: u64) {
        (self.pending, self.cached) = (None, None);
        self.write(now, Stored::Nothing);
    }

    /// Makes the ballot unreadable.
    pub(crate) fn tear(&mut self, now: u64) {
        if self.durable != Stored::Nothing {
            self.write(now, Stored::Torn);
        }
    }

    /// Returns the disk to its state at the time `then`.
    pub(crate) fn roll_back(&mut self, now: u64, then: u64) {
        let before = self.history.partition_point(|(since, _)| *since <= then);
        let stored = match before {
            0 => Stored::Nothing,
            after => self.history[after - 1].1.clone(),
        };
        self.cached = None;
        self.write(now, stored);
    }

    fn write(&mut self, now: u64, stored: Stored) {
        self.durable = stored;
        self.history.push((now, self.durable.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use election_core::{
        Epoch, Incarnation, NodeId,
        quorum::{Fingerprint, Maintenance, Members, Position},
    };

    fn ballot(promised: u64) -> Ballot {
        let me = NodeId::new("a").unwrap();
        let members = Members::new(vec![me.clone()], &me).unwrap();
        Ballot {
            promised: Epoch::new(promised),
            voted_for: None,
            incarnation: Incarnation::new(uuid::Uuid::from_u128(7)),
            members: Fingerprint::new(1),
            lists: members.first_lists(),
            floor: Position::default(),
            maintenance: Maintenance::default(),
            pause: None,
        }
    }

    fn promised(disk: &Disk) -> Option<u64> {
        match disk.durable() {
            Stored::Ballot(ballot) => Some(ballot.promised.get()),
            _ => None,
        }
    }

    fn saved(epochs: &[u64]) -> Disk {
        let mut disk = Disk::default();
        for (now, epoch) in (10..).step_by(10).zip(epochs) {
            let nth = disk.begin(ballot(*epoch));
            assert!(disk.pending(nth).is_some());
            disk.finish(now);
            assert!(disk.pending(nth).is_none());
        }
        disk
    }

    #[test]
    fn a_crash_in_the_middle_leaves_the_old_record_or_the_new_one() {
        for (came_through, left) in [(false, 3), (true, 4)] {
            let mut disk = saved(&[1, 3]);
            let nth = disk.begin(ballot(4));
            assert_eq!(promised(&disk), Some(3));
            disk.crash(25, came_through);
            assert_eq!(promised(&disk), Some(left));
            assert!(disk.pending(nth).is_none());
        }
    }

    #[test]
    fn what_failed_may_be_there_all_the_same() {
        for (all_the_same, left) in [(false, Some(1)), (true, Some(2))] {
            let mut disk = saved(&[1]);
            disk.begin(ballot(2));
            disk.fail(15, all_the_same);
            assert_eq!(promised(&disk), left);
        }
    }

    #[test]
    fn a_lie_lasts_until_the_crash_or_the_next_honest_save() {
        let mut disk = saved(&[1]);
        disk.begin(ballot(2));
        disk.pretend();
        assert_eq!(promised(&disk), Some(1));
        disk.crash(30, true);
        assert_eq!(promised(&disk), Some(1));
        disk.begin(ballot(3));
        disk.pretend();
        disk.begin(ballot(4));
        disk.finish(40);
        disk.crash(41, false);
        assert_eq!(promised(&disk), Some(4));
    }

    #[test]
    fn disks_are_lost_torn_and_rolled_back() {
        let mut disk = saved(&[1, 2, 3]);
        disk.roll_back(50, 29);
        assert_eq!(promised(&disk), Some(2));
        disk.tear(60);
        assert_eq!(disk.durable().restored(), Restored::Unusable);
        disk.lose(70);
        assert_eq!(disk.durable().restored(), Restored::Nothing);
        disk.tear(80);
        assert_eq!(disk.durable(), &Stored::Nothing, "there is nothing to tear");
        disk.roll_back(90, 5);
        assert_eq!(disk.durable(), &Stored::Nothing);
        disk.roll_back(95, 55);
        assert_eq!(promised(&disk), Some(2));
    }
}
