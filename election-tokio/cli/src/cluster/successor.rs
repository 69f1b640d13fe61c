//! Why a member could not take over, as far as it has said so itself.

use election_tokio::{
    Member,
    core::quorum::{Availability, Refusal, wire::Dialect},
};

/// What keeps that member from being elected, and the remedy; `None` if it has not said.
pub(super) fn hindrance(member: &Member, to: &str) -> Option<&'static str> {
    let status = member.peers().into_iter().find(|peer| peer.id.as_str() == to)?.status;
    if status.is_witness {
        return Some("is a witness, which never leads; name a member that is none");
    }
    if status.refusal == Some(Refusal::TwoLives) {
        return Some("is two processes; stop one of them");
    }
    let heard = status.heard.filter(|heard| heard.is_fresh && heard.hears_me)?;
    if heard.dialect == Dialect::Legacy {
        return Some(
            "speaks only kevy-elect's protocol, in which nobody can be named; leave --to out, or name \
             another",
        );
    }
    match heard.availability {
        Availability::BusyAside | Availability::FreeAside => Some(
            "has resigned or lost a leadership a moment ago, is not fit to lead, or has work of an \
             earlier leadership that has not stopped: ask it with `election status`, or try again \
             later",
        ),
        Availability::Waiting => Some(
            "does not vote yet, because it has just started, has lost its disk, or has another list \
             of members: ask it with `election status`, or try again later",
        ),
        Availability::Leaving => Some("is about to leave; name another"),
        Availability::Ineligible => Some(
            "may not vote, because its ballot cannot be read or names another list of members, \
                  down_after or name; its log says what to do about that",
        ),
        Availability::Loading => {
            Some("does not know yet how far its data have come; try again later")
        }
        Availability::Busy | Availability::Free => None,
    }
}
