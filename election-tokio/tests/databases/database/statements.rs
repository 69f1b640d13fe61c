//! What a backend does with statements, written once for all of them: sqlx has no common words for
//! it.

/// The part of a [`Backend`](super::Backend) that reads the same for each.
macro_rules! statements {
    () => {
        fn sql(&self) -> SqlStore<Self::Client> {
            self.store()
        }

        fn pool(&self) -> &sqlx::Pool<Self::Database> {
            &self.pool
        }

        async fn run(transaction: &mut Tx<Self>, sql: &str) -> Result<(), sqlx::Error> {
            use sqlx::Executor as _;
            transaction.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(sql))).await.map(|_| ())
        }

        async fn number(transaction: &mut Tx<Self>, sql: &str) -> Result<i64, sqlx::Error> {
            use sqlx::{Executor as _, Row as _};
            let row = transaction.fetch_one(sqlx::raw_sql(sqlx::AssertSqlSafe(sql))).await?;
            row.try_get_unchecked(0)
        }

        async fn write(&self, lease: &Lease) -> Option<()> {
            let mut transaction = self.pool().begin().await.ok()?;
            lease.fence(&mut transaction).await.ok()?;
            let insert = format!("INSERT INTO work (epoch) VALUES ({})", lease.epoch());
            Self::run(&mut transaction, &insert).await.ok()?;
            transaction.commit().await.ok()
        }
    };
}
pub(super) use statements;
