//! A primary dies, and a streaming replica that lacks its newest writes is promoted.

use crate::database::{Backend, OnPostgres, Served, candidacy, namespace, until};
use crate::on::OnNothing;
use election_core::{
    Timestamp,
    lease::{self, Answer, Config, ConfigBuilder, Failure, Query, Row},
};
use election_driver::{PgStore, Store as _, StoreError, conformance::Stores as _, now};
use election_testing::{Kind, Proxy, Server};
use election_tokio::Election;
use futures_lite::future::yield_now;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(6);
/// Ahead of the replica, or behind it.
const HOUR: i64 = 3_600;

/// A primary with the tables, and a replica of it.
struct Pair {
    primary: OnPostgres,
    replica: Server,
}

impl Pair {
    /// The primary's clock is so many seconds ahead. Under libfaketime PostgreSQL now and then ends a
    /// session that is not idle, or a process: a signal may interrupt it while it tells the time.
    async fn start(ahead: i64) -> Self {
        let server = if ahead == 0 {
            Server::start(Kind::Postgres)
        } else {
            let server = Server::start_with_clock(Kind::Postgres);
            server.set_clock(ahead);
            server
        };
        let primary = OnPostgres::on(server).await;
        let replica = primary.server().standby();
        Self { primary, replica }
    }

    /// Waits until the replica has what the primary has, and lets it have nothing more.
    fn fall_behind(&self) {
        self.catch_up();
        self.replica.administer("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
        self.replica.administer("postgres", "SELECT pg_reload_conf()");
        let receivers = "SELECT count(*) FROM pg_stat_wal_receiver";
        while self.replica.administer("postgres", receivers) != "0" {}
    }

    fn catch_up(&self) {
        let newest = self.primary.server().administer("postgres", "SELECT pg_current_wal_lsn()");
        let has = format!("SELECT pg_last_wal_replay_lsn() >= '{newest}'::pg_lsn");
        while self.replica.administer("postgres", &has) != "t" {}
    }

    /// Returns when the replica was not promoted yet.
    fn fail_over(&self) -> Timestamp {
        self.primary.server().kill();
        let before = now();
        self.replica.promote();
        before
    }

    /// Waits until the lease in the replica's row has ended, and returns how often it was renewed.
    fn renewals_of_the_ended_lease(&self) -> u64 {
        let row = "SELECT renewals FROM election_leader WHERE expires_ms < \
                   date_part('epoch', clock_timestamp()) * 1000";
        loop {
            if let Ok(renewals) = self.replica.administer("election", row).parse() {
                return renewals;
            }
        }
    }

    fn promoted(&self) -> PgStore {
        PgStore::connect(&self.replica.url()).unwrap()
    }

    fn election(&self, node: &str, store: PgStore) -> Election<PgStore> {
        // Looks as soon as there is something to see, and all trust is belief.
        let eager = |config: ConfigBuilder| {
            config.interval(Duration::from_millis(50)).jitter(Duration::ZERO)
        };
        let builder = Election::builder("test").node(node).ttl(TTL).grace(Duration::ZERO);
        builder.config(eager).store(store).build().unwrap()
    }
}

/// How far the work of a leader whose win was lost reaches into the next leadership.
async fn overlap(ahead: i64, asks: bool) -> Duration {
    let pair = Pair::start(ahead).await;
    pair.fall_behind();
    let a = pair.election("a", pair.primary.store()).start();
    let lease = a.elected().await.unwrap();
    pair.fail_over();
    let promoted = if asks { pair.promoted() } else { pair.promoted().without_history() };
    let b = pair.election("b", promoted).start();
    let next = b.elected().await.unwrap();
    let overlap = lease.stop_by().since(now());
    if asks {
        assert!(next.epoch() > lease.epoch(), "{} after {}", next.epoch(), lease.epoch());
    }
    drop((lease, next));
    b.shutdown().await;
    a.withdraw();
    overlap
}

async fn a_lost_term_is_outlasted(_: OnNothing) {
    for ahead in [HOUR, -HOUR] {
        assert_eq!(overlap(ahead, true).await, Duration::ZERO, "{ahead}");
    }
    // Without the rule two lead: what this check is about does happen here.
    assert!(overlap(HOUR, false).await > Duration::from_millis(500));
}

/// By the row of the replica its lease has ended.
async fn a_leader_whose_renewals_were_lost_leads_on(_: OnNothing) {
    let pair = Pair::start(0).await;
    let port = pair.primary.server().port();
    let link = Proxy::to(port);
    let a = pair.election("a", pair.primary.store_at(link.port())).start();
    let lease = a.elected().await.unwrap();
    pair.fall_behind();
    let behind = pair.renewals_of_the_ended_lease();
    assert!(pair.primary.row().await.unwrap().renewals > behind + 3);
    link.lead_to(pair.replica.port());
    pair.fail_over();
    let b = pair.election("b", pair.promoted()).start();
    let mut promoted = pair.promoted();
    let row = loop {
        let row = promoted.leader(&namespace()).await.unwrap();
        if row.renewals > behind + 3 && row.server.known > TTL + Duration::from_secs(1) {
            break row;
        }
        yield_now().await;
    };
    assert_eq!((row.epoch, lease.is_held()), (lease.epoch(), true), "{row:?}");
    let followed = until(&b, |status| status.leader.is_some()).await.leader.unwrap();
    assert_eq!(followed.term.epoch, lease.epoch());
    drop(lease);
    b.shutdown().await;
    a.shutdown().await;
}

/// A holder was frozen; the win of its successor is lost, and by the replica's clock its own lease
/// still runs.
async fn call_by_call_nobody_comes_back_too_soon(_: OnNothing) {
    let pair = Pair::start(HOUR).await;
    let expiry = Duration::from_secs(3);
    let (mut frozen, mut lost, mut third) =
        (candidacy(1, expiry), candidacy(2, expiry), candidacy(3, expiry));
    let mut primary = pair.primary.store();
    primary.elect(&mut frozen).await.unwrap();
    pair.fall_behind();
    let asked = loop {
        let asked = now();
        let row = primary.elect(&mut lost).await.unwrap();
        if lost.leads(&row) {
            break asked;
        }
    };
    let before = pair.fail_over();
    let mut promoted = pair.promoted();
    let told = promoted.leader(&namespace()).await.unwrap();
    let holder = told.live_holder().expect("a lease that runs by this clock");
    assert_eq!(holder.candidate, frozen.registration().candidate);
    let refused = |answer: Result<Row, StoreError>| answer.unwrap_err().kind;
    // It may have raced for its renewal with the failover, too.
    assert_eq!(refused(promoted.elect(&mut frozen).await), Failure::Conflict);
    assert!(!promoted.is_leader(&frozen).await.unwrap());
    let renew = Query::Renew {
        epoch: told.epoch,
        ordinal: 99,
        ttl: expiry,
        clock_step: Duration::ZERO,
        leads: false,
    };
    let answer = promoted.answer(frozen.registration(), &renew).await.unwrap();
    assert_eq!(answer, Answer::Gone);

    let leads = loop {
        match promoted.elect(&mut frozen).await {
            Ok(row) if frozen.leads(&row) => break now(),
            Ok(row) => panic!("{row:?}"),
            Err(error) => assert_eq!(error.kind, Failure::Conflict, "{error}"),
        }
        let row = promoted.elect(&mut third).await.unwrap();
        assert!(!third.leads(&row), "{row:?}");
    };
    assert!(leads.since(before) >= expiry && leads.since(asked) >= expiry);
}

/// Whoever attempts at a promoted server records since when it is known.
async fn at_a_promoted_server_every_documented_right_is_needed(_: OnNothing) {
    let pair = Pair::start(0).await;
    let order = |order: &str| pair.primary.server().administer("election", order);
    order("CREATE ROLE app LOGIN PASSWORD 'app'");
    order(Kind::Postgres.grants());
    pair.catch_up();
    pair.fail_over();
    let order = |order: &str| pair.replica.administer("election", order);
    let mut store = PgStore::connect(&pair.replica.url_as("app", "app")).unwrap();
    for right in ["INSERT", "UPDATE"] {
        order(&format!("REVOKE {right} ON election_server FROM app"));
        let error = store.elect(&mut candidacy(1, TTL)).await.unwrap_err().to_string();
        assert!(error.contains("election_server") && error.contains("lacks a right"), "{error}");
        order(&format!("GRANT {right} ON election_server TO app"));
    }
    let error = store.elect(&mut candidacy(1, TTL)).await.unwrap_err();
    assert_eq!(error.kind, Failure::Conflict, "a lease has to pass: {error}");
    assert_eq!(order("SELECT history FROM election_server"), "2");
}

/// Its timelines begin again with the first. What is recorded of an earlier second one must not stand
/// for the next.
async fn after_pg_upgrade_a_timeline_is_another_one(_: OnNothing) {
    let ttl = Duration::from_secs(1);
    let mut pair = Pair::start(0).await;
    pair.catch_up();
    pair.fail_over();
    let (mut promoted, mut caller) = (pair.promoted(), candidacy(1, ttl));
    let old = loop {
        let answer = promoted.elect(&mut caller).await;
        match answer {
            Ok(row) if caller.leads(&row) => break row,
            answer => assert_eq!(answer.unwrap_err().kind, Failure::Conflict),
        }
    };
    drop(promoted);
    pair.replica.terminate();
    let upgraded = OnPostgres::on(pair.replica.upgraded()).await;
    let row = upgraded.row().await.unwrap();
    assert_eq!((row.epoch, row.server), (old.epoch, lease::Server::FIRST));
    // As if that had come of another, which was promoted twice.
    let earlier = "INSERT INTO election_server VALUES (7, 2, 0), (7, 3, 0)";
    upgraded.server().administer("election", earlier);

    let replica = upgraded.server().standby();
    let pair = Pair { replica, primary: upgraded };
    pair.fall_behind();
    let (mut primary, mut lost) = (pair.primary.store(), candidacy(2, ttl));
    let lost = loop {
        match primary.elect(&mut lost).await {
            Ok(row) if lost.leads(&row) => break row.epoch,
            _ => {}
        }
    };
    assert_eq!(lost.get() >> 42, 3, "above what was lost before the upgrade, whoever stood since");
    pair.fail_over();
    let (mut promoted, mut next) = (pair.promoted(), candidacy(3, ttl));
    let row = promoted.leader(&namespace()).await.unwrap();
    assert!(row.epoch < lost && row.server.is_unknown(), "{row:?}");
    let won = loop {
        match promoted.elect(&mut next).await {
            Ok(row) if next.leads(&row) => break row.epoch,
            _ => {}
        }
    };
    assert!(won > lost, "{won} after {lost}");
    let apart = won.get() - lost.get();
    assert!(apart > 1 << 41, "{won} is above all that may have been lost, not just {lost}");
    assert_eq!(won.get() >> 42, 4, "{won}: every promotion counts, of each cluster");
}

/// Commits wait there for as long as it is away, and the server says nothing by itself.
async fn a_synchronous_standby_that_is_away_is_named(_: OnNothing) {
    let mut pair = Pair::start(0).await;
    let order = |pair: &Pair, text: &str| pair.primary.server().administer("postgres", text);
    order(&pair, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    order(&pair, "SELECT pg_reload_conf()");
    let synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    while order(&pair, synchronous) != "1" {}
    let (mut store, mut caller) = (pair.primary.store(), candidacy(1, TTL));
    store.prepare(&Config::builder().ttl(TTL).build().unwrap());
    pair.replica.kill();
    while order(&pair, synchronous) != "0" {}
    let error = store.elect(&mut caller).await.unwrap_err();
    assert_eq!(error.kind, Failure::Ambiguous, "{error}");
    assert!(error.to_string().contains("synchronous_standby_names"), "{error}");
    // The next call has ended that commit, and seen what it waited for.
    let error = store.elect(&mut caller).await.unwrap_err();
    assert_eq!(error.kind, Failure::Ambiguous, "{error}");
    for words in ["waiting for a synchronous standby (SyncRep)", "ALTER SYSTEM SET"] {
        assert!(error.to_string().contains(words), "{error}");
    }
    order(&pair, "ALTER SYSTEM SET synchronous_standby_names = ''");
    order(&pair, "SELECT pg_reload_conf()");
    while !order(&pair, "SHOW synchronous_standby_names").is_empty() {}
    let row = loop {
        if let Ok(row) = store.elect(&mut caller).await {
            break row;
        }
    };
    assert!(caller.leads(&row), "{row:?}");
}

async fn who_waits_at_a_promoted_server_says_for_how_long(_: OnNothing) {
    let pair = Pair::start(0).await;
    pair.catch_up();
    pair.fail_over();
    // The server counts in whole milliseconds.
    let opens = now() + TTL - Duration::from_millis(1);
    let b = pair.election("b", pair.promoted()).start();
    let status = until(&b, |status| status.opens_at.is_some()).await;
    let opens_at = status.opens_at.unwrap();
    let left = opens_at.since(now());
    assert!(opens_at >= opens && !left.is_zero() && left <= TTL, "{left:?}");
    assert_eq!((status.leader, status.error.map(|error| error.to_string())), (None, None));
    let error = pair.promoted().elect(&mut candidacy(3, TTL)).await.unwrap_err().to_string();
    for words in ["nobody can be elected yet", "was promoted", "in about", "try again then"] {
        assert!(error.contains(words), "{error}");
    }
    let lease = b.elected().await.unwrap();
    // An answer that comes late says that it opens later than it does.
    assert!(now() >= opens);
    assert_eq!(b.status().opens_at, None);
    drop(lease);
    b.shutdown().await;
}

async fn who_cannot_tell_its_history_is_refused_with_the_remedy(_: OnNothing) {
    let pair = Pair::start(0).await;
    pair.primary.store().elect(&mut candidacy(2, Duration::from_secs(1))).await.unwrap();
    pair.catch_up();
    let error = pair.promoted().leader(&namespace()).await.unwrap_err().to_string();
    assert!(error.contains("replica") && error.contains("connect to the primary"), "{error}");

    let server = |order: &str| pair.primary.server().administer("election", order);
    let mut store = pair.primary.store();
    for function in ["pg_control_system()", "pg_current_wal_lsn()"] {
        server(&format!("REVOKE EXECUTE ON FUNCTION {function} FROM public"));
        let error = store.elect(&mut candidacy(1, TTL)).await.unwrap_err().to_string();
        assert!(error.contains("grant it EXECUTE") && error.contains(function), "{error}");
        server(&format!("GRANT EXECUTE ON FUNCTION {function} TO public"));
    }
    server(
        "SET allow_system_table_mods = on; \
         ALTER FUNCTION pg_catalog.pg_current_wal_lsn() RENAME TO pg_unknown",
    );
    let mut store = pair.primary.store();
    let error = store.elect(&mut candidacy(1, TTL)).await.unwrap_err().to_string();
    assert!(error.contains("history=none"), "{error}");
    let url = format!("{}?history=none", pair.primary.url());
    let mut caller = candidacy(1, TTL);
    let mut store = PgStore::connect(&url).unwrap();
    loop {
        let row = store.elect(&mut caller).await.unwrap();
        if caller.leads(&row) {
            break;
        }
    }
}

/// By its own words, whether or not it has the functions that a session is recognised by.
async fn a_server_that_is_not_supported_is_refused_by_name(database: OnPostgres) {
    let server = |order: &str| database.server().administer("election", order);
    server(
        "SET allow_system_table_mods = on; \
         ALTER FUNCTION pg_catalog.version() RENAME TO own_version; \
         CREATE FUNCTION pg_catalog.version() RETURNS text LANGUAGE sql \
         AS $$ SELECT 'CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)'::text $$",
    );
    let refused = async |query: &str| {
        let mut store = PgStore::connect(&format!("{}{query}", database.url())).unwrap();
        let error = store.elect(&mut candidacy(1, TTL)).await.unwrap_err();
        assert_eq!(error.kind, Failure::Fatal, "{query}: {error}");
        assert!(error.to_string().contains("this server is CockroachDB"), "{query}: {error}");
    };
    for query in ["", "?history=none", "?statement-cache-capacity=0"] {
        refused(query).await;
    }
    server(
        "SET allow_system_table_mods = on; \
         ALTER FUNCTION pg_catalog.pg_stat_get_activity(integer) RENAME TO pg_unknown",
    );
    refused("").await;
}

tests! {
    a_server_that_is_not_supported_is_refused_by_name: postgres;
    a_lost_term_is_outlasted: by_itself;
    a_leader_whose_renewals_were_lost_leads_on: by_itself;
    call_by_call_nobody_comes_back_too_soon: by_itself;
    at_a_promoted_server_every_documented_right_is_needed: by_itself;
    after_pg_upgrade_a_timeline_is_another_one: by_itself;
    a_synchronous_standby_that_is_away_is_named: by_itself;
    who_waits_at_a_promoted_server_says_for_how_long: by_itself;
    who_cannot_tell_its_history_is_refused_with_the_remedy: by_itself;
}
