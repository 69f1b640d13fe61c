//! Nodes of a quorum as real processes, on all three runtimes in one cluster: killed, stopped, cut off,
//! attacked. A journal that all of them write on one clock says who acted when, and a checker that
//! knows nothing of the protocol reads it. (`nodes` live in the test's own process, and so do those of
//! the conformance suite.)
//!
//! ```text
//!   elections · disks · network · names · hostile · chaos · secured · renewal · intruders
//!   (the last three on members with `certificates`)
//!        │
//!        ▼
//!     cluster ── starts, kills, stops ──▶ role    this very binary as a node, which acts while it
//!        │                                 │      leads
//!        └──── checker ◀──── journal ◀─────┘
//! ```

#[macro_use]
#[path = "../support/on.rs"]
mod on;

mod certificates;
mod chaos;
#[path = "../support/checker.rs"]
mod checker;
mod cluster;
mod disks;
mod elections;
mod hostile;
mod intruders;
#[path = "../support/journal.rs"]
mod journal;
mod names;
mod network;
mod nodes;
mod places;
mod renewal;
mod role;
#[path = "../support/runtimes.rs"]
mod runtimes;
mod secured;
