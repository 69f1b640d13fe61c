//! Three nodes that prove to each other who they are.

use super::{super::certificates::Authority, Place, first, followed};
use crate::{Cluster, Member, Network, tls::Tls};
use election_core::Epoch;
use std::time::Duration;

/// When a silent peer counts as down. Whatever comes sooner comes for another reason.
pub const DOWN_AFTER: Duration = Duration::from_secs(20);

/// A node that proves who it is with this.
pub fn cluster<R: Network + Default>(place: &Place, nth: usize, proof: Tls) -> Cluster<R> {
    let builder = place.builder(nth).without_data().down_after(DOWN_AFTER).tls(proof);
    builder.build().expect("a valid cluster")
}

/// A trio of which one leads.
pub struct Trio<R: Network> {
    pub place: Place,
    pub authority: Authority,
    pub members: Vec<Member<R>>,
    pub leads: usize,
    pub epoch: Epoch,
}

impl<R: Network + Default> Trio<R> {
    pub async fn new() -> Self {
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
