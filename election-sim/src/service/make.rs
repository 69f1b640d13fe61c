//! From the user's function to a running process.

use super::{cell::Cell, life::Life, node::Node, process::Tasks};
use crate::trace::ENDED;
use std::{fmt, future::Future, pin::Pin, sync::Arc};

/// Starts the service of one life.
pub(crate) type Make = Arc<dyn Fn(Life) -> Tasks + Send + Sync>;

/// A service as a test gives it, ready to be started on any node.
pub(crate) fn make<F>(service: impl Fn(Node) -> F + Send + Sync + 'static) -> Make
where
    F: Future<Output: fmt::Debug> + 'static,
{
    Arc::new(move |life| {
        let node = Node::new(Cell::new(&life), life);
        let ending = node.clone();
        let future = service(node.clone());
        let main: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
            let output = future.await;
            ending.note(format_args!("{ENDED}{output:?}"));
        });
        Tasks::new(node.cell().clone(), main)
    })
}
