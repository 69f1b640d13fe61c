//! Links that are slow, lose what they carry, or fall silent: what is given up meanwhile must not
//! stay behind on the server, and whatever carries a lease is used.

use crate::{
    database::{Backend, OnPostgres, SHORT, Served, stores::Deaf, until},
    servers::counted::{ELECTORS, MOST, counted, led, sessions, watched},
};
use election_core::{Namespace, lease::Config};
use election_driver::{Status, Store as _, conformance::tasks::timeout};
use election_testing::{LinkState, Proxy};
use election_tokio::{Election, Lease, Tokio};
use futures_lite::future::yield_now;
use std::time::Duration;

/// A link that swallows everything: statements that reach the server late, once the link is whole
/// again, end there too.
async fn nothing_piles_up_behind_a_cut_link<B: Served>(database: B) {
    let port = database.server().port();
    let link = Proxy::to(port);
    let electors = ELECTORS.map(|node| counted(database.store_at(link.port()), node));
    let before = led(&electors).await;
    link.set_whole(false);
    let most = watched(&electors, || sessions(&database));
    link.set_whole(true);
    while led(&electors).await <= before {
        let now = sessions(&database);
        assert!(now <= MOST * electors.len(), "{now} sessions after the link was cut");
    }
    println!("{most} sessions at most");
    let settled = Duration::from_secs(30);
    let done = async {
        while sessions(&database) > 2 * electors.len() {
            yield_now().await;
        }
    };
    timeout::<Tokio, _>(settled, done).await.expect("what was cut off is still there");
}

/// A link that swallows what the server says, and carries what it is told: a listener that says
/// goodbye gets no answer, and its session would stay beside its successor's.
async fn no_second_listener_behind_a_link_that_swallows_answers(database: OnPostgres) {
    let link = Proxy::to(database.server().port());
    let electors = [counted(database.store_at(link.port()), "a")];
    until(&electors[0].handle, |status| status.listening).await;
    link.set(LinkState::Open, LinkState::Lost);
    until(&electors[0].handle, |status| !status.listening).await;
    let most = watched(&electors, || link.connections().max(sessions(&database)));
    println!("{most} sessions at most");
    link.set(LinkState::Open, LinkState::Open);
    until(&electors[0].handle, |status| status.listening).await;
    assert!(sessions(&database) <= MOST);
}

/// The first words with which an elector's new session ends the one before it.
pub(super) const ENDS: [&[u8]; 2] = [b"pg_terminate_backend", b"IS_USED_LOCK"];

pub(crate) fn says(said: &[u8], words: &[u8]) -> bool {
    said.windows(words.len()).any(|part| part == words)
}

/// A link that lets each client in and then carries nothing more, as a network does that has room
/// for small messages only.
async fn nothing_piles_up_behind_a_link_that_falls_silent<B: Served>(database: B) {
    let link = Proxy::to(database.server().port());
    let electors = [counted(database.store_at(link.port()), "a")];
    let before = electors[0].handle.elected().await.unwrap().epoch();
    link.forget_whenever(|said| ENDS.iter().any(|words| says(said, words)));
    link.forget(|_| true);
    let most = watched(&electors, || sessions(&database));
    println!("{most} sessions at most");
    link.remember();
    link.cut();
    while electors[0].handle.elected().await.unwrap().epoch() <= before {}
    assert!(sessions(&database) <= MOST);
}

/// A round trip of a thirtieth of the lease. The list of candidates is written at about the same
/// pace as the lease is renewed, so every few seconds one falls due while the other is on its way.
async fn a_renewal_costs_no_other_call_its_connection<B: Served>(database: B) {
    const RENEWALS: u32 = 12;
    let link = Proxy::to(database.server().port());
    let store = Deaf(database.store_at(link.port()));
    // So that a stall of half a second, as a busy machine has them, is no round trip lost.
    let ttl = Duration::from_secs(6);
    let elector = Election::builder("test").node("a").ttl(ttl).store(store).build().unwrap();
    let elector = elector.start();
    elector.elected().await.unwrap();
    let way = LinkState::Slow(ttl / 60);
    link.set(way, way);
    let renewed = async |lease: &Lease| {
        let known = lease.until();
        let later = |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > known);
        until(&elector, later).await;
        lease.check()
    };
    // What a call takes is known from calls: one that is under way while the link becomes slow looks
    // as if it would never be answered, and may cost its connection, and that the lease.
    let mut lease = elector.elected().await.unwrap();
    let mut learned = 0;
    while learned < 3 {
        learned += 1;
        if renewed(&lease).await.is_err() {
            drop(lease); // while it lives, its work goes on, and nobody campaigns
            (lease, learned) = (elector.elected().await.unwrap(), 0);
        }
    }
    let made = link.made();
    for _ in 0..RENEWALS {
        renewed(&lease).await.unwrap();
    }
    assert_eq!(link.made(), made, "a connection was given up");
}

/// Two round trips take longer than a call may (375 ms): one that has to prepare its statement first
/// never ends.
async fn statements_are_prepared_ahead<B: Served>(database: B) {
    let before = database.elector("b", SHORT);
    let epoch = before.elected().await.unwrap().epoch();
    before.shutdown().await;
    let link = Proxy::to(database.server().port());
    let way = LinkState::Slow(Duration::from_millis(100));
    link.set(way, way);
    let store = database.store_at(link.port());
    let builder = Election::builder("test").node("a").ttl(Duration::from_secs(3)).store(store);
    let elector = builder.build().unwrap().start();
    assert!(elector.elected().await.unwrap().epoch() > epoch);
}

/// A login whose bytes were lost for good is given up after about a lease.
async fn a_login_that_was_lost_is_not_waited_for<B: Served>(database: B) {
    let link = Proxy::to(database.server().port());
    let elector = counted(database.store_at(link.port()), "a");
    let first = elector.handle.elected().await.unwrap();
    link.forget_whenever(|_| true);
    let held = link.connections();
    first.lost().await;
    let before = first.epoch();
    drop(first);
    // The next login is on its way, and is never answered.
    while link.connections() <= held {
        yield_now().await;
    }
    link.remember();
    let again = timeout::<Tokio, _>(Duration::from_secs(8), elector.handle.elected()).await;
    assert!(again.expect("the lost login is waited for").unwrap().epoch() > before);
}

/// Connecting takes longer than a call may take; creating the tables may take longer.
async fn tables_are_made_over_a_slow_link(database: OnPostgres) {
    database
        .execute("DROP TABLE election_candidate, election_leader, election_server, election_schema")
        .await;
    let link = Proxy::to(database.server().port());
    let way = LinkState::Slow(Duration::from_millis(10));
    link.set(way, way);
    let mut store = database.store_at(link.port());
    store.prepare(&Config::builder().ttl(Duration::from_secs(1)).build().unwrap());
    // As the command does it at its start.
    let mut made = false;
    for _ in 0..5 {
        let there = store.leader(&Namespace::default()).await.is_ok();
        made = there || store.ensure_schema().await.is_ok();
        if made {
            break;
        }
    }
    assert!(made);
}

tests! {
    nothing_piles_up_behind_a_cut_link: postgres mariadb;
    nothing_piles_up_behind_a_link_that_falls_silent: postgres mariadb;
    a_renewal_costs_no_other_call_its_connection: postgres mariadb;
    statements_are_prepared_ahead: postgres mariadb;
    a_login_that_was_lost_is_not_waited_for: postgres mariadb;
    no_second_listener_behind_a_link_that_swallows_answers: postgres;
    tables_are_made_over_a_slow_link: postgres;
}
