//! Leadership decided by one value of a register: a store without tables and without a clock that
//! anybody trusts, such as etcd, Consul, NATS, `ZooKeeper` or an object store with conditional writes.
//!
//! All of them offer one thing: a value that is replaced only if it is still the version that was
//! read. The [lease machine](crate::lease) stays what it is. A [`Client`] translates its
//! [queries](crate::lease::Query) into reads and conditional writes, as [`sql`](crate::sql)
//! translates them into statements:
//!
//! 1. keep one client for each election of this process;
//! 2. [`ask`](Client::ask) it the query;
//! 3. do what it [requests](Client::request), [pass the reply back](Client::advance), and repeat until
//!    that yields an [`Answer`](crate::lease::Answer).
//!
//! # What the register must promise
//!
//! * **Linearizable reads and writes.** A read returns the newest value, also after a failover. With
//!   a read from a replica that lags behind, only time is lost. With a write that is acknowledged and
//!   then lost, two processes lead.
//! * **A write takes effect only on the version that it names**, and "no value" is a version, too.
//! * **No version comes twice**, not even if the same value is written again, or the key was
//!   deleted and made anew.
//! * **A write that was given up may still take effect, at any later time.** Nothing else may: the
//!   client must not repeat a write whose outcome it does not know.
//!
//! # The rules
//!
//! * **No clock but this process's own.** A register may not say how old a value is, and no two
//!   machines agree on the time. So a holder is taken over once *this process* has seen its value
//!   unchanged for the length of its lease, and the bound of the drift and a millisecond more. The
//!   count begins with the answer of the read, not with the question. Steps of anybody's clock cost
//!   nothing; [`clock_step`](crate::lease::Config::clock_step) has no effect.
//! * **Any change begins the count again**: of the epoch, the holder, or the number of renewals. A
//!   request to resign does not.
//! * **The leader's trust window is unchanged**: it ends at `asked + ttl − margin`. A follower starts its
//!   count after that question, and counts longer.
//! * **Every renewal writes.** A renewal that is found already made says nothing of when it was asked for.
//! * **An own value that nobody acknowledged is vacant.** It comes from an attempt that was given up
//!   and took effect late, perhaps long after its question. So nobody leads by it. The process takes it
//!   anew, with a higher epoch.
//! * **Epochs are above all before.** They are at least the winner's wall clock in milliseconds, so
//!   that a lost value does not bring back an old number; a wrong clock only makes them higher.
//! * **The value is never deleted.** Whoever deletes the key while somebody leads elects a second
//!   leader.
//!
//! A resignation is noticed immediately by whoever watches the key. After a crash, a follower leads a ttl
//! and the drift after it has read the last renewal; a process that starts later, that long after its
//! first read.
//!
//! # The values
//!
//! Two for each election, as text for people: who leads ([`Leader`]), and who stands
//! ([`Candidates`]). Anybody may read them. The list of candidates informs, and nothing rests on it.

mod candidates;
mod client;
mod leader;
mod memory;
mod text;

pub use candidates::Candidates;
pub use client::{Client, Key, Next, Reply, Request};
pub use leader::Leader;
pub use text::ValueError;

#[cfg(test)]
mod tests;
