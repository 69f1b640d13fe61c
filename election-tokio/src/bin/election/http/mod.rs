//! The HTTP port: who leads, and whether this node is well, for programs, probes and Prometheus.
//!
//! ```text
//!   address ─▶ server      a thread of its own, few connections, none of them for long
//!                └─▶ answers ─▶ desk      what this node knows, read from the elector's handle
//! ```
//!
//! Whatever comes in there must not delay the elector. The port therefore shares nothing with it
//! but the state that the elector publishes: it has its own thread with its own runtime. (Not of a
//! lower priority: it would then hold that state's lock for longer on a busy machine.) It takes no orders, so there is nothing to protect but attention and memory, and
//! both are bounded. A probe must come through a crowd: the orchestrator that asks it ends a
//! process which does not answer, and with it a leadership. So a full port closes the oldest
//! connection rather than refuse the newest.
//!
//! The port is open before the election begins, and answers until the process ends. Between the two
//! it says so: [`desk`] is empty until there is an elector to ask.

mod address;
mod answers;
mod desk;
mod server;
#[cfg(test)]
mod tests;

pub(crate) use address::Address;

use crate::exit::Failed;
use desk::Desk;
use election_tokio::{Handle, Member};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use server::Patience;
use std::sync::Arc;
use tracing::info;

/// The upper bounds, in seconds, by which answers and saves are counted.
const BUCKETS: [f64; 13] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The open port of this process.
pub(crate) struct Http(Arc<Desk>);

impl Http {
    /// Opens the port, and records metrics from now on.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub(crate) fn open(address: Address) -> Result<Self, Failed> {
        let listener = address.open()?;
        let desk = Arc::new(Desk::new(recorder()?));
        let shown = server::start(listener, desk.clone(), Patience::USUAL)
            .map_err(|error| Failed::of("the HTTP port cannot be served", &error))?;
        info!(event = "http", "answering at http://{shown}/leader");
        Ok(Self(desk))
    }

    /// From now on there is an elector to ask.
    pub(crate) fn joined(&self, handle: &Handle, member: Option<&Member>) {
        self.0.joined(handle.clone(), member.cloned());
    }
}

/// Records what the library tells the facade of metrics, in this whole process.
fn recorder() -> Result<PrometheusHandle, Failed> {
    let failed = |error| Failed::of("metrics cannot be recorded", &error);
    let seconds = Matcher::Suffix("_seconds".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(seconds, &BUCKETS);
    builder.and_then(PrometheusBuilder::install_recorder).map_err(failed)
}
