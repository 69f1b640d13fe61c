//! How far a start has come, for those who wait for it: a disk, a network or a name server may hang.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// What a start does at the moment, in words that continue "this member is …". Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Starting(Arc<AtomicUsize>);

/// What may hang.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    Ballot = 1,
    Proof,
    Ports,
    Over,
}

impl Starting {
    pub(super) fn begins(&self, stage: Stage) {
        self.0.store(stage as usize, Ordering::Relaxed);
    }
}

impl fmt::Display for Starting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STAGES: [&str; 5] = [
            "about to start",
            "opening its ballot",
            "reading its certificates",
            "opening its ports, and looking their names up",
            "started",
        ];
        f.write_str(STAGES.get(self.0.load(Ordering::Relaxed)).unwrap_or(&STAGES[0]))
    }
}
