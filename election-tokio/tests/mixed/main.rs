//! Electors on different runtimes that compete for one lease in one process, beside a runtime that a user
//! has written.

mod threads;
mod together;
