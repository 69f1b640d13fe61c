//! The rights of a user that takes part, for one that lacks some: all of them at once, in the lines
//! that the documentation has. The server names only the first one that it misses.

use super::{DENIED, PgServer, errors::RIGHTS, is};
use crate::StoreError;

/// For the user `app`, on the default tables.
const GRANTS: &str = include_str!("../postgres.grants.sql");

impl PgServer {
    /// The same error; if a right is missing, with what grants all of them.
    pub(super) fn with_grants(&self, error: StoreError) -> StoreError {
        if !is(&error, DENIED) || error.context != RIGHTS {
            return error;
        }
        let context = format!(
            "this database user lacks a right; to inspect, it needs USAGE on the schema and SELECT \
             on the tables; to take part, or to ask a leader to resign, have the tables' owner \
             grant it all of these: {}",
            self.grants()
        );
        StoreError { context, ..error }
    }

    /// Every line of them, for this user and these tables.
    fn grants(&self) -> String {
        let (schema, user) =
            (quoted(self.schema_name()), quoted(self.hosts.first().get_username()));
        let leader = self.tables.leader();
        let prefix = leader.strip_suffix("leader").unwrap_or_default();
        let line = |line: &str| {
            let (rights, object) = line.strip_suffix(" TO app;")?.split_once(" ON ")?;
            let object = match object.strip_prefix("public.election_") {
                Some(table) => format!("{schema}.{prefix}{table}"),
                None => format!("SCHEMA {schema}"),
            };
            Some(format!("{rights} ON {object} TO {user};"))
        };
        GRANTS.lines().filter_map(line).collect::<Vec<_>>().join(" ")
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
