//! The member that this process is.

use super::{
    file::File,
    place::{self, Spot},
    server::{Bound, Control},
};
use crate::{
    arguments::{Seat, Stand},
    exit::Failed,
    line,
};
use election_driver::file::spelled;
use election_tokio::{
    Cluster, ClusterError, Member, StartError, Starting, Tokio,
    core::{Label, quorum::ConfigError},
    log::chain,
};
use std::path::{Path, PathBuf};
use tracing::{info, warn};

/// A member that has not started yet.
pub(crate) struct Part {
    cluster: Cluster,
    ballot: PathBuf,
    spot: Spot,
    is_witness: bool,
}

impl Part {
    /// The member that the file and the options describe.
    ///
    /// # Errors
    /// If they cannot be used.
    pub(crate) fn of(path: &Path, stand: &Stand) -> Result<Self, Failed> {
        let file = File::read(path)?;
        let is_witness = file.is_witness(stand.node.as_deref())?;
        let node = stand.node.clone().unwrap_or_default();
        line::name_node(&*node);
        let spots = Spot::all(stand.membership.socket.as_deref(), &file.election, &node)?;
        let spot = spots.into_iter().next().ok_or_else(|| Failed::new("no control socket"))?;
        let Seat { listen, ballot, new_peers, accept_loss } = stand.seat.clone();
        let mut builder = file
            .builder(Tokio, &*node)?
            .without_data()
            .config(move |config| config.new_peers(new_peers).accept_loss(accept_loss));
        if let Some(label) = &stand.label {
            Label::new(label).map_err(|error| Failed::of("--label", &error))?;
            builder = builder.announce(label);
        }
        if let Some(grace) = stand.grace {
            builder = builder.config(move |config| config.grace(grace));
        }
        if let Some(listen) = listen {
            builder = builder.listen(listen);
        }
        let ballot = match ballot {
            Some(ballot) => ballot,
            None => place::ballot(&file.election, &node)?,
        };
        let cluster = builder.ballot(&ballot).build();
        let cluster = cluster.map_err(|error| match &error {
            // These are no part of the file.
            ClusterError::Ballot { .. } | ClusterError::NoBallot => Failed::of("--ballot", &error),
            ClusterError::Config(ConfigError::GraceTooLong { .. }) => {
                Failed::new(format!("--{}", spelled(&error)))
            }
            ClusterError::Address { what, .. } if what.starts_with("address to listen") => {
                Failed::of("--listen", &error)
            }
            _ => Failed::new(error.to_string()),
        })?;
        Ok(Self { cluster, ballot, spot, is_witness })
    }

    pub(crate) fn is_witness(&self) -> bool {
        self.is_witness
    }

    /// How far its start has come.
    pub(crate) fn starting(&self) -> Starting {
        self.cluster.starting()
    }

    /// Whether the names mean something that it listens at.
    pub(crate) async fn look_up(&self) -> Result<(), StartError> {
        self.cluster.look_up().await
    }

    /// Takes part from now on. Whatever cannot be opened is an error before anybody hears of this
    /// process.
    ///
    /// # Errors
    /// If the ballot is another process's or cannot be kept, or a port or the control socket cannot
    /// be opened.
    pub(crate) async fn start(self) -> Result<(Member, Option<Control>), Failed> {
        let Self { cluster, ballot, spot, is_witness } = self;
        let opened = cluster.open().await;
        let (member, node) = opened.map_err(|error| Failed::new(chain(&error)))?;
        let control = Bound::open(&spot).await?;
        if place::is_in_memory(&ballot) {
            warn!(
                event = "warning",
                "the ballot {} is kept in memory and is lost when the machine restarts: name a \
                 file on a disk with --ballot",
                ballot.display()
            );
        }
        let kind = if is_witness { "a witness, which votes and never runs a job" } else { "one" };
        let count = member.members().count();
        let (ballot, promises) = (ballot.display(), "ballot file:");
        info!(event = "joined", "{kind} of {count} members; {promises} {ballot}");
        tokio::spawn(node);
        let control = control.map(|control| {
            info!(event = "control", "answering at {}", spot.path.display());
            control.serve(member.clone())
        });
        Ok((member, control))
    }
}
