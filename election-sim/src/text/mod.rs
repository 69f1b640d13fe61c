//! Lines of words: the names of nodes, spans of time, and the place of an unreadable word.

mod choice;
mod node_name;
mod span;
mod words;

pub(crate) use choice::word_of;
pub(crate) use node_name::node_name;
pub(crate) use span::{signed, span};
pub use words::ScnError;
pub(crate) use words::Words;
