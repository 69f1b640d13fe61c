//! What `run`, `serve` and `hold` are to do, from flags, environment and file.

use crate::{
    arguments::{Attempt, Hold, OnLost, Port, Run, Seat, Serve, Stand},
    cluster::{Part, Told},
    exit::Failed,
    http::Address,
    line,
    settings::{File, Place, file, some_time},
    store::AnyStore,
    whereabouts::Whereabouts,
};
use election_tokio::{
    Builder, Election,
    core::{Epoch, Label, NodeId},
    default_node,
};
use std::{ffi::OsString, path::Path, time::Duration};

/// How long an elector with nothing more to do may take to leave.
const LEAVING: Duration = Duration::from_secs(2);

/// How long a hook may run.
const HOOK: Duration = Duration::from_secs(30);

/// Everything `run`, `serve` and `hold` need to know.
pub(crate) struct Plan {
    pub(crate) venue: Venue,
    pub(crate) work: Work,
    pub(crate) http: Option<Address>,
    pub(crate) whereabouts: Whereabouts,
    pub(crate) hooks: HookPlan,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) wait: Option<Duration>,
    pub(crate) once: bool,
    /// The exit code of a process that was not elected, if not the usual one.
    pub(crate) conflict: Option<u8>,
    pub(crate) leave_timeout: Duration,
    pub(crate) on_lost: OnLost,
    pub(crate) allow_setuid: bool,
    pub(crate) isolate: bool,
}

/// What this process does while it leads.
pub(crate) enum Work {
    /// It runs this job.
    Job(Vec<OsString>),
    /// It says whether it leads; others do the work. And a witness never leads.
    Elsewhere,
    /// It leads for whoever has started it.
    Hold,
}

/// The commands to run beside leadership.
pub(crate) struct HookPlan {
    pub(crate) on_lead: Option<String>,
    pub(crate) on_lose: Option<String>,
    pub(crate) on_change: Option<String>,
    pub(crate) timeout: Duration,
}

impl HookPlan {
    fn of(stand: &Stand, file: &mut File) -> Result<Self, Failed> {
        let hooks = &stand.hooks;
        let chosen = |name, flag: &Option<String>, filed: Option<String>| {
            let command = flag.clone().or(filed);
            if command.as_ref().is_some_and(|command| command.trim().is_empty()) {
                let remedy = "name a command, or leave it out";
                return Err(Failed::new(format!("{name}: the command is empty; {remedy}")));
            }
            Ok(command)
        };
        let timeout = hooks.hook_timeout.or(file.hook_timeout.map(|time| time.0));
        let timeout = some_time("--hook-timeout", timeout, "leave it out for half a minute")?;
        let plan = Self {
            on_lead: chosen("--on-lead", &hooks.on_lead, file.on_lead.take())?,
            on_lose: chosen("--on-lose", &hooks.on_lose, file.on_lose.take())?,
            on_change: chosen("--on-change", &hooks.on_change, file.on_change.take())?,
            timeout: timeout.unwrap_or(HOOK),
        };
        // In the environment or a file it is for all starts.
        if plan.is_empty() && stand.membership.wrote("hook-timeout") {
            return Err(Failed::new(
                "--hook-timeout limits a hook, and there is none: name one (--on-lead, --on-lose, \
                 --on-change), or leave --hook-timeout out; a job has no such limit",
            ));
        }
        Ok(plan)
    }

    fn is_empty(&self) -> bool {
        self.on_lead.is_none() && self.on_lose.is_none() && self.on_change.is_none()
    }
}

/// Where the election is held.
pub(crate) enum Venue {
    Database(Box<Candidacy>),
    Cluster(Box<Part>),
}

impl Venue {
    /// Whether this process only votes.
    fn is_witness(&self) -> bool {
        matches!(self, Self::Cluster(part) if part.is_witness())
    }
}

/// How this process stands for election in a database.
pub(crate) struct Candidacy {
    pub(crate) place: Place,
    pub(crate) builder: Builder<AnyStore>,
    pub(crate) no_schema: bool,
}

impl Plan {
    /// What `election run` is to do.
    pub(crate) fn of(run: &Run) -> Result<Self, Failed> {
        let mut file = file();
        let stands = Self::stands(&run.stand, &mut file);
        let stands = stands.map_err(|failed| behind_the_job(failed, &run.job))?;
        let stands = stands.attempting(&run.attempt, &file)?;
        if run.job.is_empty() && !stands.venue.is_witness() {
            return Err(Failed::new(
                "there is no job: write it at the end, -- <CMD> and its arguments (under the unit for \
                 systemd, ELECTION_JOB is empty or missing); or stand for election without one, with \
                 `election serve`",
            ));
        }
        if run.job.first().is_some_and(|command| command.is_empty()) {
            return Err(Failed::new(
                "the job's command is empty; write its name or path behind -- (if a variable stands \
                 there, it is empty)",
            ));
        }
        Ok(Self {
            work: if run.job.is_empty() { Work::Elsewhere } else { Work::Job(run.job.clone()) },
            on_lost: run.on_lost.or(file.on_lost).unwrap_or(OnLost::Restart),
            allow_setuid: run.allow_setuid || file.allow_setuid == Some(true),
            isolate: run.isolate || file.isolate == Some(true),
            ..stands
        })
    }

    /// What `election hold` is to do.
    pub(crate) fn to_hold(hold: &Hold) -> Result<Self, Failed> {
        let mut file = file();
        let stands = Self::stands(&hold.stand, &mut file)?.attempting(&hold.attempt, &file)?;
        if stands.venue.is_witness() {
            return Err(Failed::new(
                "a witness is never elected, so there is nothing to hold: let it vote with \
                 `election run` or `election serve`",
            ));
        }
        Ok(Self { work: Work::Hold, on_lost: OnLost::Stop, ..stands })
    }

    /// The same with an end to the first wait.
    fn attempting(self, attempt: &Attempt, file: &File) -> Result<Self, Failed> {
        let (wait, once) = waits(attempt, file)?;
        if self.venue.is_witness() && (wait.is_some() || once) {
            return Err(Failed::new(
                "a witness is never elected, so it has nothing to wait for: leave --wait or --try \
                 out",
            ));
        }
        let wait = some_time("--wait", wait, "use --try to ask once")?;
        let conflict = attempt.conflict_exit_code.or(file.conflict_exit_code);
        Ok(Self { wait, once, conflict, ..self })
    }

    /// What `election serve` is to do.
    pub(crate) fn to_serve(serve: &Serve) -> Result<Self, Failed> {
        let mut file = file();
        let stands = Self::stands(&serve.stand, &mut file)?;
        Ok(Self { http: Some(stands.http.unwrap_or(Address::USUAL)), ..stands })
    }

    /// To stand for election again and again, without a job.
    fn stands(stand: &Stand, file: &mut File) -> Result<Self, Failed> {
        let leave_timeout = stand.leave_timeout.or(file.leave_timeout.map(|time| time.0));
        let http = address(stand, file)?;
        let (venue, whereabouts) = match file.cluster(&stand.membership, &stand.target.database)? {
            Some(cluster) => {
                let socket = stand.membership.socket.clone().or(file.socket.clone());
                let whereabouts = Whereabouts::of_cluster(&cluster, socket.as_deref());
                (Venue::Cluster(Box::new(part(stand, file, &cluster)?)), whereabouts)
            }
            None => {
                let candidacy = Candidacy::of(stand, file)?;
                let whereabouts = candidacy.place.whereabouts.clone();
                (Venue::Database(Box::new(candidacy)), whereabouts)
            }
        };
        Ok(Self {
            venue,
            work: Work::Elsewhere,
            http,
            whereabouts,
            hooks: HookPlan::of(stand, file)?,
            json: stand.target.database.json,
            quiet: stand.quiet,
            wait: None,
            once: false,
            conflict: None,
            leave_timeout: leave_timeout.unwrap_or(LEAVING),
            on_lost: OnLost::Restart,
            allow_setuid: false,
            isolate: false,
        })
    }
}

/// The same error, unless what is missing stands among the job's words: these belong to the job, and
/// whoever wrote them meant this command.
fn behind_the_job(failed: Failed, job: &[OsString]) -> Failed {
    let words: Vec<_> = job.iter().filter_map(|word| word.to_str()).collect();
    let stands = |option: &&&str| {
        let is_it = |word: &&str| word.split('=').next() == Some(**option);
        words.iter().any(is_it)
    };
    match failed.lacks().iter().find(stands) {
        None => failed,
        Some(option) => Failed::new(format!(
            "{option} stands after the job, so it belongs to the job and not to `election run`: options \
             go before --, as in: election run {option} ... -- CMD"
        )),
    }
}

/// How long to wait to be elected, and whether to try only. Whoever says one of the two first does not
/// hear of the other.
fn waits(attempt: &Attempt, file: &File) -> Result<(Option<Duration>, bool), Failed> {
    let Attempt { wait, once, .. } = *attempt;
    if once || wait.is_some() {
        return Ok((wait.filter(|_| !once), once));
    }
    match (file.wait, file.once == Some(true)) {
        (Some(_), true) => Err(Failed::new(
            "the --config file says both `wait` and `try`; keep one: `try` does not wait",
        )),
        (wait, once) => Ok((wait.map(|time| time.0), once)),
    }
}

/// Where to answer HTTP, if anywhere.
fn address(stand: &Stand, file: &mut File) -> Result<Option<Address>, Failed> {
    let Port { http, http_exposed } = &stand.port;
    let exposed = *http_exposed || file.http_exposed == Some(true);
    let text = http.clone().or(file.http.take());
    if text.is_none() && stand.membership.wrote("http-exposed") {
        return Err(Failed::new(
            "--http-exposed permits an address that other machines reach: name it, as in --http \
             0.0.0.0:4040, or leave --http-exposed out",
        ));
    }
    text.map(|text| Address::of(&text, exposed)).transpose()
}

/// This member of the cluster in that file.
fn part(stand: &Stand, file: &mut File, cluster: &Path) -> Result<Part, Failed> {
    let mut membership = stand.membership.clone();
    membership.socket = membership.socket.or(file.socket.take());
    let Seat { listen, ballot, new_peers, accept_loss } = stand.seat.clone();
    let told = Told {
        node: stand.node.clone().or(file.node.take()),
        label: stand.label.clone().or(file.label.take()),
        grace: stand.grace.or(file.grace.map(|time| time.0)),
        seat: Seat {
            listen: listen.or(file.listen.take()),
            ballot: ballot.or(file.ballot.take()),
            new_peers,
            accept_loss,
        },
    };
    Part::of(cluster, &membership, told)
}

impl Candidacy {
    fn of(stand: &Stand, file: &mut File) -> Result<Self, Failed> {
        let node = stand.node.clone().or(file.node.take()).unwrap_or_else(default_node);
        line::name_node(&node);
        let place = Place::from_parts(&stand.target, file)?;
        NodeId::new(&node).map_err(|error| Failed::of("--node", &error))?;
        let builder = Election::builder(place.namespace.as_str()).node(node);
        let mut builder = builder.store(place.store.clone());
        if let Some(label) = stand.label.clone().or(file.label.take()) {
            Label::new(&label).map_err(|error| Failed::of("--label", &error))?;
            builder = builder.label(label);
        }
        if let Some(ttl) = stand.ttl.or(file.ttl.map(|time| time.0)) {
            builder = builder.ttl(ttl);
        }
        if let Some(grace) = stand.grace.or(file.grace.map(|time| time.0)) {
            builder = builder.grace(grace);
        }
        if let Some(interval) = stand.interval.or(file.interval.map(|time| time.0)) {
            builder = builder.config(|config| config.interval(interval));
        }
        if let Some(span) = stand.at_least_for.or(file.at_least_for.map(|time| time.0)) {
            builder = builder.at_least_for(span);
        }
        if let Some(step) = stand.clock_step.or(file.clock_step.map(|time| time.0)) {
            builder = builder.clock_step(step);
        }
        if let Some(epoch) = stand.min_epoch.or(file.min_epoch) {
            builder = builder.min_epoch(Epoch::new(epoch));
        }
        let no_schema = stand.no_schema || file.no_schema == Some(true);
        Ok(Self { place, builder, no_schema })
    }
}
