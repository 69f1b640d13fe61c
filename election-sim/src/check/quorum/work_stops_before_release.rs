//! While work of an ended leadership may still run, its node lets no other node in: it does not say
//! that it is a replica, does not vote, and does not campaign. Nothing of that holds for a member
//! that runs kevy-elect.

use super::{Checker, Contract, QuorumEnvironment, Verdict, WorldState};
use election_core::quorum::{Action, Message, Role};

#[derive(Debug, Default)]
pub(super) struct WorkStopsBeforeRelease;

impl Checker<QuorumEnvironment> for WorkStopsBeforeRelease {
    const NAME: &'static str = "work-stops-before-release";
    const HOLDS: Contract = Contract::Void;

    fn asked(&mut self, world: &WorldState<'_>, node: usize, action: &Action) -> Verdict {
        let there = &world.nodes[node];
        let (Some(work), Action::Send { message, .. }) = (there.work, action) else {
            return Ok(());
        };
        if there.state.is_legacy() {
            return Ok(());
        }
        let works = there.works(world.now);
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
