//! The suite that every runtime passes. (On servers, the binary `databases` runs it.)

/// On more than one thread: a task that blocks its own does not stop the others.
mod many_threads {
    use election_tokio::Tokio;
    use std::future::Future;
    use tokio::runtime::Builder;

    fn block_on(check: impl Future<Output = ()>) {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(check);
    }

    election_driver::conformance!(Tokio, block_on);
}

/// On the only thread there is, which runs the elector, its leader's work and the test itself.
mod one_thread {
    use election_tokio::Tokio;
    use std::future::Future;
    use tokio::runtime::Builder;

    fn block_on(check: impl Future<Output = ()>) {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(check);
    }

    election_driver::conformance!(Tokio, block_on);
}
