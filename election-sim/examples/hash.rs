//! The hashes of the first thousand runs of either protocol, which are the same on every platform. If
//! `EXPECTED` names them when this is compiled, it fails unless they are these: WebAssembly prints nothing.

use election_sim::{Budget, Swarm};
use std::{error::Error, sync::Arc};

fn main() -> Result<(), Box<dyn Error>> {
    let swarm = Swarm::within_contract();
    let hash = |swarm: &Swarm| {
        let budget = Budget { seeds: 0..1_000, time: None, jobs: 1 };
        budget.play(&Arc::default(), &|seed| swarm.schedule(seed), &|_| {}).map(|all| all.hash)
    };
    let hashes = format!("{:016x} {:016x}", hash(&swarm)?, hash(&swarm.of_quorum())?);
    println!("{hashes}");
    if let Some(expected) = option_env!("EXPECTED") {
        assert_eq!(hashes, expected);
    }
    Ok(())
}
