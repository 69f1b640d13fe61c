//! Nodes of a quorum as real processes, on both runtimes in one cluster: killed, stopped, cut off,
//! attacked. A journal that all of them write on one clock says who acted when, and a checker that
//! knows nothing of the protocol reads it. (`builder`, `member` and `primary` have
//! their nodes in the test's own process.)
//!
//! ```text
//!   elections · failures · disks · network · links · names · played · hostile · legacy · chaos ·
//!   secured · renewal · intruders · handshakes (these four on members with `certificates`)
//!        │
//!        ▼
//!     cluster ── starts, kills, stops ──▶ role    this very binary as a node, which acts while it
//!        │                                 │      leads
//!        └──── checker ◀──── journal ◀─────┘
//! ```

mod builder;
mod certificates;
mod chaos;
mod checker;
mod cluster;
mod disks;
mod elections;
mod failures;
mod handshakes;
mod hostile;
mod intruders;
mod journal;
mod legacy;
mod links;
mod member;
mod names;
mod network;
mod played;
mod primary;
mod renewal;
mod role;
#[path = "../support/router.rs"]
mod router;
mod secured;
