//! One test per rule of the protocol, and one per flaw of kevy-elect's protocol. Each fails when
//! its rule is removed.

mod alerts;
mod boot;
mod campaign;
mod drain;
mod identity;
mod legacy;
mod position;
mod support;
mod trust;
mod votes;

use super::hand::*;
use election_core::{
    Alert, Change, Epoch, Input, Label, Loss, Protocol, Term, Timestamp,
    quorum::{
        Attestation, Audience, Availability, Event, Fingerprint, Message, Peer, PeerSet, Position,
        Restored, Role, Stamp,
    },
};
