//! Where the rules come from.
//!
//! Four public sources gave this library its words, its tables, its frames and most of its
//! defaults:
//!
//! | source | what it is | what became of it |
//! | --- | --- | --- |
//! | [`gemstone_utils.election`][gemstone] (Python) | a lease in one SQL row, called step by step | [`lease::Candidacy`] |
//! | a heartbeat row polled every 30 s and stale after 90 s | the common home-grown pattern | [`lease::Lease`] |
//! | [River][river]'s leader election (`riverqueue/river`, Go) | a lease with terms and a local trust window | [`lease::Lease`] |
//! | [kevy-elect][kevy] (Rust) | primary failover by majority, without a log | [`quorum`] |
//!
//! The heads of [`lease`] and [`quorum`] state the rules. This page is for readers who know one of
//! the sources: what is the same here, what differs, and why.
//!
//! [gemstone]: https://pypi.org/project/gemstone-utils/
//! [river]: https://github.com/riverqueue/river
//! [kevy]: https://github.com/goliajp/kevy
//!
//! # From `gemstone_utils.election`
//!
//! The calls keep their names. [`lease::Candidacy`] makes the questions of each call; the adapter
//! crates run them, on a connection of their own or inside the caller's transaction (`session=`).
//! There, the adapters mark the answer as uncommitted until the caller's commit has succeeded.
//!
//! | there | here | why it differs |
//! | --- | --- | --- |
//! | table `gemstone_election_candidate` | `election_candidate` ([`sql::Tables`]) | prefix and schema are configurable |
//! | `ns`, default `"default"` | [`Namespace`], [default](Namespace::default) `"default"`; an empty name is refused | an unset variable must not merge unrelated elections |
//! | `candidate_id`, a UUID | `candidate_id` and `incarnation` ([`Candidate`]); a UUID converts into both | two processes with one id must never both lead |
//! | `last_heartbeat_at`, `expires_at` | `last_heartbeat_ms`, `expires_ms` | integers have no time zone and no rounding |
//! | table `gemstone_election_leader` | `election_leader` | |
//! | `leader_id`, NULL when vacant | the same, with `incarnation` and `label` beside it | followers learn the leader's address |
//! | `lease_expires_at`, NULL when vacant | `expires_ms` (set to now when vacated), `ttl_ms` | a clock that went back cannot lengthen a lease |
//! | `updated_at` | `updated_ms`, and `elected_ms` | |
//! | no term | `epoch`, `renewals`, `resign_requested_epoch` | fencing; a late renewal cannot shorten a newer one |
//! | `init_db` creates the tables | numbered migrations ([`sql::Schema`]), also as a script | |
//! | `register_candidate`, `heartbeat` | [`register`](lease::Candidacy::register) | the same: one call under two names |
//! | `elect` returns the leader after the call | [`elect`](lease::Candidacy::elect) yields the row after the call | a live lease is not preempted, the caller's own is renewed |
//! | `is_leader` | [`leads`](lease::Candidacy::leads) on the row | |
//! | `list_candidates` | [`list_candidates`](sql::Statements::list_candidates), sorted | |
//! | `unregister_candidate` vacates the lease | [`unregister`](lease::Candidacy::unregister) | it vacates only the caller's own term, not a newer leader's |
//! | `set_expire(sec)`, default 60 s | [`set_expire`](lease::Candidacy::set_expire), default 60 s, 100 ms to 24 h | |
//! | `session=` on every call | every call on the caller's transaction (`SqlStore::on`) | what it returns is uncommitted, and its type says so |
//! | `SELECT … FOR UPDATE`, one retry after `IntegrityError` | one atomic statement per won attempt, on every database | no lock to hold, no gap-lock deadlock |
//! | clock skew between hosts shortens or lengthens leases | only the database's clock counts | |
//!
//! Between two calls nothing tells the process that its lease has ended. Work that must never run
//! twice wants the elector ([`lease::Lease`]) or a fence ([`sql::Fence`]).
//!
//! # From a heartbeat row
//!
//! | there | here | why it differs |
//! | --- | --- | --- |
//! | `task_name` as primary key | `ns` as primary key | |
//! | `worker_id` | `leader_id` and `incarnation` | a restarted worker is another candidate |
//! | heartbeat every 30 s | `interval`, counted from when the last question was asked | an interval is a third of the `ttl` by default |
//! | stale after 90 s | `ttl`: the row says when the lease ends | `ttl(90 s)` alone gives an interval of 30 s; the default is 15 s and 5 s |
//! | staleness by the workers' clocks | by the database's clock, within one statement | skewed hosts elect two |
//! | UPDATE, then SELECT, then INSERT | one atomic statement wins | the loser learns how long the lease still runs |
//! | the loser retries at its next poll | it retries when the lease ends, within the wake jitter | failover does not wait for a poll |
//! | the old leader learns of its loss at its next heartbeat | it stops before the lease can end | a heartbeat that hangs leaves two workers running |
//! | the leader goes on while the database is down, until 90 s | until its trust window ends | another worker may hold the lease by then |
//! | `stop()` releases | [`Input::Withdraw`]: work stops first, then the lease is released | the next leader must not start beside the old work |
//! | `try_become_leader()` is idempotent | so is [`elect`](lease::Candidacy::elect): it renews the caller's own lease under its epoch | |
//!
//! # From River
//!
//! | there | here | why it differs |
//! | --- | --- | --- |
//! | UNLOGGED table `river_leader` with one row: `leader_id`, `elected_at`, `expires_at` | table `election_leader` with a row per namespace; `elected_ms`, `expires_ms` | a crash of the database must not lose the newest epoch |
//! | term = (`leader_id`, `elected_at`) | [`Term`]: `leader_id`, `incarnation` and `epoch` | epochs grow strictly, so each is a fencing token; a new row starts at the database clock's milliseconds |
//! | renew and resign name their term | the same | |
//! | `trustedUntil = attemptStarted + TTL − safetyMargin` | `stop_by` is that instant; belief ends `grace` earlier | leader work has time to stop; `grace(0)` gives River's formula |
//! | `ElectInterval` 5 s, `ElectIntervalJitter` 1 s, TTL = interval + 10 s | `interval` 5 s, `jitter` 1 s, `ttl` 15 s; the first two derive from `ttl` unless set | |
//! | `safetyMargin`, 1 s | `margin`, 1.851 s by default, covers the drift of the clocks over one `ttl` ([`Drift`]) | a clock that chrony slews runs up to 8.3 % off |
//! | the deadline of an attempt | `attempt_timeout`; [`build`](lease::ConfigBuilder::build) checks that all parts fit into the `ttl` | one hung statement must not cost the lease |
//! | back-off after errors | at most one interval | a database that has healed is asked again within one interval |
//! | notification `resigned` wakes followers | the same on PostgreSQL; polling everywhere | the payload also has `ns`, `incarnation` and `epoch` |
//! | notification `request_resign` makes the leader resign | column `resign_requested_epoch`, which the renewal returns; the notification only wakes | anybody may notify, and not every database can |
//! | replaced: step down at once, no resign | [`Loss::Replaced`](crate::Loss::Replaced), `stop_by` is now | |
//! | resign on shutdown or after a local time-out | only after [`Input::Stopped`]; tried until the lease has run out | a lease is never released over running work |
//! | the resigner becomes a follower | it stays out until another leads or every follower has had its turn to poll | a resignation has to move the leadership |
//! | ordered `true`/`false` per subscriber | [`Change::Elected`](crate::Change::Elected) and [`Change::Lost`](crate::Change::Lost) alternate | |
//!
//! # From kevy-elect
//!
//! The verbs `HB`, `OFFER`, `ACCEPT` and `ANNOUNCE`, their fields, the roles and the timing are
//! kevy-elect's. Nodes of both kinds form one cluster, with the [limits](quorum#limits) that follow
//! from it.
//!
//! | there | here | why it differs |
//! | --- | --- | --- |
//! | RESP2 arrays over TCP, verbs in upper case | the same fields, verbs in lower case, more fields between peers of this kind ([`quorum::wire`]) | kevy-elect reads any case and drops a connection on a wrong number of fields |
//! | initial epoch 1, so the first election is 2 | initial epoch 0 ([`Epoch::NONE`]), so the first election is 1; beside a legacy peer it is 2 | epoch 0 says "no election yet", which lets a new cluster skip the boot grace |
//! | reject `OFFER` silently | answer it at once with a heartbeat | the candidate learns the voter's epoch and does not wait for a time-out |
//! | a voter need not remember whom it accepted | `voted_for` is part of the durable [`Ballot`](quorum::Ballot); it is saved before `ACCEPT` is sent | a restarted voter would vote twice |
//! | highest offset, then lowest id | highest ([history, offset](quorum::Position)), then lowest id | a forked ex-primary must not win by its length |
//! | the best candidate only may offer | each better peer costs one `stagger` of waiting | a better peer that cannot win must not block the rest |
//! | a primary acts until it sees a higher epoch | it acts while a majority echoes its frames (trust window) | one *acting* primary at a time, not only one per epoch |
//! | a node that hears a higher epoch demotes | a primary wins that peer back in an election of its own, while it leads | a peer that promised a dead election must not cost an outage |
//! | a peer is down after `down_after_ms` | the same span is also the support: a voter votes for nobody else meanwhile | one replica that misses heartbeats cannot depose the primary |
//! | role declared in the configuration | every node boots as replica; among equals in data, the [`preferred_primary`](quorum::ConfigBuilder::preferred_primary) is elected | two declared primaries would never resolve |
//! | peers change by a rolling restart | one member at a time, proposed by a primary and recorded by majorities of both lists ([`MemberChange`](quorum::MemberChange)) | an old and a new list can both have a majority |
//! | no rule for unknown ids | only configured members, one incarnation each, on their newest connection | a stranger or a second process would vote |
//! | `hb_interval_ms` 200, `down_after_ms` 5,000, `election_timeout_ms` 3,000, `election_backoff_ms` 1,000–5,000 | the same defaults | further: `grace` 500 ms, `stagger` 150 ms, `margin` 100 ms, drift 9 % |
//! | `N=2` warning | [`Warning::TwoMembers`](quorum::Warning::TwoMembers), which says that nobody is elected once either is lost: two members have no fault tolerance | |
//! | one port per shard | ports, sockets and disks are the embedding program's | the core does no I/O |
//!
//! # Other references
//!
//! * RFC 3720, appendix B.4: the CRC-32C of a ballot's [record](quorum::record).
//! * PCG XSL RR 128/64: the generator behind every jitter ([`Random`](crate::Random)).
//! * chrony's `maxslewrate`, 83,333.333 ppm unless set (`chrony.conf(5)`): the default drift of a
//!   lease ([`Config::DEFAULT_DRIFT`](lease::Config::DEFAULT_DRIFT)) and of a quorum
//!   ([`Config::DEFAULT_DRIFT`](quorum::Config::DEFAULT_DRIFT)). The kernel's own slew, which ntpd
//!   and `systemd-timesyncd` use, is bounded by 500 ppm (`adjtimex(2)`).
//! * The mended flaws of River carry their public issue numbers in the simulator's scenarios.

use crate::{Candidate, Drift, Epoch, Input, Namespace, Term, lease, quorum, sql};
