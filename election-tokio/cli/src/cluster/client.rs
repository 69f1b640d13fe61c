//! The commands that ask a running member.

use super::{
    exchange::{Answer, LONGEST_ANSWER, Led, Report, Request},
    file::File,
    place::Spot,
    words,
};
use crate::{
    arguments::Asked,
    exit::{Exit, Failed, print},
    time::millis,
};
use rustix::process::geteuid;
use serde_json::json;
use std::{convert::Infallible, io, path::Path, time::Duration};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    time::timeout,
};

/// A running member of a cluster, from outside.
pub(crate) struct Client {
    election: String,
    pub(super) node: String,
    spots: Vec<Spot>,
    /// How it is started, for those who find that it is not.
    start: String,
    within: Duration,
    json: bool,
}

/// Why nothing more is heard of a member.
pub(super) enum Ended {
    /// It has ended, or never answered.
    Member(Failed),
    /// Whoever listens cannot go on.
    Listener(Failed),
}

/// The answer has to come a little before the asker's patience is over.
const HEADROOM: Duration = Duration::from_millis(100);

impl Client {
    /// The member that a command asks.
    ///
    /// # Errors
    /// If the file of the cluster cannot be used, or has no such member.
    pub(crate) fn of(
        cluster: &Path,
        asked: &Asked,
        within: Duration,
        json: bool,
    ) -> Result<Self, Failed> {
        let file = File::read(cluster)?;
        let socket = asked.membership.socket.as_deref();
        let node = file.asked(asked.node.as_deref(), socket)?;
        crate::line::name_node(&*node);
        Self::to(&file, node, socket, within, json)
    }

    /// One that asks this member.
    ///
    /// # Errors
    /// If the path of its socket is longer than the system permits.
    pub(super) fn to(
        file: &File,
        node: String,
        socket: Option<&Path>,
        within: Duration,
        json: bool,
    ) -> Result<Self, Failed> {
        let spots = Spot::all(socket, &file.election, &node)?;
        let (election, start) = (file.election.clone(), file.start(&node));
        Ok(Self { election, node, spots, start, within, json })
    }

    /// What a member that runs on this machine says, if one does.
    ///
    /// # Errors
    /// If none of those that run answers.
    pub(crate) async fn somebody(file: &File) -> Result<Option<Report>, Failed> {
        const PATIENCE: Duration = Duration::from_secs(2);
        let mut silent = None;
        for (id, _) in file.members() {
            let client = Self::to(file, id.to_owned(), None, PATIENCE, false)?;
            if client.spots.iter().any(Spot::is_answered) {
                match client.report().await {
                    Ok(report) => return Ok(Some(report)),
                    Err(why) => silent = silent.or(Some(why)),
                }
            }
        }
        silent.map_or(Ok(None), Err)
    }

    /// The member behind a socket that is known.
    pub(crate) fn at(socket: &Path, within: Duration) -> Self {
        let spot = Spot { path: socket.to_owned(), is_usual: false };
        let (election, node, start) = Default::default();
        Self { election, node, spots: vec![spot], start, within, json: false }
    }

    /// What the member knows now.
    pub(crate) async fn report(&self) -> Result<Report, Failed> {
        match self.ask(&Request::Status).await? {
            Answer::Status(report) => Ok(*report),
            _ => Err(self.strange()),
        }
    }

    /// Who leads, as far as the member knows.
    pub(crate) async fn leader(&self) -> Result<Led, Failed> {
        Ok(self.report().await?.led)
    }

    pub(crate) fn election(&self) -> &str {
        &self.election
    }

    pub(crate) async fn status(&self, exit_code: bool) -> Result<Exit, Failed> {
        let report = self.report().await?;
        if self.json {
            print(serde_json::to_value(&report).unwrap_or_default())?;
        } else {
            print(words::status(&report))?;
        }
        Ok(match report.led {
            Led { leader: None, unknown: Some(_), .. } if exit_code => Exit::TOOL_FAILED,
            Led { leader: None, .. } if exit_code => Exit::NO,
            _ => Exit::OK,
        })
    }

    pub(crate) async fn list(&self) -> Result<Exit, Failed> {
        let report = self.report().await?;
        if self.json {
            words::members(&report).into_iter().try_for_each(print)?;
        } else {
            print(words::list(&report))?;
        }
        Ok(Exit::OK)
    }

    /// Hears of every change, of which `seen` is told, until the member or its listener ends.
    ///
    /// # Errors
    /// Always, in the end: which of the two it was.
    pub(super) async fn follow(
        &self,
        mut seen: impl FnMut(Led) -> Result<(), Failed>,
    ) -> Result<Infallible, Ended> {
        let (mut from, _to) = self.send(&Request::Observe).await.map_err(Ended::Member)?;
        // The first line tells the state, so it comes at once.
        let first = timeout(self.within, self.receive(&mut from)).await;
        let mut answer = first.unwrap_or_else(|_| Err(self.late()));
        loop {
            match answer.map_err(Ended::Member)? {
                Answer::Seen(led) => seen(led).map_err(Ended::Listener)?,
                Answer::Refused(why) => return Err(Ended::Member(self.refused(&why))),
                _ => return Err(Ended::Member(self.strange())),
            }
            answer = self.receive(&mut from).await;
        }
    }

    pub(crate) async fn resign(&self, to: Option<String>) -> Result<Exit, Failed> {
        match self.leader().await? {
            Led { leader: None, unknown: None, .. } => {
                return crate::inspect::nobody(&self.election, self.json);
            }
            Led { leader: None, unknown: Some(why), .. } => {
                let remedy = "ask a member that hears a majority";
                let why = format!("the leader is unknown, so nobody was asked: {why}; {remedy}");
                return Err(self.refused(&why));
            }
            Led { leader: Some(_), .. } => {}
        }
        let request = Request::Resign { to: to.clone(), within_ms: self.within_ms() };
        let Answer::Resigning { epoch } = self.ask(&request).await? else {
            return Err(self.strange());
        };
        let (name, node) = (&self.election, &self.node);
        if self.json {
            print(json!({
                "name": name, "leader": node, "epoch": epoch, "asked": true, "to": to,
            }))?;
            return Ok(Exit::OK);
        }
        let favour = to.map(|to| format!(" in favour of {to}")).unwrap_or_default();
        print(format_args!("{name}: {node} (epoch {epoch}) resigns{favour}"))?;
        Ok(Exit::OK)
    }

    pub(crate) async fn pause(&self, lasts: Option<Duration>) -> Result<Exit, Failed> {
        if lasts.is_some_and(|lasts| lasts < Duration::from_millis(1)) {
            return Err(Failed::new("--for: a pause lasts at least 1ms; write a longer time"));
        }
        self.maintain(Request::Pause { for_ms: lasts.map(millis), within_ms: self.within_ms() })
            .await
    }

    pub(crate) async fn resume(&self) -> Result<Exit, Failed> {
        self.maintain(Request::Resume { within_ms: self.within_ms() }).await
    }

    async fn maintain(&self, request: Request) -> Result<Exit, Failed> {
        let Answer::Maintained { changed, pause } = self.ask(&request).await? else {
            return Err(self.strange());
        };
        let name = &self.election;
        if self.json {
            print(json!({ "name": name, "changed": changed, "pause": pause }))?;
        } else if changed {
            print(format_args!("{name}: {}", words::failover(pause.as_ref())))?;
        } else {
            print(format_args!("{name}: automatic failover was not paused"))?;
        }
        Ok(Exit::OK)
    }

    fn within_ms(&self) -> u64 {
        millis(self.within.saturating_sub(HEADROOM).max(HEADROOM))
    }

    /// Asks, and waits for the answer.
    async fn ask(&self, request: &Request) -> Result<Answer, Failed> {
        let asking = async {
            let (mut from, _to) = self.send(request).await?;
            self.receive(&mut from).await
        };
        match timeout(self.within, asking).await {
            Ok(Ok(Answer::Refused(why))) => Err(self.refused(&why)),
            Ok(answered) => answered,
            Err(_) => Err(self.late()),
        }
    }

    async fn send(
        &self,
        request: &Request,
    ) -> Result<(impl AsyncBufRead + Unpin, impl Sized), Failed> {
        let stream = self.connect().await?;
        let (from, mut to) = stream.into_split();
        // Texts and numbers can always be serialized.
        let mut line = serde_json::to_vec(request).unwrap_or_default();
        line.push(b'\n');
        // A member that answers nobody else says so before it reads, and closes.
        let _ = to.write_all(&line).await;
        Ok((BufReader::new(from), to))
    }

    async fn receive(&self, from: &mut (impl AsyncBufRead + Unpin)) -> Result<Answer, Failed> {
        let mut line = Vec::new();
        let read = from.take(LONGEST_ANSWER).read_until(b'\n', &mut line).await;
        match read {
            Err(error) => Err(self.broken(&error.to_string())),
            Ok(_) if !line.ends_with(b"\n") => Err(self.broken("its process has exited")),
            Ok(_) => serde_json::from_slice(&line).map_err(|_| self.strange()),
        }
    }

    /// The first of the usual sockets at which somebody answers.
    async fn connect(&self) -> Result<UnixStream, Failed> {
        let mut causes = Vec::new();
        for spot in &self.spots {
            let shown = spot.path.display();
            let found = match UnixStream::connect(&spot.path).await {
                Ok(stream) => spot.is_safe().map(|()| stream),
                Err(error) => Err(match error.kind() {
                    io::ErrorKind::NotFound => format!("there is no {shown}"),
                    io::ErrorKind::ConnectionRefused => format!("nothing answers at {shown}"),
                    _ => format!("{shown}: {error}"),
                }),
            };
            match found {
                Ok(stream) => return self.trusted(stream),
                Err(cause) => causes.push(cause),
            }
        }
        let (node, causes, start) = (&self.node, causes.join("; "), &self.start);
        Err(Failed::new(format!(
            "{node} is not running here, or not as this user: {causes}. Start it: {start}; or use \
             --socket if its control socket is elsewhere (a member in a program of your own has \
             none)"
        )))
    }

    /// The connection, if whoever answers is who could run the member.
    fn trusted(&self, stream: UnixStream) -> Result<UnixStream, Failed> {
        let own = geteuid().as_raw();
        let user = stream.peer_cred().map_err(|error| self.broken(&error.to_string()))?.uid();
        if own != 0 && user != 0 && user != own {
            return Err(self.broken(&format!("another user (id {user}) answers there")));
        }
        Ok(stream)
    }

    fn late(&self) -> Failed {
        Failed::new(format!(
            "{} does not answer within {}: its process is stopped, or the machine is very busy; \
             check it, or allow more time (--timeout)",
            self.node,
            humantime::format_duration(self.within),
        ))
    }

    fn broken(&self, why: &str) -> Failed {
        Failed::new(format!("{} did not answer: {why}", self.node))
    }

    fn refused(&self, why: &str) -> Failed {
        Failed::new(format!("{}: {why}", self.election))
    }

    fn strange(&self) -> Failed {
        self.broken("it runs another version of `election`; ask it with that version")
    }
}
