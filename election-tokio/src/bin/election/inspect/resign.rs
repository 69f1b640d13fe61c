//! A leader that is asked to resign. The exit code says whether there is one that can.

use super::{Glance, UNLISTED, left};
use crate::{
    arguments::Resign,
    exit::{Exit, Failed, print},
    settings::client,
};
use serde_json::json;

/// `election resign`.
pub(crate) async fn resign(resign: Resign) -> Result<Exit, Failed> {
    let Resign { look, to } = resign;
    if let Some(member) = client(&look)? {
        return member.resign(to).await;
    }
    let mut glance = Glance::of(&look)?;
    let Some(epoch) = glance.request_resign().await? else {
        let place = &glance.place;
        return nobody(place.namespace.as_str(), place.json);
    };
    let row = glance.leader().await?;
    // Only for its name: the process that led when it was asked.
    let term = row.live_term().filter(|term| term.epoch == epoch);
    let is_listed = term.is_none() || glance.lists_leader(&row).await;
    let exit = if is_listed { Exit::OK } else { Exit::NO };
    let place = glance.place;
    let name = &place.namespace;
    if place.json {
        print(json!({
            "name": name.as_str(),
            "leader": term.as_ref().map(|term| term.leader.as_str()),
            "epoch": epoch.get(),
            "asked": true,
        }))?;
        return Ok(exit);
    }
    match term {
        Some(term) if is_listed => print(format_args!("{name}: asked {term} to resign"))?,
        Some(term) => {
            let left = left(&row);
            print(format_args!("{name}: asked {term} to resign, who leads {left}{UNLISTED}"))?;
        }
        None => print(format_args!("{name}: asked the leader of epoch {epoch} to resign"))?,
    }
    Ok(exit)
}

/// Nothing will happen.
pub(crate) fn nobody(name: &str, json: bool) -> Result<Exit, Failed> {
    if json {
        print(json!({ "name": name, "leader": null, "epoch": null, "asked": false }))?;
    } else {
        print(format_args!("{name}: nobody leads, so nobody was asked"))?;
    }
    Ok(Exit::NO)
}
