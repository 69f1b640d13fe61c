//! A member that comes in while strangers flood the door.

use super::*;

const MOST: usize = 4;

/// Whether a comes in whose handshake begins from one address, when so many others begin behind it.
fn comes_in(from: &str, strangers: &[&str]) -> bool {
    let authority = Authority::new();
    let a = identity("a", &authority.of("a"));
    let own = authority.signed("b");
    let source = Tls::source(move || Ok(authority.credentials(&own)));
    let keyring = Keyring::open(source, places("b")).expect("credentials");
    let mut door = Door::new(Threads::Timeless, Security::Tls(keyring), LIMIT);
    door.expects(A, "10.0.0.1".parse().expect("an address"));
    let at = |ip: &str| SocketAddr::new(ip.parse().expect("an address"), 1);
    let (near, far) = pair();
    assert!(door.knock(far, at(from), MOST).is_none());
    let silent = |stranger: &&str| {
        let (near, far) = pair();
        assert!(door.knock(far, at(stranger), MOST).is_none());
        near
    };
    let _held: Vec<_> = strangers.iter().map(silent).collect();
    // It may end well for a though b has let go of it.
    let Ok(_near) = block_on(a.connect(near, B)) else { return false };
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match door.poll(&mut cx) {
            Poll::Ready(Ok(entered)) => return entered.proved == Some(A),
            Poll::Ready(Err((_, refusal))) => panic!("{refusal}"),
            Poll::Pending if door.under_way.iter().all(|it| it.number != 1) => return false,
            Poll::Pending => thread::yield_now(),
        }
    }
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
