//! How many seeds take each branch of the protocols: what no seed takes, no checker has judged.

use crate::{args::Options, values::InputError};

/// An ordinary build does not count.
#[cfg(not(election_rewritten))]
pub(crate) fn reach(_: &Options) -> Result<u8, InputError> {
    let how = "--reach: this build does not count branches; `election-sim/mutants/reach lease`, or \
               `quorum`, in the source tree makes one that does and runs it";
    Err(InputError(how.to_owned()))
}

/// Plays the seeds one after the other, and prints the branches, the least taken first. The numbers
/// do not depend on violations: every seed is played.
#[cfg(election_rewritten)]
pub(crate) fn reach(options: &Options) -> Result<u8, InputError> {
    use election_core::switch::{BRANCHES, take};
    let mut counts = vec![0_u64; BRANCHES.len()];
    let mut seeds = 0;
    let side = if options.swarm.quorum { "quorum/" } else { "lease/" };
    for seed in options.seeds.clone() {
        take();
        let schedule = options.swarm.schedule(seed);
        schedule.play().map_err(|why| InputError(why.to_string()))?;
        for (count, taken) in counts.iter_mut().zip(take()) {
            *count += u64::from(taken);
        }
        seeds += 1;
    }
    let mut order: Vec<_> = counts.iter().zip(BRANCHES).collect();
    order.retain(|(_, (file, ..))| file.starts_with(side));
    order.sort_by_key(|(count, _)| **count);
    println!("of {seeds} seeds, so many take each branch:");
    for (count, (file, line, function, what)) in order {
        println!("{count:6} {file}:{line} {function}: {what}");
    }
    Ok(crate::CLEAN)
}
