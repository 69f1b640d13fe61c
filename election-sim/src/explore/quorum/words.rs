//! Moves in words.

use super::{
    model::Quorum,
    state::{Move, Place, State, ends},
};
use crate::text::node_name;
use election_core::quorum::Message;

/// A move in words, for a reader who looks at the state before it.
pub(super) fn describe(model: &Quorum, state: &State, what: Move) -> String {
    let node = |node: u8| node_name(usize::from(node));
    match what {
        Move::Pass => format!("{:?} pass", model.scope.unit),
        Move::Delay(place) => format!("is late: {}", frame(model, state, place)),
        Move::Tick(who) => format!("{} is called", node(who)),
        Move::Deliver(place) => format!("arrives: {}", frame(model, state, place)),
        Move::DeliverTwice(place) => {
            format!("arrives, and will once more: {}", frame(model, state, place))
        }
        Move::Lose(place) => format!("is lost: {}", frame(model, state, place)),
        Move::Cut(ways) => {
            let cut = (0..6).filter(|link| ways >> link & 1 == 1).map(ends);
            let cut: Vec<_> =
                cut.map(|(from, to)| format!("{} → {}", node(from), node(to))).collect();
            format!("nothing passes any more: {}", cut.join(", "))
        }
        Move::Heal => "all ways are open again".into(),
        Move::Saved(who) => format!("the ballot of {} is durable", node(who)),
        Move::SaveFailed(who, through) => {
            let left = if through { "and is durable all the same" } else { "and is not" };
            format!("the ballot of {} is said not to be durable, {left}", node(who))
        }
        Move::Crash(who, how) => {
            let mut text = format!("{} crashes", node(who));
            for (is, what) in [
                (how.saved, ", its save came through"),
                (how.abrupt, ", nobody notices"),
                (how.wiped, ", its disk is lost"),
            ] {
                text.push_str(if is { what } else { "" });
            }
            text
        }
        Move::Pause(who) => format!("{} stands still", node(who)),
        Move::Start(who) => format!("{} starts", node(who)),
        Move::PauseFailover(who) => format!("{} is told to pause failover", node(who)),
        Move::ResumeFailover(who) => format!("{} is told to resume failover", node(who)),
        Move::HandOver(who, to) => format!("{} is told to hand over to {}", node(who), node(to)),
        Move::Resign(who) => format!("{} is told to resign", node(who)),
        Move::Stopped(who) => format!("{} is told that its work has stopped", node(who)),
    }
}

/// A frame in words.
fn frame(model: &Quorum, state: &State, place: Place) -> String {
    let frame = model.frames.get(model.frame(state, place));
    let what = match &frame.message {
        Message::Heartbeat(heartbeat) => {
            let extension = heartbeat.extension.as_ref();
            let free = extension.is_some_and(|said| said.availability.is_free());
            let down = if free { " free" } else { "" };
            let echo = if extension.is_some_and(|said| said.attestation.echo().is_some()) {
                " echo"
            } else {
                ""
            };
            format!("HB {} {:?}{down}{echo}", heartbeat.epoch, heartbeat.role)
        }
        Message::Offer { epoch, .. } => format!("OFFER {epoch}"),
        Message::Accept { epoch, .. } => format!("ACCEPT {epoch}"),
        Message::Announce { epoch, .. } => format!("ANNOUNCE {epoch}"),
        Message::Maintenance { record, agreed, .. } => {
            let agreed = if *agreed { "" } else { " proposed" };
            format!("MAINTENANCE {}{agreed}", record.number)
        }
        Message::Lists { lists, .. } => format!("LISTS {}", lists.established().generation),
    };
    let late = if matches!(place, Place::Late(_)) { " (late)" } else { "" };
    let (from, to) = (node_name(usize::from(frame.from)), node_name(usize::from(frame.to)));
    format!("{from} → {to} {what}{late}")
}
