//! What the environment says about the route to the server.

use crate::support::{On as _, OnPostgres, assert_says, command_in};
use election_testing::Server;

/// sqlx takes host and mode from the variables of PostgreSQL's own clients.
pub(crate) async fn what_the_environment_says(server: &Server) {
    OnPostgres::create_database(server, "environment");
    let port = server.port().to_string();
    let url = "postgres:///environment?user=election&password=hunter2";
    let (near, far) = (("PGHOST", "127.0.0.1"), ("PGHOST", "::ffff:127.0.0.1"));
    let address = ("PGHOSTADDR", "::ffff:127.0.0.1");
    let directory = server.authority();
    let socket = ("PGHOST", directory.parent().unwrap().to_str().unwrap());
    let mode = |mode| ("PGSSLMODE", mode);
    let clear = ["WARN", "in plain text", "could read the password"];
    let no_tls = ["TLS verified", "does not offer TLS", "sslmode=disable"];
    for (variables, code, words) in [
        (&[near][..], 0, &["PostgreSQL at 127.0.0.1", "(loopback)"][..]),
        (&[socket], 125, &["unix socket", "[local]"]),
        (&[far], 125, &no_tls),
        (&[near, address], 125, &no_tls),
        (&[far, mode("")], 125, &no_tls),
        (&[far, mode("verify-full")], 125, &no_tls),
        (&[far, mode("disable")], 0, &clear),
        (&[far, mode("prefer")], 0, &clear),
        (&[far, mode("none")], 125, &["PGSSLMODE", "none"]),
    ] {
        let port = ("PGPORT", port.as_str());
        let variables = [&[port], variables].concat();
        let output = command_in(&variables, url, &["run", "--", "true"]).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{variables:?}: {said}");
        assert_says(&format!("{variables:?}"), &said, words);
    }
}
