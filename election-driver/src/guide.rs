//! The guide: how to use this library, by what you want to do.
//!
//! | chapter | about |
//! | --- | --- |
//! | [`choosing`] | a lease in your database, or a quorum of fixed nodes |
//! | [`timing`] | ttl, interval, grace and margin: what each buys, and what it costs; timers and cron |
//! | [`fencing`] | what protects against a leader that was paused |
//! | [`shutdown`] | leaving so that another leads at once |
//! | [`testing`] | your own service under simulated crashes, outages and late statements |
//! | [`production`] | probes, dashboards, alerts, and what each metric and event asks you to do |
//! | [`command`] | the `election` command: jobs, scripts, cron, programs that ask, and clusters without a program |
//! | [`tables`] | the tables in your database as an interface: every column, and who writes it |
//! | [`coming_from`] | River, `ShedLock`, `gemstone_utils`, client-go, kevy-elect: what is called what here |
//! | [`comparison`] | flock, etcd, Consul, leader-elector, `ShedLock`, River and Patroni beside this |
//! | [`vocabulary`] | one word for one thing, and where older or other words still stand |
//!
//! The examples are for tokio. On async-std and smol they differ in the crate's name and in what the
//! runtime itself is asked for. Each of them is compiled with the library.
//!
//! The protocols themselves, rule by rule, are at the head of [`election_core::lease`] and of
//! [`election_core::quorum`]. This guide says what follows from them for a service and for who
//! operates it.

#[doc = include_str!("guide/choosing.md")]
pub mod choosing {}
#[doc = include_str!("guide/coming_from.md")]
pub mod coming_from {}
#[doc = include_str!("guide/command.md")]
pub mod command {}
#[doc = include_str!("guide/comparison.md")]
pub mod comparison {}
#[doc = include_str!("guide/fencing.md")]
pub mod fencing {}
#[doc = include_str!("guide/production.md")]
pub mod production {}
#[doc = include_str!("guide/shutdown.md")]
pub mod shutdown {}
#[doc = include_str!("guide/tables.md")]
pub mod tables {}
#[doc = include_str!("guide/testing.md")]
pub mod testing {}
#[doc = include_str!("guide/timing.md")]
pub mod timing {}
#[doc = include_str!("guide/vocabulary.md")]
pub mod vocabulary {}
