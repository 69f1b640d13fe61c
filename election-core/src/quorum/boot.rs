//! The first moments of a life, in which this node does not know what an earlier one has promised.

use super::{
    members::{Members, Peer},
    message::Stamp,
    peers::{Mask, bit},
    position::Position,
    voter::Restored,
};
use crate::Epoch;
use alloc::boxed::Box;

/// What the node still has to wait for before it votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Boot {
    /// Any support that an earlier life gave has run out.
    over: bool,
    recovery: Recovery,
    /// All other members.
    others: Mask,
    /// How far each member has been listened to, while this node does not know what it promised.
    pub(super) listening: Box<[Listening]>,
    /// Those that were heard saying what they have promised since every election was over in which
    /// an earlier life of this node can have voted.
    pub(super) heard: Mask,
    /// Those that were heard in this life, and heard it, before they had taken part in any
    /// election.
    pub(super) untouched: Mask,
    /// How many must have been heard before a node without a ballot can know what it promised:
    /// with them, every majority has been heard.
    enough: u32,
    /// The newest data heard of. A node whose disk was wiped may have acknowledged it.
    pub(super) newest: Position,
}

/// How far a node without a ballot has made up for the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Recovery {
    /// It has a ballot, or has caught up with a primary.
    Done,
    /// It may have promised any epoch, and learns which from the others.
    LearnsPromises,
    /// It has asked to save the highest epoch that was heard.
    SavesPromises,
    /// It has promised as much as it can ever have. It may have acknowledged data that it lacks.
    LacksData,
}

/// A heartbeat, as far as it tells what a node without a ballot has to learn.
pub(super) struct PeerReport<'a> {
    pub(super) from: Peer,
    pub(super) epoch: Epoch,
    pub(super) position: Position,
    pub(super) stamp: Option<&'a Stamp>,
    /// It says that its sender hears this node, and its sender knows what it has promised.
    pub(super) is_mutual: bool,
}

/// What was heard of one member in this life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Listening {
    /// Nothing.
    Not,
    /// One frame. It may have waited for the connection, and be older than this life.
    Begun(Stamp),
    /// More, of which this was the first.
    Since(Stamp),
}

impl Listening {
    /// Takes note of a frame, and says whether it was sent `span` after another of this life.
    ///
    /// By the clock of whoever sent it: however late a frame comes, it says what held when it was
    /// sent.
    fn hears(&mut self, stamp: Stamp, span: u64) -> bool {
        let same_life = |known: &Stamp| known.incarnation == stamp.incarnation;
        match self {
            Self::Since(since) if same_life(since) => return since.at.after(span) <= stamp.at,
            Self::Begun(first) if same_life(first) && first.at < stamp.at => {
                *self = Self::Since(stamp);
            }
            Self::Begun(first) if same_life(first) => {}
            _ => *self = Self::Begun(stamp),
        }
        false
    }
}

impl Boot {
    pub(super) fn new(members: &Members, restored: &Restored) -> Self {
        // A node that was wiped and has not caught up since is still one that was wiped.
        let (recovery, newest) = match restored {
            Restored::Nothing => (Recovery::LearnsPromises, Position::default()),
            Restored::Ballot(ballot) if ballot.floor != Position::default() => {
                (Recovery::LacksData, ballot.floor)
            }
            Restored::Ballot(_) | Restored::Unusable => (Recovery::Done, Position::default()),
        };
        let listeners = if recovery == Recovery::LearnsPromises { members.count() } else { 0 };
        let enough = members.count() - members.quorum() + 1;
        Self {
            over: false,
            recovery,
            others: members.others().map(bit).fold(0, |all, one| all | one),
            listening: alloc::vec![Listening::Not; listeners].into(),
            heard: 0,
            untouched: 0,
            enough: u32::try_from(enough).unwrap_or(u32::MAX),
            newest,
        }
    }

    /// Whether any support that an earlier life gave has run out.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether nothing is left to wait for.
    pub(super) fn is_settled(&self) -> bool {
        self.over && self.recovery == Recovery::Done
    }

    /// All other members.
    pub(super) fn others(&self) -> Mask {
        self.others
    }

    /// A peer has data of this age.
    pub(super) fn hear(&mut self, position: Position) {
        if !self.is_settled() {
            self.newest = self.newest.max(position);
        }
    }

    /// A peer says how old its data is, what it has promised, and perhaps that it hears this node.
    ///
    /// One that is heard but does not hear may be a second process beside the member that this
    /// node's frames reach, and then says nothing of what that one has promised. And not every word
    /// of a peer tells what an earlier life of this node may have promised: the peer may have voted
    /// *afterwards* in an election in which that life voted, too. Those are over when `election`
    /// nanoseconds have passed. A peer that does not stamp its frames can only be believed once
    /// the grace of starting, which is longer, is over.
    pub(super) fn listen(&mut self, report: &PeerReport<'_>, election: u64) {
        self.newest = self.newest.max(report.position);
        let Some(listening) = self.listening.get_mut(report.from.index()) else { return };
        let is_dated = match report.stamp {
            Some(stamp) => listening.hears(*stamp, election),
            None => self.over,
        };
        if report.is_mutual && is_dated {
            self.heard |= bit(report.from);
        }
        let goes_on = matches!(listening, Listening::Since(_));
        if report.is_mutual && goes_on && report.epoch == Epoch::NONE {
            self.untouched |= bit(report.from);
        }
    }

    /// Ends the grace: its time has come.
    pub(super) fn end(&mut self) {
        self.over = true;
    }

    /// Ends the grace early if nobody can have promised anything: every member was heard before any
    /// election since this node, which has no ballot, started, and each hears it. Whether it did.
    pub(super) fn end_early(&mut self, promised: Epoch) -> bool {
        let first_start = self.recovery == Recovery::LearnsPromises
            && promised == Epoch::NONE
            && self.untouched == self.others;
        if first_start {
            self.recovery = Recovery::Done;
            self.listening = Box::default();
            self.over = true;
        }
        first_start
    }

    /// Whether the highest epoch heard is to be promised now, in place of what was forgotten.
    pub(super) fn must_promise(&self) -> bool {
        self.over
            && self.recovery == Recovery::LearnsPromises
            && self.heard.count_ones() >= self.enough.min(self.others.count_ones())
    }

    /// How many more peers must be heard before this node can know what it has promised.
    pub(super) fn lacks(&self) -> Option<usize> {
        let needed = self.enough.min(self.others.count_ones());
        let lacks = needed.saturating_sub(self.heard.count_ones());
        let waits = self.over && self.recovery == Recovery::LearnsPromises && lacks > 0;
        waits.then(|| usize::try_from(lacks).unwrap_or(usize::MAX))
    }

    pub(super) fn promising(&mut self) {
        self.recovery = Recovery::SavesPromises;
        self.listening = Box::default();
    }

    /// What binds is durable.
    pub(super) fn promised(&mut self) {
        if self.recovery == Recovery::SavesPromises {
            self.recovery = Recovery::LacksData;
        }
    }

    /// The node's data is as new as that of the primary it follows, or it leads. Whether the
    /// ballot says otherwise, and is to be saved anew.
    pub(super) fn caught_up(&mut self) -> bool {
        let was_missing = self.recovery == Recovery::LacksData;
        if was_missing {
            self.recovery = Recovery::Done;
        }
        was_missing
    }

    /// Whether the node may vote and campaign, as far as its start is concerned.
    pub(super) fn permits_votes(&self) -> bool {
        self.over && self.permits_support()
    }

    /// Whether it knows enough of its promises to keep them.
    pub(super) fn permits_support(&self) -> bool {
        matches!(self.recovery, Recovery::Done | Recovery::LacksData)
    }

    /// Data older than this must not be elected with this node's help.
    pub(super) fn floor(&self) -> Position {
        match self.recovery {
            Recovery::Done => Position::default(),
            _ => self.newest,
        }
    }
}
