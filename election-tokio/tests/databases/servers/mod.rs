//! What a database behind a server adds: its death, its clock, the way to it, its sessions.

mod broken;
mod clocks;
pub(crate) mod counted;
mod faults;
mod hosts;
mod lingering;
pub(crate) mod links;
mod listener;
mod locked;
mod notifications;
mod observer;
mod promoted;
mod sessions;
mod transport;
