//! What a member says, for people: at most eighty columns.

use super::exchange::{Certificates, HeardLine, Led, MemberLines, Pause, PeerLine, Place, Report};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use election_tokio::core::quorum::UnixMillis;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const WIDTH: u16 = 80;
/// The column at which what is said about a topic begins.
const TOPIC: usize = 10;
/// The column that says how far a member's data have come.
const POSITION: &str = "POSITION";

/// `election status`.
pub(super) fn status(report: &Report) -> String {
    let mut lines = vec![wrapped("", &format!("{}: {}", report.name, leads(&report.led)))];
    let mut say = |topic: &str, text: &str| lines.push(wrapped(topic, text));
    let kind = if report.witness { "witness, " } else { "" };
    say("member", &format!("{} (process {}): {kind}{}", report.node, report.pid, report.role));
    match &report.unready {
        Some(why) => say("ready", &format!("no: {why}")),
        None => say("ready", "yes: able to vote, and hears a majority"),
    }
    if let (Some(trusted), Some(stop)) = (report.trusted_ms, report.stop_ms) {
        let (trusted, stop) = (span(trusted), span(stop));
        let (supporters, majority) = (report.supporters, report.majority);
        // An older member does not say who the members are.
        let count = match report.members.ids.len() {
            0 => report.peers.len() + 1,
            members => members,
        };
        say(
            "trust",
            &format!(
                "for another {trusted}, and {stop} until its job is killed, unless renewed: \
                 {supporters} of {count} members vouch for it, itself included; {majority} must"
            ),
        );
    }
    let disk = if report.durable { "on disk" } else { "not on disk yet" };
    let voted = report.voted_for.as_ref().map(|node| format!(", voted for {node}"));
    let voted = voted.unwrap_or_default();
    match report.promised {
        0 => say("ballot", "none yet: nothing promised"),
        epoch => say("ballot", &format!("epoch {epoch}{voted}, {disk}")),
    }
    if let Some(support) = &report.supports {
        let (node, epoch, left) = (&support.node, support.epoch, span(support.left_ms));
        say("supports", &format!("{node} (epoch {epoch}), for another {left} unless it is heard"));
    }
    if has_data(report) {
        let position = report.position.map_or_else(|| "not known yet".to_owned(), position);
        say("position", &position);
    }
    let left = report.hindrance_ms.map(|left| format!(" (for another {})", span(left)));
    match &report.hindrance {
        Some(_) if report.trusted_ms.is_some() => say("campaign", "it leads"),
        Some(why) => {
            let left = left.unwrap_or_default();
            say("campaign", &format!("it does not ask for votes, because {why}{left}"));
        }
        None if report.role == "candidate" => say("campaign", "it is asking for votes"),
        None => say("campaign", "it is about to ask for votes"),
    }
    say("failover", failover(report.pause.as_ref()).trim_start_matches("automatic failover is "));
    for line in lists(report) {
        say("members", &line);
    }
    for odd in &report.odd {
        say("file", &odd_file(odd, *odd == report.node));
    }
    if let Some(certificates) = &report.certificates {
        lines.extend(proof(certificates));
    }
    lines.push(String::new());
    lines.push(peers(report));
    let unreachable = |peer: &&PeerLine| !peer.connected && peer.error.is_some();
    for peer in report.peers.iter().filter(unreachable) {
        let why = peer.error.as_deref().unwrap_or_default();
        let at = peer.address.as_ref().filter(|at| !at.is_empty());
        let at = at.map(|at| format!(" at {at}")).unwrap_or_default();
        lines.push(wrapped("", &format!("no connection to {}{at}: {why}", peer.node)));
    }
    lines.join("\n")
}

/// Who the members are, if that has ever changed or is to change.
fn lists(report: &Report) -> Vec<String> {
    let MemberLines { generation, ids, settled, proposed, filed } = &report.members;
    let mut lines = Vec::new();
    if *generation > 0 || proposed.is_some() {
        let state = match settled {
            true => "recorded by a majority",
            false => "not known to be recorded by a majority: change nothing before it is",
        };
        lines.push(format!("{} (generation {generation}), {state}", ids.join(", ")));
    }
    if let Some(proposed) = proposed {
        let joins: Vec<_> = proposed.iter().filter(|id| !ids.contains(id)).cloned().collect();
        let was_member = |id: &String| {
            let peer = report.peers.iter().find(|peer| peer.node == *id);
            let heard = peer.and_then(|peer| peer.heard.as_ref()).filter(|heard| heard.fresh);
            heard.is_some_and(|heard| heard.other_list && heard.generation < *generation)
        };
        let waits = match joins.first() {
            None => String::new(),
            Some(id) if was_member(id) => format!(
                "; {id} has an older list: if it was a member before, stop it, remove its ballot and \
                 start it again"
            ),
            Some(id) => format!("; it takes effect once {id} runs and is reached"),
        };
        lines.push(format!("proposed to follow: {}{waits}", proposed.join(", ")));
    }
    let heard = |peer: &PeerLine| Some((peer.node.clone(), peer.heard.as_ref()?.generation));
    let behind = report.peers.iter().filter_map(heard).filter(|(_, known)| known < generation);
    lines.extend(behind.map(|(peer, known)| format!("{peer} still has generation {known}")));
    lines.extend(filed.clone());
    lines
}

/// Whose file is the odd one, and the remedy.
fn odd_file(odd: &str, is_own: bool) -> String {
    let (than, remedy) = match is_own {
        true => ("its own ballot, and does not vote", "correct its file"),
        false => ("this member", "correct the wrong file"),
    };
    format!(
        "{odd} has a different member list, down_after or cluster name from {than}: {remedy}, and \
         restart that member"
    )
}

/// What a member proves itself with, and what it accepts of others.
fn proof(certificates: &Certificates) -> Vec<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let own = end(certificates.certificate_unix_ms, now);
    let authority = end(certificates.authority_unix_ms, now);
    let refused = certificates.refused.as_ref().map(|why| {
        wrapped("", &format!("the new certificates cannot be used, and these stay in use: {why}"))
    });
    let accepted = certificates.accepted.iter().map(|(member, list)| {
        let list: Vec<_> = list.iter().map(|fingerprint| short(fingerprint)).collect();
        let list = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        wrapped("accepts", &format!("only these certificates of {member}: {list}"))
    });
    let ends = wrapped("proof", &format!("its certificate {own}; the authority's {authority}"));
    std::iter::once(ends).chain(refused).chain(accepted).collect()
}

/// The beginning of a fingerprint: nobody has two certificates that begin alike.
fn short(fingerprint: &str) -> String {
    const SHOWN: usize = 23; // eight bytes
    fingerprint.get(..SHOWN).map_or_else(|| fingerprint.to_owned(), |begins| format!("{begins}…"))
}

/// When a certificate ends.
fn end(unix_ms: u64, now: Duration) -> String {
    let left = Duration::from_millis(unix_ms).checked_sub(now);
    match left.map(|left| left.as_secs() / (24 * 3_600)) {
        None => "has expired: renew it now".to_owned(),
        Some(days @ 0..=30) => format!("expires in {days} days: renew it"),
        Some(days) => format!("expires in {days} days"),
    }
}

/// Who leads, in a sentence.
pub(super) fn leads(led: &Led) -> String {
    match led {
        Led { leader: Some(leader), epoch, label, .. } => {
            let label = label.as_ref().map(|label| format!(" at {label}")).unwrap_or_default();
            format!("{leader} (epoch {}) leads{label}", epoch.unwrap_or_default())
        }
        Led { unknown: Some(why), .. } => format!("the leader is unknown: {why}"),
        _ => "nobody leads".to_owned(),
    }
}

/// Whether automatic failover is paused, in a sentence.
pub(super) fn failover(pause: Option<&Pause>) -> String {
    let Some(pause) = pause.filter(|pause| pause.paused) else {
        return "automatic failover is not paused".to_owned();
    };
    let time = |at: u64| UnixMillis(at).to_string();
    let since = pause.since_unix_ms.map(|at| format!(", since {}", time(at))).unwrap_or_default();
    let left =
        |millis: u64| humantime::format_duration(Duration::from_secs(millis.div_ceil(1_000)));
    let until = match pause.left_ms {
        Some(millis) => format!("for another {}", left(millis)),
        None => "until resumed".to_owned(),
    };
    let primary = match &pause.primary {
        Some(primary) => format!("only {primary} can be elected"),
        None => "nobody can be elected".to_owned(),
    };
    let (by, recorded) = (&pause.by, pause.recorded);
    let changing = if pause.changing { "; a change is being agreed" } else { "" };
    format!(
        "automatic failover is paused by {by}{since}, {until}; {primary}; recorded by \
         {recorded} members{changing}"
    )
}

/// Whether there are data to compare. A job has none: every member of its cluster is at zero.
fn has_data(report: &Report) -> bool {
    let is_none = |position: Place| position.history == 0 && position.offset == 0;
    let peers = report.peers.iter().filter_map(|peer| peer.heard.as_ref());
    !(report.position.is_some_and(is_none) && peers.map(|heard| heard.position).all(is_none))
}

/// A table of these columns, without that of positions if there are no data.
fn table(header: &[&str], report: &Report) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(header.iter().copied());
    let place = header.iter().position(|column| *column == POSITION);
    if let Some(column) =
        place.and_then(|place| table.column_mut(place)).filter(|_| !has_data(report))
    {
        column.set_constraint(ColumnConstraint::Hidden);
    }
    table
}

fn mark(report: &Report, node: &str) -> String {
    let leads = report.led.leader.as_deref() == Some(node);
    if leads { "*" } else { "" }.to_owned()
}

fn peers(report: &Report) -> String {
    let mut table = table(&["", "PEER", "ROLE", "HEARD", "EPOCH", POSITION, "ITS VOTE"], report);
    for peer in &report.peers {
        let heard = peer.heard.as_ref();
        let is_member = report.members.ids.is_empty() || report.members.ids.contains(&peer.node);
        let role = match (peer.witness, heard) {
            _ if !is_member => "no member",
            (true, _) => "witness",
            (false, Some(heard)) => said_role(heard),
            (false, None) => "",
        };
        let vote = match (&peer.refusal, peer.trusted_ms) {
            (_, Some(left)) if left > 0 => format!("vouches, {}", span(left)),
            (Some(why), _) => format!("no: {why}"),
            (None, _) => "yes".to_owned(),
        };
        let legacy = heard.filter(|heard| heard.dialect == "legacy").map(|_| " (kevy-elect)");
        table.add_row([
            mark(report, &peer.node),
            peer.node.clone(),
            format!("{role}{}", legacy.unwrap_or_default()),
            ago(peer),
            heard.map(|heard| heard.epoch.to_string()).unwrap_or_default(),
            heard.map(|heard| position(heard.position)).unwrap_or_default(),
            vote,
        ]);
    }
    trimmed(&table)
}

/// What a member said that it is, or was: one that is not heard may lead no more.
fn said_role(heard: &HeardLine) -> &str {
    match &*heard.role {
        "primary" if !heard.fresh => "was primary",
        role => role,
    }
}

fn ago(peer: &PeerLine) -> String {
    match &peer.heard {
        None => "never".to_owned(),
        Some(heard) if heard.fresh => span(heard.heard_ms),
        Some(heard) => format!("{} ago", span(heard.heard_ms)),
    }
}

/// `election list`.
pub(super) fn list(report: &Report) -> String {
    let mut table = table(&["", "NODE", "ROLE", "EPOCH", POSITION, "HEARD"], report);
    let own = report.position.map(position).unwrap_or_default();
    let role = if report.witness { "witness" } else { &report.role };
    let mut rows = vec![[
        mark(report, &report.node),
        report.node.clone(),
        role.to_owned(),
        report.promised.to_string(),
        own,
        "this member".to_owned(),
    ]];
    rows.extend(report.peers.iter().map(|peer| {
        let heard = peer.heard.as_ref();
        let role = heard.map(said_role).unwrap_or_default().to_owned();
        [
            mark(report, &peer.node),
            peer.node.clone(),
            if peer.witness { "witness".to_owned() } else { role },
            heard.map(|heard| heard.epoch.to_string()).unwrap_or_default(),
            heard.map(|heard| position(heard.position)).unwrap_or_default(),
            ago(peer),
        ]
    }));
    rows.sort_by(|one, other| one[1].cmp(&other[1]));
    table.add_rows(rows);
    trimmed(&table)
}

/// `election list --json`: an object for each member.
pub(super) fn members(report: &Report) -> Vec<Value> {
    let leads = |node: &str| report.led.leader.as_deref() == Some(node);
    let own = json!({
        "name": report.name,
        "node": report.node,
        "witness": report.witness,
        "leads": leads(&report.node),
        "role": report.role,
        "epoch": report.promised,
        "position": report.position,
        "heard_ms": null,
        "address": null,
        "connected": null,
    });
    let peers = report.peers.iter().map(|peer| {
        let heard = peer.heard.as_ref();
        json!({
            "name": report.name,
            "node": peer.node,
            "witness": peer.witness,
            "leads": leads(&peer.node),
            "role": heard.map(|heard| &heard.role),
            "epoch": heard.map(|heard| heard.epoch),
            "position": heard.map(|heard| heard.position),
            "heard_ms": heard.map(|heard| heard.heard_ms),
            "address": peer.address,
            "connected": peer.connected,
        })
    });
    let mut all: Vec<_> = [own].into_iter().chain(peers).collect();
    all.sort_by(|one, other| one["node"].as_str().cmp(&other["node"].as_str()));
    all
}

fn position(place: Place) -> String {
    match place.history {
        0 => place.offset.to_string(),
        history => format!("{history}/{}", place.offset),
    }
}

/// Tenths of a second are enough for people.
pub(super) fn span(millis: u64) -> String {
    format!("{}.{}s", millis / 1_000, millis % 1_000 / 100)
}

/// The table without the blanks at the ends of its lines.
pub(crate) fn trimmed(table: &Table) -> String {
    let lines: Vec<_> = table.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

/// A topic and its text, whose further lines begin in the same column.
fn wrapped(topic: &str, text: &str) -> String {
    let indent = if topic.is_empty() { 0 } else { TOPIC };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let used = lines.last().map_or(0, |line| line.chars().count());
        match lines.last_mut() {
            Some(line) if used == 0 => line.push_str(word),
            Some(line) if indent + used + 1 + word.chars().count() <= usize::from(WIDTH) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let more = format!("\n{}", " ".repeat(indent));
    format!("{topic:indent$}{}", lines.join(&more))
}

#[cfg(test)]
mod tests;
