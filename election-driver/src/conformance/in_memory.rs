//! A place with a register in memory.

use super::fixture::{Fixture, Stores};
use crate::{InMemoryRegister, RegisterStore, Runtime};
use std::marker::PhantomData;

/// A register in memory in which electors meet.
pub struct OnRegister<R> {
    register: InMemoryRegister,
    runtime: PhantomData<fn() -> R>,
}

impl<R: Runtime + Default> Fixture for OnRegister<R> {
    type Runtime = R;

    async fn start() -> Self {
        Self { register: InMemoryRegister::default(), runtime: PhantomData }
    }
}

impl<R: Runtime + Default> Stores for OnRegister<R> {
    type Store = RegisterStore<InMemoryRegister>;

    fn store(&self) -> Self::Store {
        RegisterStore::new(self.register.clone())
    }
}
