//! The roles on etcd, where a transaction is fenced by what it compares.

use super::{
    ELECTIONS, MARK, PLACE, THOUGHT, URL, WRITE, in_turn, index, lead_until_told, pace, take_part,
    variable,
};
use election_tokio::{EtcdRegister, Lease, Register as _, RegisterStore};
use std::process::Stdio;
use tokio::{io::AsyncWriteExt as _, process::Command, sync::mpsc::UnboundedSender, time::sleep};

/// Each write costs a process of its own.
const SPARSE: u32 = 3;

fn register(url: &str) -> EtcdRegister {
    EtcdRegister::connect(url).expect("a URL")
}

/// Writes to a resource that refuses a lower epoch than it has seen, and tells of refusals.
pub(super) async fn guarded_writes(epoch: u64, refusals: UnboundedSender<()>) {
    let mut register = register(&variable(URL));
    let mut pace = pace(WRITE * SPARSE);
    loop {
        pace.tick().await;
        let Ok(found) = register.read("resource").await else { continue };
        let (seen, version) = found.unzip();
        if seen.is_some_and(|seen| seen.parse().is_ok_and(|seen: u64| seen > epoch)) {
            let _ = refusals.send(());
            continue;
        }
        let _ = register.write("resource", &epoch.to_string(), version.as_ref()).await; // or not
    }
}

/// An elector whose leader work writes in fenced transactions.
pub(super) async fn library(url: &str) {
    let register = register(url);
    let store = RegisterStore::new(register.clone());
    let handles = in_turn(index(ELECTIONS), |election| take_part(election, store.clone()));
    let endpoints = format!("--endpoints={}", url.trim_start_matches("etcd://"));
    lead_until_told(&handles, async |election, lease: &Lease| {
        sleep(WRITE * SPARSE).await;
        let fence = register.fence(lease.registration(), lease.epoch());
        let (key, above, below) = (fence.key, fence.above, fence.below);
        let holds = format!("value({key:?}) > {above:?}\nvalue({key:?}) < {below:?}");
        let put = format!("put work/{} \"{election} {}\"", uuid::Uuid::new_v4(), lease.epoch());
        let mut etcdctl = Command::new("setpriv");
        etcdctl.args(["--pdeathsig", "KILL", "--", "etcdctl"]);
        etcdctl.args([&endpoints, "--command-timeout=1s", "txn"]).env("ETCDCTL_API", "3");
        // It is a message on its way, and no part of the elector.
        etcdctl.env_remove(PLACE).env_remove(MARK);
        etcdctl.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = etcdctl.spawn().ok()?;
        let mut stdin = process.stdin.take()?;
        sleep(THOUGHT).await;
        stdin.write_all(format!("{holds}\n\n{put}\n\n\n").as_bytes()).await.ok()?;
        drop(stdin);
        process.wait().await.ok().map(drop)
    })
    .await;
}
