//! Leadership decided by a majority of a set of nodes, which changes by one node at a time.
//!
//! # The idea
//!
//! An operator lists N nodes, and every node sends heartbeats to all others. When the primary falls
//! silent, the node with the newest data asks for votes, and `N/2 + 1` votes make it primary. Two
//! majorities share a member, and a member votes once per *epoch*, so that one election has at most
//! one winner. kevy-elect's protocol promises as much. Here there is also at most one *acting*
//! primary at a time. A voter that supports a primary votes for nobody else for `down_after` from
//! the primary's last frame, and echoes the stamp of that frame. The primary counts its trust from
//! when it *sent* the frames that a majority has echoed, and stops before any of those voters can
//! turn away.
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
//! * **Saving.** The ballot (promised epoch, vote) binds from the step that asks to save it. A vote
//!   or an offer is made only in the step that takes [`Event::Saved`], and is judged again there.
//!   Only one save is outstanding; offers that arrive meanwhile are refused. A ballot whose save
//!   failed still binds and is saved again, because it may be on the disk.
//! * **Support.** A node supports the candidate it voted for and the primary, while their epoch is
//!   the promised one. It echoes only the last frame that extended its support: an echo of a
//!   refused frame would let a primary trust in support that it does not have. Support ends by
//!   itself, or by a later heartbeat of the same life of that node *as replica* (a candidate may
//!   have won meanwhile). It passes to nobody before it has ended, not even to the winner of a later
//!   election: that one is followed at once, and supported when the time has come. A new life of the node neither ends the support nor extends it, and gets
//!   no vote before it has run out: the connection of the old life may have ended while its process
//!   has not.
//! * **Votes.** A voter refuses an offer with a heartbeat, which tells the candidate the voter's
//!   epoch. It refuses an offer for a past epoch, and a second candidate of an epoch. It refuses
//!   while it supports another node, while it is primary, and during the boot grace. It refuses
//!   data older than its own (history first, then offset), unless the candidate is the current
//!   primary. A candidate votes for a better candidate of the same epoch, but discards its own
//!   tally first. A node that has won an epoch gives its vote in it to nobody else, even after it
//!   has resigned.
//! * **Campaign.** A node campaigns only if it and fresh peers form a majority, and each of those
//!   peers says that it could vote now ([`Availability`]), hears this node and has no newer data.
//!   So a node that is isolated, or that nobody hears, spends no epochs. The node waits one
//!   `stagger` for each fresh peer that would be better, and no longer. It does not wait for a peer
//!   that stands aside, as one that has resigned says it does, or whose connection has ended. Among
//!   equals in data the preferred primary is better, then the lower id. All others wait ten
//!   staggers more for the nominee of a handover, whose disk may be slow. The nominee itself waits
//!   for newer data only, and nobody waits for the primary that has handed over.
//! * **kevy-elect's peers** do not say whom they support, keep to nobody, and learn an epoch only from
//!   an offer they accept or from a primary. So a node asks them only if it hears no primary, and
//!   only those that would accept by their own rule: the offset first, then the lower id. It supports
//!   their primary longer than its own kind, until that has stopped by itself. They ask only once;
//!   an offer that came too early is judged again when support ends. The newest life of a peer
//!   decides which protocol it speaks, and no other connection in its name does while that life is
//!   heard. While too few peers have been heard to echo, what kevy-elect's peers say counts; if one
//!   of them names a higher epoch, the tenure is over. If the node then misses a member, it waits,
//!   each time twice as long, because that member may lead. A primary whose trust has run out is silent
//!   towards them while it hears too few members to elect: they would wait for it.
//! * **Trust.** Trust counts from the echoed stamp under the primary's own epoch; for a fresh
//!   winner it counts from its *first* offer. Belief ends `grace` before trust. What has ended is
//!   not revived: a step judges deadlines before its event.
//! * **Bumps.** A peer may have promised a higher epoch in an election that nobody won. The primary
//!   takes that peer in by an election of its own, held while it leads. The fencing token remains
//!   the first epoch of the tenure; heartbeats and announcements carry it, for nodes that join
//!   later.
//! * **Leaps.** A frame that names an epoch which no elections can have reached counts for nothing
//!   ([`Alert::EpochJump`]). The bound rises by 2³² in each `down_after` in which somebody goes beyond
//!   it: so epochs last for years even if somebody leads them astray, and a member that was away
//!   meanwhile finds back to the others.
//! * **A lost past.** The ballots keep the epochs: if all of them are lost, epochs begin with 1 again,
//!   unless the configuration names the least ([`min_epoch`](ConfigBuilder::min_epoch)).
//! * **Every end** goes in one order. Belief ends, and the work is told to stop. Heartbeats as
//!   primary keep others out for at most `grace`. Then the node is silent until [`Input::Stopped`]
//!   or the end of trust. Only then a heartbeat as replica lets the others in. A handover also
//!   waits until the nominee has all data, as long as the nominee is heard and trust lasts. A node
//!   that resigned stays out for an `election_timeout`, or until it sees another primary. It
//!   resigns in favour of no node that could not be elected ([`Alert::HandOverRefused`]). If
//!   another node wins meanwhile, which no clock within its bounds permits, the drain goes on in
//!   silence.
//! * **Starting.** A node does not remember whom it supported. It neither votes nor campaigns for
//!   longer than any support lasts (the boot grace), unless it hears all members before their first
//!   election. A primary that has its vote by the ballot is supported at once, and this ends the
//!   grace: when the node voted, it supported nobody else. So a node that supports a primary without
//!   having voted records that as its vote. A primary of kevy-elect ends no grace: it may have declared
//!   itself one. A node that does not know yet how far its data have
//!   come neither votes nor campaigns, except that it votes for the current primary, and says so. A wiped disk looks like
//!   a first start: there is no ballot. Such a node also waits until it has heard a member of every
//!   majority, then promises the highest epoch heard, and supports nobody before that. Until it has
//!   caught up, also across restarts, it helps to elect no data older than the newest it heard of.
//!   It believes only peers that hear this node and can read their own ballots. And it believes
//!   only what they sent when, by their own clocks, every election was over in which its forgotten
//!   life can have voted.
//! * **Witnesses** vote without data, and never stand for election. A witness records how far each
//!   primary that it supports has come, as part of its ballot, and votes for nobody else who has
//!   come less far. It states only what is recorded, so a primary can count on it
//!   ([`Quorum::copies`]). Recording delays neither an echo nor a repeated vote: the promise is the
//!   same in the old record and the new one. While the disk is busy, a new vote waits.
//! * **Pauses.** Automatic failover can be paused in the whole cluster
//!   ([`Event::Pause`]). Nobody then votes for another node than the last primary, unless a primary
//!   has named its successor. [`Maintenance`] is one numbered record, agreed by a majority and
//!   recorded with the ballots. The rules of trust stay as they are: a primary that loses its
//!   majority stops.
//! * **Failing back.** A primary hands over to the preferred one only when that one has stayed, in
//!   one life and on one connection, able to lead and close behind, for as long as was set.
//! * **Identity.** Only configured members count, in one life at a time, on their newest
//!   connection. If a second life is heard before the first is known to be gone, neither counts.
//!   The second may be a restart of a host that lost its power. If both go on speaking, the node
//!   reports them ([`Alert::DuplicateId`]).
//! * **Changes of the list.** The list in force is in the ballots; what a node is given at its start
//!   is the first one. A primary proposes the next list, with one member more or less. Voters that
//!   follow it record that they accept it in its epoch, together with their vote in that epoch, and say
//!   so from then on. A list is in force once majorities of the old list and of the new one have
//!   accepted it in one epoch, have all data that the primary had when it proposed it, and support the
//!   primary; a new member is among them. Until then the old list rules. A vote carries what the voter
//!   has accepted, and counts only if the candidate knows that list: a new primary goes on with the
//!   newest one. If that leaves it out, it hands over as soon as a member can take over. Elections and
//!   trust count by the newest list in force that the node has recorded. So
//!   only nodes with one list vote for each other, follow each other and vouch for each other. Who has
//!   an older one is told the newer, and a primary or candidate that is told of one stops. A node without
//!   a ballot takes over the lists that it hears of, and hears a member of every majority of each of
//!   them before it votes. Members keep their places ([`Peer`]) as long as the list in force or one of
//!   its neighbours has them.
//! * **Lists of members.** A node that hears another with another list of the same generation does not
//!   vote: both lists may have a majority. What a node is given counts only without a ballot, or if it is of the
//!   same [generation](ConfigBuilder::generation) as the list in its ballot. A node whose ballot does not know a list of its
//!   generation neither votes nor campaigns in this life, unless an operator has confirmed the list
//!   ([`new_peers`](ConfigBuilder::new_peers)), and says so ([`Availability::Ineligible`]). For the
//!   others it might as well be silent: they do not wait for it, and no node without a ballot learns
//!   from it what was promised. So one wrong file keeps nobody from electing.
//!
//! # Why it is safe
//!
//! With a fixed list: each node casts one durable vote per epoch, and a candidate discards its tally before it votes
//! for another. So one epoch has one winner. Let p act in epoch e, and let p′ be elected in a later
//! epoch e′. Their majorities share a voter v. v echoes nothing of e once it has promised e′, and
//! it voted in e′ only after its support of p had ended. The support ended by time (then p, which
//! counts from sending and allows for drift, stopped trusting v earlier), or by p's own word (then
//! p had stopped its work), or it was forgotten in a restart (and the boot
//! grace outlasts it, unless v supports whom it voted for, which it did when it supported nobody else).
//! A primary votes for nobody, and
//! no node campaigns while it supports another.
//!
//! The list can move, by one member at a time: every majority of a list shares a member with every
//! majority of the next one. Proposing and accepting a list is a consensus on one value for each
//! generation, with the election as its first phase. So lists form one chain. By the time when a list is in
//! force, a majority of it supports the primary that established it, and support never passes to another
//! node before it has ended: nobody else acts meanwhile, whoever was elected by the list before. And who
//! has accepted a list in an epoch has no vote left in that epoch, so that a winner by either list stays the
//! only one.
//!
//! # Limits
//!
//! * A majority of the list in force is needed to change it: two members of which one has died can neither
//!   become one nor three.
//! * A proposal that a new primary found among its voters stays until it is in force: nobody can know
//!   whether it already was.
//! * A node that has lost its disk may need a member that the last change has removed, and must be given
//!   the newest list: with one whose members are all gone, it is a cluster of its own. A list of one member is lost
//!   with its disk.
//! * If the hub of a star has older data than its leaves, the star stays without a leader, and the
//!   hub reports it ([`Alert::CatchUp`]).
//! * A node without a ballot that hears fewer than `N − q + 1` peers cannot help to elect, and with
//!   its help nobody is elected whose data is older than the newest it heard of. Peers that cannot
//!   read their ballots do not count, nor do peers whose id two processes use
//!   ([`Alert::DuplicateId`]): mend them first.
//! * If two disks are lost at once, the two nodes believe each other and may vote twice in one
//!   epoch.
//! * A witness protects what it has recorded, and nothing else. If the nodes that have such data are
//!   gone, nobody is elected until an operator accepts the loss ([`Alert::DataOutOfReach`],
//!   [`accept_loss`](ConfigBuilder::accept_loss)).
//! * kevy-elect's peers know nothing of pauses. They vote as ever, and make a majority only without
//!   the members that keep to the pause.
//! * A primary whose bump takes longer than `down_after − grace` to save loses its leadership.
//! * A first start waits out the boot grace if one peer speaks only kevy-elect's protocol. So does
//!   a node without a ballot that meets such a peer.
//! * Peers that speak only kevy-elect's protocol neither echo nor stamp. With fewer than `q − 1`
//!   other peers, trust is best effort ([`Alert::BestEffort`]). A kevy-elect node between two that do
//!   not hear each other still lets one depose the other, ever less often. A primary of kevy-elect
//!   that sends but hears nobody keeps everybody from electing. Where data has histories, a node with
//!   a history elects none of kevy-elect's nodes. A node that goes back to kevy-elect forgets its
//!   votes: wait for a `down_after` before the restart. Upgrade all nodes.
//! * No timing covers a clock that stops while the machine sleeps, or that is off by more than the
//!   configured drift: fence by the epoch. The default covers the fastest slew of chrony
//!   ([`Config::DEFAULT_DRIFT`]).
//!
//! The words, the frames and the timing are those of `kevy-elect`; [`sources`](crate::sources)
//! lists the differences. Each repair is named where it stands and tested under the schedule that
//! needs it.

mod ballot;
#[cfg(feature = "model-checking")]
mod canonical;
mod config;
mod copies;
mod hindrance;
mod legacy;
mod machine;
mod maintenance;
mod members;
mod membership;
mod message;
mod places;
mod position;
pub mod record;
mod refusal;
mod rules;
mod state;
mod status;
mod step;
pub mod wire;

pub use ballot::Ballot;
#[cfg(feature = "model-checking")]
pub use canonical::Surroundings;
pub use config::{Config, ConfigBuilder, ConfigError, Warning};
pub use copies::Copies;
pub use hindrance::{Hindrance, Refusal};
pub use machine::Quorum;
pub use maintenance::{Held, Maintenance, Remainder, UnixMillis};
pub use members::Members;
pub use membership::{MemberChange, Membership, Outline};
pub use message::{
    Action, Attestation, Audience, Availability, Connection, Event, Extension, Heartbeat, Message,
    Role, Stamp,
};
pub use places::{Fingerprint, MemberList, Peer, PeerSet};
pub use position::Position;
pub use refusal::ChangeRefusal;
pub use state::voter::Restored;
pub use status::{Heard, MaintenanceStatus, PeerStatus, Status};

#[cfg(doc)]
use crate::{Alert, Input};
