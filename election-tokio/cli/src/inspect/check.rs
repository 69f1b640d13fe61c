//! Whether somebody leads, as an exit code. A job asks for itself: its environment says which
//! election it belongs to, as which node, and under which epoch.

use super::{Glance, OLD};
use crate::{
    arguments::{Check, Database, Look, Place},
    cluster::{Led, Report},
    exit::{Exit, Failed, print},
    secret::{STORE, STORE_FILE},
    settings::client,
};
use election_tokio::{StoreErrorCode, core::NodeId, default_node};
use serde_json::json;
use std::{env, fmt};

/// Who leads, and under which epoch.
struct Found {
    leader: String,
    epoch: u64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} leads under epoch {}", self.leader, self.epoch)
    }
}

/// Who has to lead.
enum Who {
    Anybody,
    Node(String),
    /// Any process of this host under the name that `election run` gives it by itself.
    Host(String),
}

impl Who {
    /// Whom a question is about that names nobody.
    fn here() -> Self {
        let node = default_node();
        Self::Host(node.rsplit_once('-').map_or_else(|| node.clone(), |(host, _)| host.to_owned()))
    }

    fn is(&self, leader: &str) -> bool {
        match self {
            Self::Anybody => true,
            Self::Node(node) => node == leader,
            Self::Host(host) => leader.rsplit_once('-').is_some_and(|(leader, process)| {
                leader == host && process.bytes().all(|it| it.is_ascii_digit())
            }),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Anybody => None,
            Self::Node(node) => Some(node),
            Self::Host(_) => Some("this host"),
        }
    }
}

/// Who has to lead, and under which epoch.
struct Wanted {
    who: Who,
    epoch: Option<u64>,
}

impl Wanted {
    fn is(&self, found: &Found) -> bool {
        self.who.is(&found.leader) && self.epoch.is_none_or(|epoch| epoch == found.epoch)
    }

    fn exit(&self, found: Option<&Found>) -> Exit {
        if found.is_some_and(|found| self.is(found)) { Exit::OK } else { Exit::NO }
    }

    /// What is not so, behind who leads instead; or behind that nobody does.
    fn missing(&self, somebody: bool) -> String {
        let under = |epoch| format!("under epoch {epoch}");
        match (self.who.name(), self.epoch.map(under)) {
            (Some(node), Some(under)) if !somebody => format!(", so {node} does not {under}"),
            (Some(node), None) if !somebody => format!(", so {node} does not"),
            (None, Some(under)) if !somebody => format!(", {under} or any other"),
            (Some(node), Some(under)) => format!(", not {node} {under}"),
            (Some(node), None) => format!(", not {node}"),
            (None, Some(under)) => format!(", not {under}"),
            (None, None) => String::new(),
        }
    }
}

/// Where somebody names another election than the environment, the node and the epoch there are that
/// election's.
fn without_what_is_anothers(mut check: Check) -> Check {
    let inherited = |flag| !check.look.target.database.given.wrote(flag);
    let own = env::var("ELECTION_NAME").ok();
    let another = own.is_some() && own != check.look.target.name;
    let (no_node, no_epoch) = (another && inherited("node"), another && inherited("epoch"));
    check.look.asked.node = check.look.asked.node.filter(|_| !no_node);
    check.epoch = check.epoch.filter(|_| !no_epoch);
    check
}

/// `election check`.
pub(crate) async fn check(check: Check) -> Result<Exit, Failed> {
    let Check { look, anybody, epoch, quiet } = without_what_is_anothers(check);
    let node = look.asked.node.clone();
    node.as_ref()
        .map_or(Ok(()), |node| NodeId::new(node).map(drop))
        .map_err(|error| Failed::of("--node", &error))?;
    // An epoch has one leader, whoever that is.
    let who = match node {
        _ if anybody => Who::Anybody,
        Some(node) => Who::Node(node),
        None if epoch.is_some() => Who::Anybody,
        None => Who::here(),
    };
    let mut wanted = Wanted { who, epoch };
    let (name, found) = match client(&look)? {
        Some(member) => {
            let Report { node, led, .. } = member.report().await?;
            if matches!(wanted.who, Who::Host(_)) {
                wanted.who = Who::Node(node);
            }
            if let Led { leader: None, unknown: Some(why), .. } = led {
                return unknown(member.election(), &why, look.target.database.json, quiet);
            }
            let found = led.leader.zip(led.epoch).map(|(leader, epoch)| Found { leader, epoch });
            (member.election().to_owned(), found)
        }
        // In a cluster it says which member to ask.
        None if anybody && look.target.database.given.wrote("node") => {
            return Err(Failed::new("both --anybody and --node say who must lead; keep one"));
        }
        None => {
            let mut glance = Glance::of(&look)?;
            let name = glance.place.namespace.to_string();
            if glance.is_replica().await.map_err(|failed| hinted(failed, &look))? {
                return unknown(&name, OLD, look.target.database.json, quiet);
            }
            let row = glance.leader().await.map_err(|failed| hinted(failed, &look))?;
            let found = row
                .live_term()
                .map(|term| Found { leader: term.leader.to_string(), epoch: term.epoch.get() });
            (name, found)
        }
    };
    if quiet {
        return Ok(wanted.exit(found.as_ref()));
    }
    told(&name, &wanted, found.as_ref(), look.target.database.json)
}

/// Why a job is refused whose `election run` was not: it inherits no password.
fn hinted(failed: Failed, look: &Look) -> Failed {
    let Database { store, given, .. } = &look.target.database;
    let is_inherited = given.place("store") == Some(Place::Environment);
    let is_jobs = env::var_os("ELECTION_EPOCH").is_some() && is_inherited;
    let lacks = is_jobs && store.as_ref().is_some_and(|url| !url.is_secret());
    if !lacks || failed.store_code() != Some(StoreErrorCode::Login) {
        return failed;
    }
    let text = failed.to_string();
    Failed::new(format!(
        "{text} (a job inherits no password, so {STORE} has none here: keep the URL in a file that the \
         job's user can read, and start `election run` with --store-file or {STORE_FILE})"
    ))
}

/// A member that hears too few others cannot say that nobody leads, nor can a replica say who does.
fn unknown(name: &str, why: &str, json: bool, quiet: bool) -> Result<Exit, Failed> {
    if quiet {
        return Err(Failed::new(format!("{name}: the leader is unknown: {why}")));
    }
    if json {
        print(json!({
            "name": name,
            "leader": null,
            "epoch": null,
            "holds": null,
            "unknown": why,
        }))?;
    } else {
        print(format_args!("{name}: the leader is unknown: {why}"))?;
    }
    Ok(Exit::TOOL_FAILED)
}

fn told(name: &str, wanted: &Wanted, found: Option<&Found>, json: bool) -> Result<Exit, Failed> {
    let exit = wanted.exit(found);
    let holds = exit == Exit::OK;
    if json {
        print(json!({
            "name": name,
            "leader": found.map(|found| &found.leader),
            "epoch": found.map(|found| found.epoch),
            "holds": holds,
        }))?;
    } else {
        let says = found.map_or_else(|| "nobody leads".to_owned(), Found::to_string);
        let missing = if holds { String::new() } else { wanted.missing(found.is_some()) };
        print(format_args!("{name}: {says}{missing}"))?;
    }
    Ok(exit)
}
