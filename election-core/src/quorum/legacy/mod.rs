//! What is different with peers that speak only kevy-elect's protocol.
//!
//! They neither stamp nor echo, and they do not say whom they support. By their own rules they vote
//! for whoever offers a higher epoch and enough data, however well the primary is, and a primary of
//! theirs stops by what *it* has heard. Whatever this node does about that stands here.

mod answers;
mod questions;
