//! How long is waited for sessions of which nothing is heard.

use super::*;
use election_core::lease::Config;

fn of(ttl: Duration) -> Timeouts {
    let config = Config::builder().ttl(ttl).build().unwrap();
    Timeouts::of(config.attempt_timeout(), ttl)
}

#[test]
fn a_silent_session_is_replaced_once_the_server_ended_it() {
    for (ttl, ended) in [(1, 2), (3, 4), (15, 10), (900, 10)] {
        let timeouts = of(Duration::from_secs(ttl));
        for others in [0, 1, 100] {
            let patience = timeouts.patience(Stage::Bounded, others);
            assert_eq!(patience, Duration::from_secs(ended), "{ttl} s");
        }
        assert!(timeouts.patience(Stage::Outside, 0) > timeouts.opening());
        assert!(timeouts.idle().unwrap() >= 4 * Duration::from_secs(ttl));
    }
}

/// Where nothing ends such sessions but the server's eight hours, they are few.
#[test]
fn sessions_that_nobody_ends_are_few() {
    for timeouts in [of(Duration::from_secs(1)), Timeouts::ALONE] {
        let mut passed = Duration::ZERO;
        let mut left = 0;
        while passed < Duration::from_secs(8 * 3600) {
            passed += timeouts.patience(Stage::Inside, left);
            left += 1;
        }
        assert!(left <= 15, "{left} sessions");
    }
}
