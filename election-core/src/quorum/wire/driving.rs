//! What a driver of a quorum has to do: for authors of drivers, in one place.
//!
//! A node ([`Quorum`]) knows neither sockets nor disks nor clocks. A driver brings them. What it
//! forgets costs liveness, and in the few places named here safety. [`Decoder`] and [`Outbox`] are the
//! hard parts of it without the sockets. What drivers of a lease and of a quorum have in common,
//! [`embedding`](crate::embedding) says: the loop, the timer, the work.
//!
//! # The connections
//!
//! Every node dials every other and writes there only; it reads from the connections that it
//! accepts, and never writes there. So there are two connections between two nodes.
//!
//! * **To a peer** there is one at most, and one [`Outbox`], which stays when the connection goes.
//!   Set `TCP_NODELAY`. When the connection fails, or [`cut_at`](Outbox::cut_at) has come, tell the
//!   outbox, and dial again after a short wait that differs from node to node (tens of milliseconds,
//!   growing to no more than a heartbeat interval: an election waits for it). Give every attempt to
//!   connect a limit.
//!   A process that stood still writes before it looks at `cut_at`: the peer may have waited for it.
//!   Dial anew, too, when the peer has not spoken for `down_after` as one that hears this node, on
//!   any connection of its own: it has been silent, or has sent only greetings. Its address may lead
//!   to somebody else, and what is between the two may take bytes that never arrive; the kernel knows
//!   of neither. If a name means several addresses, the next one has its turn then. Judge that only
//!   once everything that has come in was read. Look names up on a thread of their own, one at a time
//!   for each peer: a resolver can hang for longer than an election takes.
//! * **From peers** come connections, each with a [`Decoder`]. A connection gets its
//!   [`Connection`] number when it is accepted: one counter for all peers, never reset while the
//!   process lives. Whose it is, [`Decoder::peer`] says from its first frame on.
//! * **A newer connection does not close an older one.** Anybody can connect in a peer's name, and
//!   would cut the peer off. The node counts the newest by its own rules; older ones end by
//!   themselves, or by falling silent.
//! * **Silence.** Close a connection on which no whole frame has come for `down_after`: peers send
//!   one every heartbeat interval. This also ends connections that have not said whose they are, and
//!   frames of which one half never comes ([`Decoder::pending`]). Bound the number of connections: a
//!   few for each peer, and a few that have not said whose they are; when there are too many, close
//!   the one that has been silent for longest. In a peer's name, close another than the one that the
//!   node listens on ([`Quorum::listens_on`]): strangers may all have spoken since.
//! * **[`Event::Disconnected`]** is due once for every connection that has said whose it is, when
//!   nothing more can come from it: it was closed, failed, sent a [`WireError`](super::WireError), or
//!   the driver closed it. Hand in the frames that came before first. Tell the outbox, too
//!   ([`Outbox::ended`]). For connections that never said whose they are, nothing is due.
//! * **Members.** Look after every step whether the node goes by other [`Members`](crate::quorum::Members)
//!   ([`Config::members`](crate::quorum::Config::members)). Give them to the outboxes
//!   ([`Outbox::encode_by`]) and to the decoders ([`Decoder::decode_by`]), dial whoever is new, and leave
//!   whoever is gone. A node without a ballot that joins a cluster may find itself at another place
//!   ([`Members::me`](crate::quorum::Members::me)): end all its connections then, and begin anew.
//! * **Backpressure.** A peer that takes nothing must not keep the driver from serving the others.
//!   Never wait for a write; the outbox keeps what matters.
//!
//! # The inputs
//!
//! * One thread or task steps the node. It takes a deadline that is due ([`Step::wake_at`]) before
//!   waiting inputs.
//! * **Frames.** First [`Outbox::heard`], with the dialect, for every frame and
//!   [greeting](super::Incoming::Greeting); for a greeting also [`Outbox::greeted`]; then the frame to
//!   the node. ([`Decoder::incoming`] tells greetings; the other ways to read skip them.)
//! * **Saves** go to a thread of their own, because `fsync` can take seconds, and the node goes on
//!   meanwhile. [`record`](crate::quorum::record) says how a ballot becomes durable. Report
//!   [`Event::Saved`] only after that, with the epoch that was saved: a vote that is not durable can
//!   be given twice. There is one at a time.
//! * **Positions.** Report [`Event::Position`] whenever the data have grown, at least every heartbeat
//!   interval while they grow: elections and handovers wait for it. Report what is durable, never
//!   more. Whoever reports more than there is can win, and lose what the others have acknowledged.
//! * **The wall clock.** Report [`Event::WallClock`] at the start, once a minute, and when the clock
//!   was set. It only says when a pause of automatic failover ends.
//! * **[`Input::Stopped`]** is due after every [`Change::Lost`], once the work of that epoch has
//!   ended, also if it was killed at `stop_by`. Without it the others wait until trust has run out.
//!   Never report it earlier: it lets the others in.
//! * **Two [`Change::Followed`] for one leader** are usual: the first names it, the second also says
//!   its address. The address comes with an announcement, the rest with any heartbeat.
//!
//! # The end
//!
//! After [`Input::Withdraw`] go on until [`Protocol::is_finished`]. The last heartbeat, which lets
//! the others elect at once, is in the outboxes then. Write until each that
//! [`is_open`](Outbox::is_open) also [`is_empty`](Outbox::is_empty) or has come to its
//! [`cut_at`](Outbox::cut_at). Then shut the connections down for writing and close them. (The peer
//! writes nothing there, so no unread byte makes the close a reset that overtakes the farewell.)
//! A peer without a connection need not be waited for: it finds out as after a crash.
//!
//! # The clock
//!
//! All calls, of the node and of the outboxes, get readings of the same clock:
//! [`embedding`](crate::embedding#1-the-clock) says which. Timers of a runtime that stand still during
//! sleep wake the node too late; that is harmless as long as it is asked [for its
//! tenure](Protocol::tenure) before every act that needs leadership.
//!
//! # A quorum in memory
//!
//! Three nodes with outboxes, decoders, and nothing but bytes between them. One is elected; then it is
//! gone, and another takes over:
//!
//! ```
//! use election_core::{
//!     Change, Epoch, Incarnation, Input, Label, NodeId, Protocol, Timestamp,
//!     quorum::{
//!         Action, Audience, Config, Connection, Event, Peer, Position, Quorum, Restored,
//!         wire::{Decoder, Encoder, Outbox},
//!     },
//! };
//!
//! /// A node, and what is between it and each member. (Its own places stay unused.)
//! struct Node {
//!     quorum: Quorum,
//!     to: Vec<Outbox>,
//!     from: [Decoder; 3],
//!     leads: Option<Epoch>,
//! }
//! impl Node {
//!     fn new(place: usize) -> Result<Self, Box<dyn std::error::Error>> {
//!         let ids = ["a", "b", "c"].map(|id| NodeId::new(id).expect("a short id"));
//!         let (me, address) = (ids[place].clone(), Label::new("127.0.0.1:6000")?);
//!         let config = Config::builder(me, ids.to_vec(), address).loopback(true).build()?;
//!         let members = config.members().clone();
//!         let outbox = Outbox::new(Encoder::new(members.clone())?, config.down_after());
//!         // A driver takes a random life.
//!         let life = Incarnation::from_random_bytes([place as u8; 16]);
//!         let position = Some(Position::default());
//!         let quorum = Quorum::new(config, life, &Restored::Nothing, position, 7);
//!         let from = [(); 3].map(|()| Decoder::new(members.clone()));
//!         Ok(Self { quorum, to: vec![outbox; 3], from, leads: None })
//!     }
//!
//!     /// One input, and what follows from it.
//!     fn step(&mut self, now: Timestamp, input: Input<Event>) {
//!         let step = self.quorum.step(now, input);
//!         match step.change {
//!             Some(Change::Elected(tenure)) => self.leads = Some(tenure.term.epoch),
//!             Some(Change::Lost { .. }) => self.leads = None,
//!             _ => {}
//!         }
//!         match step.action {
//!             Some(Action::Send { to, message }) => {
//!                 for (peer, outbox) in (0..).map(Peer::new).zip(&mut self.to) {
//!                     if [Audience::All, Audience::One(peer)].contains(&to) {
//!                         outbox.push(&message, now);
//!                     }
//!                 }
//!             }
//!             Some(Action::Save(ballot)) => {
//!                 // A driver makes it durable first.
//!                 self.step(now, Input::Event(Event::Saved(ballot.promised)));
//!             }
//!             None => {}
//!         }
//!     }
//!
//!     /// Bytes from a member, on the only connection that there ever is.
//!     fn hear(&mut self, now: Timestamp, place: usize, mut bytes: &[u8]) {
//!         let connection = Connection(1);
//!         loop {
//!             let message = self.from[place].read(&mut bytes).expect("a member's frame");
//!             let Some(from) = self.from[place].peer() else { return };
//!             self.to[place].heard(connection, self.from[place].dialect(), now);
//!             let Some(message) = message else { return };
//!             self.step(now, Input::Event(Event::Received { from, connection, message }));
//!         }
//!     }
//! }
//!
//! /// Millisecond by millisecond, each says to each what there is to say.
//! fn run(nodes: &mut [Option<Node>; 3], millis: std::ops::Range<u64>) {
//!     for now in millis.map(|at| Timestamp::from_nanos(at * 1_000_000)) {
//!         for from in 0..3 {
//!             let Some(node) = &mut nodes[from] else { continue };
//!             node.step(now, Input::Tick);
//!             for to in 0..3 {
//!                 let Some(node) = &mut nodes[from] else { continue };
//!                 let bytes = node.to[to].bytes().to_vec();
//!                 node.to[to].written(bytes.len(), now);
//!                 // To a node that is gone, they are lost.
//!                 if let Some(node) = &mut nodes[to] {
//!                     node.hear(now, from, &bytes);
//!                 }
//!             }
//!         }
//!     }
//! }
//!
//! fn leads(nodes: &[Option<Node>; 3]) -> [Option<u64>; 3] {
//!     [0, 1, 2].map(|place| Some(nodes[place].as_ref()?.leads?.get()))
//! }
//!
//! let mut nodes = [Some(Node::new(0)?), Some(Node::new(1)?), Some(Node::new(2)?)];
//! for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
//!     nodes[from].as_mut().expect("a node").to[to].opened(Timestamp::ZERO);
//! }
//! run(&mut nodes, 0..1_000);
//! assert_eq!(leads(&nodes), [Some(1), None, None]);
//!
//! nodes[0] = None;
//! run(&mut nodes, 1_000..5_000);
//! assert_eq!(leads(&nodes), [None, None, None], "the others still support it");
//! run(&mut nodes, 5_000..7_000);
//! assert_eq!(leads(&nodes), [None, Some(2), None]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(doc)]
use super::{Decoder, Outbox};
#[cfg(doc)]
use crate::{
    Change, Input, Protocol, Step,
    quorum::{Config, Connection, Event, Quorum},
};
