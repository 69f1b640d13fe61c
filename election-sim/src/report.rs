//! The report of a failing run: the violation, the command that plays it again, the smallest
//! schedule that still fails, and a picture.

use crate::{
    schedule::Schedule, scn::Scn, seed::Seed, shrink::shrink, simulator::Violation,
    timeline::timeline, workload::Workload,
};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A failing seed, explained.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of the test or command.
    pub name: String,
    /// The seed.
    pub seed: Seed,
    /// The violation.
    pub violation: Violation,
    /// The shrunk schedule with its transcript.
    pub scn: Scn,
    /// The violation of the shrunk schedule.
    pub shrunk: Violation,
    /// The picture of the shrunk run.
    pub picture: String,
    /// The command that plays it again.
    pub command: String,
    /// The file to which the schedule was written.
    pub path: Option<PathBuf>,
}

/// How long shrinking may take.
const PATIENCE: Duration = Duration::from_secs(10);
const WIDTH: usize = 72;

impl Report {
    /// Shrinks and explains a failure.
    #[must_use]
    pub fn new(
        name: &str,
        seed: u64,
        schedule: &Schedule,
        workload: &Arc<Workload>,
        violation: Violation,
    ) -> Self {
        let small = shrink(schedule, workload, &violation.check, PATIENCE);
        let (small, shrunk) = match small {
            Some(small) => (small.schedule, small.violation),
            None => (schedule.clone(), violation.clone()),
        };
        let mut scn = Scn::new(small);
        scn.head = vec![format!("Shrunk from seed {} of {name}.", Seed(seed))];
        scn.full = true;
        scn.transcript = scn.play(workload).ok().map(|(_, transcript)| transcript);
        let picture = match scn.schedule.narrate(workload) {
            Ok((outcome, lines)) => timeline(&scn.schedule, &lines, outcome.length, WIDTH),
            Err(why) => why.to_string(),
        };
        let command = format!("ELECTION_SIM_SEED={} cargo test {name}", Seed(seed));
        Self {
            name: name.to_owned(),
            seed: Seed(seed),
            violation,
            scn,
            shrunk,
            picture,
            command,
            path: None,
        }
    }

    /// Writes the shrunk schedule into `directory`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&mut self, directory: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(directory)?;
        let safe: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = directory.join(format!("{safe}-{}.scn", self.seed));
        std::fs::write(&path, self.scn.to_string())?;
        self.path = Some(path);
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.violation)?;
        writeln!(f, "\nplay it again:  {}", self.command)?;
        if let Some(path) = &self.path {
            writeln!(f, "shrunk:         {}", path.display())?;
        }
        writeln!(f, "\nshrunk to {} faults: {}\n", self.scn.schedule.faults.len(), self.shrunk)?;
        writeln!(f, "{}", self.scn.schedule)?;
        f.write_str(&self.picture)
    }
}
