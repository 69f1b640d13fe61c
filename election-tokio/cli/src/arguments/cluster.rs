//! The flags of an election that is held by votes.

use super::values::{ANSWER, some_time, time};
use clap::Args;
use std::{path::PathBuf, time::Duration};

/// Which member of which cluster.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Membership {
    /// Elect by votes, without a database: a TOML file that lists the members of the cluster, the
    /// same on all of them
    #[arg(long, env = "ELECTION_CLUSTER", value_name = "FILE")]
    pub(crate) cluster: Option<PathBuf>,
    #[arg(
        long,
        env = "ELECTION_SOCKET",
        value_name = "PATH",
        help = "The socket at which a running member answers `election status` and the other \
                commands [default: NAME.NODE.sock in $XDG_RUNTIME_DIR/election, else in \
                /tmp/election-UID]"
    )]
    pub(crate) socket: Option<PathBuf>,
}

/// How this process takes part in a cluster.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Seat {
    /// With --cluster: where to listen, HOST:PORT [default: the member's address in the file]
    #[arg(long, env = "ELECTION_LISTEN", value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    #[arg(
        long,
        env = "ELECTION_BALLOT",
        value_name = "PATH",
        help = "With --cluster: the file in which this member keeps its promises. It must outlive \
                restarts of the machine [default: NAME.NODE.ballot in systemd's $STATE_DIRECTORY, \
                else NAME/NODE.ballot in $XDG_STATE_HOME/election or ~/.local/state/election]"
    )]
    pub(crate) ballot: Option<PathBuf>,
    /// With --cluster, for one start: the member list has changed, and all members have been
    /// stopped
    #[arg(long)]
    pub(crate) new_peers: bool,
    /// With --cluster, for one start: elect without data that this member must otherwise wait for
    #[arg(long)]
    pub(crate) accept_loss: bool,
}

/// Which running member to ask, and how long to wait for it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    pub(crate) membership: Membership,
    /// With --cluster: the running member to ask [default: the only one on this machine]
    #[arg(long, env = "ELECTION_NODE", value_name = "NAME")]
    pub(crate) node: Option<String>,
}

/// A command that only clusters have.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Order {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// A TOML file with the same options
    #[arg(long, env = "ELECTION_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Time limit for the answer (exit 125)
    #[arg(long, env = "ELECTION_TIMEOUT", value_name = "TIME", value_parser = some_time)]
    #[arg(allow_hyphen_values = true, default_value = ANSWER)]
    pub(crate) timeout: Duration,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Pause {
    #[command(flatten)]
    pub(crate) order: Order,
    /// Resume by itself after this long [default: paused until `election resume`]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) lasts: Option<Duration>,
}
