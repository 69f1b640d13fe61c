//! Functions that an administrator has kept for some, and names that a database cannot hold.

use crate::support::{
    On, OnPostgres, assert_refused, assert_says, complaint, elector, registration_in, url_of,
};
use election_driver::core::{
    Label, Namespace,
    lease::{Candidacy, Failure},
};
use election_testing::{Kind, Server};

/// A database whose user `caller` has the rights of the documentation.
fn granted(server: &Server, name: &str) -> String {
    OnPostgres::create_database(server, name);
    OnPostgres::create_user(server, "caller");
    url_of(&server.url_as("caller", "caller"), name)
}

pub(crate) async fn one_that_may_not_be_called_is_named(server: &Server) {
    let url = granted(server, "functions");
    let owner = url_of(&server.url(), "functions");
    OnPostgres::ensure_schema(&mut OnPostgres::store(&owner)).await.unwrap();
    server.administer("functions", &Kind::Postgres.grants().replace("TO app", "TO caller"));
    for (function, arguments) in
        [("pg_stat_get_activity", "int"), ("set_config", "text, text, bool")]
    {
        let revoke = format!("REVOKE EXECUTE ON FUNCTION {function}({arguments}) FROM PUBLIC");
        server.administer("functions", &revoke);
        let words = &[function, "grant it EXECUTE"];
        let handle = elector::<OnPostgres>(OnPostgres::store(&url), "app");
        assert_says(function, &complaint(&handle).await, words);
        let grant = format!("GRANT EXECUTE ON FUNCTION {function}({arguments}) TO PUBLIC");
        server.administer("functions", &grant);
        handle.elected().await.unwrap();
        handle.shutdown().await;
    }
    server.administer("functions", "DROP OWNED BY caller");
}

pub(crate) async fn a_character_that_the_database_lacks_is_named(server: &Server) {
    let create = "CREATE DATABASE latin OWNER election ENCODING 'LATIN1' LC_COLLATE 'C' \
                  LC_CTYPE 'C' TEMPLATE template0";
    server.administer("postgres", create);
    let mut store = OnPostgres::store(&url_of(&server.url(), "latin"));
    store.ensure_schema().await.unwrap();
    let mut registration = registration_in(&Namespace::default());
    store.register_candidate(&Candidacy::new(registration.clone())).await.unwrap();
    registration.label = Some(Label::new("東京").unwrap());
    let registered = store.register_candidate(&Candidacy::new(registration)).await;
    assert_refused("another encoding", registered, &["database's encoding", "UTF8"]);
}

/// The server says this of a commit. It takes eight gigabytes to have it say so by itself.
pub(crate) async fn a_full_queue_of_notifications_is_named(server: &Server) {
    OnPostgres::create_database(server, "told");
    let mut store = OnPostgres::store(&url_of(&server.url(), "told"));
    store.ensure_schema().await.unwrap();
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                  RAISE 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000'; \
                  END $$; CREATE TRIGGER refuse BEFORE INSERT ON election_candidate \
                  FOR EACH ROW EXECUTE FUNCTION refuse()";
    OnPostgres::administer(server, "told", refuse);
    let who = Candidacy::new(registration_in(&Namespace::default()));
    let error = store.register_candidate(&who).await.expect_err("it is full");
    assert_eq!(error.kind, Failure::Transient);
    assert_says("a full queue", &error.to_string(), &["notification queue is full", "end the"]);
}
