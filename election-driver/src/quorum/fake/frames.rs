//! Three members, and what they say.

use super::at;
use election_core::{
    Epoch, Incarnation, NodeId,
    quorum::{
        Heartbeat, Members, Message, Position, Role, Stamp,
        wire::{Dialect, Encoder, Frame, Outbox},
    },
};
use std::time::Duration;
use uuid::Uuid;

pub(in crate::quorum) const DOWN_AFTER: Duration = Duration::from_secs(5);

pub(in crate::quorum) fn id(of: &str) -> NodeId {
    NodeId::new(of).unwrap()
}

/// The members a, b and c, as this one knows them.
pub(in crate::quorum) fn members(me: &str) -> Members {
    Members::new(["a", "b", "c"].map(id).to_vec(), &id(me)).unwrap()
}

pub(in crate::quorum) fn life(number: u128) -> Incarnation {
    Incarnation::new(Uuid::from_u128(number))
}

/// A message that any node takes and that changes nothing.
pub(in crate::quorum) fn accept(stamp: Stamp) -> Message {
    Message::Accept { epoch: Epoch::new(3), stamp: Some(stamp), accepted: None }
}

/// This message as `of` sends it.
pub(in crate::quorum) fn frame(of: &str, message: &Message) -> Vec<u8> {
    let mut frame = Frame::default();
    let encoder = Encoder::new(members(of)).unwrap();
    encoder.encode(message, Dialect::Extended, &mut frame).to_vec()
}

/// A message of `of`.
pub(in crate::quorum) fn spoken(of: &str) -> Vec<u8> {
    frame(of, &accept(Stamp { incarnation: life(7), at: at(1) }))
}

/// The outbox of `of`, with a connection, on which a heartbeat waits.
pub(in crate::quorum) fn outbox(of: &str) -> Outbox {
    let mut outbox = Outbox::new(Encoder::new(members(of)).unwrap(), DOWN_AFTER);
    outbox.opened(at(0));
    let (epoch, role, position) = (Epoch::new(3), Role::Replica, Position::default());
    let heartbeat = Heartbeat { epoch, role, position, extension: None };
    outbox.push(&Message::Heartbeat(heartbeat), at(0));
    outbox
}

/// What `of` sends before it has heard the node.
pub(in crate::quorum) fn greeting(of: &str) -> Vec<u8> {
    outbox(of).bytes().to_vec()
}
