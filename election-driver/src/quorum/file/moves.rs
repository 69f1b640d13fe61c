//! What a running member takes up of its cluster's file, which may be edited meanwhile: where the members
//! are. (Certificates are read again by what holds them.)

use super::{contents::ClusterFile, error::ClusterFileError};
use crate::quorum::{node_state::NodeState, starting::StartError};
use std::{
    sync::{Arc, Weak},
    thread,
    time::Duration,
};
use tracing::{Span, warn};

/// How often the file is read; its certificates have the same pace.
const INTERVAL: Duration = Duration::from_secs(5);

impl ClusterFile {
    /// Tells what is hardly meant, and keeps a running node up to date on where the others are, until it
    /// ends. A thread of its own does so: the file may lie on a disk or a network that hangs.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub(in crate::quorum) fn follow(
        self,
        state: &Arc<NodeState>,
        span: &Span,
    ) -> Result<(), StartError> {
        let (state, span) = (Arc::downgrade(state), span.clone());
        let mut warned = Vec::new();
        span.in_scope(|| self.warn_anew(&mut warned));
        let run = move || {
            let (_inside, mut told) = (span.entered(), None);
            loop {
                thread::sleep(INTERVAL);
                if state.upgrade().is_none_or(|state| state.is_closed()) {
                    return;
                }
                let odd = self.moved(&state, &mut warned).err();
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
    fn moved(
        &self,
        state: &Weak<NodeState>,
        warned: &mut Vec<String>,
    ) -> Result<(), ClusterFileError> {
        let again = match self.again() {
            Ok(again) => again,
            // What is wrong with a file that names certificates is told with them.
            Err(_) if self.contents.tls.is_some() => return Ok(()),
            Err(why) => return Err(why),
        };
        again.warn_anew(warned);
        // Only now: a disk that hangs keeps no member in its cluster.
        let Some(state) = state.upgrade() else { return Ok(()) };
        let named = again.members().map(|(id, address)| (id.to_owned(), address.to_owned()));
        let moved = state.relocate(&named.collect::<Vec<_>>());
        moved.map_err(|error| again.refused("", &error))
    }

    /// Tells what is hardly meant and was not told last.
    fn warn_anew(&self, told: &mut Vec<String>) {
        let warnings = self.warnings();
        for warning in warnings.iter().filter(|warning| !told.contains(warning)) {
            warn!(event = "warning", "{warning}");
        }
        *told = warnings;
    }
}
