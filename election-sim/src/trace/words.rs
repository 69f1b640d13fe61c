//! What happened in words, as transcripts have it.

use crate::lease::BEGIN_MS;
use election_core::{
    Change, Epoch,
    lease::{Answer, Failure, Query},
    quorum::{Availability, Message, Position, Role},
};
use std::fmt::Write as _;

/// An epoch as transcripts show it: a lease's epoch in milliseconds since the world began.
pub(crate) fn short(epoch: Epoch) -> String {
    let begin = u64::try_from(BEGIN_MS).unwrap_or(0);
    if epoch.get() < begin / 2 {
        return format!("#{epoch}"); // a quorum counts from one
    }
    match epoch.get().checked_sub(begin) {
        Some(since) => format!("#{since}"),
        None => format!("#-{}", begin - epoch.get()),
    }
}

/// The token of a write, if it has one.
pub(super) fn under(token: Option<Epoch>) -> String {
    token.map_or_else(String::new, |token| format!(" under {}", short(token)))
}

pub(super) fn words_of(change: &Change) -> String {
    match change {
        Change::Elected(tenure) => format!("elected {}", short(tenure.term.epoch)),
        Change::Lost { term, reason, successor, .. } => {
            let mut text = format!("lost {}: {reason}", short(term.epoch));
            if let Some(successor) = successor {
                let _ = write!(text, ", to {} {}", successor.leader, short(successor.epoch));
            }
            text
        }
        Change::Followed { term, .. } => format!("follows {} {}", term.leader, short(term.epoch)),
        Change::Vacant => "vacant".into(),
        Change::Alert(alert) => format!("alert: {alert}"),
    }
}

pub(super) fn frame(message: &Message) -> String {
    let place = |position: &Position| format!("{}/{}", position.history, position.offset);
    match message {
        Message::Heartbeat(heartbeat) => {
            let role = match heartbeat.role {
                Role::Primary => "primary",
                Role::Replica => "replica",
                Role::Candidate => "candidate",
            };
            let mut text =
                format!("HB {} {role} {}", short(heartbeat.epoch), place(&heartbeat.position));
            if let Some(extension) = &heartbeat.extension {
                if let Some(echo) = extension.attestation.echo() {
                    let _ = write!(text, " echo {:?}", echo.at);
                }
                text.push_str(match extension.availability {
                    Availability::Busy => "",
                    Availability::BusyAside => " aside",
                    Availability::Free => " free",
                    Availability::FreeAside => " free aside",
                    Availability::Waiting => " waiting",
                    Availability::Leaving => " leaving",
                    Availability::Ineligible => " barred",
                    Availability::Loading => " loading",
                });
            }
            text
        }
        Message::Offer { epoch, position, .. } => {
            format!("OFFER {} {}", short(*epoch), place(position))
        }
        Message::Accept { epoch, .. } => format!("ACCEPT {}", short(*epoch)),
        Message::Announce { epoch, .. } => format!("ANNOUNCE {}", short(*epoch)),
        Message::Maintenance { record, agreed, .. } => {
            let paused = if record.paused { "pause" } else { "resume" };
            let agreed = if *agreed { "" } else { " proposed" };
            format!("MAINTENANCE #{} {paused}{agreed}", record.number)
        }
        Message::Lists { lists, .. } => format!("LISTS {}", lists.established().generation),
    }
}

pub(super) fn question(query: &Query) -> String {
    match query {
        Query::Observe => "observe".into(),
        Query::Attempt { .. } => "attempt".into(),
        Query::TakeOver { epoch, .. } => format!("take over from {}", short(*epoch)),
        Query::Renew { epoch, ordinal, .. } => format!("renew {} ({ordinal})", short(*epoch)),
        Query::Resign { epoch } => format!("resign {}", short(*epoch)),
        Query::Register { .. } => "register".into(),
        Query::Unregister => "unregister".into(),
        Query::Others => "others".into(),
    }
}

pub(super) fn reply(answer: &Result<Answer, Failure>) -> String {
    match answer {
        Ok(Answer::Won { epoch, .. }) => format!("won {}", short(*epoch)),
        Ok(Answer::Seen(row)) => match row.live_holder() {
            Some(holder) => format!(
                "held by {} {} for {} ms",
                holder.candidate.id,
                short(row.epoch),
                row.remaining.as_millis()
            ),
            None => "vacant".into(),
        },
        Ok(Answer::Renewed { .. }) => "renewed".into(),
        Ok(Answer::Gone) => "gone".into(),
        Ok(Answer::Released) => "released".into(),
        Ok(Answer::Listed | Answer::Unswept) => "listed".into(),
        Ok(Answer::Others(others)) => if *others { "some" } else { "none" }.into(),
        Err(Failure::Transient) => "failed, not executed".into(),
        Err(Failure::Conflict) => "failed, locked".into(),
        Err(Failure::Ambiguous) => "failed, outcome unknown".into(),
        Err(Failure::Fatal) => "failed for good".into(),
    }
}

/// The bytes of an app's frame: text as it is, anything else in hexadecimal.
pub(super) fn bytes(bytes: &[u8]) -> String {
    const MOST: usize = 32;
    let (shown, more) = match bytes.get(..MOST) {
        Some(shown) if bytes.len() > MOST => (shown, format!("… ({} bytes)", bytes.len())),
        _ => (bytes, String::new()),
    };
    let is_text = |text: &&str| !text.is_empty() && !text.chars().any(char::is_control);
    if let Some(text) = std::str::from_utf8(shown).ok().filter(is_text) {
        return format!("{text:?}{more}");
    }
    let words: Vec<String> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[{}]{more}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_are_shown_as_text_where_they_are_text() {
        assert_eq!(bytes(b"copy 7"), "\"copy 7\"");
        assert_eq!(bytes(&[7, 0xff]), "[07 ff]");
        assert_eq!(bytes(b"\x1b[2J"), "[1b 5b 32 4a]");
        assert_eq!(bytes(b""), "[]");
        assert_eq!(bytes(&[b'x'; 40]), format!("{:?}… (40 bytes)", "x".repeat(32)));
    }
}
