//! Leadership decided by a majority of a fixed set of nodes.
//!
//! # The idea
//!
//! N nodes, given to each other by an operator, heartbeat to all others. When the primary falls
//! silent, the node with the newest data asks for votes; `N/2 + 1` make it primary. Two majorities
//! share a member, and a member votes once per *epoch*: one election has at most one winner. That
//! is what seed 003 promises. Here there is also at most one *acting* primary at a time: a voter
//! that supports a primary votes for nobody else for `down_after` from the primary's last frame,
//! and echoes the stamp of that frame; the primary counts from when it *sent* what a majority has
//! echoed, and stops earlier than any of them can turn away.
//!
//! ```text
//!                sent        received                                  down_after later
//!  a voter        |             |============ supports, votes for nobody else ===|
//!  trust          |---------------------------------------------|<- drift, margin
//!  belief         |-------------------------------|-- grace --|
//!  work may run   |-------------------------------|-- told ---|
//!                                                until       stop_by
//! ```
//!
//! # The states
//!
//! ```text
//!                 free, fit, electable, and
//!                 its rank's time has passed     Saved, then votes of a majority
//!   ┌──────────┐                    ┌───────────┐                    ┌─────────────────────┐
//!   │ replica  │───────────────────▶│ candidate │───────────────────▶│ primary             │
//!   │          │◀───────────────────│           │                    │ trusts what is      │
//!   └──────────┘ timeout, a better  └───────────┘                    │ echoed; bumps       │
//!     ▲      ▲   offer, a primary                                    └─────┬────────┬──────┘
//!     │      │                                 another has won: stop now   │        │ expired,
//!     │      └─────────────────────────────────────────────────────────────┘        │ resigned,
//!     │                                                                             ▼ unhealthy
//!     │  Stopped(epoch) and, for a handover, the nominee    ┌──────────────────────────────┐
//!     └──has all data; or trust and margin are over ────────│ draining: keeps others out   │
//!                                                           │ for a grace, then is silent  │
//!                                                           └──────────────────────────────┘
//! ```
//!
//! # The rules
//!
//! * **Saving.** The ballot (promised epoch, vote) binds from the step that asks for its saving;
//!   a vote or an offer comes into being only in the step that hears [`Event::Saved`], and is
//!   judged again there. One save at a time; offers that come meanwhile are refused. One that
//!   fails goes on binding and is repeated: whether it is on the disk cannot be known.
//! * **Support.** Given to the candidate voted for and to the primary, while its epoch is the
//!   promised one. Only the last frame that extended it is echoed: echoing what was refused would
//!   let a primary trust in support that it does not have. It ends by itself or by a later
//!   heartbeat of its node *as replica* (a candidate may have won meanwhile), in the same life. A
//!   new life of the node neither releases it nor keeps it alive nor gets a vote before it has run
//!   out: that the old one's connection has ended does not mean that its process has.
//! * **Votes.** Refused, by a heartbeat that teaches the epoch: to the past, to a second
//!   candidate of an epoch, while another is supported, by a primary, during the grace of
//!   starting, and to data older than the voter's own (history first, then offset) unless it is
//!   the primary in office that asks. A candidate gives its vote to a better one of the same
//!   epoch, having thrown away its own tally first.
//! * **Campaign.** Only with a majority of fresh peers that say that they could vote now
//!   ([`Availability`]), hear this node and have no newer data: who is isolated, or heard by
//!   nobody, spends no epochs. Each fresh peer that would be better costs one `stagger` of waiting;
//!   it is never waited for longer. A declared primary or the nominee of a handover costs everybody
//!   else one more. The nominee itself waits for newer data only, and nobody waits for the primary
//!   that has handed over.
//! * **Trust.** Counted from the stamp that is echoed under the own epoch, for a fresh winner from
//!   its *first* offer. Belief ends `grace` before trust. What has ended is not revived: deadlines
//!   are judged before the event that comes with them.
//! * **Bumps.** A peer that has promised a higher epoch (in an election that came to nothing) is
//!   taken in by an election of the primary itself, held while it leads. The fencing token
//!   remains the tenure's first epoch; heartbeats and announcements carry it, for those that come
//!   later.
//! * **Every end** goes in one order: belief, then the work is told, heartbeats as primary keep
//!   others out for at most a grace, then silence until [`Input::Stopped`] or the end of trust;
//!   only then a heartbeat as replica lets the others in. Who resigned stays out for an
//!   `election_timeout`, or until it sees another primary.
//! * **Starting.** A node does not remember whom it supports: it neither votes nor campaigns for
//!   longer than any support lasts, unless all members are heard before their first election.
//!   Without a ballot, which is what a wiped disk looks like, it moreover waits until every
//!   majority has been heard, promises the highest epoch heard, and until then supports nobody; it
//!   helps no data older than what it heard of, across restarts, until it has caught up. It
//!   believes only who says that it hears this node, and can read its own ballot; and only what
//!   was said, by the speaker's clock, when every election was over in which this node's
//!   forgotten life can have voted.
//! * **Identity.** Only configured members count, in one life at a time, on their newest
//!   connection. Two lives heard at once count for nothing and are reported. Nodes with different
//!   lists of members do not vote.
//!
//! # Why it is safe
//!
//! One durable vote per epoch, and a tally that is thrown away before its owner votes for another:
//! one winner per epoch. For p acting in epoch e and p′ elected in a later e′, the majorities share
//! a voter v. v echoes nothing of e once it has promised e′, and it voted in e′ only after its
//! support of p had ended: by time (and p, counting from sending and allowing for drift, stopped
//! trusting v earlier), by p's own word (and p had stopped its work), or unremembered (and the
//! grace of starting outlasts it). A primary votes for nobody, and nobody campaigns while it
//! supports another.
//!
//! # Limits
//!
//! * A star whose hub has older data than its leaves stays without a leader, and says so
//!   ([`Alert::CatchUp`]).
//! * A node without a ballot that hears fewer than `N − q + 1` peers cannot help to elect, and
//!   nobody with older data than it heard of is elected with its help. Peers that cannot read
//!   their ballots do not count, nor do those whose id two processes bear
//!   ([`Alert::DuplicateId`]): mend them first.
//! * Where two disks have been lost at once, the two nodes believe each other, and may vote twice
//!   in one epoch.
//! * A bump whose saves take longer than `down_after − grace` loses the primary.
//! * A first start with a peer that speaks only the protocol of seed 003 waits out the grace, and
//!   so does who has no ballot and meets one.
//! * Peers that speak only the protocol of seed 003 neither echo nor stamp. With fewer than `q − 1`
//!   others trust is best effort ([`Alert::BestEffort`]); a bridge between two of them still makes
//!   them depose each other. Upgrade all.
//! * A clock that stops while the machine sleeps, or is off by more than the configured drift,
//!   is beyond what any timing can cover: fence by the epoch.
//!
//! The words, the frames and the timing are those of seed 003 (`kevy-elect`); each repair is named
//! where it stands and tested under the schedule that shows its need.

mod actions;
mod alerts;
mod ballot;
mod boot;
#[cfg(feature = "model-checking")]
mod canonical;
mod config;
mod data;
mod elect;
mod lead;
mod leadership;
mod lint;
mod machine;
mod members;
mod message;
mod outbox;
mod peers;
mod position;
mod publish;
mod readiness;
mod receive;
pub mod record;
mod stamps;
mod succession;
mod support;
mod timers;
mod timing;
mod trust;
mod vote;
mod voter;
pub mod wire;

pub use ballot::Ballot;
#[cfg(feature = "model-checking")]
pub use canonical::Surroundings;
pub use config::{Config, ConfigBuilder};
pub use lint::{ConfigError, Warning};
pub use machine::Quorum;
pub use members::{Fingerprint, Members, Peer, PeerSet};
pub use message::{
    Action, Attestation, Audience, Availability, Connection, Event, Extension, Heartbeat, Message,
    Role, Stamp,
};
pub use position::Position;
pub use voter::Restored;

#[cfg(doc)]
use crate::{Alert, Input};
