//! The commands that look at an election from outside.

use crate::{
    arguments::{Schema as SchemaArguments, Target},
    exit::{Exit, Failed, print},
    settings::{Named, Place, no_store},
};
use comfy_table::{Table, presets};
use election_tokio::{
    Election, StoreError,
    core::{
        Change, Epoch, Label, Namespace,
        lease::Row,
        sql::{CandidateRow, Dialect, Schema},
    },
};
use serde_json::{Value, json};
use std::{future::Future, time::Duration};
use tokio::signal::unix::{SignalKind, signal};

/// `election status`.
pub(crate) async fn status(target: Target) -> Result<Exit, Failed> {
    let mut place = Place::of(&target)?;
    let row = place.store.leader(&place.namespace).await.map_err(unusable)?;
    if place.json {
        print(row_json(&place, &row))?;
        return Ok(Exit::OK);
    }
    let name = &place.namespace;
    let says = match row.live_holder() {
        Some(holder) => {
            let label = holder.label.as_ref().map(|label| format!(" at {label}"));
            format!(
                "{} leads{} under epoch {}, for {} more unless renewed",
                holder.candidate.id,
                label.unwrap_or_default(),
                row.epoch,
                rounded(row.remaining),
            )
        }
        None if row.epoch.get() == 0 => "nobody has ever led".to_owned(),
        None => format!("nobody leads (the last epoch was {})", row.epoch),
    };
    print(format_args!("{name}: {says}; in {}", place.store.place()))?;
    Ok(Exit::OK)
}

fn row_json(place: &Place, row: &Row) -> Value {
    let holder = row.live_holder();
    json!({
        "name": place.namespace.as_str(),
        "place": place.store.place(),
        "schema": place.tables.schema(place.store.dialect()),
        "leader": holder.map(|holder| holder.candidate.id.as_str()),
        "incarnation": holder.map(|holder| holder.candidate.incarnation.to_string()),
        "label": holder.and_then(|holder| holder.label.as_ref()).map(Label::as_str),
        "epoch": row.epoch.get(),
        "remaining_ms": holder.map(|_| millis(row.remaining)),
        "ttl_ms": holder.map(|_| millis(row.ttl)),
        "renewals": row.renewals,
        "resign_requested": row.resign_requested,
    })
}

/// `election list`.
pub(crate) async fn list(target: Target) -> Result<Exit, Failed> {
    let mut place = Place::of(&target)?;
    let candidates = place.store.list_candidates(&place.namespace).await.map_err(unusable)?;
    let row = place.store.leader(&place.namespace).await.map_err(unusable)?;
    let leads = |each: &CandidateRow| {
        row.live_holder().is_some_and(|holder| holder.candidate == each.candidate)
    };
    if place.json {
        for each in &candidates {
            print(candidate_json(&place.namespace, each, leads(each)))?;
        }
        return Ok(Exit::OK);
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["", "NODE", "LABEL", "LISTED FOR"]);
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
    print(table)?;
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

/// `election observe`.
pub(crate) async fn observe(target: Target) -> Result<Exit, Failed> {
    let mut place = Place::of(&target)?;
    place.store.leader(&place.namespace).await.map_err(unusable)?;
    let name = place.namespace.clone();
    let election = Election::builder(name.as_str()).observer().store(place.store).build();
    let election = election.map_err(|error| Failed::of("cannot observe", &error))?;
    // From the start, and for good: one that comes while a line is printed is not lost.
    let mut interrupt =
        signal(SignalKind::interrupt()).map_err(|error| Failed::of("signals", &error))?;
    let handle = election.start();
    let mut watch = handle.watch();
    tokio::select! {
        _ = watch.until(|status| status.reached || status.error.is_some()) => {}
        _ = interrupt.recv() => return Ok(Exit::OK),
    }
    let mut changes = handle.changes();
    loop {
        tokio::select! {
            change = changes.next() => match change {
                Ok(Some(change)) => print_change(&name, &change, place.json)?,
                Ok(None) => return Ok(Exit::TOOL_FAILED),
                Err(overrun) => return Err(Failed::of("cannot observe", &overrun)),
            },
            _ = interrupt.recv() => return Ok(Exit::OK),
        }
    }
}

fn print_change(name: &Namespace, change: &Change, json: bool) -> Result<(), Failed> {
    let (leader, label) = match change {
        Change::Followed { term, label } => (Some(term), label.as_ref()),
        // What is wrong changes nothing about who leads.
        Change::Fault(_) => return Ok(()),
        // An observer is never elected and so never loses.
        Change::Vacant | Change::Elected(_) | Change::Lost { .. } => (None, None),
    };
    if json {
        return print(json!({
            "name": name.as_str(),
            "leader": leader.map(|term| term.leader.as_str()),
            "epoch": leader.map(|term| term.epoch.get()),
            "label": label.map(Label::as_str),
        }));
    }
    match (leader, label) {
        (Some(term), Some(label)) => print(format_args!("{name}: {term} leads at {label}")),
        (Some(term), None) => print(format_args!("{name}: {term} leads")),
        (None, _) => print(format_args!("{name}: nobody leads")),
    }
}

/// `election resign`.
pub(crate) async fn resign(target: Target) -> Result<Exit, Failed> {
    let mut place = Place::of(&target)?;
    let row = place.store.leader(&place.namespace).await.map_err(unusable)?;
    let epoch = place.store.request_resign_of_leader(&place.namespace).await.map_err(unusable)?;
    // Only for its name: whoever leads by now is the one that was asked.
    let term = row.live_term().filter(|term| Some(term.epoch) == epoch);
    let name = &place.namespace;
    if place.json {
        print(json!({
            "name": name.as_str(),
            "leader": term.as_ref().map(|term| term.leader.as_str()),
            "epoch": epoch.map(Epoch::get),
            "asked": epoch.is_some(),
        }))?;
        return Ok(Exit::OK);
    }
    match (term, epoch) {
        (Some(term), _) => print(format_args!("{name}: asked {term} to resign"))?,
        (None, Some(epoch)) => {
            print(format_args!("{name}: asked the leader of epoch {epoch} to resign"))?;
        }
        (None, None) => print(format_args!("{name}: nobody leads, so nobody was asked"))?,
    }
    Ok(Exit::OK)
}

/// `election schema`.
pub(crate) async fn schema(arguments: SchemaArguments) -> Result<Exit, Failed> {
    let version = Schema::VERSION;
    let SchemaArguments { database, apply } = arguments;
    if !apply {
        let named = Named::by(&database)?;
        let dialect = named.store.map_or(Dialect::Sqlite, |store| store.dialect());
        let script = Schema::new(dialect, &named.tables).script();
        if database.json {
            print(json!({ "version": version, "sql": script }))?;
        } else {
            print(script.trim_end())?;
        }
        return Ok(Exit::OK);
    }
    let mut store = Named::by(&database)?.store.ok_or_else(no_store)?;
    store.ensure_schema().await.map_err(unusable)?;
    if database.json {
        print(json!({ "version": version }))?;
    } else {
        let dialect = store.dialect();
        print(format_args!("{dialect}: the tables are at version {version}"))?;
    }
    Ok(Exit::OK)
}

fn unusable(error: StoreError) -> Failed {
    Failed::of("the database cannot be used", &error)
}

/// Runs one of these commands. They share nothing with an elector but the database.
pub(crate) fn inspect(command: impl Future<Output = Result<Exit, Failed>>) -> Result<Exit, Failed> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failed::of("cannot start", &error))?
        .block_on(command)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Tenths of a second are all that anybody reads.
fn rounded(duration: Duration) -> String {
    format!("{:.1}s", duration.as_secs_f64())
}
