//! What `run` is to do, from flags, environment and file.

use crate::{
    arguments::{OnLost, Run, Seat},
    cluster::{Part, Told},
    exit::Failed,
    line,
    settings::{File, Place, file, some_time},
    store::AnyStore,
};
use election_tokio::{
    Builder, Election,
    core::{Epoch, Label, NodeId},
    default_node,
};
use std::{ffi::OsString, path::Path, time::Duration};

/// How long an elector with nothing more to do may take to leave.
const LEAVING: Duration = Duration::from_secs(2);

/// Everything `run` needs to know.
pub(crate) struct Plan {
    pub(crate) venue: Venue,
    pub(crate) job: Vec<OsString>,
    pub(crate) json: bool,
    pub(crate) wait: Option<Duration>,
    pub(crate) once: bool,
    pub(crate) leave_timeout: Duration,
    pub(crate) on_lost: OnLost,
    pub(crate) allow_setuid: bool,
}

/// Where the election is held.
pub(crate) enum Venue {
    Database(Box<Candidacy>),
    Cluster(Box<Part>),
}

/// How this process stands for election in a database.
pub(crate) struct Candidacy {
    pub(crate) place: Place,
    pub(crate) builder: Builder<AnyStore>,
    pub(crate) no_schema: bool,
}

impl Plan {
    pub(crate) fn of(run: &Run) -> Result<Self, Failed> {
        let mut file = file(run.target.database.config.as_deref())?;
        let wait = run.wait.or(file.wait.map(|time| time.0)).filter(|_| !run.once);
        let leave_timeout = run.leave_timeout.or(file.leave_timeout.map(|time| time.0));
        let venue = match file.cluster(&run.membership, &run.target.database)? {
            Some(cluster) => Venue::Cluster(Box::new(part(run, &mut file, &cluster)?)),
            None => Venue::Database(Box::new(Candidacy::of(run, &mut file)?)),
        };
        let is_witness = matches!(&venue, Venue::Cluster(part) if part.is_witness());
        if run.job.is_empty() && !is_witness {
            return Err(Failed::new(
                "there is no job: write it at the end, -- <CMD> and its arguments",
            ));
        }
        if is_witness && (wait.is_some() || run.once) {
            return Err(Failed::new(
                "a witness is never elected, so it has nothing to wait for: leave --wait or --try \
                 out",
            ));
        }
        Ok(Self {
            venue,
            job: run.job.clone(),
            json: run.target.database.json,
            wait: some_time("--wait", wait, "use --try to ask once")?,
            once: run.once,
            leave_timeout: leave_timeout.unwrap_or(LEAVING),
            on_lost: run.on_lost.or(file.on_lost).unwrap_or(OnLost::Restart),
            allow_setuid: run.allow_setuid || file.allow_setuid == Some(true),
        })
    }
}

/// This member of the cluster in that file.
fn part(run: &Run, file: &mut File, cluster: &Path) -> Result<Part, Failed> {
    let mut membership = run.membership.clone();
    membership.socket = membership.socket.or(file.socket.take());
    let Seat { listen, ballot, new_peers, accept_loss } = run.seat.clone();
    let told = Told {
        node: run.node.clone().or(file.node.take()),
        label: run.label.clone().or(file.label.take()),
        grace: run.grace.or(file.grace.map(|time| time.0)),
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
    fn of(run: &Run, file: &mut File) -> Result<Self, Failed> {
        let node = run.node.clone().or(file.node.take()).unwrap_or_else(default_node);
        line::name_node(&node);
        let place = Place::from_parts(&run.target, file)?;
        NodeId::new(&node).map_err(|error| Failed::of("--node", &error))?;
        let builder = Election::builder(place.namespace.as_str()).node(node);
        let mut builder = builder.store(place.store.clone());
        if let Some(label) = run.label.clone().or(file.label.take()) {
            Label::new(&label).map_err(|error| Failed::of("--label", &error))?;
            builder = builder.label(label);
        }
        if let Some(ttl) = run.ttl.or(file.ttl.map(|time| time.0)) {
            builder = builder.ttl(ttl);
        }
        if let Some(grace) = run.grace.or(file.grace.map(|time| time.0)) {
            builder = builder.grace(grace);
        }
        if let Some(epoch) = run.min_epoch.or(file.min_epoch) {
            builder = builder.min_epoch(Epoch::new(epoch));
        }
        let no_schema = run.no_schema || file.no_schema == Some(true);
        Ok(Self { place, builder, no_schema })
    }
}
