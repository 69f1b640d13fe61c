//! An observer of a cluster. It outlives the member that it asks: then it asks another, and waits for
//! one where none answers.

use super::{
    client::{Client, Ended},
    exchange::Led,
    file::File,
    words,
};
use crate::{
    arguments::Asked,
    exit::{Exit, Failed, print, unread},
};
use serde_json::json;
use std::{path::Path, pin::pin, time::Duration};
use tokio::time::sleep;
use tracing::warn;

/// How long a member may take until it says who leads.
const ANSWER: Duration = Duration::from_secs(5);
/// How long it takes until those that did not answer are asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// Who observes, and whom it may ask.
pub(crate) struct Observer {
    election: String,
    members: Vec<Client>,
    json: bool,
    /// What was printed last.
    last: Option<Led>,
}

impl Observer {
    /// # Errors
    /// If the file of the cluster cannot be used or has no such member, or none was named and none
    /// answers here.
    pub(crate) fn of(cluster: &Path, asked: &Asked, json: bool) -> Result<Self, Failed> {
        let file = File::read(cluster)?;
        let socket = asked.membership.socket.as_deref();
        let nodes = file.observed(asked.node.as_deref(), socket)?;
        if let [only] = &*nodes {
            crate::line::name_node(&**only);
        }
        let client = |node| Client::to(&file, node, socket, ANSWER, json);
        let members = nodes.into_iter().map(client).collect::<Result<_, _>>()?;
        Ok(Self { election: file.election.clone(), members, json, last: None })
    }

    /// Prints every change until it is interrupted.
    ///
    /// # Errors
    /// If nobody answers at the start, or standard output cannot be written.
    pub(crate) async fn observe(mut self) -> Result<Exit, Failed> {
        let mut interrupt = crate::inspect::interrupt()?;
        let mut unread = pin!(unread());
        loop {
            tokio::select! {
                round = self.round() => round?,
                _ = interrupt.recv() => return Ok(Exit::OK),
                failed = &mut unread => return Err(failed),
            }
        }
    }

    /// Asks one member after the other, each for as long as it answers.
    async fn round(&mut self) -> Result<(), Failed> {
        let (mut answered, mut failed) = (false, None);
        for place in 0..self.members.len() {
            let Self { election, members, json, last } = self;
            let seen = |led: Led| {
                answered = true;
                tell(election, *json, last, led)
            };
            let Err(ended) = members[place].follow(seen).await;
            match ended {
                Ended::Member(error) => drop(failed.get_or_insert(error)),
                Ended::Listener(error) => return Err(error),
            }
        }
        if answered {
            return Ok(());
        }
        match failed.filter(|_| self.last.is_none()) {
            Some(error) => return Err(error),
            None => self.is_silent()?,
        }
        sleep(PAUSE).await;
        Ok(())
    }

    /// Nobody answers any more. Says so once.
    fn is_silent(&mut self) -> Result<(), Failed> {
        let nodes: Vec<_> = self.members.iter().map(|member| &*member.node).collect();
        let why = format!("no member answers: {}", nodes.join(", "));
        let silence = Led { unknown: Some(why.clone()), ..Led::default() };
        if self.last.as_ref() != Some(&silence) {
            warn!(event = "waiting", "{why}; waiting for one: start it on this machine");
        }
        tell(&self.election, self.json, &mut self.last, silence)
    }
}

/// Prints who leads, unless the last line has said so.
fn tell(election: &str, json: bool, last: &mut Option<Led>, led: Led) -> Result<(), Failed> {
    if last.as_ref() == Some(&led) {
        return Ok(());
    }
    let now = crate::line::now();
    let Led { leader, epoch, label, unknown } = &led;
    if json {
        let mut seen = json!({
            "timestamp": now, "name": election, "leader": leader, "epoch": epoch, "label": label,
        });
        if let Some(why) = unknown {
            seen["unknown"] = json!(why);
        }
        print(seen)?;
    } else {
        print(format_args!("{now} {election}: {}", words::leads(&led)))?;
    }
    *last = Some(led);
    Ok(())
}
