//! An election that is held by votes of a cluster's members.
//!
//! ```text
//!   choice ─▶ file      who the members are
//!               ├─▶ part      this process is one of them: ballot, ports, control socket
//!               │     └─ server ─ report      what it says to those who ask
//!               └─▶ client ─ words            the commands that ask a running member
//!                    └─ observe             the one that goes on when that member has ended
//! ```
//!
//! `exchange` is what goes through the control socket, `place` where files are unless told.

mod choice;
mod client;
mod exchange;
mod file;
mod observe;
mod part;
mod place;
mod report;
mod server;
mod successor;
mod words;

pub(crate) use choice::cluster;
pub(crate) use client::Client;
pub(crate) use exchange::{Led, PeerLine, Report};
pub(crate) use file::File;
pub(crate) use observe::Observer;
pub(crate) use part::Part;
pub(crate) use report::{unknown_leader, unready};
pub(crate) use server::Control;
pub(crate) use words::trimmed;
