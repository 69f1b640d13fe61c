//! A key-value store that is one file, a log, copied to a majority of nodes by whoever leads.
//!
//! The library elects the primary and moves no data; this program does that in its simplest form.
//!
//! ```sh
//! cargo run -p election-tokio --no-default-features --example replicated -- n1 /tmp/n1
//! cargo run -p election-tokio --no-default-features --example replicated -- n2 /tmp/n2
//! cargo run -p election-tokio --no-default-features --example replicated -- n3 /tmp/n3
//! printf 'SET colour blue\nGET colour\n' | nc -N 127.0.0.1 7500
//! ```
//!
//! The nodes run on 127.0.0.1, 127.0.0.2 and 127.0.0.3, unless other hosts follow the directory.
//!
//! # What makes an acknowledged write survive
//!
//! **The position is the epoch of the last record, then the number of records.** A position has a
//! history and an offset; the node with the highest is elected, history first. The history here
//! is the epoch *in the last record on the disk*, as Raft compares the term of the last log
//! entry. Simpler choices lose acknowledged writes:
//!
//! * No history, zero everywhere: a primary that was cut off wrote ten records that nobody else
//!   has. Its successor wrote three, which a majority has. By length alone the ten win, and the
//!   three are gone.
//! * The epoch that the node follows: the old primary hears of its successor, and takes the new
//!   epoch for its own before it has dropped the ten. They win again.
//!
//! Why the right node wins: only the primary of an epoch writes records of that epoch, one after
//! the other. So logs that have a record of the same epoch at the same place are equal up to
//! there, and of two logs that end in one epoch the longer contains the shorter. A log that ends
//! in a later epoch contains all that was acknowledged before, because its primary was elected
//! with it.
//!
//! **A primary opens its epoch with a record of its own** before it takes writes. Records of
//! earlier epochs that a majority happens to have are not safe by that: a log that ends in a
//! later epoch can still win. Under the opening record they are, and only then they are read.
//!
//! **A write is acknowledged when a majority has it on disk and the lease still holds.** A node
//! that votes for another has stopped acknowledging first, and a vote takes in all that this node
//! has acknowledged. The lease says that nobody else can have been elected. A read needs it too:
//! a successor may have written another value.
//!
//! **A node that follows first drops what its primary does not have**, and only then copies more.
//! What it drops was never acknowledged: with an acknowledged write, a node that lacks it is not
//! elected.
//!
//! # What is left out
//!
//! Snapshots (the log grows for ever and is held in memory), checksums, an index, batches of
//! writes, authentication. A write that fails with "unknown" may still survive.

mod follower;
mod log;
mod primary;
mod wire;

use election_tokio::{Cluster, Lease, Member, core::Change};
use log::Log;
use primary::Reign;
use std::{
    error::Error,
    fs,
    future::{Future, pending},
    io,
    path::Path,
    pin::Pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::{Mutex, OwnedMutexGuard, watch},
};
use wire::accept;

type Failed = Box<dyn Error + Send + Sync>;

/// What all parts share.
struct Node {
    id: String,
    member: Member,
    log: Arc<Mutex<Log>>,
    reign: watch::Sender<Option<Arc<Reign>>>,
}

/// What this node does now. Dropping it ends that.
type Role<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

// One thread for all but the disk. So when this node acknowledges, the election has its position
// before it reads another frame.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let (Some(id), Some(directory)) = (arguments.next(), arguments.next()) else {
        return Err(
            "usage: replicated NODE DIRECTORY [HOST...]; the first host is that of n1".into()
        );
    };
    let mut hosts: Vec<String> = arguments.collect();
    if hosts.is_empty() {
        hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"].map(str::to_owned).into();
    }
    let ids: Vec<String> = (1..=hosts.len()).map(|nth| format!("n{nth}")).collect();
    let own = ids.iter().position(|each| *each == id).ok_or("no host for this node")?;
    let listener = TcpListener::bind(format!("{}:7500", hosts[own])).await?;
    fs::create_dir_all(&directory)?;

    let mut cluster = Cluster::builder("replicated").node(&id).down_after(Duration::from_secs(1));
    for (id, host) in ids.iter().zip(&hosts) {
        cluster = cluster.member(id, format!("{host}:7400"));
    }
    let cluster = cluster.announce(listener.local_addr()?.to_string()).position_later();
    let ballot = Path::new(&directory).join("ballot");
    // The ballot is locked from here on: no other process has this log.
    let member = cluster.ballot(ballot).build()?.start().await?;
    let log = tokio::task::spawn_blocking(move || Log::open(Path::new(&directory))).await??;
    member.set_position(log.position(log.records.len()));
    let log = Arc::new(Mutex::new(log));
    let node = Arc::new(Node { id, member, log, reign: watch::Sender::new(None) });
    tokio::spawn(accept(node.clone(), listener));
    node.run().await
}

impl Node {
    /// Does what the election says, one role at a time.
    async fn run(&self) -> Result<(), Failed> {
        let handle = self.member.handle();
        let mut changes = handle.changes();
        let mut role: Role<'_> = Box::pin(pending());
        loop {
            // The change first: a node that may vote for another acknowledges nothing any more.
            let change = tokio::select! {
                biased;
                change = changes.next() => change?,
                () = &mut role => {
                    role = Box::pin(pending());
                    continue;
                }
                Ok(()) = tokio::signal::ctrl_c() => {
                    handle.withdraw();
                    continue;
                }
            };
            if let Some(Change::Alert(alert)) = change {
                println!("{}: {alert}", self.id);
                continue;
            }
            // Whatever has changed, the previous role is over.
            self.reign.send_replace(None);
            role = match change {
                None => return Ok(()),
                Some(Change::Elected(tenure)) => {
                    let current = |lease: &Lease| lease.epoch() == tenure.term.epoch;
                    match handle.lease().filter(current) {
                        Some(lease) => Box::pin(self.lead(lease)),
                        None => Box::pin(pending()),
                    }
                }
                Some(Change::Followed { term, label: Some(address), .. }) => {
                    println!("{}: follows {term}", self.id);
                    Box::pin(self.follow(term.epoch, address))
                }
                Some(_) => Box::pin(pending()),
            };
        }
    }

    /// Changes the log, outside the thread that has to send heartbeats, and reports how far it has
    /// come. The lock goes along: what has begun ends before the next role begins, even if nobody
    /// waits for it any more.
    async fn write<F>(&self, mut log: OwnedMutexGuard<Log>, work: F) -> usize
    where
        F: FnOnce(&mut Log) -> io::Result<()> + Send + 'static,
    {
        let member = self.member.clone();
        let written = tokio::task::spawn_blocking(move || {
            work(&mut log)?;
            let records = log.records.len();
            member.set_position(log.position(records));
            io::Result::Ok(records)
        });
        match written.await.unwrap_or_else(|error| Err(error.into())) {
            Ok(records) => records,
            Err(error) => {
                eprintln!("{}: {error}. Nobody knows what is on the disk: start anew", self.id);
                std::process::exit(1);
            }
        }
    }
}
