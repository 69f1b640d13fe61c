//! What `run` has to know of where its election is held: in a database, or in a cluster. Whatever
//! follows is the same for both.

use super::{
    signals::Signals,
    start::{GivenUp, TRYING, Trouble, Waits, prepare},
};
use crate::{
    cluster::{Control, Part},
    exit::{Exit, Failed},
    plan::Candidacy,
    store::AnyStore,
    systemd::Service,
};
use election_tokio::{
    BuildError, Handle, Member, PeerReport, StartError, Starting, Status, Store as _,
    core::{
        Epoch, Namespace,
        lease::{Query, Row},
        quorum::Hindrance,
    },
    log::{chain, promoted},
    now,
};
use std::{cell::Cell, convert::Infallible, future::pending, time::Duration};
use tokio::time::timeout;
use tracing::{info, warn};

/// How long a member's start may take before the log says what it is at.
const SLOW: Duration = Duration::from_secs(2);

/// How long until a name that was not found is looked up again.
const AGAIN: Duration = Duration::from_secs(1);

/// An election that this process takes part in.
pub(super) struct Joined {
    pub(super) handle: Handle,
    pub(super) held: Held,
}

/// By what it is held.
pub(super) enum Held {
    /// A row, which is a leader's for this long unless it is renewed. Where a lease lasts for a least
    /// time (--at-least-for), `keeper` can end it earlier.
    ByDatabase { ttl: Duration, grace: Duration, keeper: Option<Box<AnyStore>> },
    /// The votes of the members.
    ByCluster { member: Box<Member>, _control: Option<Control> },
}

impl Joined {
    /// Stands for election in a database. Waits until that can be used; if a signal or `give_up`
    /// comes first, returns an exit code.
    ///
    /// # Errors
    /// If somebody has to fix something first.
    pub(super) async fn database(
        candidacy: Candidacy,
        signals: &mut Signals,
        waits: Waits,
        give_up: impl Future<Output = GivenUp>,
        service: &Service,
    ) -> Result<Result<Self, Exit>, Failed> {
        let Candidacy { mut place, builder, no_schema } = candidacy;
        let election = builder.build().map_err(|error| refused(&error))?;
        place.announce();
        warn_of_itself(&place.namespace, "database", "give it another --name");
        // A call that waited too long for a lock could not say so in time.
        place.store.prepare(election.config());
        let (ttl, grace) = (election.config().ttl(), election.config().grace());
        let trouble = Trouble::told_to(service);
        let row = tokio::select! {
            prepared = prepare(&mut place, no_schema, waits, ttl, &trouble) => prepared?,
            exit = signals.end_waiting() => return Ok(Err(exit)),
            given_up = give_up => return Ok(Err(never_used(given_up, &trouble))),
        };
        warn_of_a_long_lease(&row, election.config().clock_step());
        let keeps = !election.config().at_least_for().is_zero();
        // The clone is not connected.
        let keeper = keeps.then(|| Box::new(place.store.clone()));
        drop(place.store);
        let handle = election.start();
        Ok(Ok(Self { handle, held: Held::ByDatabase { ttl, grace, keeper } }))
    }

    /// Becomes a member of a cluster. A name server or a disk may hang meanwhile; if a signal or
    /// `give_up` comes first, returns an exit code. Waits for a name server that does not know yet where
    /// to listen, as for a database.
    ///
    /// # Errors
    /// If its ballot, a port or its control socket cannot be used.
    pub(super) async fn cluster(
        part: Part,
        signals: &mut Signals,
        waits: Waits,
        give_up: impl Future<Output = GivenUp>,
        service: &Service,
    ) -> Result<Result<Self, Exit>, Failed> {
        let (starting, told) = (part.starting(), Cell::new(false));
        let start = async {
            if waits != Waits::AtOnce {
                find_names(&part, service, &told).await;
            }
            part.start().await
        };
        let (member, control) = tokio::select! {
            started = start => started?,
            exit = signals.end_waiting() => return Ok(Err(exit)),
            given_up = give_up => return Ok(Err(never_started(given_up, &starting))),
            never = hangs(&starting, service, &told) => match never {},
        };
        let handle = member.handle().clone();
        let name = &handle.registration().namespace;
        warn_of_itself(name, "cluster", "name another one with --cluster");
        let held = Held::ByCluster { member: Box::new(member), _control: control };
        Ok(Ok(Self { handle, held }))
    }
}

impl Held {
    /// This process as a member of a cluster.
    pub(super) fn member(&self) -> Option<&Member> {
        match self {
            Self::ByDatabase { .. } => None,
            Self::ByCluster { member, .. } => Some(member),
        }
    }

    /// How long work may go on once leadership is lost.
    pub(super) fn grace(&self) -> Duration {
        match self {
            Self::ByDatabase { grace, .. } => *grace,
            Self::ByCluster { member, .. } => member.config().grace(),
        }
    }

    /// How long `--try` waits to find out who leads.
    pub(super) fn trying(&self) -> Duration {
        match self {
            Self::ByDatabase { .. } => TRYING,
            Self::ByCluster { member, .. } => {
                // A first start, an election, and one more.
                let config = member.config();
                config.boot_grace() + config.election_timeout() * 2
            }
        }
    }

    /// How long a leadership that was not given up may keep others out.
    pub(super) fn lasts(&self) -> Duration {
        match self {
            Self::ByDatabase { ttl, .. } => *ttl,
            Self::ByCluster { member, .. } => member.config().down_after(),
        }
    }

    /// Gives the lease of this epoch back before its least time is over. Call it once the elector has
    /// ended, and if nothing has run under that epoch.
    pub(super) async fn give_back(&self, handle: &Handle, epoch: Epoch, patience: Duration) {
        let Self::ByDatabase { keeper: Some(keeper), .. } = self else { return };
        let (mut store, query) = (keeper.clone(), Query::Resign { epoch });
        let answer = timeout(patience, store.answer(handle.registration(), &query)).await;
        let epoch = epoch.get();
        let cause = match answer {
            Ok(Ok(_)) => {
                info!(
                    event = "released",
                    epoch,
                    "the job was never started, so the lease is released before its minimum time \
                     is over; others can lead now"
                );
                return;
            }
            Ok(Err(error)) => chain(&error),
            Err(_) => format!("no answer within {}", humantime::format_duration(patience)),
        };
        warn!(
            event = "not_released",
            epoch,
            cause,
            "the job was never started, but the lease could not be released; it is kept for its \
             minimum time: {cause}"
        );
    }

    /// Who did not answer, if leaving takes too long.
    pub(super) fn who(&self) -> &'static str {
        match self {
            Self::ByDatabase { .. } => "the database did not answer",
            Self::ByCluster { .. } => "the ballot was not written, or the farewell not sent,",
        }
    }

    /// Why this process is not elected though nobody is known to lead.
    pub(super) fn trouble(&self, status: &Status) -> Option<String> {
        match self {
            Self::ByDatabase { .. } => match &status.error {
                Some(error) => Some(format!("waiting for the database: {}", chain(&**error))),
                None => opens_in(status)
                    .map(|left| format!("nobody can be elected yet: {}", promoted(left))),
            },
            Self::ByCluster { member, .. } => {
                let hindrance = member.status().hindrance?;
                let why = match hindrance {
                    Hindrance::Campaigns(_) => {
                        "this member is asking for votes, and does not have enough yet".to_owned()
                    }
                    _ => {
                        let named = hindrance.named(member.config().members()).to_string();
                        format!("this member does not ask for votes, because {named}")
                    }
                };
                let more = too_few(member).or_else(|| takes_time(&hindrance));
                let more = more.map(|more| format!("; {more}")).unwrap_or_default();
                Some(format!("{why}{more}"))
            }
        }
    }

    /// The failure of a start that was only to try.
    pub(super) fn unknown(&self, status: &Status) -> Failed {
        match (self, &status.error) {
            (Self::ByDatabase { .. }, Some(error)) => {
                Failed::of("the database cannot be used", &**error)
            }
            (Self::ByDatabase { .. }, None) => Failed::new(match opens_in(status) {
                Some(left) => format!(
                    "nobody can be elected yet: {}; try again then, or replace --try by --wait \
                     with enough time",
                    promoted(left)
                ),
                None if status.reached && status.leader.is_none() => {
                    "nobody leads, and the database did not accept the attempt to be elected; a \
                     trigger or rule on the leader table may drop it"
                        .to_owned()
                }
                None => "the leader in the database is unclear".to_owned(),
            }),
            (Self::ByCluster { .. }, _) => {
                let why = self.trouble(status).map(|why| format!(": {why}"));
                Failed::new(format!("no leader is known{}", why.unwrap_or_default()))
            }
        }
    }
}

/// How long it still is, behind a failover of the database, before somebody can be elected.
fn opens_in(status: &Status) -> Option<Duration> {
    let left = status.opens_at?.since(now());
    (!left.is_zero()).then_some(left)
}

/// Who is missing for a majority, and the remedy.
fn too_few(member: &Member) -> Option<String> {
    let is_fresh = |peer: &PeerReport| peer.status.heard.is_some_and(|heard| heard.is_fresh);
    let peers = member.peers();
    let silent: Vec<_> =
        peers.iter().filter(|peer| !is_fresh(peer)).map(|peer| peer.id.as_str()).collect();
    let needed = member.members().quorum();
    (1 + peers.len() - silent.len() < needed).then(|| {
        let are = if silent.len() == 1 { "is" } else { "are" };
        format!(
            "too few members are heard ({} {are} not): start them, or check the network between",
            silent.join(", ")
        )
    })
}

/// How long a member that has just started may not vote, and so not be elected.
fn takes_time(hindrance: &Hindrance) -> Option<String> {
    let Hindrance::Boots { until } = hindrance else { return None };
    let left = until.since(now()).as_secs_f64();
    Some(format!("it may vote in {left:.1}s: allow more time"))
}

/// Why there is no election, with the library's settings as the options that set them: an error
/// begins with the setting that is wrong.
fn refused(error: &BuildError) -> Failed {
    let BuildError::Config(error) = error else { return Failed::of("cannot take part", error) };
    let text = error.to_string().replace('_', "-");
    let text = text.replace("set grace", "set --grace").replace("raise ttl", "raise --ttl");
    Failed::new(format!("--{text}"))
}

/// A job that stands for the election under which it runs would wait for its own end.
fn warn_of_itself(name: &Namespace, place: &str, remedy: &str) {
    let outer = |variable| std::env::var(variable).ok();
    if outer("ELECTION_EPOCH").is_some() && outer("ELECTION_NAME").as_deref() == Some(name.as_str())
    {
        warn!(
            event = "warning",
            "this process belongs to a job of the election {name}, and stands for an election of \
             the same name: on the same {place} it would wait for its own end; {remedy}"
        );
    }
}

/// If the database's clock was ahead once, a lease that was written then looks as if it ran for as long.
fn warn_of_a_long_lease(row: &Row, clock_step: Duration) {
    let is_long = row.remaining > row.ttl.saturating_add(clock_step);
    let Some(holder) = row.live_holder().filter(|_| is_long) else { return };
    let whole = |time: Duration| humantime::format_duration(Duration::from_secs(time.as_secs()));
    let (leader, ttl, left) = (&holder.candidate.id, whole(row.ttl), whole(row.remaining));
    warn!(
        event = "warning",
        "the lease of {leader} runs for another {left}, although it asked for {ttl}: the \
         database's clock was ahead when it was written, or {leader} allows for steps of that \
         clock (--clock-step); if {leader} stays silent, a process that waits for longer than \
         {ttl} takes over: use --wait with a longer time, not --try"
    );
}

fn never_used(given_up: GivenUp, trouble: &Trouble<'_>) -> Exit {
    let what = given_up.not_elected();
    let refuses = trouble.is_refusal();
    match (given_up, trouble.cause()) {
        (_, Some(cause)) if refuses => {
            warn!(event = "not_elected", cause, "{what}: the database cannot be used: {cause}");
        }
        (GivenUp::Late, cause) => {
            let cause = cause.unwrap_or_else(|| "it has not answered yet".to_owned());
            warn!(event = "not_elected", cause, "{what}: the database was never reached: {cause}");
        }
        (GivenUp::InputEnded, Some(cause)) => {
            warn!(event = "not_elected", cause, "{what}: waiting for the database: {cause}");
        }
        // It had no time to answer.
        (GivenUp::InputEnded, None) => warn!(event = "not_elected", "{what}"),
    }
    Exit::NOT_ELECTED
}

/// Says what takes so long, once.
async fn hangs(starting: &Starting, service: &Service, told: &Cell<bool>) -> Infallible {
    tokio::time::sleep(SLOW).await;
    has_not_started(&format!("it is {starting}"), service, told);
    pending().await
}

/// Waits until the names are found that a member listens at.
async fn find_names(part: &Part, service: &Service, told: &Cell<bool>) {
    while let Err(error @ StartError::Lookup { .. }) = part.look_up().await {
        has_not_started(&format!("it {error}"), service, told);
        tokio::time::sleep(AGAIN).await;
    }
}

/// Says once what a start waits for.
fn has_not_started(cause: &str, service: &Service, told: &Cell<bool>) {
    if told.replace(true) {
        return;
    }
    warn!(event = "waiting", cause, "this member has not started yet: {cause}");
    service.waits(format!("this member has not started yet: {cause}"));
}

fn never_started(given_up: GivenUp, starting: &Starting) -> Exit {
    let cause = format!("this member is still {starting}");
    let remedy = match given_up {
        GivenUp::Late => "; check the disk and the name server",
        GivenUp::InputEnded => "", // it may have had no time
    };
    let what = given_up.not_elected();
    warn!(event = "not_elected", cause, "{what}: {cause}{remedy}");
    Exit::NOT_ELECTED
}
