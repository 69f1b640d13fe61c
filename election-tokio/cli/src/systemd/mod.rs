//! What this process tells the service manager that has started it (`Type=notify`, `WatchdogSec=`).
//!
//! ```text
//!   told ─▶ service ─▶ socket      one datagram for each piece of news
//!             └─▶ the state that the elector publishes, and its next step
//! ```
//!
//! Ready means that the elector stands for election, or waits for its database, as it would later.
//! It does not mean leadership: a manager that waited for that would wait on every host but one.
//!
//! The news are told by the thread that looks after the job, and timed by the thread that runs the
//! elector. So the watchdog hears nothing if either of them stands still, or if the elector does not
//! take its next step in time.
//!
//! None of this reaches the processes that this one starts ([`keep_from`]): a job that said that it
//! lives would vouch for an elector that is stuck.

mod environment;
mod service;
mod socket;
#[cfg(test)]
mod tests;

pub(crate) use environment::keep_from;
pub(crate) use service::Service;
