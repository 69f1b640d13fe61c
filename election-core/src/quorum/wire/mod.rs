//! The bytes that members of a quorum exchange.
//!
//! # The frames
//!
//! Seed 003's: RESP2 arrays of bulk strings over TCP, one connection from every member to every
//! other. Text, because an election that will not end is looked at with `tcpdump` first.
//!
//! | fields of seed 003 | then, between peers of this protocol |
//! | --- | --- |
//! | `hb` epoch id role offset | stamp incarnation, echoed stamp and incarnation, availability, history, nominee, fingerprint, hears, token |
//! | `offer` epoch id offset | stamp incarnation, history |
//! | `accept` epoch id | stamp incarnation |
//! | `announce` epoch id address | stamp incarnation, token |
//!
//! Numbers are decimal, incarnations 32 lower-case hexadecimal digits. The
//! [availability](super::Availability) is `0` for busy, `1` for free, `2` for waiting and `3` for
//! ineligible; `hears` is a number whose lowest bit stands for the first member in the order of
//! their ids; the token is zero unless the sender leads. An empty field stands for no nominee, and
//! two empty fields for no echo. The id is always that of whoever sends the frame.
//!
//! # Two dialects
//!
//! The implementation that is out there takes its verbs in any case, writes them in upper case,
//! and drops a connection on a wrong number of fields. So this side writes lower case, and who
//! does so is known to understand the extension: [`Decoder::dialect`] says whether that has been
//! seen. Until then a peer gets exactly the seed's fields, with its offset [withheld or
//! shown](LegacyOffset).
//!
//! What a peer of this protocol sends until then is a **greeting**: lower case without extension,
//! from who has not heard the other end on this connection, and perhaps never will. It looks like a
//! legacy peer's frame, and is none: nothing it says may be counted, least of all a vote or a
//! heartbeat for mutual, since it does not say whom it hears. The decoder takes from it whose
//! connection this is, and passes it over. A driver sends its last heartbeat again, in full, when
//! it first hears lower case, rather than let the peer wait for the next.
//!
//! A connection carries frames one way, so what is seen on the one *from* a peer governs what is
//! written on the one *to* it. A peer can be replaced by an older version in between, therefore a
//! driver begins with [`Dialect::Legacy`] after either of the two was opened anew, and goes by
//! the next frame that comes in. Should it be wrong all the same, the peer drops the connection,
//! which is such an occasion.
//!
//! # What later versions may do
//!
//! Append fields, up to sixteen in all. A version that knows less ignores what stands behind the
//! fields it knows, in lower-case frames only; it checks that they are bulk strings and no more.
//! What stands in the table keeps its place and meaning. There is no number of a version: what a
//! peer sends shows what it knows, and what must not be ignored needs a new verb, sent only to who
//! has appended a field that asks for it.
//!
//! # Liberal in nothing
//!
//! A frame has [1 KiB](MAX_FRAME) and [16 fields](MAX_FIELDS) at most; a length three digits. An
//! id has 1 to [32](MAX_ID) printable ASCII characters without spaces, an address 1 to
//! [255](MAX_ADDRESS) bytes. A number is checked against its 64 bits and has one spelling. Anything
//! else, and anybody who is not a member, ends the connection with a [`WireError`] as soon as no
//! continuation could mend it, and changes nothing: a frame that is half understood is one that
//! two nodes understand differently.
//!
//! The first frame says which member a connection belongs to, and every later one must say the
//! same. This does not prove who speaks. It keeps one connection from voting twice, and a stranger
//! from being counted at all (hole 8 of the design). An epoch's height is not judged here; the
//! machine does that, which knows what it has promised.

mod cache;
mod decode;
mod decoder;
mod encode;
mod error;
mod id;
mod keywords;
mod limits;
mod number;
mod resp;

pub use decoder::Decoder;
pub use encode::{Encoder, Frame, LegacyOffset};
pub use error::{Excerpt, Field, InvalidId, WireError};
pub use keywords::Verb;
pub use limits::{Dialect, MAX_ADDRESS, MAX_FIELDS, MAX_FRAME, MAX_ID};
