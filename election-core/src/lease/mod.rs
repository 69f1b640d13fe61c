//! Leadership decided by one row in a shared database.
//!
//! # The idea
//!
//! One row per namespace says who leads, under which epoch and until when, by the database's clock.
//! Every candidate runs the same statements against it. Each statement is atomic, so two candidates
//! cannot both win. But no database can reach into a process that has stopped hearing from it. So
//! every leader also keeps a *trust window* on its own clock: it stops before the lease can have
//! ended, however late the answers came and however far the clocks drifted apart within the
//! configured bound.
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
//! * **Trust starts at the question.** Trust ends at `asked + ttl − margin`, where `asked` is when
//!   the query was issued. A slow answer cannot stretch it. Belief ends `grace` earlier.
//! * **Every acquisition is a new term**, with an epoch above any that this process or the row has
//!   seen. Renew and resign name their epoch. A statement of an old term cannot touch a new one,
//!   even of the same process.
//! * **An unknown outcome is not a failure.** The database may execute a statement after its client
//!   gave up. So the elector reads the row after an attempt with unknown outcome. It leads a term
//!   that it finds there only if it never believed in it and never resigned it; otherwise it
//!   resigns that term. An answer to a superseded question never gives leadership.
//! * **Drain before release.** Belief ends first, then the elector tells leader work to stop, and
//!   only [`Input::Stopped`] for that epoch permits the release. While the work runs, the lease is
//!   never released: it runs out. The elector does not campaign meanwhile.
//! * **A release is tried until its lease has run out** on this process's clock, so that a database
//!   that is back in time is told. A process that leaves makes short pauses, because it may have little
//!   time left; until then it looks for a term that it may have won, too.
//! * **A renewal carries its ordinal.** A renewal that was stuck behind a lock and executes late
//!   cannot move the expiry back. The elector repeats a renewal that has failed at once, and then ever
//!   more slowly.
//! * **A candidate that resigned stays out** until it sees another leader, or until every follower
//!   has had its turn to poll since the release was confirmed. Meanwhile it only reads the row. If
//!   it still finds the row vacant after the followers that are awake have had their chance, it
//!   asks the list of candidates once. If nobody else is on the list, it stands again.
//! * **Followers come back at the deadline**, not at the next poll: the row says how long it still
//!   runs. Back-off after errors never exceeds one interval.
//! * **A notification is a hint to look**, never a command, because anybody who reaches the
//!   database can send one. Only the row itself makes a leader resign or step down.
//! * **A database clock that went back** does not block an election for the length of the jump. If
//!   a holder has not renewed for longer than its lease, on the follower's own clock, the follower
//!   takes over.
//! * **A lease can allow for steps** of the database's clock
//!   ([`clock_step`](Config::clock_step)). The database then keeps it for so much longer than the ttl,
//!   and everybody takes it over by the rule before: by its own clock, and only if the row is exactly
//!   as it was seen. Trust is not longer for it.
//! * **An older epoch is old news.** One server of a cluster may lag behind another. So a row with an
//!   older epoch than one that this process leads or has seen changes nothing and is told to nobody,
//!   until the newer lease has ended on this process's clock (or, if it was given back, would have). A
//!   database that has still forgotten it by then is believed, and at once if it tells another history.
//!   An own term in such a row is released all the same.
//! * **A promoted replica may have lost the newest win, or renewals** ([`Server`]). An attempt there
//!   wins only after its history has been known for a whole lease, the row's or the attempt's own if
//!   that is longer, and for [`clock_step`](Config::clock_step) more. So does a renewal of a holder
//!   that cannot tell that it still leads (call by call). A holder that leads may renew although the
//!   row says that its lease has ended, until the history has been known for the lease in the row: it
//!   leads on after its renewals were lost. Followers count a holder's silence anew, and take over only
//!   from the history in which they have counted. Epochs grow by 2^42 with each history, because the
//!   lost ones are not known.
//! * **A lease can be made to last** for a least time, counted from the election
//!   ([`at_least_for`](Config::at_least_for)). Attempts and renewals then ask for what is left of
//!   it, if that is more than the ttl. Instead of releasing a term that it has led, a process cuts
//!   the lease down to what is left. Trust is not longer for it.
//!
//! The trust window, the scope of a term and the handling of failures come from River's leader
//! election, namespaces and candidates from `gemstone_utils.election`. [`sources`](crate::sources)
//! says what differs and why.

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
mod server;
mod sweep;
mod timers;
mod view;

pub use candidacy::{Candidacy, Round};
#[cfg(feature = "model-checking")]
pub use canonical::{Names, Surroundings};
pub use config::{Config, ConfigBuilder, Role};
pub use lint::{ConfigError, Parts, Warning};
pub use machine::Lease;
pub use message::{Action, Answer, Event, Failure, Holder, Query, Registration, Row, Ticket};
pub use server::Server;

#[cfg(doc)]
use crate::Input;
