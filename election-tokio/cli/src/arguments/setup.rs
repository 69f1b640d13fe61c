//! The flags of `election cluster`.

use super::help::{
    ADD_EXAMPLES, CHANGE, FILE_CHECK, FILE_CHECK_EXAMPLES, INIT, INIT_EXAMPLES, KEY, KEY_EXAMPLES,
    MOVE, MOVE_EXAMPLES, REMOVE_EXAMPLES,
};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What there is to do before a cluster runs, and beside it.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Write the files of a new cluster: a directory for each member, with the cluster file and its
    /// certificate, and one with the authority's key
    #[command(after_help = format!("{INIT}\n\n{INIT_EXAMPLES}"))]
    #[command(override_usage = "election cluster init [OPTIONS] <ID=HOST:PORT>...")]
    Init(InitOptions),
    /// Make a new key and certificate for a member: before the old one expires, or when it is lost
    #[command(after_help = format!("{KEY}\n\n{KEY_EXAMPLES}"))]
    #[command(override_usage = "election cluster add-key [OPTIONS] --cluster <FILE> <ID>")]
    AddKey(KeyOptions),
    /// Add a member to the cluster file, and make its key: running members take the file up
    #[command(after_help = format!("{CHANGE}\n\n{ADD_EXAMPLES}"))]
    #[command(override_usage = "election cluster add [OPTIONS] --cluster <FILE> <ID=HOST:PORT>")]
    Add(AddOptions),
    /// Remove a member from the cluster file: running members take it up
    #[command(after_help = format!("{CHANGE}\n\n{REMOVE_EXAMPLES}"))]
    #[command(override_usage = "election cluster remove --cluster <FILE> <ID>")]
    Remove(RemoveOptions),
    /// Write another address of a member into the cluster file: running members take it up
    #[command(after_help = format!("{MOVE}\n\n{MOVE_EXAMPLES}"))]
    #[command(override_usage = "election cluster move --cluster <FILE> <ID=HOST:PORT>")]
    Move(MoveOptions),
    /// Check a cluster file and its certificates, without connecting to anything
    #[command(after_help = format!("{FILE_CHECK}\n\n{FILE_CHECK_EXAMPLES}"))]
    Check(CheckOptions),
}

/// A member and where it is.
#[derive(Clone, Debug)]
pub(crate) struct MemberAt {
    pub(crate) id: String,
    pub(crate) address: String,
}

fn member_at(text: &str) -> Result<MemberAt, String> {
    let found = text.split_once('=').filter(|(id, address)| !id.is_empty() && !address.is_empty());
    let (id, address) =
        found.ok_or("write a member as ID=HOST:PORT, for instance n1=10.0.0.1:7400")?;
    Ok(MemberAt { id: id.to_owned(), address: address.to_owned() })
}

#[derive(Debug, Args)]
pub(crate) struct InitOptions {
    /// The members, each with the address at which the others reach it; three or five are usual
    #[arg(required = true, value_name = "ID=HOST:PORT", value_parser = member_at)]
    pub(crate) members: Vec<MemberAt>,
    #[arg(
        long,
        value_name = "NAME",
        default_value = "default",
        help = "The election's name. It is in the file and in the certificates, so that members of \
                other elections are refused, in the log, in the output of `election status`, and \
                in the job's ELECTION_NAME. Clusters that share a machine need different names"
    )]
    pub(crate) election: String,
    /// Where to write the directories [default: the current directory]
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub(crate) out: PathBuf,
    /// How long the members' certificates are valid
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(conflicts_with = "insecure")]
    pub(crate) days: u32,
    /// Without certificates: for trials, and for ports that only members can reach
    #[arg(long)]
    pub(crate) insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeyOptions {
    /// The member
    #[arg(value_name = "ID")]
    pub(crate) member: String,
    /// The cluster file, which lists the member
    #[arg(long, env = "ELECTION_CLUSTER", value_name = "FILE")]
    pub(crate) cluster: PathBuf,
    #[command(flatten)]
    pub(crate) key: NewKey,
    /// Replace an existing key and certificate
    #[arg(long)]
    pub(crate) force: bool,
}

/// Who signs a certificate, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct NewKey {
    /// The directory with the authority's key
    #[arg(long, value_name = "DIR", default_value = "authority")]
    pub(crate) authority: PathBuf,
    /// Where to write the key and the certificate [default: a directory with the member's name]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// How long the certificate is valid
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) days: u32,
}

#[derive(Debug, Args)]
pub(crate) struct AddOptions {
    /// The new member, and the address at which the others reach it
    #[arg(value_name = "ID=HOST:PORT", value_parser = member_at)]
    pub(crate) member: MemberAt,
    /// It votes, has no data and never leads
    #[arg(long)]
    pub(crate) witness: bool,
    /// The cluster file
    #[arg(long, env = "ELECTION_CLUSTER", value_name = "FILE")]
    pub(crate) cluster: PathBuf,
    #[command(flatten)]
    pub(crate) key: NewKey,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveOptions {
    /// The member
    #[arg(value_name = "ID")]
    pub(crate) member: String,
    /// The cluster file
    #[arg(long, env = "ELECTION_CLUSTER", value_name = "FILE")]
    pub(crate) cluster: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct MoveOptions {
    /// The member, and its new address
    #[arg(value_name = "ID=HOST:PORT", value_parser = member_at)]
    pub(crate) member: MemberAt,
    /// The cluster file
    #[arg(long, env = "ELECTION_CLUSTER", value_name = "FILE")]
    pub(crate) cluster: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// The cluster file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The member to check for [default: the one whose certificate the file names]
    #[arg(long, env = "ELECTION_NODE", value_name = "NAME")]
    pub(crate) node: Option<String>,
}
