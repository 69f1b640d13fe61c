//! Links behind which a server does not notice that its client has gone: they lose large packets, or
//! one way, or keep the server's end of a connection open for good. What an elector opens there and
//! gives up must end all the same, and before it opens the next.

use crate::{
    database::Served,
    servers::{
        counted::{Counted, MOST, counted, listed, sessions},
        links::{ENDS, says},
    },
};
use election_core::Random;
use election_driver::conformance::tasks::timeout;
use election_testing::{Kind, LinkState, Proxy};
use election_tokio::Tokio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Enough logins to show a pile-up that grows by one with each.
const LOGINS: usize = 4;
/// How late a server may be with ending a session.
const LATE: Duration = Duration::from_secs(10);
/// The limit for a leader to exist once the link is whole: the ttl, and two seconds.
const RECOVERY: Duration = Duration::from_secs(3);

/// An elector over a link that is whole, and leads.
async fn leading<B: Served>(database: &B) -> (Proxy, Counted) {
    let link = Proxy::to(database.server().port());
    let elector = counted(database.store_at(link.port()), "a");
    elector.handle.elected().await.unwrap();
    (link, elector)
}

/// Watches the server until the elector has connected that often, in vain, and does something
/// meanwhile.
fn stay_bounded<B: Served>(database: &B, link: &Proxy, meanwhile: impl Fn()) {
    let (before, began) = (link.made(), Instant::now());
    let mut most = 0;
    while link.made() < before + LOGINS {
        meanwhile();
        most = most.max(settled(database, link, &meanwhile));
    }
    println!("{most} sessions at most, {LOGINS} connections in {:?}", began.elapsed());
}

/// How many sessions there are. A server without a processor ends a session that is due only when it
/// has one again: it has until the elector's next connection, after which there would be one more.
fn settled<B: Served>(database: &B, link: &Proxy, meanwhile: impl Fn()) -> usize {
    let (made, began) = (link.made(), Instant::now());
    loop {
        let may_be_late = link.made() == made && began.elapsed() < LATE;
        let now = sessions(database);
        if now <= MOST {
            return now;
        }
        assert!(may_be_late, "{now} sessions, connection {made}\n{}", listed(database));
        meanwhile();
    }
}

/// The link is whole again.
async fn recovers<B: Served>(database: &B, link: &Proxy, elector: &Counted) {
    link.remember();
    link.set_keeping(false);
    link.set(LinkState::Open, LinkState::Open);
    link.cut();
    let healed = Instant::now();
    let again = timeout::<Tokio, _>(RECOVERY, elector.handle.elected()).await;
    again.expect("a leader within the ttl and two seconds").unwrap();
    println!("recovered in {:?}", healed.elapsed());
    settled(database, link, || {});
}

/// Whatever breaks the link of a leader: sessions stay few, and it leads again.
async fn stays_bounded_when<B: Served>(database: B, breaks: impl FnOnce(&Proxy)) {
    let (link, elector) = leading(&database).await;
    link.set_keeping(true);
    breaks(&link);
    stay_bounded(&database, &link, || {});
    recovers(&database, &link, &elector).await;
}

/// Keep-alives pass, and so does a login; what is said next does not.
async fn a_link_that_loses_large_packets<B: Served>(database: B) {
    let most = if B::KIND == Kind::Postgres { 600 } else { 350 };
    stays_bounded_when(database, |link| {
        link.set(LinkState::Narrow(most), LinkState::Open);
        link.cut();
    })
    .await;
}

/// Each call fails, and its connection is dropped.
async fn a_proxy_that_keeps_its_own_connections<B: Served>(database: B) {
    let (link, elector) = leading(&database).await;
    link.set_keeping(true);
    database.execute("ALTER TABLE election_leader RENAME TO elsewhere").await;
    stay_bounded(&database, &link, || {});
    database.execute("ALTER TABLE elsewhere RENAME TO election_leader").await;
    recovers(&database, &link, &elector).await;
}

/// Each connection breaks for the client as soon as it is used: when it has ended the one before it.
async fn a_proxy_that_keeps_what_it_has_cut<B: Served>(database: B) {
    let (link, elector) = leading(&database).await;
    link.set_keeping(true);
    link.cut(); // the first has nothing to end
    stay_bounded(&database, &link, || {
        link.cut_those(|said| ENDS.iter().any(|words| says(said, words)));
    });
    recovers(&database, &link, &elector).await;
}

/// What an elector says first once it has been let in, and what bounds its session.
const FIRST: [&[u8]; 2] = [b"pg_stat_get_activity(pg_catalog.pg_backend_pid())", b"autocommit = 1"];

async fn a_link_that_falls_silent_after_the_login<B: Served>(database: B) {
    stays_bounded_when(database, |link| {
        link.forget_whenever(|said| FIRST.iter().any(|words| says(said, words)));
        link.forget(|_| true);
    })
    .await;
}

/// The server was told nothing of a limit, and nothing ends the session for long.
async fn a_link_that_loses_the_first_words<B: Served>(database: B) {
    let (link, elector) = leading(&database).await;
    link.set_keeping(true);
    let (lease, before) = (elector.handle.elected().await.unwrap(), link.made());
    link.forget_whenever(|said| says(said, b"wait_timeout="));
    link.cut();
    lease.lost().await;
    drop(lease);
    assert!(link.made() > before);
    recovers(&database, &link, &elector).await;
}

/// The server lets the client in, which never learns of it.
async fn a_link_that_loses_the_answer_to_the_login<B: Served>(database: B) {
    stays_bounded_when(database, |link| {
        link.deafen_whenever(|said| says(said, b"application_name"));
        link.cut();
    })
    .await;
}

/// What an elector says last before its session is open: from then on the server lets it be idle for
/// as long as between two calls.
const LAST: [&[u8]; 2] = [b"client_connection_check_interval", b"net_read_timeout = DEFAULT"];

async fn a_link_that_loses_the_answer_to_the_last_words<B: Served>(database: B) {
    stays_bounded_when(database, |link| {
        link.deafen_whenever(|said| LAST.iter().any(|words| says(said, words)));
        link.cut();
    })
    .await;
}

/// The server has a part of an exchange and waits for the rest, without any limit.
async fn a_link_that_stops_within_an_exchange<B: Served>(database: B) {
    stays_bounded_when(database, |link| {
        link.forget_after(first_parse);
        link.cut();
    })
    .await;
}

/// Where the first `Parse` of a client's bytes ends, in PostgreSQL's protocol.
fn first_parse(said: &[u8]) -> Option<usize> {
    let length = |at: usize| {
        let bytes = said.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    };
    let encryption = if length(0)? == 8 { 8 } else { 0 };
    let mut at = encryption + length(encryption)?;
    loop {
        let next = at + 1 + length(at + 1)?;
        if said[at] == b'P' {
            return (next <= said.len()).then_some(next);
        }
        at = next;
    }
}

/// Each connection falls silent after some bytes of its own, on the way there or back; on MariaDB
/// after the first words, before which nothing bounds a session.
async fn a_link_that_stops_anywhere<B: Served>(database: B) {
    let seed = match std::env::var("SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos()),
    };
    println!("SEED={seed}");
    let (link, elector) = leading(&database).await;
    link.set_keeping(true);
    let least = if B::KIND == Kind::Postgres { 0 } else { 300 };
    link.limit(move |number| {
        let mut random = Random::new(seed.wrapping_add(number as u64));
        let mut limits = [usize::MAX; 2];
        let way = usize::from(random.up_to(1) == 1);
        limits[way] = least + usize::try_from(random.up_to(3_999)).unwrap();
        limits
    });
    link.cut();
    for _ in 0..2 {
        stay_bounded(&database, &link, || {});
    }
    recovers(&database, &link, &elector).await;
}

tests! {
    a_link_that_loses_large_packets: postgres mariadb;
    a_proxy_that_keeps_its_own_connections: postgres mariadb;
    a_proxy_that_keeps_what_it_has_cut: postgres mariadb;
    a_link_that_falls_silent_after_the_login: postgres mariadb;
    a_link_that_loses_the_answer_to_the_login: postgres;
    a_link_that_loses_the_first_words: mariadb;
    a_link_that_loses_the_answer_to_the_last_words: postgres mariadb;
    a_link_that_stops_within_an_exchange: postgres;
    a_link_that_stops_anywhere: postgres mariadb;
}
