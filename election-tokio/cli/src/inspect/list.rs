//! Who takes part, and which elections there are.

use super::{Glance, OLD, rounded, row_json};
use crate::{
    arguments::{List, Look},
    cluster::{self, trimmed},
    exit::{Exit, Failed, print},
    settings::{Place, client},
    time::millis,
};
use comfy_table::{ContentArrangement, Table, presets};
use election_tokio::core::{
    Label, Namespace,
    lease::Row,
    sql::{CandidateRow, ElectionRow},
};
use serde_json::{Value, json};

/// `election list`.
pub(crate) async fn list(list: List) -> Result<Exit, Failed> {
    let List { look, elections } = list;
    if elections {
        return list_elections(&look).await;
    }
    if let Some(member) = client(&look)? {
        return member.list().await;
    }
    let mut glance = Glance::of(&look)?;
    let candidates = glance.candidates().await?;
    let row = glance.leader().await?;
    let place = glance.place;
    let leads = |each: &CandidateRow| {
        row.live_holder().is_some_and(|holder| holder.candidate == each.candidate)
    };
    if place.json {
        for each in &candidates {
            print(candidate_json(&place.namespace, each, leads(each)))?;
        }
        return Ok(Exit::OK);
    }
    if candidates.is_empty() {
        print(format_args!("{}: {}", place.namespace, nobody(&row, place.store.how_to_list())))?;
        return Ok(Exit::OK);
    }
    let mut table = table(&["", "NODE", "LABEL", "LISTING LEFT"]);
    for each in &candidates {
        let mark = if leads(each) { "*" } else { "" };
        let label = each.label.as_ref().map(ToString::to_string).unwrap_or_default();
        table.add_row([
            mark.to_owned(),
            each.candidate.id.to_string(),
            label,
            rounded(each.remaining),
        ]);
    }
    print(trimmed(&table))?;
    Ok(Exit::OK)
}

/// A table of these columns: on a terminal as wide as that, otherwise a row a line, for programs.
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.iter().copied());
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
    {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(size.ws_col);
    }
    table
}

/// An empty list, in words. The name of an election in which nobody ever stood may be mistyped.
fn nobody(row: &Row, how_to_list: &str) -> String {
    match row.live_holder() {
        Some(holder) => {
            let id = &holder.candidate.id;
            format!("no candidate is listed, but {id} leads (see election status)")
        }
        None if row.epoch.get() == 0 => {
            format!("nobody stands for election, and nobody has ever led; {how_to_list}")
        }
        None => "nobody stands for election".to_owned(),
    }
}

async fn list_elections(look: &Look) -> Result<Exit, Failed> {
    let database = &look.target.database;
    if cluster::cluster(&look.asked.membership, database)?.is_some() {
        return Err(Failed::new(
            "a cluster has one election: remove --elections, or name a database (--store)",
        ));
    }
    let mut glance = Glance::at(Place::of_all(database)?, look.timeout);
    let is_replica = glance.is_replica().await?;
    let elections = glance.elections().await?;
    let place = glance.place;
    if place.json {
        for election in &elections {
            print(row_json(&place, election, is_replica))?;
        }
        return Ok(Exit::OK);
    }
    let mut table = table(&["ELECTION", "LEADER", "LABEL", "EPOCH", "LEASE LEFT"]);
    for ElectionRow { namespace, row, .. } in &elections {
        let holder = row.live_holder();
        let label = holder.and_then(|holder| holder.label.as_ref());
        table.add_row([
            namespace.to_string(),
            holder.map(|holder| holder.candidate.id.to_string()).unwrap_or_default(),
            label.map(ToString::to_string).unwrap_or_default(),
            row.epoch.to_string(),
            holder.map(|_| rounded(row.remaining)).unwrap_or_default(),
        ]);
    }
    print(trimmed(&table))?;
    if is_replica {
        // Beside the table, for whoever reads that with a program.
        tracing::warn!(event = "warning", "{OLD}");
    }
    Ok(Exit::OK)
}

fn candidate_json(namespace: &Namespace, each: &CandidateRow, leads: bool) -> Value {
    json!({
        "name": namespace.as_str(),
        "node": each.candidate.id.as_str(),
        "incarnation": each.candidate.incarnation.to_string(),
        "label": each.label.as_ref().map(Label::as_str),
        "last_heartbeat_ms": each.last_heartbeat_ms,
        "remaining_ms": millis(each.remaining),
        "leads": leads,
    })
}
