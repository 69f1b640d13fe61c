//! Three nodes that prove to each other who they are.

pub mod members;
pub mod strangers;

use super::{
    harness::certificates::Authority,
    quorum::{Place, first, followed},
};
use crate::{Cluster, Member, Network, tls::Tls};
use election_core::Epoch;
use std::time::Duration;

/// When a silent peer counts as down. Whatever comes sooner comes for another reason.
const DOWN_AFTER: Duration = Duration::from_secs(20);

/// A node that proves who it is with this.
fn cluster<R: Network + Default>(place: &Place, nth: usize, proof: Tls) -> Cluster<R> {
    let builder = place.builder(nth).without_data().down_after(DOWN_AFTER).tls(proof);
    builder.build().expect("a valid cluster")
}

/// A trio of which one leads.
struct Trio<R: Network> {
    place: Place,
    authority: Authority,
    members: Vec<Member<R>>,
    leads: usize,
    epoch: Epoch,
}

impl<R: Network + Default> Trio<R> {
    async fn new() -> Self {
        let (place, authority, mut members) = (Place::new(3), Authority::new(), Vec::new());
        for nth in 0..3 {
            let proof = authority.credentials(&authority.member(nth));
            members.push(cluster::<R>(&place, nth, proof).start().await.expect("a node"));
        }
        let (leads, epoch) = first(&members).await;
        for member in &members {
            assert_eq!(followed(member.handle(), Epoch::NONE).await.1, epoch);
        }
        Self { place, authority, members, leads, epoch }
    }
}
