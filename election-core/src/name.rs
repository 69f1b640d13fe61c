//! Names: what operators call namespaces and nodes. They are data, never syntax.
//!
//! A name is kept byte for byte. Nothing is trimmed, folded or normalised, so that `billing` and
//! `Billing ` are two names on every database.
//!
//! An empty name is refused, also as the name of an election. If it stood for a default, a variable
//! that somebody forgot to set would merge elections that have nothing in common. The default
//! election has an explicit name: [`Namespace::default`].
//!
//! Invisible characters that act on a screen or a log are refused: a line feed forges a line of a
//! log, an escape sequence changes the terminal, an override reverses the rest of the line. A
//! database may hold such a name all the same, from another writer or an older version, and that
//! name must not hide who leads. So recorded names are read without that check
//! ([`NodeId::recorded`]), and every name is escaped for display (`Display`).

use alloc::sync::Arc;
use core::fmt::{self, Write as _};
use thiserror::Error;
use uuid::Uuid;

/// The longest name in bytes. Every supported database can index it.
const MAX_BYTES: usize = 255;

/// A name that cannot be used, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// The name is empty.
    #[error("it is empty; use at least one character")]
    Empty,
    /// The name has more than 255 bytes.
    #[error("the name has {0} bytes; use at most {MAX_BYTES}")]
    TooLong(usize),
    /// The name holds U+0000.
    #[error("the name contains a NUL character (at byte {0}); remove it")]
    Nul(usize),
    /// The name holds a character that acts on the screen or log that shows it.
    #[error(
        "the name contains the control character U+{:04X} (at byte {at}); remove it",
        u32::from(*.character)
    )]
    Control {
        /// The character: a control character (C0, DEL or C1), a line or paragraph separator, or
        /// one that embeds, overrides or isolates the direction of text.
        character: char,
        /// Its place, in bytes.
        at: usize,
    },
}

/// Whether a character is invisible but acts on the screen or log that shows it. The marks that
/// right-to-left text needs (U+061C, U+200E, U+200F) affect only their neighbours and are allowed.
fn acts(character: char) -> bool {
    let directs = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') || directs
}

fn checked(name: &str) -> Result<Arc<str>, InvalidName> {
    let name = storable(name)?;
    match name.char_indices().find(|(_, character)| acts(*character)) {
        Some((at, character)) => Err(InvalidName::Control { character, at }),
        None => Ok(name),
    }
}

/// Checks what a database can store.
fn storable(name: &str) -> Result<Arc<str>, InvalidName> {
    if name.is_empty() {
        return Err(InvalidName::Empty);
    }
    if name.len() > MAX_BYTES {
        return Err(InvalidName::TooLong(name.len()));
    }
    match name.find('\0') {
        Some(at) => Err(InvalidName::Nul(at)),
        None => Ok(name.into()),
    }
}

fn shown(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    name.chars().try_for_each(|character| match acts(character) {
        true => write!(f, "{}", character.escape_default()),
        false => f.write_char(character),
    })
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// A name that this process may use and show to others.
            ///
            /// # Errors
            /// If it is empty, longer than 255 bytes, or holds a NUL or another control character
            /// ([`InvalidName::Control`]).
            pub fn new(text: &str) -> Result<Self, InvalidName> {
                checked(text).map(Self)
            }

            /// A name as a database or peer recorded it. Use it to read what others wrote, not to
            /// name this process. It may hold control characters.
            ///
            /// # Errors
            /// If it is empty, longer than 255 bytes or holds a NUL: no database can hold such a
            /// name.
            pub fn recorded(text: &str) -> Result<Self, InvalidName> {
                storable(text).map(Self)
            }

            /// The text as it was given, for comparing it or passing it on as data.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        /// For people: control characters are escaped, so that each name stays on one line.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                shown(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl core::str::FromStr for $name {
            type Err = InvalidName;
            fn from_str(name: &str) -> Result<Self, InvalidName> {
                Self::new(name)
            }
        }
    };
}

name! {
    /// An isolated election: every namespace has one leader of its own. 1 to 255 bytes of UTF-8
    /// without control characters.
    Namespace
}

name! {
    /// The operator's name for one node or process: 1 to 255 bytes of UTF-8 without control
    /// characters.
    NodeId
}

name! {
    /// What a leader publishes about itself, usually its address: 1 to 255 bytes of UTF-8 without
    /// control characters.
    Label
}

/// `"default"`, for callers that run only one election on a database and say so.
impl Default for Namespace {
    fn default() -> Self {
        Self("default".into())
    }
}

/// One life of a node: a fresh number for every elector that starts.
///
/// So two processes with one configured id can never both lead, and no process can continue the
/// leadership of a process that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(Uuid);

impl Incarnation {
    /// The incarnation with this number. The caller draws the number at random for this life.
    #[must_use]
    pub const fn new(number: Uuid) -> Self {
        Self(number)
    }

    /// The incarnation with this number, as a UUID of version 4, for callers that do not use the
    /// `uuid` crate. The bytes come from the system's source of random numbers (`getrandom`,
    /// `/dev/urandom`, `BCryptGenRandom`) at every start. A hash of a name, a process id or a clock
    /// will not do: two lives must never share a number.
    #[must_use]
    pub const fn from_random_bytes(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One process that stands for election: the configured name and the incarnation. Every claim, renewal and
/// release of a row compares both.
#[doc(alias("candidate_id", "holder", "identity"))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate {
    /// The node: the configured name of the process.
    pub id: NodeId,
    /// The life of the process.
    pub incarnation: Incarnation,
}

/// The candidate whose id and incarnation are one UUID, as in `gemstone_utils`.
impl From<Uuid> for Candidate {
    fn from(id: Uuid) -> Self {
        let mut text = Uuid::encode_buffer();
        let name: &str = id.hyphenated().encode_lower(&mut text);
        Self { id: NodeId(name.into()), incarnation: Incarnation::new(id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn odd_names_are_data() {
        for odd in [
            "o'brien",
            "a\"b",
            "robert'); DROP TABLE x;--",
            "🦀🦀",
            " padded ",
            "%s\\n",
            "שלום\u{200f}",
        ] {
            assert_eq!(NodeId::new(odd).unwrap().as_str(), odd);
            assert_eq!(odd.parse::<Namespace>().unwrap().to_string(), odd);
        }
    }

    #[test]
    fn names_no_database_could_keep_are_refused() {
        assert_eq!(NodeId::new(""), Err(InvalidName::Empty));
        assert_eq!(NodeId::new("a\0b"), Err(InvalidName::Nul(1)));
        assert_eq!(NodeId::new(&"x".repeat(300)), Err(InvalidName::TooLong(300)));
        assert!(NodeId::new(&"x".repeat(255)).is_ok());
        assert_eq!(NodeId::new(&"é".repeat(128)), Err(InvalidName::TooLong(256)));
    }

    #[test]
    fn an_incarnation_of_random_bytes_is_a_random_uuid() {
        let one = Incarnation::from_random_bytes([0xff; 16]);
        assert_eq!(one.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let mut other = [0xff; 16];
        other[15] = 0xfe;
        assert_ne!(Incarnation::from_random_bytes(other), one);
    }

    #[test]
    fn the_default_election_has_to_be_said() {
        assert_eq!(Namespace::new(""), Err(InvalidName::Empty));
        assert_eq!("".parse::<Namespace>(), Err(InvalidName::Empty));
        assert_eq!(Namespace::new("default").unwrap(), Namespace::default());
    }

    #[test]
    fn what_acts_on_the_screen_is_refused_but_can_be_read_and_shown() {
        for (name, character, shown) in [
            ("a\nb leads", '\n', "a\\nb leads"),
            ("a\r", '\r', "a\\r"),
            ("a\tb", '\t', "a\\tb"),
            ("a\u{1b}]0;pwned\u{7}", '\u{1b}', "a\\u{1b}]0;pwned\\u{7}"),
            ("a\u{7f}", '\u{7f}', "a\\u{7f}"),
            ("a\u{9b}2J", '\u{9b}', "a\\u{9b}2J"),
            ("a\u{2028}b", '\u{2028}', "a\\u{2028}b"),
            ("a\u{2029}b", '\u{2029}', "a\\u{2029}b"),
            ("a\u{202e}b", '\u{202e}', "a\\u{202e}b"),
            ("a\u{2069}b", '\u{2069}', "a\\u{2069}b"),
        ] {
            let refused = InvalidName::Control { character, at: 1 };
            assert_eq!(Namespace::new(name), Err(refused));
            assert_eq!(NodeId::new(name), Err(refused));
            assert_eq!(Label::new(name), Err(refused));
            assert!(!refused.to_string().contains(character), "{refused}");
            let read = NodeId::recorded(name).unwrap();
            assert_eq!(read.as_str(), name);
            assert_eq!(read.to_string(), shown);
        }
        let refused = NodeId::new("a\u{1b}").unwrap_err().to_string();
        assert!(refused.contains("U+001B (at byte 1)"), "{refused}");
        assert_eq!(NodeId::recorded("a\0"), Err(InvalidName::Nul(1)));
        assert_eq!(NodeId::recorded(""), Err(InvalidName::Empty));
    }
}
