//! The HTTP port: who leads, and whether this node is well, for programs, probes and Prometheus.
//!
//! ```text
//!   address ─▶ port ─▶ server      a thread of its own, few connections, none of them for long
//!                        └─▶ answers ─▶ knowledge      what this node knows, read from the handle
//! ```
//!
//! Whatever comes in there must not delay the elector. The port therefore shares nothing with it
//! but the state that the elector publishes: it has its own thread with its own runtime. (Not of a
//! lower priority: on a busy machine it would then hold that state's lock for longer.) It takes no
//! orders, so there is nothing to protect but attention and memory, and both are bounded. A probe
//! must come through a crowd: the orchestrator that asks it ends a process which does not answer,
//! and with it a leadership. So a full port closes the oldest connection rather than refuse the
//! newest.
//!
//! An empty name says that nobody leads. A member that hears of support for another that it does not
//! hear cannot say so: perhaps that one leads. It may also be a candidate, and then the election is
//! about to end. Whoever alone waits for an election hears of no support, and can say so. A member is
//! ready when it also could vote: that is asked before the next one is restarted.
//!
//! The port is open before the election begins, and answers until the process ends. Until there is
//! an elector to ask, `knowledge` says that there is none.

mod address;
mod answers;
mod knowledge;
mod port;
mod server;
#[cfg(test)]
mod tests;

pub(crate) use address::Address;
pub(crate) use port::Http;
