//! The ids that the wire allows. Others would need escapes in every frame. A [`NodeId`] allows
//! more, since the lease side takes what a database can index.

use super::{
    error::{Excerpt, InvalidId},
    limits::MAX_ID,
};
use crate::NodeId;

/// 1 to 32 bytes of printable ASCII without spaces.
pub(super) fn parse(said: &[u8]) -> Result<&str, InvalidId> {
    let fits = (1..=MAX_ID).contains(&said.len()) && said.iter().all(u8::is_ascii_graphic);
    let text = if fits { core::str::from_utf8(said).ok() } else { None };
    text.ok_or_else(|| InvalidId(Excerpt::of(said)))
}

pub(super) fn check(member: &NodeId) -> Result<(), InvalidId> {
    parse(member.as_str().as_bytes()).map(|_| ())
}
