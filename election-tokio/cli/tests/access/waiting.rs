//! Waits that end (`--wait`, `--try`), where the database tells nobody of a resignation.

use crate::support::{On, OnMariaDb, assert_says, comes_true, command, registration_in, url_of};
use election_driver::core::{Namespace, lease::Candidacy};
use election_testing::Server;
use election_tokio::Election;
use std::time::Duration;

/// Who waits for less than the time between two looks looks once more before it gives up.
pub(crate) async fn a_release_before_the_end_is_seen(server: &Server) {
    OnMariaDb::create_database(server, "waited");
    let url = url_of(&server.url(), "waited");
    let mut store = OnMariaDb::store(&url);
    OnMariaDb::ensure_schema(&mut store).await.unwrap();
    let name = Namespace::new("e").unwrap();
    let holder =
        Election::builder("e").node("holder").store(store.clone()).build().unwrap().start();
    holder.elected().await.unwrap();
    let waiting = async {
        let arguments = ["run", "--name", "e", "--node", "waiter", "--wait", "5s", "--", "true"];
        command(&url, &arguments).await
    };
    let released = async {
        let listed = async || OnMariaDb::list(&mut store, &name).await.unwrap() >= 2;
        comes_true("a second candidate", listed).await;
        holder.shutdown().await;
    };
    let (output, ()) = tokio::join!(waiting, released);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// The database's clock was ahead once.
pub(crate) async fn a_lease_of_ten_years_is_named(server: &Server) {
    OnMariaDb::create_database(server, "ahead");
    let url = url_of(&server.url(), "ahead");
    let mut store = OnMariaDb::store(&url);
    OnMariaDb::ensure_schema(&mut store).await.unwrap();
    let me = Candidacy::new(registration_in(&Namespace::default()));
    store.elect(&mut me.set_expire(Duration::from_secs(1)).unwrap()).await.unwrap();
    let ahead = "UPDATE election_leader SET expires_ms = expires_ms + 315576000000";
    server.administer("ahead", ahead);
    let run = async |waits: &[&str]| {
        let output =
            command(&url, &[&["run", "--ttl", "5s"], waits, &["--", "true"]].concat()).await;
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&["--try"]).await;
    assert_eq!(code, Some(124), "{said}");
    let words = ["the lease of app runs for", "years", "asked for 1s", "--wait", "not --try"];
    assert_says("--try", &said, &words);
    let (code, said) = run(&["--wait", "20s"]).await;
    assert_eq!(code, Some(0), "{said}");
}
