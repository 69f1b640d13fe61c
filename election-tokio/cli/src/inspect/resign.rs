//! A leader that is asked to resign. The exit code says whether there is one that was asked by this.

use super::{Glance, rounded};
use crate::{
    arguments::Resign,
    exit::{Exit, Failed, print},
    settings::client,
};
use election_tokio::core::{Epoch, Term, lease::Row};
use serde_json::json;

/// What has come of it.
struct Asked {
    epoch: Epoch,
    /// The row, and whom it names under that epoch: the process that led when it was asked.
    row: Row,
    term: Option<Term>,
    /// Somebody had asked it before.
    already: bool,
    /// It is on the list of candidates, as far as that can be known.
    is_listed: bool,
}

impl Asked {
    async fn by(glance: &mut Glance) -> Result<Option<Self>, Failed> {
        let before = glance.leader().await?;
        let Some(epoch) = glance.request_resign().await? else { return Ok(None) };
        let row = glance.leader().await?;
        let term = row.live_term().filter(|term| term.epoch == epoch);
        let is_listed = term.is_none() || glance.lists_leader(&row).await;
        // Another may have begun to lead in between, and it was not.
        let already = before.resign_requested && before.epoch == epoch;
        Ok(Some(Self { epoch, row, term, already, is_listed }))
    }

    /// Whether anything follows from having asked.
    fn exit(&self) -> Exit {
        if self.is_listed && !self.already { Exit::OK } else { Exit::NO }
    }

    fn says(&self) -> String {
        let epoch = self.epoch;
        let Some(term) = &self.term else {
            return format!("asked the leader of epoch {epoch} to resign");
        };
        let left = rounded(self.row.remaining);
        match (self.is_listed, self.already) {
            (true, false) => format!("asked {term} to resign"),
            (true, true) => format!(
                "{term} was already asked to resign, and still has the lease: its job is ending, \
                 its process has exited, or it has not looked yet. Others can lead in {left} at \
                 the latest, unless it renews the lease"
            ),
            (false, _) => format!(
                "nobody is there to resign: {term} is not listed as a candidate, so its process \
                 may have exited, and its lease is kept for another {left} (as with \
                 --at-least-for); others can lead after that. If the process is running, it finds \
                 the request in the row"
            ),
        }
    }
}

/// `election resign`.
pub(crate) async fn resign(resign: Resign) -> Result<Exit, Failed> {
    let Resign { look, to } = resign;
    if let Some(member) = client(&look)? {
        return member.resign(to).await;
    }
    let mut glance = Glance::of(&look)?;
    let asked = Asked::by(&mut glance).await?;
    let name = glance.place.namespace.as_str();
    let Some(asked) = asked else { return nobody(name, glance.place.json) };
    if glance.place.json {
        print(json!({
            "name": name,
            "leader": asked.term.as_ref().map(|term| term.leader.as_str()),
            "epoch": asked.epoch.get(),
            "asked": true,
            "already": asked.already,
            "listed": asked.is_listed,
        }))?;
    } else {
        print(format_args!("{name}: {}", asked.says()))?;
    }
    Ok(asked.exit())
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
