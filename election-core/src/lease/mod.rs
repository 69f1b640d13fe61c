//! Leadership decided by one row in a shared database.
//!
//! # The idea
//!
//! A row per namespace says who leads, under which term, until when, by the database's clock.
//! Every candidate runs the same statements against it; each is atomic, so two cannot win. What
//! no database can do is reach into a process that has stopped hearing from it. So every leader
//! also keeps a *trust window* on its own clock: it stops before the lease can have ended, however
//! late the answers came and however far the clocks drift apart within the configured bound.
//!
//! ```text
//!            asked                                                          ttl
//!  lease       |=============================================================|   (database)
//!  belief      |----------------------------------------|                        (this process)
//!  work may run|----------------------------------------|-- grace --|<-margin->|
//!                                                     until       stop_by
//! ```
//!
//! # The states
//!
//! ```text
//!                       won, or read back as won
//!        ┌───────────┐  and never believed before   ┌──────────────────────────┐
//!   ┌───▶│ following │─────────────────────────────▶│ leading                  │
//!   │    │           │                              │ renews every interval    │
//!   │    └───────────┘                              └────────────┬─────────────┘
//!   │          ▲                                                 │ resigned, asked to resign,
//!   │          │ released, or given up:                          │ unhealthy, expired, replaced
//!   │          │ the lease runs out                              ▼
//!   │    ┌─────┴─────┐      Stopped(epoch)          ┌──────────────────────────┐
//!   │    │ releasing │◀─────────────────────────────│ draining                 │
//!   │    └───────────┘                              │ work is told, then forced│
//!   │                       Stopped(epoch), and     └────────────┬─────────────┘
//!   └────────────────────── the term was replaced ───────────────┘
//! ```
//!
//! # The rules
//!
//! * **Anchored at the question.** Trust ends at `asked + ttl − margin`, where `asked` is when the
//!   query was issued. A slow answer cannot stretch it. Belief ends `grace` earlier.
//! * **Every acquisition is a new term**, higher than any this process or the row has seen. Renew
//!   and resign name their term; an old one cannot touch a new one, even of the same process.
//! * **An unknown outcome is not a failure.** A statement may be executed after its client gave
//!   up. So an attempt with unknown outcome is read back, and what is found is led only if it was
//!   never believed and never resigned ("barred"); otherwise it is resigned. An answer to a
//!   superseded question never gives leadership.
//! * **Drain before release.** Belief ends first, work is told, and only [`Input::Stopped`] for
//!   that very epoch permits the release. Work that will not stop is never released: the lease
//!   runs out. There is no campaign meanwhile.
//! * **A renewal carries its ordinal**, so that one which was stuck behind a lock and executes
//!   late cannot move the expiry back. A renewal with unknown outcome is repeated at once.
//! * **Who resigned stays out** until it sees another leader, or every follower has had its turn to
//!   poll since the release was confirmed. Meanwhile it polls by reading, never by attempting. Where
//!   a look finds the vacancy after whoever is awake has had it, it asks the list of candidates
//!   once: if nobody else is on it, there is nobody to stay out for.
//! * **Followers come back at the deadline**, not at the next poll: the row tells how long it has
//!   to run. Back-off after errors never exceeds one interval.
//! * **A notification is a hint to look**, never a command: anybody who reaches the database can
//!   send one. What makes a leader resign or step down is always the row itself.
//! * **A database clock that went back** does not block for the length of the jump: a holder that
//!   has not renewed for longer than its lease, on the follower's own clock, is taken over from.
//!
//! The rules come from the trust window, term scoping and failure handling of River's leadership
//! package (seed 004), the namespaces and candidates of `gemstone_utils.election` (seed 000), and
//! the race scenarios of seed 002; each repair to them is named where it stands.

mod answers;
mod candidacy;
#[cfg(feature = "model-checking")]
mod canonical;
mod config;
mod flight;
mod leadership;
mod lint;
mod machine;
mod message;
mod polls;
mod questions;
mod timers;
mod view;

pub use candidacy::{Candidacy, Round};
#[cfg(feature = "model-checking")]
pub use canonical::{Names, Surroundings};
pub use config::{Config, ConfigBuilder, Role};
pub use lint::{ConfigError, Parts, Warning};
pub use machine::Lease;
pub use message::{Action, Answer, Event, Failure, Holder, Query, Registration, Row, Ticket};

#[cfg(doc)]
use crate::Input;
