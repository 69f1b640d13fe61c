//! What holds on every database. Each check runs on SQLite, on PostgreSQL and on MariaDB, or says
//! why it concerns only some of them.

pub mod elections;
pub mod fence;
pub mod notifications;
pub mod operations;
pub mod scenarios;
pub mod transactions;
