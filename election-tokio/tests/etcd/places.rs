//! The cluster that a check starts from.

use crate::on::{OnNothing, run};
use election_driver::conformance::{Fixture, Stores};
use election_testing::Etcd;
use election_tokio::{EtcdRegister, RegisterStore, Tokio};
use std::{
    future::Future,
    sync::{Mutex, MutexGuard},
};

/// The check starts its servers itself.
pub(crate) fn by_itself<F: Future<Output = ()>>(check: impl FnOnce(OnNothing) -> F) {
    run(check);
}

/// Three members.
pub(crate) fn etcd<F: Future<Output = ()>>(check: impl FnOnce(OnEtcd) -> F) {
    run(check);
}

/// Three members.
pub(crate) struct OnEtcd(Mutex<Etcd>);

impl OnEtcd {
    pub(crate) fn cluster(&self) -> MutexGuard<'_, Etcd> {
        self.0.lock().unwrap()
    }
}

impl Fixture for OnEtcd {
    type Runtime = Tokio;

    async fn start() -> Self {
        Self(Mutex::new(Etcd::start()))
    }
}

impl Stores for OnEtcd {
    type Store = RegisterStore<EtcdRegister>;

    fn store(&self) -> Self::Store {
        store(&self.cluster().url())
    }
}

pub(crate) fn register(url: &str) -> EtcdRegister {
    EtcdRegister::connect(url).unwrap()
}

pub(crate) fn store(url: &str) -> RegisterStore<EtcdRegister> {
    RegisterStore::new(register(url))
}
