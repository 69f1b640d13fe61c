//! Why a member could not take over, as far as it has said so itself.

use election_tokio::{
    Member,
    core::quorum::{Availability, Refusal, wire::Dialect},
};

/// What keeps that member from being elected, and the remedy; `None` if it has not said.
pub(super) fn hindrance(member: &Member, to: &str) -> Option<&'static str> {
    let status = member.peers().into_iter().find(|peer| peer.id.as_str() == to)?.status;
    if status.is_witness {
        return Some("is a witness, which never leads; name another member");
    }
    if status.refusal == Some(Refusal::TwoLives) {
        return Some("runs as two processes; stop one of them");
    }
    let heard = status.heard.filter(|heard| heard.is_fresh && heard.hears_me)?;
    if heard.dialect == Dialect::Legacy {
        return Some(
            "speaks only kevy-elect's protocol, which knows no successors; remove --to, or name \
             another member",
        );
    }
    match heard.availability {
        Availability::BusyAside | Availability::FreeAside => Some(
            "has just resigned or lost leadership, is unfit to lead, or still has work from an \
             earlier leadership: ask it with `election status`, or try again later",
        ),
        Availability::Waiting => Some(
            "does not vote yet, because it has just started, has lost its disk, or has a different \
             member list: ask it with `election status`, or try again later",
        ),
        Availability::Leaving => Some("is about to leave; name another member"),
        Availability::Ineligible => Some(
            "may not vote, because its ballot cannot be read or is for a different member list, \
             down_after or cluster name; see its log for the remedy",
        ),
        Availability::Loading => {
            Some("does not know yet how far its data has advanced; try again later")
        }
        Availability::Busy | Availability::Free => None,
    }
}
