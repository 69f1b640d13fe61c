//! The menu of faults, as data.
//!
//! Every fault says whether the election's promise covers it ([`Contract`]). Within the contract
//! nothing may go wrong. Beyond it two leaders *can* exist at once, and only the fencing token at
//! the resource still protects; each checker knows in which runs it must hold.
//!
//! The row of a fault in `table.rs` says everything about it.

mod contract;
mod grammar;
mod kind;
mod layers;
mod parameters;
mod table;
mod text;

pub use contract::Contract;
pub(crate) use grammar::grammar;
pub use kind::{FaultKind, Scope};
pub(crate) use kind::{FaultName, Weight, Weights};
pub(crate) use layers::{database_fault, member_fault, network_fault, simulator_fault};
pub use parameters::{CutDirection, DiskFault, FrameFault, SaveFault, StatementFault};
pub(crate) use table::fault_table;
#[cfg(test)]
pub(crate) use text::parameter_words;

use std::time::Duration;

/// Something that goes wrong (or that somebody does), from `at` on, for as long as it `lasts`. A
/// fault that happens at one instant ignores `lasts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it begins, in true time since the start.
    pub at: Duration,
    /// How long it lasts.
    pub lasts: Duration,
    /// What it is.
    pub kind: FaultKind,
}
