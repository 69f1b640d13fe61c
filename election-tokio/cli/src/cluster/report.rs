//! What a running member says of itself and of the others.

use super::{
    exchange::{
        Certificates, HeardLine, Led, MemberLines, Pause, PeerLine, Place, Report, Support,
    },
    words,
};
use crate::time::millis;
use election_tokio::{
    Member, PeerReport, UnknownLeader,
    core::{
        Change, NodeId, Timestamp,
        quorum::{
            Hindrance, MaintenanceStatus, MemberList, Members, Peer, Position, Role, wire::Dialect,
        },
    },
    now,
};
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn report(member: &Member) -> Report {
    let (status, config, now) = (member.status(), member.config(), now());
    let members = config.members();
    let registration = member.handle().registration();
    let tenure = status.tenure.as_ref();
    // Nothing hinders a member that asks for votes.
    let hindrance = status.hindrance.filter(|it| !matches!(it, Hindrance::Campaigns(_)));
    Report {
        name: registration.namespace.as_str().to_owned(),
        node: registration.candidate.id.as_str().to_owned(),
        pid: std::process::id(),
        witness: members.is_witness(members.me()),
        led: led(member),
        role: role(status.role).to_owned(),
        trusted_ms: tenure.map(|tenure| millis(tenure.until.since(now))),
        stop_ms: tenure.map(|tenure| millis(tenure.stop_by.since(now))),
        supporters: status.supporters,
        majority: status.majority,
        promised: status.promised.get(),
        voted_for: status.voted_for.and_then(|peer| name(members, peer)),
        durable: status.is_durable,
        supports: status.supports.and_then(|(peer, epoch, until)| {
            let (node, left_ms) = (name(members, peer)?, millis(until.since(now)));
            Some(Support { node, epoch: epoch.get(), left_ms })
        }),
        position: status.position.map(place),
        hindrance: hindrance.map(|hindrance| hindrance.named(members).to_string()),
        hindrance_ms: hindrance.and_then(until).map(|until| millis(until.since(now))),
        unready: unready(member),
        boots_ms: status.boots_until.map(|until| millis(until.since(now))),
        down_after_ms: millis(config.down_after()),
        pause: member.maintenance().map(|known| pause(members, &known, now)),
        certificates: certificates(member),
        members: member_lines(member),
        peers: member.peers().iter().map(|peer| line(peer, now)).collect(),
        odd: status.odd.members().filter_map(|peer| name(members, peer)).collect(),
    }
}

/// Who the members are.
fn member_lines(member: &Member) -> MemberLines {
    let (members, lists) = (member.members(), member.lists());
    let named = |list: &MemberList| {
        let ids = list.voters.members().filter_map(|peer| name(&members, peer));
        ids.collect::<Vec<_>>()
    };
    MemberLines {
        generation: lists.established().generation,
        ids: named(lists.established()),
        settled: member.is_settled(),
        proposed: lists.accepted().map(|(_, list)| named(list)),
        filed: member.odd_file(),
    }
}

/// What this member proves itself with, and which certificates it accepts.
fn certificates(member: &Member) -> Option<Certificates> {
    let status = member.certificates()?;
    let unix = |end: SystemTime| millis(end.duration_since(UNIX_EPOCH).unwrap_or_default());
    let accepted = status.accepted.into_iter().map(|(id, list)| {
        let list = list.iter().map(ToString::to_string).collect();
        (id, list)
    });
    Some(Certificates {
        certificate_unix_ms: unix(status.expiry.certificate),
        authority_unix_ms: unix(status.expiry.authority),
        fingerprint: Some(status.fingerprint.to_string()),
        accepted: accepted.collect(),
        refused: status.refused.map(|why| why.to_string()),
    })
}

/// Who leads, as far as this member knows.
pub(super) fn led(member: &Member) -> Led {
    let leader = member.handle().status().leader;
    leader.map_or_else(
        || nobody(member),
        |leader| Led {
            leader: Some(leader.term.leader.to_string()),
            epoch: Some(leader.term.epoch.get()),
            label: leader.label.map(|label| label.to_string()),
            unknown: None,
        },
    )
}

fn nobody(member: &Member) -> Led {
    Led { unknown: unknown_leader(member), ..Led::default() }
}

/// Why a member cannot know who leads, and the remedy.
pub(crate) fn unknown_leader(member: &Member) -> Option<String> {
    let why = member.unknown_leader()?;
    Some(match why {
        UnknownLeader::Unheard { primary: None, .. } => {
            format!("{why}; check the network between this member and the others")
        }
        _ => why.to_string(),
    })
}

/// Why a member is not ready, and for how long yet if that is known.
pub(crate) fn unready(member: &Member) -> Option<String> {
    let why = member.status().unready?;
    let left = until(why).map(|until| millis(until.since(now())));
    let left = left.map(|left| format!(" (for another {})", words::span(left))).unwrap_or_default();
    Some(format!("{}{left}", why.named(&member.members())))
}

/// Who leads from this change on.
pub(super) fn seen(change: &Change, member: &Member) -> Led {
    let registration = member.handle().registration();
    let (term, label) = match change {
        Change::Elected(tenure) => (&tenure.term, registration.label.as_ref()),
        Change::Followed { term, label, .. } => (term, label.as_ref()),
        Change::Vacant | Change::Lost { .. } | Change::Alert(_) => return nobody(member),
    };
    Led {
        leader: Some(term.leader.to_string()),
        epoch: Some(term.epoch.get()),
        label: label.map(ToString::to_string),
        unknown: None,
    }
}

/// What the member's own maintenance record says.
pub(super) fn paused(member: &Member) -> Option<Pause> {
    member.maintenance().map(|known| pause(&member.members(), &known, now()))
}

fn pause(members: &Members, known: &MaintenanceStatus, now: Timestamp) -> Pause {
    let record = &known.record;
    Pause {
        paused: known.is_paused,
        by: name(members, record.by).unwrap_or_default(),
        since_unix_ms: record.since.map(|since| since.0),
        left_ms: known.ends.map(|ends| millis(ends.since(now))),
        primary: record.primary.and_then(|peer| name(members, peer)),
        recorded: known.recorded,
        changing: known.proposed.is_some(),
    }
}

fn line(peer: &PeerReport, now: Timestamp) -> PeerLine {
    let status = &peer.status;
    PeerLine {
        node: peer.id.to_string(),
        witness: status.is_witness,
        address: Some(peer.address.clone()),
        connected: peer.connected,
        error: peer.error.clone(),
        heard: status.heard.as_ref().map(|heard| HeardLine {
            heard_ms: millis(now.since(heard.at)),
            fresh: heard.is_fresh,
            dialect: match heard.dialect {
                Dialect::Extended => "extended",
                Dialect::Legacy => "legacy",
            }
            .to_owned(),
            epoch: heard.epoch.get(),
            role: role(heard.role).to_owned(),
            position: place(heard.position),
            hears_me: heard.hears_me,
            other_list: heard.differs,
            generation: heard.generation,
        }),
        trusted_ms: status.trusted_until.map(|until| millis(until.since(now))),
        refusal: status.refusal.map(|refusal| refusal.to_string()),
    }
}

/// When a hindrance ends by itself, for those that do.
fn until(hindrance: Hindrance) -> Option<Timestamp> {
    match hindrance {
        Hindrance::Boots { until }
        | Hindrance::Supports { until, .. }
        | Hindrance::StaysOut { until }
        | Hindrance::BacksOff { until }
        | Hindrance::LetsOthersFirst { until } => Some(until),
        _ => None,
    }
    .filter(|until| *until < Timestamp::MAX)
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Replica => "replica",
        Role::Candidate => "candidate",
    }
}

fn place(position: Position) -> Place {
    Place { history: position.history, offset: position.offset }
}

fn name(members: &Members, peer: Peer) -> Option<String> {
    members.id(peer).map(NodeId::to_string)
}
