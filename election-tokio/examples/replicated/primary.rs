//! What the primary does: it opens its epoch, takes writes, and sends its log to the others.

use crate::{
    Failed, Node,
    log::{Histories, Log, Record},
    wire::{Wire, read_line},
};
use election_tokio::{Lease, Lost};
use std::{collections::BTreeMap, sync::Arc};
use tokio::{
    io::AsyncWriteExt as _,
    sync::{OwnedMutexGuard, watch},
};

/// One leadership of this node.
pub(crate) struct Reign {
    lease: Lease,
    /// How many records there are with the one that opens the epoch.
    opening: usize,
    majority: usize,
    /// How many records each node has on its disk, this one included.
    copies: watch::Sender<BTreeMap<String, usize>>,
}

impl Reign {
    fn has(&self, node: &str, records: usize) {
        self.copies.send_modify(|copies| {
            let known = copies.entry(node.to_owned()).or_default();
            *known = records.max(*known);
        });
    }

    /// How many records a majority has.
    fn committed(&self) -> usize {
        let mut copies: Vec<_> = self.copies.borrow().values().copied().collect();
        copies.sort_unstable_by(|one, other| other.cmp(one));
        copies.get(self.majority - 1).copied().unwrap_or(0)
    }

    /// Waits until a majority has so many records, while the lease holds, and still does then.
    async fn until_committed(&self, records: usize) -> Result<(), Lost> {
        let mut copies = self.copies.subscribe();
        let grown = async { while self.committed() < records && copies.changed().await.is_ok() {} };
        self.lease.until_lost(grown).await?;
        self.lease.check()
    }
}

impl Node {
    /// Opens an epoch; from then on this node takes writes.
    pub(crate) async fn lead(&self, lease: Lease) {
        let log = self.log.clone().lock_owned().await;
        if !lease.is_held() {
            return;
        }
        let record = Record { epoch: lease.epoch().get(), change: String::new() };
        let opening = self.write(log, |log| log.append(vec![record])).await;
        println!("{}: leads under epoch {} from record {opening} on", self.id, lease.epoch());
        let majority = self.member.members().quorum();
        let reign = Reign { lease, opening, majority, copies: watch::Sender::default() };
        reign.has(&self.id, opening);
        self.reign.send_replace(Some(Arc::new(reign)));
    }

    /// Writes; says so once nobody can lose it any more.
    pub(crate) async fn set(&self, key: &str, value: &str) -> Result<String, Failed> {
        let reign = self.reign()?;
        let log = self.log_of(&reign).await?;
        let record = Record { epoch: reign.lease.epoch().get(), change: format!("{key} {value}") };
        let records = self.write(log, |log| log.append(vec![record])).await;
        reign.has(&self.id, records);
        reign.until_committed(records).await.map_err(|lost| format!("unknown: {lost}"))?;
        Ok("OK\n".to_owned())
    }

    /// Reads what nobody can lose any more, as long as nobody else can have written.
    pub(crate) async fn get(&self, key: &str) -> Result<String, Failed> {
        let reign = self.reign()?;
        // What a majority has of earlier epochs counts only under a record of this one.
        reign.until_committed(reign.opening).await?;
        let committed = reign.committed();
        let log = self.log_of(&reign).await?;
        let found = log.records.iter().take(committed).rev().find_map(|each| each.value_of(key));
        Ok(found.map_or("NONE\n".to_owned(), |value| format!("VALUE {value}\n")))
    }

    fn reign(&self) -> Result<Arc<Reign>, Failed> {
        let reign = self.reign.borrow().clone();
        reign.ok_or_else(|| match self.member.primary() {
            Some(primary) => format!("the primary is at {}", primary.address).into(),
            None => "nobody leads yet, or its epoch is not open; ask again".into(),
        })
    }

    /// The log, if the lease holds. While it is locked nobody else's records come in.
    async fn log_of(&self, reign: &Reign) -> Result<OwnedMutexGuard<Log>, Lost> {
        let log = self.log.clone().lock_owned().await;
        reign.lease.check()?;
        Ok(log)
    }

    /// Sends the log to a follower: its name, the epoch, and up to where each epoch wrote there.
    pub(crate) async fn replicate(&self, line: &str, follower: &mut Wire) -> Result<(), Failed> {
        let mut words = line.split(' ');
        let name = words.next().filter(|name| self.member.members().find(name).is_some());
        let (name, epoch) = name.zip(words.next()).ok_or("write FOLLOW node epoch histories")?;
        let history = |word: &str| -> Result<(u64, usize), Failed> {
            let (epoch, end) = word.split_once(':').ok_or("a history is epoch:records")?;
            Ok((epoch.parse()?, end.parse()?))
        };
        let theirs = words.map(history).collect::<Result<Histories, _>>()?;
        let reign = self.reign()?;
        if reign.lease.epoch().to_string() != epoch {
            return Err(format!("the epoch is {}", reign.lease.epoch()).into());
        }
        let common = self.log_of(&reign).await?.agrees(&theirs);
        follower.say(&format!("FROM {common}\n")).await?;
        let Wire { reader, writer } = follower;
        let send = async {
            let (mut copies, mut sent) = (reign.copies.subscribe(), common);
            loop {
                let log = self.log_of(&reign).await?;
                let lines: String = log.records[sent..].iter().map(Record::to_string).collect();
                sent = log.records.len();
                drop(log);
                writer.write_all(lines.as_bytes()).await?;
                copies.wait_for(|copies| copies[&self.id] > sent).await?;
            }
        };
        let receive = async {
            loop {
                let line = read_line(reader).await?;
                let records = line.strip_prefix("HAVE ").ok_or("write HAVE records")?.parse()?;
                reign.has(name, records);
            }
        };
        let both = async {
            tokio::select! { end = send => end, end = receive => end }
        };
        reign.lease.until_lost(both).await?
    }
}
