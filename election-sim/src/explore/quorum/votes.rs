//! The votes and leaders of every epoch: books of the whole world, over all lives.
//!
//! They take two bits for each epoch and voter, and five for each epoch's leader. Two small numbers
//! hold them, since they are part of every state.

use super::state::State;
use crate::explore::model::Broken;

/// The messages of a node that the books are about, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The node gives its vote, or asks for votes.
    Votes { epoch: u8, whom: u8 },
    /// The node says to others or to itself that it leads; `elected` if it says that it was
    /// elected.
    Leads { epoch: u8, life: u8, elected: bool },
    /// The node says which record of maintenance it holds: its place in [`State::held`], and whether
    /// it keeps to it.
    Holds { place: u8, agreed: bool },
}

/// Enters what the node says.
pub(super) fn hear(state: &mut State, node: u8, majority: u32, said: Said) -> Result<(), Broken> {
    match said {
        Said::Votes { epoch, whom } => votes(state, node, epoch, whom),
        Said::Leads { epoch, life, elected } => {
            if elected {
                tally(state, node, epoch, majority)?;
            }
            leads(state, node, epoch, life)
        }
        Said::Holds { place, agreed } => {
            state.held |= 1 << (u32::from(place) * 3 + u32::from(node));
            let holders = (state.held >> (u32::from(place) * 3) & 7).count_ones();
            if agreed && holders < majority {
                return Err(Broken::new(
                    "no-failover-while-paused",
                    format_args!("node {node} keeps to a record that no majority has held"),
                ));
            }
            Ok(())
        }
    }
}

/// Closes the books of all epochs below this one, in which nothing happens any more.
pub(super) fn close(state: &mut State, least: u8) {
    let closed = u32::from(least).saturating_sub(1);
    state.votes &= u32::MAX.checked_shl(closed * 6).unwrap_or(0);
    state.led &= u32::MAX.checked_shl(closed * 5).unwrap_or(0);
}

fn place(epoch: u8, voter: u8) -> u32 {
    (u32::from(epoch).saturating_sub(1) * 3 + u32::from(voter)) * 2
}

fn vote_of(state: &State, epoch: u8, voter: u8) -> Option<u8> {
    let whom = state.votes >> place(epoch, voter) & 3;
    u8::try_from(whom).ok()?.checked_sub(1)
}

fn votes(state: &mut State, node: u8, epoch: u8, whom: u8) -> Result<(), Broken> {
    let before = vote_of(state, epoch, node);
    let place = place(epoch, node);
    state.votes = state.votes & !(3 << place) | u32::from(whom + 1) << place;
    match before {
        // A candidate may yield once.
        Some(first) if first != whom && first != node => Err(Broken::new(
            "one-vote-per-epoch",
            format_args!(
                "node {node} votes for member {whom} in epoch {epoch}, after voting for member {first}"
            ),
        )),
        _ => Ok(()),
    }
}

/// A candidate that has yielded has discarded its tally.
fn tally(state: &State, node: u8, epoch: u8, majority: u32) -> Result<(), Broken> {
    let yielded = vote_of(state, epoch, node).is_some_and(|whom| whom != node);
    let for_it = |voter: &u8| *voter != node && vote_of(state, epoch, *voter) == Some(node);
    let others = if yielded { 0 } else { (0..3).filter(for_it).count() };
    let votes = u32::try_from(others).unwrap_or(0) + 1;
    if votes >= majority {
        return Ok(());
    }
    Err(Broken::new(
        "majority-elects",
        format_args!("node {node} leads epoch {epoch} with {votes} votes"),
    ))
}

fn leads(state: &mut State, node: u8, epoch: u8, life: u8) -> Result<(), Broken> {
    let place = u32::from(epoch).saturating_sub(1) * 5;
    let who = u32::from(node + 1) | u32::from(life) << 2;
    let before = state.led >> place & 31;
    if before == 0 {
        state.led |= who << place;
    }
    if before == 0 || before == who {
        return Ok(());
    }
    let first = (before & 3) - 1;
    Err(Broken::new(
        "one-primary-per-epoch",
        format_args!("nodes {first} and {node} both lead epoch {epoch}"),
    ))
}
