//! Work that may block for as long as it likes, on a thread of its own.
//!
//! It is no task of the runtime. An application that has filled the runtime's threads must not keep
//! a node from its peers. And a runtime that ends waits for its threads, which a name server that
//! hangs would hold up.

use std::{io, thread};

/// Runs `work` and returns what it returns. Dropping the future does not end the work; nobody waits
/// for it then.
pub(crate) async fn blocking<T, F>(name: &str, work: F) -> io::Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let (done, outcome) = async_channel::bounded(1);
    let run = move || drop(done.try_send(work()));
    thread::Builder::new().name(name.to_owned()).spawn(run)?;
    outcome.recv().await.map_err(|_| io::Error::other("a thread of this node has panicked"))
}
