//! Why a configuration is refused, and what it is warned about.

use crate::{
    Drift, Epoch, NodeId,
    quorum::members::Members,
    time::{FASTEST_SLEW, at_least, at_most, rounded},
};
use core::{fmt, time::Duration};

use thiserror::Error;

pub(crate) const MAX_ID: usize = 32;
pub(crate) const MAX_DOWN_AFTER: Duration = Duration::from_secs(60 * 60);

/// A list of members or a timing that cannot work, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// An id of more than [`Config::MAX_ID`](super::Config::MAX_ID) bytes.
    #[error("member id {0} is too long: use at most {most} bytes", most = MAX_ID)]
    IdTooLong(NodeId),
    /// An id with a space, a control character or anything outside ASCII.
    #[error("member id {0:?} is invalid: use printable ASCII without spaces")]
    IdNotPrintable(NodeId),
    /// An id that occurs twice in the list.
    #[error("member id {0} is listed twice: give every member its own")]
    DuplicateId(NodeId),
    /// This node, the preferred primary, or a witness is not in the list.
    #[error("{0} is not on the member list: add it, on every node")]
    NotAMember(NodeId),
    /// More members than [`Members::MOST`].
    #[error("{0} members are too many: use at most {most}, preferably 3 or 5", most = Members::MOST)]
    TooManyMembers(usize),
    /// Every member is a witness.
    #[error(
        "every member is a witness, and a witness never leads: name the members that have data"
    )]
    NoDataNode,
    /// The preferred primary is a witness.
    #[error("preferred primary {0} is a witness, which never leads: name a member that has data")]
    WitnessPreferred(NodeId),
    /// Leadership is to go back to the preferred primary, and there is none.
    #[error(
        "fail_back has no member to go back to: name the preferred primary, or remove fail_back"
    )]
    NobodyPreferred,
    /// A preferred primary would get its leadership back before it is known to stay.
    #[error(
        "fail_back {after:?} is too short to see that the preferred primary stays: use at least {}, \
         preferably some minutes", at_least(.least)
    )]
    FailBackTooSoon {
        /// The span that was set.
        after: Duration,
        /// The least span: twice `down_after`.
        least: Duration,
    },
    /// The least epoch is above [`Config::MAX_MIN_EPOCH`](super::Config::MAX_MIN_EPOCH).
    #[error(
        "min_epoch {0} is too high: use at most {max}, so that later epochs still fit into JSON",
        max = Epoch::MAX_MIN
    )]
    MinEpochTooHigh(Epoch),
    /// Less than the spans that follow from `down_after` need, of which none is below one
    /// millisecond.
    #[error(
        "down_after {} is too short: use at least {}, preferably some seconds",
        rounded(.down_after), at_least(.least)
    )]
    DownAfterTooShort {
        /// The span that was set.
        down_after: Duration,
        /// The least with what else was set.
        least: Duration,
    },
    /// A span that must be at least one millisecond.
    #[error("{0} is too short: use at least 1ms")]
    Zero(&'static str),
    /// More than [`Config::MAX_DOWN_AFTER`](super::Config::MAX_DOWN_AFTER).
    #[error(
        "down_after {0:?} is too long: use at most {most:?}", most = MAX_DOWN_AFTER
    )]
    DownAfterTooLong(Duration),
    /// The grace that was set leaves no time to lead.
    #[error(
        "grace {grace:?} is too long for down_after {down_after:?}: use at most {most:?}, or raise \
         down_after"
    )]
    GraceTooLong {
        /// The grace that was set.
        grace: Duration,
        /// What the limit follows from.
        down_after: Duration,
        /// The longest, to the millisecond.
        most: Duration,
    },
    /// The bounds of the back-off are the wrong way round.
    #[error("election_backoff cannot be at least {least:?} and at most {most:?}: swap them")]
    BackoffReversed {
        /// The lower bound that was set.
        least: Duration,
        /// The upper bound that was set.
        most: Duration,
    },
    /// A candidate could win when its trust has already ended.
    #[error(
        "election_timeout {timeout:?} is longer than the {} that down_after leaves after drift, \
         margin and grace: lower it, the margin or the grace, or raise down_after", at_most(.room)
    )]
    TimeoutTooLong {
        /// The timeout that was set.
        timeout: Duration,
        /// The limit that the timeout must stay below.
        room: Duration,
    },
    /// A primary would lose its trust between two heartbeats.
    #[error(
        "hb_interval {interval:?} is too long: two must fit into the {} that down_after leaves after \
         drift, margin and grace; lower it, the margin or the grace, or raise down_after",
        at_most(.room)
    )]
    IntervalTooLong {
        /// The interval that was set.
        interval: Duration,
        /// The limit that two intervals must stay below.
        room: Duration,
    },
}

/// Something that works, but perhaps not as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// One member: it leads whenever it runs.
    Alone,
    /// Two members: if either is down, both stop.
    TwoMembers,
    /// An even number tolerates no more failures than the odd one below it.
    EvenMembers(usize),
    /// One member has all data: nobody takes over from it.
    OneDataNode,
    /// Two members have data, and at least one is a witness.
    TwoDataNodes,
    /// This start forgets what the ballot says the node must not elect without.
    AcceptsLoss,
    /// Every member talks to every other.
    ManyMembers(usize),
    /// Anybody who reaches the listener can vote.
    NoKey,
    /// A few lost heartbeats make a peer count as down.
    FewBeats {
        /// When a peer counts as down.
        down_after: Duration,
        /// The time between two heartbeats.
        hb_interval: Duration,
    },
    /// A pause of a few hundred milliseconds causes an election.
    ShortDownAfter(Duration),
    /// A crashed primary is replaced only after this long.
    LongDownAfter(Duration),
    /// Leader work has no time to stop by itself when trust runs out.
    NoGrace,
    /// Clocks that chrony slews drift faster than this.
    SmallDrift(Drift),
    /// Equal candidates campaign at once and split the vote.
    NoStagger,
    /// Candidates that collided collide again.
    FixedBackoff,
    /// The confirmation of a new list holds for one start.
    NewPeers,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => f.write_str("N=1: no fault tolerance, since nobody can take over"),
            Self::TwoMembers => f.write_str(
                "N=2: no fault tolerance, since both members are needed to elect; use three",
            ),
            Self::EvenMembers(count) => {
                write!(f, "N={count} tolerates no more failures than N={}", count - 1)
            }
            Self::OneDataNode => f.write_str(
                "one member has data: nobody can take over from it, however the witnesses vote",
            ),
            Self::TwoDataNodes => f.write_str(
                "two members have data: while one is down, what the other acknowledges is safe \
                 only once a witness has recorded it",
            ),
            Self::AcceptsLoss => f.write_str(
                "accept_loss: this start discards the ballot's record of newer data; leave it out \
                 next time",
            ),
            Self::ManyMembers(count) => write!(f, "N={count}: every node talks to every other"),
            Self::NoKey => f.write_str(
                "peers are not authenticated, and this address is not on loopback: anybody who \
                 reaches the port can vote",
            ),
            Self::FewBeats { down_after, hb_interval } => write!(
                f,
                "down_after {down_after:?} with heartbeats every {hb_interval:?}: a few lost \
                 heartbeats cause an election"
            ),
            Self::ShortDownAfter(span) => write!(
                f,
                "down_after {span:?}: a pause of a few hundred milliseconds causes an election"
            ),
            Self::LongDownAfter(span) => {
                write!(f, "down_after {span:?}: a crashed primary is replaced only after that long")
            }
            Self::NoGrace => {
                f.write_str("grace 0: leader work is stopped by force, without warning")
            }
            Self::SmallDrift(drift) => write!(
                f,
                "drift {} ppm: chrony may slew a member's clock by {FASTEST_SLEW} ppm, and two \
                 members could lead at once; bound its `maxslewrate` on every member's host",
                drift.ppm()
            ),
            Self::NoStagger => f.write_str("stagger 0: equal candidates split the vote"),
            Self::FixedBackoff => {
                f.write_str("fixed back-off: candidates that have collided collide again")
            }
            Self::NewPeers => {
                f.write_str("new_peers: the new member list is confirmed; leave it out next time")
            }
        }
    }
}
