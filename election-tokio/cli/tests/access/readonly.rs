//! Servers that only read, and one that may forget what it has written.

use crate::support::{
    On, OnMariaDb, OnPostgres, assert_refused, assert_says, command, complaint, elector, take_part,
    url_of,
};
use election_driver::core::Namespace;
use election_testing::Server;

const WORDS: &[&str] = &["read-only", "connect to the primary"];

/// People can look at a standby, and nobody leads there; promoted, it is a server like any other.
pub(crate) async fn a_standby_only_reads_until_it_is_promoted(server: &Server) {
    OnPostgres::create_database(server, "followed");
    let url = url_of(&server.url(), "followed");
    let mut primary = OnPostgres::store(&url);
    primary.ensure_schema().await.unwrap();
    let leader = elector::<OnPostgres>(OnPostgres::store(&url), "leader");
    let epoch = leader.elected().await.unwrap().epoch();
    leader.shutdown().await;

    let standby = tokio::task::block_in_place(|| server.standby());
    let there = url_of(&standby.url(), "followed");
    let mut store = OnPostgres::store(&there);
    let election = Namespace::new("e").unwrap();
    // Its rows may be old: nobody is to act by them. What is printed for people says so.
    let looked = OnPostgres::look(&mut store, &election).await;
    assert_refused("looking", looked.map(|_| ()), WORDS);
    tells_that_it_is_a_replica(&there).await;
    let output = command(&url, &["status", "--name", "e", "--exit-code"]).await;
    assert_eq!(output.status.code(), Some(1), "nobody leads: {output:?}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("replica"), "{output:?}");

    assert_refused("a standby", take_part::<OnPostgres>(&mut store).await, WORDS);
    let output = command(&there, &["run", "--try", "--name", "e", "--", "true"]).await;
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert_says("run", &String::from_utf8_lossy(&output.stderr), WORDS);
    let waiting = elector::<OnPostgres>(OnPostgres::store(&there), "waiting");
    assert_says("an elector", &complaint(&waiting).await, WORDS);

    tokio::task::block_in_place(|| standby.promote());
    assert!(waiting.elected().await.unwrap().epoch() > epoch);
    waiting.shutdown().await;
}

async fn tells_that_it_is_a_replica(url: &str) {
    const OLD: &[&str] = &["a replica", "may be out of date", "ask the primary"];
    let told = async |arguments: &[&str], code| {
        let output = command(url, arguments).await;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    let [said, _] = told(&["status", "--name", "e"], 0).await;
    assert_says("status", &said, OLD);
    let [said, _] = told(&["status", "--name", "e", "--exit-code"], 125).await;
    assert_says("status", &said, OLD);
    let [said, _] = told(&["check", "--name", "e"], 125).await;
    assert_says("check", &said, OLD);
    let [said, failed] = told(&["check", "--name", "e", "--quiet"], 125).await;
    assert!(said.is_empty());
    assert_says("check", &failed, OLD);
    let [said, warned] = told(&["list", "--elections"], 0).await;
    assert!(!said.contains("replica"), "the table is left to programs: {said}");
    assert_says("list", &warned, OLD);
    for arguments in [&["status", "--name", "e", "--json"][..], &["list", "--elections", "--json"]]
    {
        let [said, _] = told(arguments, 0).await;
        assert_says("JSON", &said, &["\"replica\":true"]);
    }
}

pub(crate) async fn a_server_that_is_read_only(server: &Server) {
    OnMariaDb::create_database(server, "followed");
    let url = url_of(&server.url(), "followed");
    OnMariaDb::store(&url).ensure_schema().await.unwrap();
    server.administer("mysql", "SET GLOBAL read_only = ON");
    assert_refused("read_only", take_part::<OnMariaDb>(&mut OnMariaDb::store(&url)).await, WORDS);
    let waiting = elector::<OnMariaDb>(OnMariaDb::store(&url), "waiting");
    assert_says("an elector", &complaint(&waiting).await, WORDS);
    server.administer("mysql", "SET GLOBAL read_only = OFF");
    waiting.elected().await.unwrap();
    waiting.shutdown().await;
    server.administer("mysql", "SET GLOBAL read_only = ON");
    tells_that_it_is_a_replica(&url).await;
    server.administer("mysql", "SET GLOBAL read_only = OFF");
}

/// It is used all the same: whether a crash may cost a lease is the operator's choice.
pub(crate) async fn a_server_that_forgets_is_warned_of(server: &Server) {
    OnMariaDb::create_database(server, "forgetful");
    let url = url_of(&server.url(), "forgetful");
    OnMariaDb::store(&url).ensure_schema().await.unwrap();
    let flush = async |value: u8| {
        let set = format!("SET GLOBAL innodb_flush_log_at_trx_commit = {value}");
        server.administer("mysql", &set);
        let output = command(&url, &["run", "--", "true"]).await;
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for value in [0, 2] {
        let warned = format!("innodb_flush_log_at_trx_commit is {value}");
        let said = flush(value).await;
        assert_says("a warning", &said, &["WARN", &warned, "set it to 1"]);
        assert_eq!(said.matches(&warned).count(), 1, "once is enough: {said}");
    }
    assert!(!flush(1).await.contains("innodb_flush_log_at_trx_commit"));
}
