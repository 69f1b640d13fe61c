//! What members that prove to each other who they are say of one that has no certificate.

use crate::cluster::{Nodes, place_of};
use election_driver::conformance::certificates::Authority;

/// A follower has no certificate while the others do, or the other way round: it is left out, and both
/// sides say what is wrong and what to do.
#[test]
fn a_member_secured_differently_is_named_with_the_remedy() {
    let authority = Authority::new();
    for others_have in [true, false] {
        let mut nodes = Nodes::new(3);
        if others_have {
            (0..3).for_each(|node| drop(nodes.certify(node, &authority)));
        }
        (0..3).for_each(|node| nodes.start(node));
        let leader = nodes.leader_after(0);
        nodes.all_follow(&leader);
        let leads = place_of(&leader.node);
        let odd = (leads + 1) % 3;
        nodes.kill(odd);
        match others_have {
            true => nodes.set_certificate(odd, None),
            false => drop(nodes.certify(odd, &authority)),
        }
        nodes.start(odd);
        let (secured, open) = if others_have { (leads, odd) } else { (odd, leads) };
        let (its, theirs) =
            (format!("peer=\"n{}\"", secured + 1), format!("peer=\"n{}\"", open + 1));
        let said = ["reason=\"not_tls\"", "does not speak TLS", "give it a certificate and key"];
        nodes.logged(secured, "refused", &said);
        let said =
            [&*theirs, "closed the connection during the handshake", "or give it a certificate"];
        nodes.logged(secured, "unreachable", &said);
        let said =
            ["reason=\"encrypted\"", "it speaks TLS", "give every member a certificate, or none"];
        nodes.logged(open, "refused", &said);
        let said = [&*its, "it speaks TLS", "give every member a certificate, or none"];
        nodes.logged(open, "unreachable", &said);
        nodes.still_leads(&leader);
    }
}
