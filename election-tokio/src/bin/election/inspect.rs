//! The commands that look at an election from outside.

use crate::{
    arguments::{Schema as SchemaArguments, Target},
    exit::{Exit, Failed},
    settings::Place,
};
use comfy_table::{Table, presets};
use election_tokio::{
    Election, StoreError,
    core::{
        Change, Label, Namespace,
        lease::Row,
        sql::{CandidateRow, Dialect, Schema, Tables},
    },
};
use serde_json::{Value, json};
use std::{future::Future, time::Duration};

/// `election status`.
pub(crate) fn status(target: Target) -> Result<Exit, Failed> {
    let mut place = Place::of(&target)?;
    let row = wait(place.store.leader(&place.namespace))?;
    if place.json {
        println!("{}", row_json(&place.namespace, &row));
        return Ok(Exit::OK);
    }
    let name = &place.namespace;
    match row.live_holder() {
        Some(holder) => {
            let label = holder.label.as_ref().map(|label| format!(" at {label}"));
            println!(
                "{name}: {} leads{} under epoch {}, for {} more unless renewed",
                holder.candidate.id,
                label.unwrap_or_default(),
                row.epoch,
                rounded(row.remaining),
            );
        }
        None if row.epoch.get() == 0 => println!("{name}: nobody has ever led"),
        None => println!("{name}: nobody leads (the last epoch was {})", row.epoch),
    }
    Ok(Exit::OK)
}

fn row_json(namespace: &Namespace, row: &Row) -> Value {
    let holder = row.live_holder();
    json!({
        "name": namespace.as_str(),
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
pub(crate) fn list(target: Target) -> Result<Exit, Failed> {
    let mut place = Place::of(&target)?;
    let candidates = wait(place.store.list_candidates(&place.namespace))?;
    let row = wait(place.store.leader(&place.namespace))?;
    let leads = |each: &CandidateRow| {
        row.live_holder().is_some_and(|holder| holder.candidate == each.candidate)
    };
    if place.json {
        for each in &candidates {
            println!("{}", candidate_json(&place.namespace, each, leads(each)));
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
    println!("{table}");
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
pub(crate) fn observe(target: Target) -> Result<Exit, Failed> {
    let mut place = Place::of(&target)?;
    wait(place.store.leader(&place.namespace))?;
    let name = place.namespace.clone();
    let election = Election::builder(name.as_str()).observer().store(place.store).build();
    let election = election.map_err(|error| Failed::of("cannot observe", &error))?;
    runtime()?.block_on(async {
        let handle = election.start();
        handle.watch().until(|status| status.reached || status.error.is_some()).await;
        let mut changes = handle.changes();
        loop {
            tokio::select! {
                change = changes.next() => match change {
                    Some(change) => print_change(&name, &change, place.json),
                    None => return Ok(Exit::TOOL_FAILED),
                },
                _ = tokio::signal::ctrl_c() => return Ok(Exit::OK),
            }
        }
    })
}

fn print_change(name: &Namespace, change: &Change, json: bool) {
    let (leader, label) = match change {
        Change::Followed { term, label } => (Some(term), label.as_ref()),
        // An observer is never elected and so never loses.
        Change::Vacant | Change::Elected(_) | Change::Lost { .. } => (None, None),
    };
    if json {
        let line = json!({
            "name": name.as_str(),
            "leader": leader.map(|term| term.leader.as_str()),
            "epoch": leader.map(|term| term.epoch.get()),
            "label": label.map(Label::as_str),
        });
        println!("{line}");
        return;
    }
    match (leader, label) {
        (Some(term), Some(label)) => println!("{name}: {term} leads at {label}"),
        (Some(term), None) => println!("{name}: {term} leads"),
        (None, _) => println!("{name}: nobody leads"),
    }
}

/// `election resign`.
pub(crate) fn resign(target: Target) -> Result<Exit, Failed> {
    let mut place = Place::of(&target)?;
    let row = wait(place.store.leader(&place.namespace))?;
    let term = row.live_term();
    let asked = match &term {
        Some(term) => wait(place.store.request_resign(&place.namespace, term.epoch))?,
        None => false,
    };
    if place.json {
        println!(
            "{}",
            json!({
                "name": place.namespace.as_str(),
                "leader": term.as_ref().map(|term| term.leader.as_str()),
                "epoch": term.as_ref().map(|term| term.epoch.get()),
                "asked": asked,
            })
        );
        return Ok(Exit::OK);
    }
    match term.filter(|_| asked) {
        Some(term) => println!("{}: asked {term} to resign", place.namespace),
        None => println!("{}: nobody leads, so nobody was asked", place.namespace),
    }
    Ok(Exit::OK)
}

/// `election schema`.
pub(crate) fn schema(arguments: SchemaArguments) -> Result<Exit, Failed> {
    if !arguments.apply {
        let dialect = match Place::of(&arguments.target) {
            Ok(place) => place.store.dialect(),
            Err(_) if arguments.target.store.is_none() => Dialect::Sqlite,
            Err(failed) => return Err(failed),
        };
        print!("{}", Schema::new(dialect, &Tables::default()).script());
        return Ok(Exit::OK);
    }
    let mut place = Place::of(&arguments.target)?;
    wait(place.store.ensure_schema())?;
    let version = Schema::VERSION;
    if place.json {
        println!("{}", json!({ "version": version }));
    } else {
        println!("{}: the tables are at version {version}", place.store.dialect());
    }
    Ok(Exit::OK)
}

fn wait<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, Failed> {
    runtime()?.block_on(work).map_err(|error| Failed::of("the database cannot be used", &error))
}

fn runtime() -> Result<tokio::runtime::Runtime, Failed> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failed::of("cannot start", &error))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Tenths of a second are all that anybody reads.
fn rounded(duration: Duration) -> String {
    format!("{:.1}s", duration.as_secs_f64())
}
