//! Members, each with a certificate: its own, or by mistake another's.

use super::{
    IDS, OnNothing, followed, handed_over,
    secured::{Trio, cluster},
    shut_down,
};
use crate::{Network, StartError};

/// They elect, follow and hand over as without certificates.
pub async fn members_with_certificates_elect_and_hand_over<R: Network + Default>(_: OnNothing<R>) {
    let trio = Trio::<R>::new().await;
    let heir = (trio.leads + 1) % 3;
    let handed = handed_over(&trio.members, heir).await;
    assert!(handed > trio.epoch);
    for member in &trio.members {
        followed(member.handle(), trio.epoch).await;
        assert!(member.expiry().is_some(), "until when its certificate is valid");
    }
    shut_down(&trio.members).await;
}

/// A node that could only be refused by all others does not start. The error says whose certificate
/// it has.
pub async fn the_certificate_of_another_member_starts_no_node<R: Network + Default>(
    _: OnNothing<R>,
) {
    let trio = Trio::<R>::new().await;
    let follower = (trio.leads + 1) % 3;
    trio.members[follower].handle().shutdown().await;
    let leaders = trio.authority.member(trio.leads);
    let proof = trio.authority.credentials(&leaders);
    let refused = cluster::<R>(&trio.place, follower, proof).start().await.err();
    let Some(error @ StartError::Credentials(_)) = refused else { panic!("{refused:?}") };
    let said = error.to_string();
    for id in [IDS[trio.leads], IDS[follower]] {
        assert!(said.contains(id), "no {id} in {said}");
    }
    let own = trio.authority.credentials(&trio.authority.member(follower));
    let again = cluster::<R>(&trio.place, follower, own).start().await;
    let again = again.expect("ballot and port are free");
    followed(again.handle(), election_core::Epoch::NONE).await;
    again.handle().shutdown().await;
    shut_down(&trio.members).await;
}
