//! While work of an ended leadership may still run, its node lets nobody in: it does not say that
//! it is a replica, does not vote, and does not campaign.

use crate::{
    check::{Check, Scene, Verdict},
    fault::Contract,
    quorum::QuorumSide,
};
use election_core::quorum::{Action, Message, Role};

#[derive(Debug)]
pub(super) struct Drained;

impl Check<QuorumSide> for Drained {
    const NAME: &'static str = "drained";
    const HOLDS: Contract = Contract::Void;

    fn new(_: usize) -> Self {
        Self
    }

    fn asked(&mut self, scene: &Scene<'_, QuorumSide>, node: usize, action: &Action) -> Verdict {
        let there = &scene.nodes[node];
        let (Some(work), Action::Send { message, .. }) = (there.work, action) else {
            return Ok(());
        };
        let works = there.works(scene.now);
        let what = match message {
            Message::Heartbeat(heartbeat) if heartbeat.role == Role::Replica && works => {
                "lets others lead"
            }
            Message::Accept { .. } if works => "votes",
            Message::Offer { .. } if work.told => "campaigns",
            _ => return Ok(()),
        };
        Err(format!("node {node} {what} while its work of epoch {} runs", work.epoch))
    }
}
