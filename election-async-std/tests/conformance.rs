//! The suite that every runtime passes.

#[test]
fn on_async_std() {
    async_std::task::block_on(election_driver::conformance::all::<election_async_std::AsyncStd>());
}
