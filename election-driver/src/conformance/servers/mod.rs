//! What a database behind a server adds: its death, its clock, the way to it, its sessions.

pub mod broken;
pub mod clocks;
mod counted;
pub mod faults;
pub mod lingering;
pub mod links;
pub mod listener;
pub mod locked;
pub mod notifications;
pub mod sessions;
pub mod tls;
pub mod transport;
