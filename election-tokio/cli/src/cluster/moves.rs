//! Members that move: their addresses are read again from the cluster's file while a member runs.

use super::{file::File, proof::warn_anew};
use crate::exit::Failed;
use election_tokio::Member;
use std::{io, sync::Mutex, thread, time::Duration};

/// How often the file is read; its certificates have the same pace.
const INTERVAL: Duration = Duration::from_secs(5);

impl File {
    /// Keeps a running member up to date on where the others are. A thread of its own does so: the file may lie on a
    /// disk or a network that hangs.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(super) fn follow(self, node: &str, member: Member) -> io::Result<()> {
        let (node, told) = (node.to_owned(), Mutex::default());
        let run = move || {
            loop {
                thread::sleep(INTERVAL);
                let odd = self.moved(&node, &member).err();
                // What is wrong with a file that names certificates is told with them.
                let odd = odd.filter(|_| self.contents.tls.is_none());
                let stay = |why| format!("{why}; the addresses read last stay in use");
                warn_anew(&told, odd.map(stay).into_iter().collect());
            }
        };
        thread::Builder::new().name("election-moves".to_owned()).spawn(run).map(drop)
    }

    /// Takes up what the file says now.
    fn moved(&self, node: &str, member: &Member) -> Result<(), Failed> {
        let again = Self::quietly(&self.path)?;
        if again.identity() != self.identity() {
            return Err(again.of_others());
        }
        member.set_addresses(again.members()).map_err(|error| again.refused(node, &error))
    }
}
