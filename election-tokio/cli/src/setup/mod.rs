//! `election cluster`: the files that a cluster begins with, and the certificates in them.
//!
//! ```text
//!   init ─▶ authority (signs certificates) ─▶ folder (writes files that nobody else can read)
//!   add_key ─┘                                  │
//!   check ─▶ what a start would refuse or warn of, without one
//! ```

mod authority;
mod check;
mod folder;
mod init;

use crate::{
    arguments::ClusterCommand,
    exit::{Exit, Failed},
};

/// # Errors
/// If something is wrong with what it was given, or cannot be written.
pub(crate) fn cluster(command: &ClusterCommand) -> Result<Exit, Failed> {
    match command {
        ClusterCommand::Init(options) => init::init(options),
        ClusterCommand::AddKey(options) => init::add_key(options),
        ClusterCommand::Check(options) => check::check(options),
    }
    .map(|()| Exit::OK)
}
