//! Members that prove to each other who they are, on all three runtimes in one cluster; and what they
//! say of one that has no certificate, or another's.

use crate::cluster::{DOWN_AFTER, Nodes, place_of};
use election_driver::conformance::certificates::Authority;
use election_testing::{Proxy, process::within};

#[test]
fn members_with_certificates_elect_hand_over_and_fail_over() {
    let authority = Authority::new();
    let (mut nodes, _folders, first) = Nodes::secured(3, &authority);
    let old = place_of(&first.node);
    let heir = (old + 1) % 3;
    let order = format!("hand_over n{}", heir + 1);
    assert_eq!(nodes.order(old, &order), "ok");
    let second = nodes.leader_after(first.epoch);
    assert_eq!(place_of(&second.node), heir);
    nodes.all_follow(&second);
    nodes.kill(heir);
    let third = nodes.leader_after(second.epoch);
    assert_ne!(third.node, second.node);
    nodes.start(heir);
    nodes.follows(heir, third.epoch);
    assert_eq!(nodes.tenures().len(), 3, "{:?}", nodes.tenures());
    nodes.check();
}

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
        let said = ["reason=\"not_tls\"", "does not speak TLS", "give it its certificate and key"];
        nodes.logged(secured, "refused", &said);
        let said = [&*theirs, "hung up during the handshake", "or it has no certificate"];
        nodes.logged(secured, "unreachable", &said);
        let said =
            ["reason=\"encrypted\"", "it speaks TLS", "give all members certificates, or none"];
        nodes.logged(open, "refused", &said);
        let said = [&*its, "it speaks TLS", "give all members certificates, or none"];
        nodes.logged(open, "unreachable", &said);
        nodes.still_leads(&leader);
    }
}

/// At another follower's address a follower finds the leader, as after a mistake in the list. The leader
/// proves who it is, so nothing is sent to it that was for the other.
#[test]
fn who_is_dialled_as_one_member_and_is_another_is_named() {
    let authority = Authority::new();
    let (mut nodes, _folders, leader) = Nodes::secured(3, &authority);
    let leads = place_of(&leader.node);
    let [misled, missed] = [(leads + 1) % 3, (leads + 2) % 3];
    let (_, port) = nodes.address(leads).rsplit_once(':').expect("a port");
    let wrong = Proxy::to(port.parse().expect("a number"));
    nodes.kill(misled);
    nodes.route(misled, missed, &format!("127.0.0.1:{}", wrong.port()));
    nodes.start(misled);
    let other = format!("n{}", missed + 1);
    let cause = format!("that of election://quorum/{}, and {other} was expected", leader.node);
    nodes.logged(misled, "unreachable", &[&format!("peer=\"{other}\""), &cause]);
    let said = ["reason=\"tls_alert\"", "does not accept this member's certificate"];
    nodes.logged(leads, "refused", &said);
    let flips = within(DOWN_AFTER, || nodes.tenures().len() > 1);
    assert!(!flips, "{:?}", nodes.tenures());
    nodes.still_leads(&leader);
}
