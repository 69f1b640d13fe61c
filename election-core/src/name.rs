//! Names: what operators call namespaces and nodes. They are data, never syntax.
//!
//! A name is kept as it came, byte for byte: nothing is trimmed, folded or normalised, so that
//! `billing` and `Billing ` are two names on every database.

use alloc::sync::Arc;
use core::fmt;
use thiserror::Error;
use uuid::Uuid;

/// The longest name, in bytes: what every supported database can index.
const MAX_BYTES: usize = 255;

/// A name that cannot be used, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// A node needs a name. (An empty namespace means the default one.)
    #[error("the name is empty; give at least one character")]
    Empty,
    /// More than 255 bytes.
    #[error("the name has {0} bytes; the databases can index {MAX_BYTES}")]
    TooLong(usize),
    /// It holds U+0000.
    #[error("the name holds a NUL character (at byte {0}), which PostgreSQL cannot store")]
    Nul(usize),
}

fn checked(name: &str) -> Result<Arc<str>, InvalidName> {
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

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as it was given.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
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
    /// without NUL; the empty string means [`Namespace::default`].
    Namespace
}

name! {
    /// The operator's name for one node or process: 1 to 255 bytes of UTF-8 without NUL.
    NodeId
}

name! {
    /// What a leader publishes about itself, usually the address at which it can be reached: 1 to
    /// 255 bytes of UTF-8 without NUL.
    Label
}

impl Namespace {
    /// The namespace of this name; the empty string means `"default"`.
    ///
    /// # Errors
    /// If the name is longer than 255 bytes or holds a NUL.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        checked(if name.is_empty() { "default" } else { name }).map(Self)
    }
}

/// `"default"`.
impl Default for Namespace {
    fn default() -> Self {
        Self("default".into())
    }
}

impl NodeId {
    /// The node of this name.
    ///
    /// # Errors
    /// If the name is empty, longer than 255 bytes or holds a NUL.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        checked(name).map(Self)
    }
}

impl Label {
    /// The label with this text.
    ///
    /// # Errors
    /// If the text is empty, longer than 255 bytes or holds a NUL.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        checked(text).map(Self)
    }
}

/// One life of a node: a fresh number for every elector that starts.
///
/// Two processes that were configured with one id can therefore never both lead, and nobody can
/// continue the leadership of a process that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(Uuid);

impl Incarnation {
    /// The incarnation of this number, which the caller has drawn at random for this life.
    #[must_use]
    pub const fn new(number: Uuid) -> Self {
        Self(number)
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

/// One process that may lead: the operator's name for it, and which of its lives this is. Both
/// are compared wherever a row is claimed, renewed or released.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate {
    /// The configured name.
    pub id: NodeId,
    /// The life.
    pub incarnation: Incarnation,
}

/// The candidate whose name and incarnation are one number: what seed 000 calls its id.
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
        for odd in ["o'brien", "a\"b", "robert'); DROP TABLE x;--", "🦀🦀", " padded ", "%s\n"]
        {
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
    }

    #[test]
    fn an_empty_namespace_is_the_default_one() {
        assert_eq!(Namespace::new("").unwrap(), Namespace::default());
        assert_eq!(Namespace::default().as_str(), "default");
    }
}
