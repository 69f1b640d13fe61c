//! A member that runs kevy-elect: its rules, and the loop of its process.

mod elector;
mod process;

pub(crate) use process::Legacy;
