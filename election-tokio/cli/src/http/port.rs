//! The open port, from the first moment of this process on.

use super::{
    address::Address,
    knowledge::Knowledge,
    server::{self, Patience},
};
use crate::exit::Failed;
use election_tokio::{Handle, Member, Starting};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::{io::ErrorKind, net::TcpListener, sync::Arc};
use tracing::info;

/// The upper bounds, in seconds, by which answers and saves are counted.
const BUCKETS: [f64; 13] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The open port of this process.
pub(crate) struct Http(Arc<Knowledge>);

impl Http {
    /// Opens the port, and records metrics from now on.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub(crate) fn open(address: Address) -> Result<Self, Failed> {
        let listener = listen(address)?;
        let knowledge = Arc::new(Knowledge::new(recorder()?, address.exposed));
        let shown = server::start(listener, knowledge.clone(), Patience::USUAL)
            .map_err(|error| Failed::of("the HTTP port cannot be served", &error))?;
        info!(event = "http", "answering at http://{shown}/leader");
        Ok(Self(knowledge))
    }

    /// This process is about to be a member.
    pub(crate) fn starts(&self, starting: Starting) {
        self.0.starts(starting);
    }

    /// From now on there is an elector to ask.
    pub(crate) fn joined(&self, handle: &Handle, member: Option<&Member>) {
        self.0.joined(handle.clone(), member.cloned());
    }
}

/// Listens there.
fn listen(address: Address) -> Result<TcpListener, Failed> {
    TcpListener::bind(address.socket).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AddrInUse => {
                "another process is listening there; end it, or choose another port"
            }
            ErrorKind::AddrNotAvailable => {
                "this machine does not have that address; use one of its own, or 127.0.0.1"
            }
            ErrorKind::PermissionDenied => {
                "this user may not open that port; choose one above 1023"
            }
            _ => "choose another address",
        };
        Failed::new(format!("--http {address}: {error}: {remedy}"))
    })
}

/// Records what the library tells the facade of metrics, in this whole process.
fn recorder() -> Result<PrometheusHandle, Failed> {
    let failed = |error| Failed::of("metrics cannot be recorded", &error);
    let seconds = Matcher::Suffix("_seconds".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(seconds, &BUCKETS);
    builder.and_then(PrometheusBuilder::install_recorder).map_err(failed)
}
