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

        async fn row(&self) -> Result<Row, StoreError> {
            self.store().leader(&namespace()).await
        }

        async fn register(&self, who: &Candidacy) -> Result<(), StoreError> {
            self.store().heartbeat(who).await
        }

        async fn unregister(&self, who: &Candidacy) -> Result<Row, StoreError> {
            self.store().unregister_candidate(&mut who.clone()).await
        }

        async fn elect(&self, who: &Candidacy) -> Result<Row, StoreError> {
            self.store().elect(&mut who.clone()).await
        }

        async fn is_leader(&self, who: &Candidacy) -> Result<bool, StoreError> {
            self.store().is_leader(who).await
        }

        async fn list(&self) -> Result<Vec<CandidateRow>, StoreError> {
            self.store().list_candidates(&namespace()).await
        }

        async fn request_resign(&self, epoch: Epoch) -> Result<bool, StoreError> {
            self.store().request_resign(&namespace(), epoch).await
        }

        async fn ask_leader(&self) -> Result<Option<Epoch>, StoreError> {
            self.store().request_resign_of_leader(&namespace()).await
        }

        async fn elect_in(
            &self,
            transaction: &mut Tx<Self>,
            who: &Candidacy,
        ) -> Result<Uncommitted<Row>, StoreError> {
            self.store().on(transaction).elect(&mut who.clone()).await
        }

        async fn leave_in(
            &self,
            transaction: &mut Tx<Self>,
            who: &Candidacy,
        ) -> Result<Uncommitted<Row>, StoreError> {
            self.store().on(transaction).unregister_candidate(&mut who.clone()).await
        }

        async fn is_leader_in(
            &self,
            transaction: &mut Tx<Self>,
            who: &Candidacy,
        ) -> Result<Uncommitted<bool>, StoreError> {
            self.store().on(transaction).is_leader(who).await
        }
    };
}
pub(super) use statements;
