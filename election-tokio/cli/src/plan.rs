//! What `run`, `serve` and `hold` are to do, from flags, environment and file.

use crate::{
    arguments::{Attempt, Hold, OnLost, Port, Run, Serve, Stand},
    cluster::{self, Part},
    exit::Failed,
    http::Address,
    line,
    location::Location,
    settings::Place,
    store::AnyStore,
};
use election_tokio::{
    Builder, Election,
    core::{Epoch, Label, NodeId},
    default_node,
};
use std::{ffi::OsString, time::Duration};

/// Everything `run`, `serve` and `hold` need to know.
pub(crate) struct Plan {
    pub(crate) venue: Venue,
    pub(crate) work: Work,
    pub(crate) http: Option<Address>,
    pub(crate) location: Location,
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
    fn of(stand: &Stand) -> Result<Self, Failed> {
        let hooks = &stand.hooks;
        let chosen = |name, command: &Option<String>| match command {
            Some(command) if command.trim().is_empty() => Err(Failed::new(format!(
                "{name}: the command is empty; write one, or remove the option"
            ))),
            command => Ok(command.clone()),
        };
        let plan = Self {
            on_lead: chosen("--on-lead", &hooks.on_lead)?,
            on_lose: chosen("--on-lose", &hooks.on_lose)?,
            on_change: chosen("--on-change", &hooks.on_change)?,
            timeout: hooks.hook_timeout,
        };
        if cfg!(not(target_os = "linux")) && !plan.is_empty() {
            return Err(Failed::new(
                "hooks need Linux, whose kernel lets this process find and kill whatever they start: \
                 leave --on-lead, --on-lose and --on-change out, and let a program of your own follow \
                 `election observe`",
            ));
        }
        // In the environment or a file it is for all starts.
        if plan.is_empty() && stand.target.database.given.wrote("hook-timeout") {
            return Err(Failed::new(
                "--hook-timeout limits hooks, but there are none: add one (--on-lead, --on-lose, \
                 --on-change), or remove --hook-timeout; a job has no such limit",
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

    fn is_etcd(&self) -> bool {
        matches!(self, Self::Database(candidacy) if candidacy.place.store.dialect().is_none())
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
        let stands = Self::stands(&run.stand);
        let stands = stands.map_err(|failed| behind_the_job(failed, &run.job))?;
        let stands = stands.attempting(&run.attempt)?;
        if run.job.is_empty() && !stands.venue.is_witness() {
            return Err(Failed::new(
                "there is no job: write it at the end, as -- <CMD> and its arguments (with the \
                 systemd unit, ELECTION_JOB is empty or missing); or stand for election without \
                 one, with `election serve`",
            ));
        }
        if run.job.first().is_some_and(|command| command.is_empty()) {
            return Err(Failed::new(
                "the job's command is empty; write its name or path after -- (is a variable there \
                 empty?)",
            ));
        }
        Ok(Self {
            work: if run.job.is_empty() { Work::Elsewhere } else { Work::Job(run.job.clone()) },
            on_lost: run.on_lost,
            allow_setuid: run.allow_setuid,
            isolate: run.isolate,
            ..stands
        })
    }

    /// What `election hold` is to do.
    pub(crate) fn to_hold(hold: &Hold) -> Result<Self, Failed> {
        let stands = Self::stands(&hold.stand)?.attempting(&hold.attempt)?;
        if stands.venue.is_witness() {
            return Err(Failed::new(
                "a witness is never elected, so it can hold nothing: let it vote with `election \
                 run` or `election serve`",
            ));
        }
        Ok(Self { work: Work::Hold, on_lost: OnLost::Stop, ..stands })
    }

    /// The same with an end to the first wait.
    fn attempting(self, attempt: &Attempt) -> Result<Self, Failed> {
        let Attempt { wait, once, conflict_exit_code } = *attempt;
        if self.venue.is_witness() && (wait.is_some() || once) {
            return Err(Failed::new(
                "a witness is never elected, so it has nothing to wait for: remove --wait or --try",
            ));
        }
        if once && self.venue.is_etcd() {
            return Err(Failed::new(
                "--try does not work on etcd, which does not say how old a lease is: a process that has \
                 just started cannot tell that a lease has run out; for jobs that a timer starts on several \
                 machines use a SQL store; to take part until elected, remove --try",
            ));
        }
        Ok(Self { wait, once, conflict: conflict_exit_code, ..self })
    }

    /// What `election serve` is to do.
    pub(crate) fn to_serve(serve: &Serve) -> Result<Self, Failed> {
        let stands = Self::stands(&serve.stand)?;
        Ok(Self { http: Some(stands.http.unwrap_or(Address::USUAL)), ..stands })
    }

    /// To stand for election again and again, without a job.
    fn stands(stand: &Stand) -> Result<Self, Failed> {
        let http = address(stand)?;
        let (membership, database) = (&stand.membership, &stand.target.database);
        let (venue, location) = match cluster::cluster(membership, database)? {
            Some(cluster) => {
                let location = Location::of_cluster(cluster, membership.socket.as_deref());
                (Venue::Cluster(Box::new(Part::of(cluster, stand)?)), location)
            }
            None => {
                let candidacy = Candidacy::of(stand)?;
                let location = candidacy.place.location.clone();
                (Venue::Database(Box::new(candidacy)), location)
            }
        };
        Ok(Self {
            venue,
            work: Work::Elsewhere,
            http,
            location,
            hooks: HookPlan::of(stand)?,
            json: database.json,
            quiet: stand.quiet,
            wait: None,
            once: false,
            conflict: None,
            leave_timeout: stand.leave_timeout,
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
            "{option} comes after the job's name, so it is passed to the job: put options before \
             --, as in: election run {option} ... -- CMD"
        )),
    }
}

/// Where to answer HTTP, if anywhere.
fn address(stand: &Stand) -> Result<Option<Address>, Failed> {
    let Port { http, http_exposed } = &stand.port;
    if http.is_none() && stand.target.database.given.wrote("http-exposed") {
        return Err(Failed::new(
            "--http-exposed allows an address that other machines can reach: name one, as in \
             --http 0.0.0.0:4040, or remove --http-exposed",
        ));
    }
    http.as_deref().map(|text| Address::of(text, *http_exposed)).transpose()
}

impl Candidacy {
    fn of(stand: &Stand) -> Result<Self, Failed> {
        let node = stand.node.clone().unwrap_or_else(default_node);
        line::name_node(&node);
        let place = Place::of(&stand.target)?;
        NodeId::new(&node).map_err(|error| Failed::of("--node", &error))?;
        let builder = Election::builder(place.namespace.as_str()).node(node);
        let mut builder = builder.store(place.store.clone());
        if let Some(label) = &stand.label {
            Label::new(label).map_err(|error| Failed::of("--label", &error))?;
            builder = builder.label(label);
        }
        let builder = with(builder, stand.ttl, Builder::ttl);
        let builder = with(builder, stand.grace, Builder::grace);
        let builder = with(builder, stand.interval, |builder, interval| {
            builder.config(|config| config.interval(interval))
        });
        let builder = with(builder, stand.at_least_for, Builder::at_least_for);
        let builder = with(builder, stand.clock_step, Builder::clock_step);
        let builder = with(builder, stand.min_epoch.map(Epoch::new), Builder::min_epoch);
        Ok(Self { place, builder, no_schema: stand.no_schema })
    }
}

/// The builder with a setting, if it is given.
pub(crate) fn with<B, T>(builder: B, setting: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match setting {
        Some(setting) => set(builder, setting),
        None => builder,
    }
}
