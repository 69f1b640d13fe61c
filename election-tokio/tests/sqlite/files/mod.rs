//! SQLite files as files: paths and links to them, mounts, what is no database, and the tables in
//! them.

mod again;
mod mounts;
mod opening;
mod paths;
mod schema;
