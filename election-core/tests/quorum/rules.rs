//! One test per rule of the protocol, and one per flaw of kevy-elect's protocol. Each fails when
//! its rule is removed.

mod alerts;
mod boot;
mod campaign;
mod candidacy;
mod ceiling;
mod drain;
mod frames;
mod going_on;
mod identity;
mod leftovers;
mod legacy;
mod lists;
mod lives;
mod maintenance;
mod membership;
mod news;
mod position;
mod preferred;
mod raise;
mod status;
mod support;
mod trust;
mod votes;
mod witness;

use super::hand::*;
use election_core::{
    Alert, Change, Epoch, Input, Label, Loss, Protocol, Term, Timestamp,
    quorum::{
        Attestation, Audience, Availability, Ballot, Config, Event, Held, Hindrance, Message, Peer,
        PeerSet, Position, Restored, Role, Stamp,
    },
};
