//! The timing is checked before anything runs.

use core::time::Duration;
use election_core::lease::{Config, ConfigError, Warning};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn every_ttl_in_range_has_defaults_that_add_up() {
    for millis in (100..3_000).chain([15_000, 60_000, 600_000, 86_400_000]) {
        let config = Config::builder().ttl(Duration::from_millis(millis)).build();
        assert!(config.is_ok(), "{millis} ms: {config:?}");
    }
}

#[test]
fn the_defaults_are_those_of_the_design() {
    let config = Config::builder().build().unwrap();
    assert_eq!(config.interval(), secs(5));
    assert_eq!(config.jitter(), secs(1));
    assert_eq!(config.attempt_timeout(), Duration::from_millis(2_500));
    assert_eq!(config.margin(), secs(1));
    assert_eq!(config.wake_jitter(), Duration::from_millis(50));
    assert_eq!(config.timer_slice(), Duration::from_millis(849));
    assert_eq!(config.warnings().count(), 0);
}

#[test]
fn what_cannot_work_is_refused_with_the_remedy() {
    let ttl = |ttl| Config::builder().ttl(ttl);
    assert_eq!(ttl(Duration::ZERO).build(), Err(ConfigError::TtlTooShort(Duration::ZERO)));
    assert_eq!(ttl(Duration::MAX).build(), Err(ConfigError::TtlTooLong(Duration::MAX)));
    assert_eq!(ttl(secs(15)).interval(secs(0)).build(), Err(ConfigError::Zero("interval")));
    assert!(matches!(
        ttl(secs(15)).margin(Duration::from_millis(150)).build(),
        Err(ConfigError::MarginTooSmall { .. })
    ));
    let error = ttl(secs(15)).wake_jitter(secs(6)).build().unwrap_err();
    assert!(error.to_string().contains("at most 5s"), "{error}");
    assert!(ttl(secs(15)).wake_jitter(secs(5)).build().is_ok());
    let error = ttl(secs(15)).attempt_timeout(secs(5)).build().unwrap_err();
    assert!(error.to_string().contains("raise the ttl"), "{error}");
    assert!(ttl(secs(15)).grace(Duration::MAX).build().is_err());
}

#[test]
fn the_boundary_of_the_sum_is_exact() {
    let ttl = secs(15);
    let rest = [5_000, 1_000, 2_500, 2_500, 50, 1_000, 150].iter().sum::<u64>();
    let room = ttl - Duration::from_millis(rest);
    assert!(Config::builder().ttl(ttl).grace(room).build().is_err());
    let less = room - Duration::from_nanos(1);
    assert!(Config::builder().ttl(ttl).grace(less).build().is_ok());
}

#[test]
fn discomforts_are_data() {
    let config = Config::builder().ttl(Duration::from_millis(200)).grace(secs(0)).build().unwrap();
    let warnings: Vec<_> = config.warnings().collect();
    assert!(warnings.contains(&Warning::NoGrace));
    assert!(warnings.contains(&Warning::ShortTtl(Duration::from_millis(200))));
}
