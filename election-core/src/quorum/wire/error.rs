//! Why a connection was closed.

use super::{
    keywords::Verb,
    limits::{MAX_ADDRESS, MAX_FIELDS, MAX_FRAME, MAX_ID},
};
use core::fmt;
use thiserror::Error;

/// A mistake that no peer makes. The connection is closed, and nothing in the frame counts.
///
/// Every text names the cause and the remedy. A driver counts these errors and logs them at a
/// limited rate: anybody who reaches the port can cause them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// An inline command, or another protocol altogether.
    #[error(
        "a frame begins with {:?} instead of '*'; let only election peers use this port",
        char::from(*.0)
    )]
    NotAnArray(u8),
    /// `*0`.
    #[error("a frame has no fields; let only election peers use this port")]
    NoFields,
    /// More fields than any version may send.
    #[error(
        "a frame announces more than {MAX_FIELDS} fields; let only election peers use this port"
    )]
    TooManyFields,
    /// The frame does not end within the limit, or announces more.
    #[error("a frame is longer than {MAX_FRAME} bytes; let only election peers use this port")]
    TooLong,
    /// A number of fields or bytes that begins with `-`: RESP2's null.
    #[error("a frame contains a null; the peer's encoder is faulty: upgrade the peer")]
    Null,
    /// An array within the array.
    #[error("a frame contains a nested array; the peer's encoder is faulty: upgrade the peer")]
    Nested,
    /// A field that is not a bulk string.
    #[error(
        "a field begins with {:?} instead of '$'; the peer's encoder is faulty: upgrade the peer",
        char::from(*.0)
    )]
    NotABulkString(u8),
    /// A number of fields or bytes that is no plain decimal.
    #[error(
        "a count or length is not a plain decimal number; the peer's encoder is faulty: upgrade \
         the peer"
    )]
    NotALength,
    /// A count, a length or a field that does not end in CR LF.
    #[error(
        "CR LF is missing at the end of a line or field; the peer's encoder is faulty: upgrade the \
         peer"
    )]
    NoLineEnd,
    /// The connection ended within a frame.
    #[error(
        "the connection ended {0} bytes into a frame; if this recurs, check the peer and the \
         network between"
    )]
    HalfFrame(usize),
    /// A verb that no version known here sends.
    #[error("the verb {0} is unknown; upgrade this node, or let only election peers use its port")]
    UnknownVerb(Excerpt),
    /// A number of fields that the verb does not have in its dialect.
    #[error(
        "{verb} came with {fields} fields (expected {}, or at least {} in lower case); upgrade the \
         older node",
        verb.plain(), verb.extended()
    )]
    WrongArity {
        /// The verb.
        verb: Verb,
        /// How many fields it came with, itself included.
        fields: usize,
    },
    /// An id that no member can have.
    #[error(transparent)]
    InvalidId(#[from] InvalidId),
    /// An id that is not on this node's list.
    #[error("{0} is not a member; give every node the same member list")]
    NotAMember(Excerpt),
    /// This node's own id.
    #[error("the peer claims this node's own id; give every node its own")]
    OwnId,
    /// A frame in the name of another member than the earlier frames of the connection.
    #[error("a peer sent a frame as {0} on another member's connection; do not relay connections")]
    OtherId(Excerpt),
    /// A number that is not plain.
    #[error(
        "the {field} {said} is not a plain decimal number; the peer's encoder is faulty: upgrade \
         the peer"
    )]
    NotANumber {
        /// Which number.
        field: Field,
        /// What it held.
        said: Excerpt,
    },
    /// A number of more than 64 bits.
    #[error(
        "the {field} {said} does not fit into 64 bits; check what the peer's application reports"
    )]
    NumberTooLarge {
        /// Which number.
        field: Field,
        /// What it held.
        said: Excerpt,
    },
    /// Neither primary nor replica nor candidate.
    #[error("the role {0} is unknown; upgrade this node")]
    UnknownRole(Excerpt),
    /// Not 32 lower-case hexadecimal digits.
    #[error(
        "the {field} {said} is not 32 lower-case hexadecimal digits; the peer's encoder is faulty: \
         upgrade the peer"
    )]
    NotAnIncarnation {
        /// Whose incarnation.
        field: Field,
        /// What it held.
        said: Excerpt,
    },
    /// Neither `0` nor `1`.
    #[error("the {field} is {said}, not 0 or 1; the peer's encoder is faulty: upgrade the peer")]
    NotAFlag {
        /// Which flag.
        field: Field,
        /// What it held.
        said: Excerpt,
    },
    /// No digit from `0` to `7`.
    #[error("the availability is {0}, not 0 to 7; upgrade this node")]
    UnknownAvailability(Excerpt),
    /// An echoed stamp without its incarnation, or the other way round.
    #[error(
        "half an echo: the stamp and the incarnation come together; the peer's encoder is faulty: \
         upgrade the peer"
    )]
    HalfEcho,
    /// A fencing token together with an echo: a leader supports nobody else.
    #[error(
        "a heartbeat both leads and echoes another leader; the peer's encoder is faulty: upgrade \
         the peer"
    )]
    EchoAndToken,
    /// A nominee that is not on the list, from a peer that has the same list.
    #[error("the nominee {0} is not a member; the peer's encoder is faulty: upgrade the peer")]
    UnknownNominee(Excerpt),
    /// Lists of members that no cluster could have recorded.
    #[error(
        "lists of members contradict each other; the peer's encoder is faulty: upgrade the peer"
    )]
    InvalidLists,
    /// An address that is empty, too long, or no text.
    #[error(
        "the address {0} is not 1 to {MAX_ADDRESS} bytes of UTF-8 without NUL; correct the address \
         that the peer is configured to announce"
    )]
    InvalidAddress(Excerpt),
}

impl WireError {
    /// A stable lower-case name for logs, metrics and JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotAnArray(_) => "not_an_array",
            Self::NoFields => "no_fields",
            Self::TooManyFields => "too_many_fields",
            Self::TooLong => "too_long",
            Self::Null => "null",
            Self::Nested => "nested",
            Self::NotABulkString(_) => "not_a_bulk_string",
            Self::NotALength => "not_a_length",
            Self::NoLineEnd => "no_line_end",
            Self::HalfFrame(_) => "half_frame",
            Self::UnknownVerb(_) => "unknown_verb",
            Self::WrongArity { .. } => "wrong_arity",
            Self::InvalidId(_) => "invalid_id",
            Self::NotAMember(_) => "not_a_member",
            Self::OwnId => "own_id",
            Self::OtherId(_) => "other_id",
            Self::NotANumber { .. } => "not_a_number",
            Self::NumberTooLarge { .. } => "number_too_large",
            Self::UnknownRole(_) => "unknown_role",
            Self::NotAnIncarnation { .. } => "not_an_incarnation",
            Self::NotAFlag { .. } => "not_a_flag",
            Self::UnknownAvailability(_) => "unknown_availability",
            Self::HalfEcho => "half_echo",
            Self::EchoAndToken => "echo_and_token",
            Self::UnknownNominee(_) => "unknown_nominee",
            Self::InvalidLists => "invalid_lists",
            Self::InvalidAddress(_) => "invalid_address",
        }
    }
}

/// An id that cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the id {0} is not 1 to {MAX_ID} printable ASCII characters without spaces; rename the node"
)]
pub struct InvalidId(pub Excerpt);

/// A field, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // named after the fields
pub enum Field {
    Epoch,
    Offset,
    Stamp,
    Incarnation,
    EchoedStamp,
    EchoedIncarnation,
    History,
    Fingerprint,
    Hears,
    Token,
    Held,
    Maintenance,
    Paused,
    Since,
    Left,
    Agreed,
    Generation,
    Members,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Epoch => "epoch",
            Self::Offset => "offset",
            Self::Stamp => "stamp",
            Self::Incarnation => "incarnation",
            Self::EchoedStamp => "echoed stamp",
            Self::EchoedIncarnation => "echoed incarnation",
            Self::History => "history",
            Self::Fingerprint => "fingerprint",
            Self::Hears => "set of members heard",
            Self::Token => "fencing token",
            Self::Held => "record that it holds",
            Self::Maintenance => "number of a record",
            Self::Paused => "pause of a record",
            Self::Since => "beginning of a pause",
            Self::Left => "rest of a pause",
            Self::Agreed => "agreement on a record",
            Self::Generation => "generation of a list",
            Self::Members => "set of members",
        })
    }
}

/// The beginning of a field: enough to find the culprit, at most 32 bytes of a stranger's frame.
/// All characters except printable ASCII are escaped for display.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Excerpt {
    bytes: [u8; MAX_ID],
    whole: usize,
}

impl Excerpt {
    #[cold]
    pub(super) fn of(said: &[u8]) -> Self {
        let mut bytes = [0; MAX_ID];
        bytes.iter_mut().zip(said).for_each(|(to, from)| *to = *from);
        Self { bytes, whole: said.len() }
    }

    /// The first 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.whole.min(MAX_ID)]
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())?;
        if self.whole > MAX_ID { write!(f, "… ({} bytes)", self.whole) } else { Ok(()) }
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
