//! A register in this process's memory, for examples and tests.

use super::{Notice, Notifications, Pause, Register, StoreError};
use event_listener::Event;
use futures_lite::StreamExt as _;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A [`Register`] in memory: elections within one process, for examples and tests. Clones share the
/// values, which end with the last clone.
///
/// ```no_run
/// # use election_driver::{BuildError, Election, InMemoryRegister, RegisterStore, Runtime};
/// # fn example<R: Runtime + Default>() -> Result<(), BuildError> {
/// let store = RegisterStore::new(InMemoryRegister::default());
/// let one = Election::<R>::builder("reports").node("one").store(store.clone()).build()?.start();
/// let two = Election::<R>::builder("reports").node("two").store(store).build()?.start();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct InMemoryRegister(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    written: Event,
}

#[derive(Default)]
struct State {
    values: BTreeMap<String, (String, u64)>,
    writes: u64,
}

impl InMemoryRegister {
    fn state(&self) -> MutexGuard<'_, State> {
        // No panic leaves it half written.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn version(&self, key: &str) -> Option<u64> {
        self.state().values.get(key).map(|(_, version)| *version)
    }
}

impl Register for InMemoryRegister {
    type Version = u64;

    async fn read(&mut self, key: &str) -> Result<Option<(String, u64)>, StoreError> {
        Ok(self.state().values.get(key).cloned())
    }

    async fn write(
        &mut self,
        key: &str,
        value: &str,
        expected: Option<&u64>,
    ) -> Result<Option<u64>, StoreError> {
        let mut state = self.state();
        if state.values.get(key).map(|(_, version)| version) != expected {
            return Ok(None);
        }
        state.writes += 1;
        let version = state.writes;
        state.values.insert(key.to_owned(), (value.to_owned(), version));
        drop(state);
        self.0.written.notify(usize::MAX);
        Ok(Some(version))
    }

    fn watch(&mut self, key: &str, _: Pause) -> Notifications {
        let changes = (self.clone(), key.to_owned(), None);
        let changes = futures_lite::stream::unfold(changes, |(register, key, seen)| async move {
            loop {
                let written = register.0.written.listen();
                let version = Some(register.version(&key));
                if version != seen {
                    return Some((Notice::Wake, (register, key, version)));
                }
                written.await;
            }
        });
        Box::pin(futures_lite::stream::once(Notice::Listening).chain(changes))
    }
}
