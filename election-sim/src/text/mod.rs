//! The words in which schedules are written.

mod node_name;

pub(crate) use node_name::node_name;
