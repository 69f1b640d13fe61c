//! The values that go into a statement and come out, independent of any database client.

use alloc::{borrow::Cow, vec::Vec};

/// A parameter or a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// A 64-bit integer.
    Integer(i64),
    /// UTF-8 text. MySQL's tables keep names as bytes, so that no collation can merge two of
    /// them; bind and read them as the bytes of this text.
    Text(Cow<'a, str>),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

/// The result of running one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The columns of the first row, if the statement returned one. No statement of an
    /// [`Exchange`](super::Exchange) returns more than one row.
    pub row: Option<Vec<Value<'static>>>,
    /// How many rows the statement changed; needed only where it returns none.
    pub affected: u64,
    /// MySQL's `LAST_INSERT_ID()` as the server's OK packet carries it; zero elsewhere.
    pub last_insert_id: u64,
}
