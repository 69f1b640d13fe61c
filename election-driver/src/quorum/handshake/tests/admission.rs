//! A member that comes in while strangers flood the port.

use super::*;

/// Whether a comes in whose handshake begins from one address, when so many others begin behind it.
fn comes_in(from: &str, strangers: &[&str]) -> bool {
    let mut entrance = Entrance::new();
    let at = |ip: &str| SocketAddr::new(ip.parse().expect("an address"), 1);
    entrance.handshakes.expects(Peer::new(0), at("10.0.0.1").ip());
    let near = entrance.comes_from(at(from));
    let _held: Vec<_> = strangers.iter().map(|from| entrance.comes_from(at(from))).collect();
    // It may end well for a though b has let go of it.
    let _near = entrance.b.a_connects(near, || entrance.network.run());
    entrance.outcomes().contains(&Ok(Some(id("a"))))
}

#[test]
fn a_stranger_keeps_nobody_out_but_itself() {
    assert!(comes_in("10.0.0.2", &["10.0.0.9"; 3 * MOST]));
    assert!(!comes_in("10.0.0.9", &["10.0.0.9"; 3 * MOST]));
}

#[test]
fn strangers_without_number_keep_no_member_out() {
    let strangers: Vec<_> = (10..30).map(|last| format!("10.0.0.{last}")).collect();
    let strangers: Vec<_> = strangers.iter().map(String::as_str).collect();
    assert!(comes_in("10.0.0.1", &strangers), "members have addresses that are known");
    assert!(!comes_in("10.0.0.2", &strangers), "from elsewhere it is one of many");
}
