//! Values as text: a header with the version, then a line for each field.

use crate::InvalidName;
use alloc::string::String;
use core::str::FromStr;
use thiserror::Error;

/// A value that this library has not written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The value is something else.
    #[error(
        "the value does not begin with {0:?}: something else uses this key; give elections a prefix of \
         their own"
    )]
    Foreign(&'static str),
    /// The value is of a version that this program does not know.
    #[error(
        "the value has version {found}, and this program reads only version {VERSION}; upgrade this \
         program"
    )]
    UnknownVersion {
        /// What stands in place of the version.
        found: String,
    },
    /// The value has other lines than this library writes.
    #[error(
        "the value is malformed; was it edited by hand? Stop all candidates of this election, delete \
         the key, and start them again"
    )]
    Malformed,
    /// A name in the value cannot be one.
    #[error(
        "the value contains an invalid name: {0}; stop all candidates of this election, delete the key, \
         and start them again"
    )]
    Name(#[from] InvalidName),
}

/// The version of all values. A line that older programs may skip (and drop when they write) needs no other.
pub(super) const VERSION: u32 = 1;

/// The lines behind the header.
pub(super) fn lines<'a>(
    text: &'a str,
    header: &'static str,
) -> Result<impl Iterator<Item = &'a str> + Clone, ValueError> {
    let mut lines = text.lines();
    let first = lines.next().and_then(|line| line.strip_prefix(header));
    let version =
        first.and_then(|rest| rest.strip_prefix(' ')).ok_or(ValueError::Foreign(header))?;
    if version.parse() == Ok(VERSION) {
        Ok(lines)
    } else {
        Err(ValueError::UnknownVersion { found: version.into() })
    }
}

/// The lines that this version knows, as they stand.
pub(super) fn kept(text: &str, is_known: impl Fn(&str) -> bool) -> String {
    text.split_inclusive('\n').filter(|line| is_known(line)).collect()
}

/// A number or a UUID.
pub(super) fn parsed<T: FromStr>(field: Option<&str>) -> Result<T, ValueError> {
    field.and_then(|text| text.parse().ok()).ok_or(ValueError::Malformed)
}
