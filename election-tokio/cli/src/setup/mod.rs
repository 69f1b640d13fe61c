//! `election cluster`: the files that a cluster begins with, and the certificates in them.
//!
//! ```text
//!   init ─▶ authority (signs certificates) ─▶ folder (writes files that nobody else can read)
//!   add_key ─┘                                  │
//!   change ───┘  another list of members, in the file
//!   check ─▶ what a start would refuse or warn of, without one
//! ```

mod authority;
mod change;
mod check;
mod folder;
mod init;

use crate::{
    arguments::ClusterCommand,
    exit::{Exit, Failed},
    inspect::inspect,
};

/// # Errors
/// If something is wrong with what it was given, or cannot be written.
pub(crate) fn cluster(command: &ClusterCommand) -> Result<Exit, Failed> {
    let done = match command {
        ClusterCommand::Init(options) => init::init(options),
        ClusterCommand::AddKey(options) => init::add_key(options),
        ClusterCommand::Check(options) => check::check(options),
        ClusterCommand::Add(options) => return inspect(change::add(options)),
        ClusterCommand::Remove(options) => return inspect(change::remove(options)),
        ClusterCommand::Move(options) => return change::relocate(options),
    };
    done.map(|()| Exit::OK)
}
