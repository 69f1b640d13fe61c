//! Nodes in the test's own process.

mod ballot;
mod builder;
mod file;
mod links;
