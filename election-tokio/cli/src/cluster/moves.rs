//! Members that move: their addresses are read again from the cluster's file while a member runs.

use super::file::File;
use crate::exit::Failed;
use election_tokio::{Member, StartError};
use std::{thread, time::Duration};
use tracing::warn;

/// How often the file is read; its certificates have the same pace.
const INTERVAL: Duration = Duration::from_secs(5);

impl File {
    /// Keeps a running member up to date on where the others are. A thread of its own does so: the file may lie on a
    /// disk or a network that hangs.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(super) fn follow(self, node: &str, member: Member) -> Result<(), StartError> {
        let (node, mut told) = (node.to_owned(), None);
        let run = move || {
            loop {
                thread::sleep(INTERVAL);
                let odd = self.moved(&node, &member).err().map(|why| why.to_string());
                if let Some(why) = odd.as_ref().filter(|_| odd != told) {
                    warn!(event = "warning", "{why}; the previous addresses stay in use");
                }
                told = odd;
            }
        };
        let thread = thread::Builder::new().name("election-moves".to_owned()).spawn(run);
        thread.map(drop).map_err(StartError::Thread)
    }

    /// Takes up what the file says now.
    fn moved(&self, node: &str, member: &Member) -> Result<(), Failed> {
        let again = match Self::quietly(&self.path) {
            Ok(again) if again.describes(&self.identity()) => again,
            // What is wrong with a file that names certificates is told with them.
            _ if self.contents.tls.is_some() => return Ok(()),
            again => return Err(again?.of_others()),
        };
        member.set_addresses(again.members()).map_err(|error| again.refused(node, &error))
    }
}
