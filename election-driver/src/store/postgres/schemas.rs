//! Schemas that have tables of the same name, each an election of its own.

use super::PgServer;
use crate::{StoreError, store::client::Client as _};
use election_core::sql::{Call, Dialect, Value};
use sqlx::PgConnection;
use std::sync::atomic::Ordering;

impl PgServer {
    pub(super) fn schema_name(&self) -> &str {
        self.tables.schema(Dialect::Postgres).unwrap_or_default()
    }

    /// The schemas that have a leader table of this name, whichever user may use it.
    pub(super) async fn schemas_with_tables(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT n.nspname::text FROM pg_catalog.pg_class c \
                   JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                   WHERE c.relname = $1 AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't' \
                   ORDER BY 1";
        let params = vec![Value::Text(self.tables.leader().into())];
        let rows = Self::fetch(connection, &Call { sql, params, returns_rows: true }).await?;
        let name = |row: Vec<Value<'static>>| match row.into_iter().next() {
            Some(Value::Text(name)) => Some(name.into_owned()),
            _ => None,
        };
        Ok(rows.into_iter().filter_map(name).collect())
    }

    /// Warns of tables of this name in schemas that nobody has named; once, since it concerns the
    /// database and not a connection.
    pub(super) async fn warn(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        let named = self.tables.named_schema().is_some();
        if named || self.warned.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.pin(connection).await?;
        let there = self.schemas_with_tables(connection).await;
        self.unpin(connection, there.is_ok()).await?;
        let others: Vec<_> = there?.into_iter().filter(|name| name != self.schema_name()).collect();
        if !others.is_empty() {
            tracing::warn!(
                place = %self.place(),
                "schema {others:?} has tables of the same names; processes that use those take \
                 part in other elections; name the intended schema to silence this warning"
            );
        }
        Ok(())
    }
}
