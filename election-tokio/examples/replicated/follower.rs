//! What the others do: they copy the log of the primary that they follow.

use crate::{Failed, Node, log::Record, wire::Wire};
use election_tokio::core::{Epoch, Label};
use std::{convert::Infallible, time::Duration};
use tokio::net::TcpStream;

impl Node {
    /// Copies a primary's log until it is no longer followed.
    pub(crate) async fn follow(&self, epoch: Epoch, address: Label) {
        let mut said = String::new();
        loop {
            let Err(error) = self.copy(epoch, &address).await;
            let error = error.to_string();
            if error != said {
                println!("{}: copying from {address}: {error}", self.id);
                said = error;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn copy(&self, epoch: Epoch, address: &Label) -> Result<Infallible, Failed> {
        let mut primary = Wire::new(TcpStream::connect(address.as_str()).await?)?;
        let histories = self.log.lock().await.histories();
        let histories = histories.iter().map(|(epoch, end)| format!(" {epoch}:{end}"));
        let histories: String = histories.collect();
        primary.say(&format!("FOLLOW {} {epoch}{histories}\n", self.id)).await?;
        let answer = primary.line().await?;
        let common = answer.strip_prefix("FROM ").ok_or_else(|| answer.clone())?.parse()?;
        let mut has = self.drop_after(common).await?;
        loop {
            primary.say(&format!("HAVE {has}\n")).await?;
            let mut records = vec![Record::parse(&primary.line().await?)?];
            while primary.reader.buffer().contains(&b'\n') {
                records.push(Record::parse(&primary.line().await?)?);
            }
            let log = self.log.clone().lock_owned().await;
            has = self.write(log, |log| log.append(records)).await;
        }
    }

    /// Drops what the primary does not have. That was never acknowledged: without it, nobody could
    /// have been elected.
    async fn drop_after(&self, common: usize) -> Result<usize, Failed> {
        let log = self.log.clone().lock_owned().await;
        let lost = log.records.get(common..).ok_or("the primary expects more than there is")?;
        if lost.is_empty() {
            return Ok(common);
        }
        for Record { epoch, change } in lost {
            println!("{}: drops {change:?} of epoch {epoch}", self.id);
        }
        // Never more than there is.
        self.member.set_position(log.position(common));
        Ok(self.write(log, move |log| log.cut(common)).await)
    }
}
