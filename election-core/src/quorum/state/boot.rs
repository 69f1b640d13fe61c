//! The first moments of a life, in which this node does not know what an earlier life has promised.

use crate::{
    Epoch,
    quorum::{
        members::Members,
        message::Stamp,
        places::{MemberList, Peer},
        position::Position,
        state::{
            peers::{Mask, bit},
            voter::Restored,
        },
    },
};
use alloc::boxed::Box;

/// What the node has to wait for before it votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Boot {
    /// Any support that an earlier life gave has run out.
    over: bool,
    recovery: Recovery,
    /// All other members.
    others: Mask,
    /// How far this node has listened to each member, while it does not know its own promises.
    pub(crate) listening: Box<[Listening]>,
    /// The members that have told their promises since every election was over in which an earlier
    /// life of this node can have voted.
    pub(crate) heard: Mask,
    /// The members that this life has heard, and that hear it, before they took part in any
    /// election.
    pub(crate) untouched: Mask,
    /// How many members of which lists a node without a ballot must hear before it can know its own
    /// promises: it has then heard a member of every majority.
    enough: Box<[(Mask, u32)]>,
    /// The newest position heard of. A node whose disk was wiped may have acknowledged that data.
    pub(crate) newest: Position,
}

/// How far a node without a ballot has recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Recovery {
    /// It has a ballot, or has caught up with a primary.
    Done,
    /// It may have promised any epoch, and learns from the others which.
    LearnsPromises,
    /// It has asked to save the highest epoch that it heard.
    SavesPromises,
    /// It has promised as much as it can ever have promised. It may have acknowledged data that it
    /// lacks.
    LacksData,
}

/// The part of a heartbeat that a node without a ballot learns from.
pub(crate) struct PeerReport<'a> {
    pub(crate) from: Peer,
    pub(crate) epoch: Epoch,
    pub(crate) position: Position,
    pub(crate) stamp: Option<&'a Stamp>,
    /// The sender says that it hears this node, and it knows its own promises and data.
    pub(crate) is_mutual: bool,
}

/// What this life has heard of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Listening {
    /// Nothing.
    Not,
    /// One frame. It may have waited for the connection and be older than this life.
    Begun(Stamp),
    /// More frames; this was the first.
    Since(Stamp),
}

impl Listening {
    /// Takes in a heartbeat newer than those before it, and returns whether it was sent `span` after
    /// another of this life.
    ///
    /// The sender's clock decides: however late a frame comes, it says what held when it was sent.
    fn hears(&mut self, stamp: Stamp, span: u64) -> bool {
        let same_life = |known: &Stamp| known.incarnation == stamp.incarnation;
        match self {
            Self::Since(since) if same_life(since) => return since.at.after(span) <= stamp.at,
            Self::Begun(first) if same_life(first) => *self = Self::Since(stamp),
            _ => *self = Self::Begun(stamp),
        }
        false
    }
}

impl Boot {
    /// `floor` is the data that the node lacks, by its ballot.
    pub(crate) fn new(members: &Members, restored: &Restored, floor: Position) -> Self {
        // A wiped node that has not caught up since still counts as wiped.
        let (recovery, newest) = match restored {
            Restored::Nothing => (Recovery::LearnsPromises, Position::default()),
            Restored::Ballot(_) if floor != Position::default() => (Recovery::LacksData, floor),
            Restored::Ballot(_) | Restored::Unusable => (Recovery::Done, Position::default()),
        };
        let mut boot = Self {
            over: false,
            recovery,
            others: 0,
            listening: Box::default(),
            heard: 0,
            untouched: 0,
            enough: Box::default(),
            newest,
        };
        boot.go_by(members, core::iter::once(&members.list()));
        boot
    }

    /// Other lists of members count: a node that does not know its promises begins to listen anew.
    pub(crate) fn go_by<'a>(
        &mut self,
        members: &Members,
        lists: impl Iterator<Item = &'a MemberList>,
    ) {
        self.others = members.others().map(bit).fold(0, |all, one| all | one);
        let enough = |list: &MemberList| {
            let others = list.voters.without(members.me());
            let enough = list.voters.count() - list.quorum() + 1;
            (others.bits(), u32::try_from(enough.min(others.count())).unwrap_or(u32::MAX))
        };
        self.enough = lists.map(enough).collect();
        (self.heard, self.untouched) = (0, 0);
        let listens = self.recovery == Recovery::LearnsPromises;
        let listeners = if listens { members.places() } else { 0 };
        self.listening = alloc::vec![Listening::Not; listeners].into();
    }

    /// Whether this node has no ballot and does not know what it may have promised.
    pub(crate) fn learns_promises(&self) -> bool {
        self.recovery == Recovery::LearnsPromises
    }

    /// Whether any support that an earlier life gave has run out.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the node has nothing left to wait for.
    pub(crate) fn is_settled(&self) -> bool {
        self.over && self.recovery == Recovery::Done
    }

    /// All other members.
    pub(crate) fn others(&self) -> Mask {
        self.others
    }

    /// A peer has data of this position.
    pub(crate) fn hear(&mut self, position: Position) {
        if !self.is_settled() {
            self.newest = self.newest.max(position);
        }
    }

    /// A peer states the position of its data and its promised epoch, and perhaps that it hears
    /// this node.
    ///
    /// A peer that this node hears, but that does not hear this node, may be a second process
    /// beside the member that this node's frames reach; then it says nothing about that member's
    /// promises. And not every frame of a peer shows what an earlier life of this node may have
    /// promised: the peer may have voted *afterwards* in an election in which that life voted, too.
    /// Such elections are over when `election` nanoseconds have passed. A peer that does not stamp
    /// its frames can only be believed after the boot grace, which is longer.
    pub(crate) fn listen(&mut self, report: &PeerReport<'_>, election: u64) {
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

    /// Ends the boot grace when its time has come.
    pub(crate) fn end(&mut self) {
        self.over = true;
    }

    /// Ends the boot grace early if nobody can have promised anything: since this node started
    /// without a ballot, it has heard every member before any election, and each hears this node.
    /// Returns whether it ended the grace.
    pub(crate) fn end_early(&mut self) -> bool {
        let first_start =
            self.recovery == Recovery::LearnsPromises && self.untouched == self.others;
        if first_start {
            self.recovery = Recovery::Done;
            self.listening = Box::default();
            self.over = true;
        }
        first_start
    }

    /// Whether to promise the highest epoch heard now, in place of the forgotten promises.
    pub(crate) fn must_promise(&self) -> bool {
        self.over && self.learns_promises() && self.shortage().is_none()
    }

    /// How many more members of a list must be heard, and of which.
    fn shortage(&self) -> Option<(u32, Mask)> {
        let missing = self.enough.iter().map(|(others, enough)| {
            (enough.saturating_sub((self.heard & others).count_ones()), others & !self.heard)
        });
        missing.max_by_key(|(lacks, _)| *lacks).filter(|(lacks, _)| *lacks > 0)
    }

    /// How many more peers this node must hear before it can know its own promises, and of which.
    pub(crate) fn lacks(&self) -> Option<(usize, Mask)> {
        let (lacks, missing) = self.shortage().filter(|_| self.over && self.learns_promises())?;
        Some((usize::try_from(lacks).unwrap_or(usize::MAX), missing))
    }

    pub(crate) fn promising(&mut self) {
        self.recovery = Recovery::SavesPromises;
        self.listening = Box::default();
    }

    /// The promise is durable.
    pub(crate) fn promised(&mut self) {
        if self.recovery == Recovery::SavesPromises {
            self.recovery = Recovery::LacksData;
        }
    }

    /// The node's data is as new as that of the primary it follows, or the node leads. Returns
    /// whether the ballot says otherwise and must be saved anew.
    pub(crate) fn caught_up(&mut self) -> bool {
        let was_missing = self.recovery == Recovery::LacksData;
        if was_missing {
            self.recovery = Recovery::Done;
        }
        was_missing
    }

    /// Whether the node knows enough of its promises to keep them.
    pub(crate) fn permits_support(&self) -> bool {
        matches!(self.recovery, Recovery::Done | Recovery::LacksData)
    }

    /// The node must not help to elect data older than this.
    pub(crate) fn floor(&self) -> Position {
        match self.recovery {
            Recovery::Done => Position::default(),
            _ => self.newest,
        }
    }
}
