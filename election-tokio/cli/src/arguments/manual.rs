//! The flags of what is written for shells and for `man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell. For bash, for instance, put this into ~/.bashrc: source <(election completions
    /// bash)
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory for the pages, created if missing; the system's is /usr/local/share/man/man1
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
