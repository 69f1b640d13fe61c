//! The commands that look at an election from outside.

mod check;
mod list;
mod resign;

pub(crate) use check::check;
pub(crate) use list::list;
pub(crate) use resign::{nobody, resign};

use crate::{
    arguments::{self, Look, Observe, Order, Pause, Schema as SchemaArguments},
    exit::{Exit, Failed, print, unread},
    line,
    settings::{Named, Place, client, no_store, observed, ordered},
    store::AnyStore,
    time::millis,
};
use election_tokio::{
    Election, Status, Store as _, StoreError,
    core::{
        Change, Epoch, Label, Namespace,
        lease::{Config, Failure, Row},
        sql::{CandidateRow, Dialect, ElectionRow, Schema},
    },
};
use serde_json::{Value, json};
use std::{
    future::Future,
    pin::pin,
    time::{Duration, UNIX_EPOCH},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::{Instant, error::Elapsed, timeout_at},
};

/// A look at an election, with a time limit.
struct Glance {
    place: Place,
    timeout: Duration,
    deadline: Instant,
}

impl Glance {
    fn of(look: &Look) -> Result<Self, Failed> {
        Ok(Self::at(Place::of(&look.target)?, look.timeout))
    }

    fn at(mut place: Place, timeout: Duration) -> Self {
        // The wait for a lock ends before the whole look does, so that the error can name the lock.
        let waits = Config::builder()
            .ttl(timeout.saturating_mul(6).clamp(Config::MIN_TTL, Config::MAX_TTL));
        if let Ok(config) = waits.build() {
            place.store.prepare(&config);
        }
        // An instant too far away to represent is as good as none.
        let deadline = Instant::now() + timeout.min(Config::MAX_TTL);
        Self { place, timeout, deadline }
    }

    async fn leader(&mut self) -> Result<Row, Failed> {
        let Place { store, namespace, .. } = &mut self.place;
        let read = timeout_at(self.deadline, store.leader(namespace)).await;
        self.in_time("reading who leads", read)
    }

    async fn candidates(&mut self) -> Result<Vec<CandidateRow>, Failed> {
        let Place { store, namespace, .. } = &mut self.place;
        let read = timeout_at(self.deadline, store.list_candidates(namespace)).await;
        self.in_time("listing the candidates", read)
    }

    async fn election(&mut self) -> Result<ElectionRow, Failed> {
        let Place { store, namespace, .. } = &mut self.place;
        let read = timeout_at(self.deadline, store.election(namespace)).await;
        let found = self.in_time("reading who leads", read)?;
        let namespace = self.place.namespace.clone();
        Ok(found.unwrap_or(ElectionRow { namespace, row: Row::vacant() }))
    }

    /// Whether what is read next may be old.
    async fn is_replica(&mut self) -> Result<bool, Failed> {
        let asked = timeout_at(self.deadline, self.place.store.is_replica()).await;
        self.in_time("asking whether it is a replica", asked)
    }

    async fn elections(&mut self) -> Result<Vec<ElectionRow>, Failed> {
        let read = timeout_at(self.deadline, self.place.store.list_elections()).await;
        self.in_time("listing the elections", read)
    }

    /// Whether the leader is on the list of candidates, as far as that can be known. One that has left
    /// is not, though its lease may be kept (`--at-least-for`).
    async fn lists_leader(&mut self, row: &Row) -> bool {
        let Some(holder) = row.live_holder() else { return true };
        let candidates = self.candidates().await;
        candidates.map_or(true, |all| all.iter().any(|each| each.candidate == holder.candidate))
    }

    /// Other elections of the database, for whoever mistyped the name: the most alike first.
    async fn others(&mut self) -> String {
        const MOST: usize = 5;
        let mut names: Vec<_> = self
            .elections()
            .await
            .into_iter()
            .flatten()
            .map(|it| it.namespace.to_string())
            .collect();
        let asked = self.place.namespace.to_string();
        names.sort_by_key(|name| strsim::damerau_levenshtein(name, &asked));
        names.truncate(MOST);
        if names.is_empty() {
            String::new()
        } else {
            format!("; existing elections: {}", names.join(", "))
        }
    }

    async fn request_resign(&mut self) -> Result<Option<Epoch>, Failed> {
        let Place { store, namespace, .. } = &mut self.place;
        let asked = timeout_at(self.deadline, store.request_resign_of_leader(namespace)).await;
        self.in_time("asking the leader to resign", asked)
    }

    fn in_time<T>(
        &self,
        doing: &str,
        done: Result<Result<T, StoreError>, Elapsed>,
    ) -> Result<T, Failed> {
        let late = |_| {
            let (timeout, place) = (self.timeout, self.place.store.place());
            let timeout = humantime::format_duration(timeout);
            Failed::new(format!(
                "the database does not answer: {place}: no answer within {timeout} while {doing}; \
                 check that it is running, that nothing on the path drops packets, and that nobody \
                 locks its tables, or allow more time (--timeout)"
            ))
        };
        done.map_err(late)?.map_err(|error| unusable(&error))
    }
}

/// `election status`.
pub(crate) async fn status(status: arguments::Status) -> Result<Exit, Failed> {
    let arguments::Status { look, exit_code } = status;
    if let Some(member) = client(&look)? {
        return member.status(exit_code).await;
    }
    let mut glance = Glance::of(&look)?;
    let is_replica = glance.is_replica().await?;
    let election = glance.election().await?;
    let row = &election.row;
    let exit = match row.live_holder() {
        // Nobody is to act by what may be old.
        _ if exit_code && is_replica => Exit::TOOL_FAILED,
        None if exit_code => Exit::NO,
        _ => Exit::OK,
    };
    if glance.place.json {
        print(row_json(&glance.place, &election, is_replica))?;
        return Ok(exit);
    }
    let is_listed = glance.lists_leader(row).await;
    let others = if row.epoch.get() == 0 { glance.others().await } else { String::new() };
    let place = glance.place;
    let name = &place.namespace;
    let says = match row.live_holder() {
        Some(holder) => {
            let label = holder.label.as_ref().map(|label| format!(" at {label}"));
            format!(
                "{} leads{} under epoch {}{}, {}{}{}",
                holder.candidate.id,
                label.unwrap_or_default(),
                row.epoch,
                row.elected_ms.and_then(since).unwrap_or_default(),
                left(row, place.store.knows_age()),
                if row.resign_requested { ", asked to resign" } else { "" },
                if is_listed { "" } else { UNLISTED },
            )
        }
        None if row.epoch.get() == 0 => format!("nobody has ever led{others}"),
        None => format!("nobody leads (the last epoch was {})", row.epoch),
    };
    let old = if is_replica { format!("; {OLD}") } else { String::new() };
    print(format_args!("{name}: {says}; in {}{old}", place.store.place()))?;
    Ok(exit)
}

/// What to think of the answers of a replica.
const OLD: &str =
    "this server is a replica or read-only, so its answer may be out of date: ask the primary";

/// What a leader is that no longer stands for election.
const UNLISTED: &str = ", but is not listed as a candidate: its process may have exited, and its \
                        lease is kept until then (as with --at-least-for)";

/// How long somebody leads without another renewal. If the lease allows for steps of the database's
/// clock, or the store does not say when it was last renewed, only who watches knows.
fn left(row: &Row, knows_age: bool) -> String {
    let kept = rounded(row.remaining);
    if !knows_age {
        return format!("with a lease of {kept}, last renewed at an unknown time");
    }
    if row.remaining <= row.ttl {
        return format!("for another {kept} unless renewed");
    }
    let ttl = rounded(row.ttl);
    format!("until others have seen it silent for {ttl}; the row itself is kept for another {kept}")
}

/// Since when somebody leads, by the database's clock; `None` if that is no time.
fn since(elected_ms: i64) -> Option<String> {
    const YEAR_10000: u64 = 253_402_300_800_000;
    let millis = u64::try_from(elected_ms).ok().filter(|millis| *millis < YEAR_10000)?;
    let at = UNIX_EPOCH + Duration::from_millis(millis);
    Some(format!(" since {}", humantime::format_rfc3339_seconds(at)))
}

fn row_json(place: &Place, election: &ElectionRow, is_replica: bool) -> Value {
    let ElectionRow { namespace, row } = election;
    let holder = row.live_holder();
    json!({
        "name": namespace.as_str(),
        "place": place.store.place(),
        "schema": place.store.dialect().and_then(|dialect| place.tables.schema(dialect)),
        "replica": is_replica,
        "leader": holder.map(|holder| holder.candidate.id.as_str()),
        "incarnation": holder.map(|holder| holder.candidate.incarnation.to_string()),
        "label": holder.and_then(|holder| holder.label.as_ref()).map(Label::as_str),
        "epoch": row.epoch.get(),
        "elected_ms": row.elected_ms,
        "remaining_ms": holder.map(|_| millis(row.remaining)),
        "ttl_ms": holder.map(|_| millis(row.ttl)),
        "renewals": row.renewals,
        "resign_requested": row.resign_requested,
    })
}

/// `election observe`. Like an elector it goes on without a database, and says so in the log.
pub(crate) async fn observe(observe: Observe) -> Result<Exit, Failed> {
    if let Some(observer) = observed(&observe)? {
        return observer.observe().await;
    }
    let place = Place::of(&observe.target)?;
    let name = place.namespace.clone();
    let election = Election::builder(name.as_str()).observer().store(place.store).build();
    let election = election.map_err(|error| Failed::of("cannot observe", &error))?;
    // From the start, and for good: a signal that comes while a line is printed is not lost.
    let mut interrupt = interrupt()?;
    let mut unread = pin!(unread());
    let handle = election.start();
    line::name_node(handle.registration().candidate.id.as_str());
    let mut watch = handle.watch();
    let fatal = |status: &Status| {
        status.error.as_ref().filter(|error| error.kind == Failure::Fatal).cloned()
    };
    let status = tokio::select! {
        status = watch.until(|status| status.reached || fatal(status).is_some()) => status,
        _ = interrupt.recv() => return Ok(Exit::OK),
        failed = &mut unread => return Err(failed),
    };
    if let Some(error) = fatal(&status).filter(|_| !status.reached) {
        return Err(unusable(&error));
    }
    let mut changes = handle.changes();
    loop {
        tokio::select! {
            change = changes.next() => match change {
                Ok(Some(change)) => print_change(&name, &change, place.json)?,
                Ok(None) => return Ok(Exit::TOOL_FAILED),
                Err(lagged) => return Err(Failed::of("cannot observe", &lagged)),
            },
            _ = interrupt.recv() => return Ok(Exit::OK),
            failed = &mut unread => return Err(failed),
        }
    }
}

/// The signal that ends an observer.
pub(crate) fn interrupt() -> Result<Signal, Failed> {
    signal(SignalKind::interrupt()).map_err(|error| Failed::of("signals", &error))
}

fn print_change(name: &Namespace, change: &Change, json: bool) -> Result<(), Failed> {
    let (leader, label, elected_ms) = match change {
        Change::Followed { term, label, elected_ms } => (Some(term), label.as_ref(), *elected_ms),
        // An alert changes nothing about who leads.
        Change::Alert(_) => return Ok(()),
        // An observer is never elected and so never loses.
        Change::Vacant | Change::Elected(_) | Change::Lost { .. } => (None, None, None),
    };
    let now = line::now();
    if json {
        return print(json!({
            "timestamp": now,
            "name": name.as_str(),
            "leader": leader.map(|term| term.leader.as_str()),
            "epoch": leader.map(|term| term.epoch.get()),
            "label": label.map(Label::as_str),
            "elected_ms": elected_ms,
        }));
    }
    let since = elected_ms.and_then(since).unwrap_or_default();
    match (leader, label) {
        (Some(term), Some(label)) => {
            print(format_args!("{now} {name}: {term} leads at {label}{since}"))
        }
        (Some(term), None) => print(format_args!("{now} {name}: {term} leads{since}")),
        (None, _) => print(format_args!("{now} {name}: nobody leads")),
    }
}

/// `election pause`.
pub(crate) async fn pause(pause: Pause) -> Result<Exit, Failed> {
    ordered(&pause.order)?.pause(pause.lasts).await
}

/// `election resume`.
pub(crate) async fn resume(order: Order) -> Result<Exit, Failed> {
    ordered(&order)?.resume().await
}

/// `election schema`.
pub(crate) async fn schema(arguments: SchemaArguments) -> Result<Exit, Failed> {
    let SchemaArguments { database, apply, timeout } = &arguments;
    let named = Named::by(database)?;
    let dialect = named.store.as_ref().map_or(Some(Dialect::Sqlite), AnyStore::dialect);
    let dialect = dialect.ok_or_else(|| {
        Failed::new("etcd needs no tables: the keys of an election are made when it begins")
    })?;
    if !apply {
        let script = Schema::new(dialect, &named.tables).script();
        let others = match named.store {
            Some(_) => "",
            None => "; for another database: --store postgres://... or mysql://...",
        };
        let script = format!("-- For {dialect}{others}\n{script}");
        if database.json {
            print(json!({ "version": Schema::VERSION, "sql": script }))?;
        } else {
            print(script.trim_end())?;
        }
        return Ok(Exit::OK);
    }
    let mut store = named.store.ok_or_else(no_store)?;
    let place = store.place();
    let made = match timeout {
        Some(time) => tokio::time::timeout(*time, store.ensure_schema()).await.map_err(|_| {
            let time = humantime::format_duration(*time);
            Failed::new(format!(
                "the database does not answer: {place}: the tables could not be created within \
                 {time}; check that it is running, that nothing on the path drops packets, and \
                 that nobody locks its tables, or allow more time (--timeout)"
            ))
        })?,
        None => store.ensure_schema().await,
    };
    let version = made.map_err(|error| unusable(&error))?;
    if database.json {
        print(json!({ "version": version }))?;
    } else {
        print(format_args!("{dialect}: the tables are at version {version}"))?;
    }
    Ok(Exit::OK)
}

/// The first line of a script: whoever applies it to another database sees why that fails.
fn unusable(error: &StoreError) -> Failed {
    Failed::of("the database cannot be used", error).because(error.code())
}

/// Runs one of these commands. They share nothing with an elector except the database.
pub(crate) fn inspect(command: impl Future<Output = Result<Exit, Failed>>) -> Result<Exit, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failed::of("cannot start", &error))?;
    let outcome = runtime.block_on(command);
    // The rest asks a database that does not answer, and nobody waits for it.
    runtime.shutdown_background();
    outcome
}

/// Tenths of a second are enough for people.
fn rounded(duration: Duration) -> String {
    format!("{:.1}s", duration.as_secs_f64())
}
