//! What a register promises, on every runtime.

use crate::places::OnEtcd;
use election_async_std::{AsyncStd, smol::Smol};
use election_driver::{EtcdRegister, conformance::register::keeps_its_promises};
use election_tokio::Tokio;
use std::thread;

async fn the_register_keeps_its_promises(place: OnEtcd) {
    let url = place.cluster().url();
    for (prefix, url) in [("plain/", url.clone()), ("", format!("{url}/below/it"))] {
        let register = EtcdRegister::<Tokio>::connect(&url).unwrap();
        keeps_its_promises::<Tokio, _>(register, prefix).await;
    }
    let below = place.cluster().run(&["get", "below/it/large", "--keys-only"]);
    assert_eq!(below.trim(), "below/it/large");
}

async fn other_runtimes_keep_the_promises(place: OnEtcd) {
    let url = place.cluster().url();
    let at = url.clone();
    let on_smol = move || {
        let register = EtcdRegister::<Smol>::connect(&at).unwrap();
        smol::block_on(Box::pin(keeps_its_promises::<Smol, _>(register, "smol/")));
    };
    let on_async_std = move || {
        let register = EtcdRegister::<AsyncStd>::connect(&url).unwrap();
        let promises = keeps_its_promises::<AsyncStd, _>(register, "async-std/");
        async_std::task::block_on(Box::pin(promises));
    };
    for runtime in [thread::spawn(on_smol), thread::spawn(on_async_std)] {
        tokio::task::spawn_blocking(|| runtime.join().unwrap()).await.unwrap();
    }
}

tests! {
    the_register_keeps_its_promises: etcd;
    other_runtimes_keep_the_promises: etcd;
}
