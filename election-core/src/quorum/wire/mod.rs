//! The bytes that members of a quorum exchange.
//!
//! # The frames
//!
//! The frames are kevy-elect's: RESP2 arrays of bulk strings over TCP, with one connection from
//! every member to every other. They are text, because `tcpdump` is the first tool for an election
//! that does not end.
//!
//! | fields of kevy-elect | then, between peers of this protocol |
//! | --- | --- |
//! | `hb` epoch id role offset | stamp incarnation, echoed stamp and incarnation, availability, history, nominee, fingerprint, hears, token, and, if they say anything, holds, generation, epoch and fingerprint of an accepted list |
//! | `offer` epoch id offset | stamp incarnation, history |
//! | `accept` epoch id | stamp incarnation, and epoch and fingerprint of an accepted list |
//! | `announce` epoch id address | stamp incarnation, token |
//! | – | `maintenance` epoch id stamp incarnation, number issuer paused by since left primary agreed |
//! | – | `lists` epoch id stamp incarnation, first fingerprint, ids, generation, and three lists |
//!
//! Numbers are decimal, incarnations 32 lower-case hexadecimal digits. The
//! [availability](super::Availability) is `0` for busy, `1` for free, `2` for waiting, `3` for
//! ineligible, `4` for busy and `5` for free but not standing for election, `6` for leaving and `7`
//! for loading. `hears` is a number whose lowest bit stands for the member at the first place. The token
//! is zero unless the sender leads. An empty field stands for no nominee, and two empty fields for
//! no echo. The id is always the sender's. `holds` is the number of a record of
//! [maintenance](super::Maintenance), which a peer with an older one gets by the verb of that name:
//! three ids, two flags, when the order was given in milliseconds since 1970, and how many
//! milliseconds of the pause are left, zero for none and for a pause without an end. `lists` tells
//! which [lists of members](super::Membership) the sender has recorded, to a peer with older ones: the
//! fingerprint of the cluster's first list; the ids by place, each behind a space; the generation of the
//! list in force; then its members and witnesses as numbers like `hears`, those of the list before, and
//! the epoch, members and witnesses of the accepted one, zeros for none.
//!
//! [`Encoder`] and [`Decoder`] are bytes and nothing else. [`Outbox`] is what a driver keeps for each
//! peer between its node and a socket. What else a driver does, [`driving`] tells.
//!
//! # Two dialects
//!
//! kevy-elect accepts verbs in any case, writes them in upper case, and drops a connection on a
//! wrong number of fields. So this side writes lower case, and a peer that writes lower case
//! understands the extension: [`Decoder::dialect`] says whether that has been seen. Until then a
//! peer gets exactly kevy-elect's fields.
//!
//! kevy-elect's peers compare nothing but offsets. A former primary whose data has forked would win
//! by writes that nobody else has, and every write acknowledged since would be lost. So the node
//! itself states the offset zero to each peer that is not known to compare histories, until its data
//! continues a primary's. A driver sends what it is given, to whom it is given for.
//!
//! A frame that a peer of this protocol sends until then is a **greeting**: lower case without the
//! extension. Its sender has not heard the other end on this connection, and perhaps never will. A
//! greeting looks like a legacy peer's frame, but is not one. It does not say whom the sender
//! hears, so nothing in it may count, least of all a vote, or a heartbeat as a sign that both hear
//! each other. The decoder learns from it whose connection this is, and
//! [tells it apart](Incoming::Greeting); it never goes to the node. When a driver first hears lower
//! case, it sends what still matters again in full, rather than let the peer wait for the next
//! heartbeat.
//!
//! A connection carries frames one way, so the frames *from* a peer decide about the dialect *to*
//! it. An older version can replace a peer in between, and a stranger can speak in its name.
//! [`Addressee`] decides which of several connections counts: the first, until it ends or falls
//! silent. It begins with [`Dialect::Legacy`] whenever either of the two connections is opened anew.
//! If the dialect is wrong all the same, the peer drops the connection, and the driver begins anew.
//!
//! # What later versions may do
//!
//! They may append fields, up to twenty in all. An older version ignores fields behind those that
//! it knows, in lower-case frames only, and only checks that they are bulk strings. The fields of
//! the table keep their places and meanings. Frames carry no version number: what a peer sends
//! shows what it knows. What must not be ignored needs a new verb, sent only to peers that have
//! appended a field which asks for it.
//!
//! # Liberal in nothing
//!
//! A frame has at most [1 KiB](MAX_FRAME) and [20 fields](MAX_FIELDS), and a length has at most
//! three digits. An id has 1 to [32](MAX_ID) printable ASCII characters without spaces, an address
//! 1 to [255](MAX_ADDRESS) bytes. A number fits 64 bits and has one spelling. Anything else, and
//! any sender that is not a member, ends the connection with a [`WireError`] as soon as no
//! continuation could mend it, and changes nothing: two nodes could understand a half-understood
//! frame differently.
//!
//! The first frame says which member a connection belongs to, and every later one must say the
//! same. This does not prove who speaks. But no connection can vote twice, and a stranger does not
//! count at all. The decoder does not judge how high an epoch is: the machine does, because it
//! knows what it has promised.

mod addressee;
mod cache;
mod decode;
mod decoder;
pub mod driving;
mod due;
mod encode;
mod error;
mod id;
mod keywords;
mod limits;
mod number;
mod outbox;
mod resp;
mod unsent;

pub use addressee::Addressee;
pub use decoder::{Decoder, Incoming};
pub use encode::{Encoder, Frame};
pub use error::{Excerpt, Field, InvalidId, WireError};
pub use keywords::Verb;
pub use limits::{Dialect, MAX_ADDRESS, MAX_FIELDS, MAX_FRAME, MAX_ID};
pub use outbox::Outbox;
