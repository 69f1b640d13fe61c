//! A web service of several replicas of which one leads: probes, and routes for the leader.
//!
//! | route | says |
//! | --- | --- |
//! | `GET /livez` | 200 unless the elector has ended or is stuck, which only a restart can fix |
//! | `GET /readyz` | 200 once the database has answered, **whoever leads** |
//! | `GET /leader` | who leads, under which epoch and where; 503 if no leader is known |
//! | `POST /jobs` | does what only a leader may do; a follower redirects to the leader |
//!
//! Readiness must not mean leadership: a rolling update waits until each new replica is ready, and
//! only one of those can ever lead.
//!
//! ```sh
//! cargo run -p election-tokio --example axum -- service.db 127.0.0.1:8080
//! cargo run -p election-tokio --example axum -- service.db 127.0.0.1:8081
//! curl -L -X POST http://127.0.0.1:8081/jobs
//! ```

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use election_tokio::{Election, Handle, SqliteStore, core::Label};
use serde_json::json;
use std::{error::Error, time::Duration};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(address)) = (arguments.next(), arguments.next()) else {
        return Err("usage: axum FILE ADDRESS:PORT".into());
    };
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let mut store = SqliteStore::open(file)?;
    store.ensure_schema().await?;
    let election = Election::builder("service")
        .node(address.to_string())
        // The address that the others redirect to.
        .label(address.to_string())
        .ttl(Duration::from_secs(5))
        .store(store)
        .build()?
        .start();
    println!("listening on {address}");

    let mut terminated = signal(SignalKind::terminate())?;
    let stop = async move {
        terminated.recv().await;
    };
    axum::serve(listener, routes(election.clone())).with_graceful_shutdown(stop).await?;
    // Resigns, so that another replica leads at once and not only when the lease has run out.
    election.shutdown().await;
    Ok(())
}

fn routes(election: Handle) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/leader", get(leader))
        .route("/jobs", post(jobs))
        .with_state(election)
}

async fn livez(State(election): State<Handle>) -> Response {
    if election.status().closed {
        return (StatusCode::INTERNAL_SERVER_ERROR, "the elector has ended").into_response();
    }
    if election.overdue() > Duration::from_secs(10) {
        return (StatusCode::INTERNAL_SERVER_ERROR, "the elector is stuck").into_response();
    }
    "alive".into_response()
}

async fn readyz(State(election): State<Handle>) -> Response {
    let status = election.status();
    match status.error {
        _ if status.reached => "ready".into_response(),
        Some(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "no answer yet").into_response(),
    }
}

async fn leader(State(election): State<Handle>) -> Response {
    let Some(leader) = election.status().leader else {
        return (StatusCode::SERVICE_UNAVAILABLE, "no leader is known lead").into_response();
    };
    let said = json!({
        "leader": leader.term.leader.as_str(),
        "epoch": leader.term.epoch.get(),
        "address": leader.label.as_ref().map(Label::as_str),
        // By the clock, now: the status published a moment ago may have run out.
        "own": election.is_leader(),
    });
    Json(said).into_response()
}

async fn jobs(State(election): State<Handle>) -> Response {
    let Some(lease) = election.lease() else {
        let leader = election.status().leader.filter(|leader| !leader.own);
        return match leader.and_then(|leader| leader.label) {
            Some(address) => Redirect::temporary(&format!("http://{address}/jobs")).into_response(),
            None => (StatusCode::SERVICE_UNAVAILABLE, "no leader is known lead").into_response(),
        };
    };
    // The guard is held while the job runs: no other replica can lead before. A job that writes to
    // a database should fence its transactions too (see the example `fenced`).
    let job = async { format!("done by {} under epoch {}\n", lease.term().leader, lease.epoch()) };
    match lease.until_lost(job).await {
        Ok(done) => done.into_response(),
        Err(lost) => (StatusCode::SERVICE_UNAVAILABLE, lost.to_string()).into_response(),
    }
}
