//! Contenders that race for one lease at different servers.

use crate::support::{Node, candidacy};
use election_driver::core::{Epoch, lease::Failure};

const RACES: usize = 40;

/// Two at each server, all at once, and one wins.
pub(crate) async fn contenders_at_every_server(nodes: &mut [Node; 3]) {
    let mut last = Epoch::NONE;
    let mut contenders = [1, 2, 3, 4, 5, 6].map(candidacy);
    for race in 0..RACES {
        let tries = contenders.clone().into_iter().zip([0, 0, 1, 1, 2, 2]).map(|(mut who, at)| {
            let mut store = nodes[at].store.clone();
            tokio::spawn(async move {
                loop {
                    match store.elect(&mut who).await {
                        Ok(row) => return (who.leads(&row), row.epoch, who),
                        Err(error) => assert_eq!(error.kind, Failure::Conflict, "{error}"),
                    }
                }
            })
        });
        let mut won = Vec::new();
        for (at, tried) in tries.collect::<Vec<_>>().into_iter().enumerate() {
            let (leads, epoch, who) = tried.await.unwrap();
            contenders[at] = who;
            if leads {
                won.push((at, epoch));
            }
        }
        let [(winner, epoch)] = won[..] else { panic!("race {race}: {won:?} have won") };
        assert!(epoch > last, "race {race}: {epoch} after {last}");
        last = epoch;
        nodes[race % 3].vacates(&mut contenders[winner], epoch).await;
    }
}
