//! Three nodes that prove to each other who they are.

pub mod members;
pub mod strangers;

use super::{
    harness::certificates::Authority,
    quorum::{Place, first, followed},
    suite::list,
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

list! { $ __conformance_secured in secured:
    members {
        members_with_certificates_elect_and_hand_over: nothing;
        the_certificate_of_another_member_starts_no_node: nothing;
    }
    strangers {
        who_has_no_certificate_gets_nothing: nothing;
        who_speaks_no_tls_gets_nothing: nothing;
        who_has_a_foreign_certificate_gets_nothing: nothing;
        the_certificate_of_another_member_speaks_for_nobody_else: nothing;
    }
}
