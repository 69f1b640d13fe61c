//! The timing is checked before anything runs.

use core::time::Duration;
use election_core::{
    Drift, Epoch,
    lease::{Config, ConfigBuilder, ConfigError, Warning},
};

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
    assert_eq!(config.attempt_timeout(), secs(2));
    assert_eq!(config.grace(), Duration::from_millis(2_500));
    assert_eq!(config.drift().ppm(), 90_000);
    assert_eq!(config.margin(), Duration::from_millis(1_351 + 500));
    assert_eq!(config.wake_jitter(), Duration::from_millis(10));
    assert_eq!(config.timer_slice(), Duration::from_millis(500));
    assert_eq!(config.warnings().count(), 0);
}

#[test]
fn what_is_random_shrinks_with_an_interval_that_was_set() {
    let millis = Duration::from_millis;
    let often = |interval| Config::builder().ttl(secs(600)).interval(interval).build().unwrap();
    assert_eq!(often(secs(1)).jitter(), millis(200));
    assert_eq!(often(secs(1)).wake_jitter(), millis(10));
    assert_eq!(often(millis(4)).wake_jitter(), millis(4));
}

#[test]
fn what_cannot_work_is_refused_with_the_remedy() {
    let ttl = |ttl| Config::builder().ttl(ttl);
    assert_eq!(ttl(Duration::ZERO).build(), Err(ConfigError::TtlTooShort(Duration::ZERO)));
    assert_eq!(ttl(Duration::MAX).build(), Err(ConfigError::TtlTooLong(Duration::MAX)));
    assert_eq!(ttl(secs(15)).interval(secs(0)).build(), Err(ConfigError::Zero("interval")));
    assert!(matches!(
        ttl(secs(15)).margin(Duration::from_millis(1_350)).build(),
        Err(ConfigError::MarginTooSmall { .. })
    ));
    for (micros, shown) in [(1_499, "ttl 1ms"), (1_500, "ttl 2ms")] {
        let error = ConfigError::TtlTooShort(Duration::from_micros(micros));
        assert!(error.to_string().starts_with(shown), "{error}");
    }
    let needed = Duration::from_nanos(1_351_000_001);
    let error = ConfigError::MarginTooSmall { margin: secs(1), needed };
    assert!(error.to_string().ends_with("use at least 1.352s"), "{error}");
    let error = ttl(secs(15)).wake_jitter(secs(6)).build().unwrap_err();
    assert!(error.to_string().contains("at most 5s"), "{error}");
    assert!(ttl(secs(15)).wake_jitter(secs(5)).build().is_ok());
    let error = ttl(secs(15)).attempt_timeout(secs(5)).build().unwrap_err();
    assert!(error.to_string().contains("; raise ttl, or lower one"), "{error}");
    assert!(ttl(secs(15)).grace(Duration::MAX).build().is_err());
    assert!(
        ttl(Duration::ZERO).build().unwrap_err().to_string().starts_with("ttl 0s is too short")
    );
}

/// Nanoseconds help nobody, and the remedy works as it stands there.
#[test]
fn a_grace_that_does_not_fit_is_told_the_longest() {
    let with = |grace| Config::builder().ttl(secs(4)).grace(grace).build();
    let error = with(secs(3)).unwrap_err().to_string();
    assert!(
        error.contains("interval 1.333s + jitter 267ms + 2 × attempt_timeout 533ms"),
        "{error}"
    );
    let advice =
        error.split_once("set grace to at most ").unwrap().1.split_once("ms, or raise ttl");
    let most = Duration::from_millis(advice.unwrap().0.parse().unwrap());
    assert!(with(most).is_ok(), "{error}");
    assert!(with(most + Duration::from_millis(1)).is_err(), "{error}");
}

#[test]
fn the_boundary_of_the_sum_is_exact() {
    let ttl = secs(15);
    let rest = [5_000, 1_000, 2_000, 2_000, 50, 1_851].iter().sum::<u64>();
    let room = ttl - Duration::from_millis(rest);
    let error = Config::builder().ttl(ttl).grace(room).build().unwrap_err();
    let less = room - Duration::from_nanos(1);
    assert!(Config::builder().ttl(ttl).grace(less).build().is_ok());
    // So does the advice say, to the millisecond.
    assert!(error.to_string().contains("at most 3.098s"), "{error}");
    let ConfigError::DoesNotAddUp { sum, parts, .. } = error else { panic!("{error}") };
    let ttl = ttl + Duration::from_nanos(1);
    let error = ConfigError::DoesNotAddUp { sum, parts, ttl }.to_string();
    assert!(error.contains("at most 3.099s"), "{error}");
}

#[test]
fn discomforts_are_data() {
    let config = Config::builder().ttl(Duration::from_millis(200)).grace(secs(0)).build().unwrap();
    let warnings: Vec<_> = config.warnings().collect();
    assert!(warnings.contains(&Warning::NoGrace));
    assert!(warnings.contains(&Warning::ShortTtl(Duration::from_millis(200))));
    let drift = Drift::from_ppm(10_000).unwrap();
    let warnings: Vec<_> = Config::builder().drift(drift).build().unwrap().warnings().collect();
    assert_eq!(warnings, [Warning::SmallDrift(drift)]);
    assert!(warnings[0].to_string().contains("maxslewrate"), "{}", warnings[0]);
}

#[test]
fn the_bounds_of_discomfort_are_exact() {
    let told = |builder: ConfigBuilder| builder.build().unwrap().warnings().next();
    let (ms, builder) = (Duration::from_millis, Config::builder);
    assert_eq!(told(builder().ttl(secs(1))), None);
    assert_eq!(told(builder().ttl(ms(999))), Some(Warning::ShortTtl(ms(999))));
    assert_eq!(told(builder().ttl(secs(300))), None);
    assert_eq!(told(builder().ttl(ms(300_001))), Some(Warning::LongTtl(ms(300_001))));
    assert_eq!(told(builder().attempt_timeout(ms(50))), None);
    assert_eq!(told(builder().attempt_timeout(ms(49))), Some(Warning::ShortAttempt(ms(49))));
    let drift = |ppm| Drift::from_ppm(ppm).unwrap();
    assert_eq!(told(builder().drift(drift(83_334))), None);
    assert_eq!(told(builder().drift(drift(83_333))), Some(Warning::SmallDrift(drift(83_333))));
}

#[test]
fn a_margin_without_room_still_leaves_timers_a_slice() {
    let config = Config::builder().margin(Duration::from_millis(1_351)).build().unwrap();
    assert_eq!(config.timer_slice(), Duration::from_millis(1));
}

/// What chrony may do to the database's clock by its default `maxslewrate`, at every length of a
/// lease: all trust has ended before the lease ends, with the timers' slices to spare.
#[test]
fn the_default_margin_outlasts_a_database_clock_that_is_slewed() {
    for millis in (100..3_000).chain([15_000, 60_000, 600_000, 86_400_000]) {
        let ttl = Duration::from_millis(millis);
        let config = Config::builder().ttl(ttl).build().unwrap();
        let tick = Duration::from_millis(1);
        let ends = (ttl - tick).as_nanos() * 1_000_000 / 1_083_334;
        let trusted = ttl - config.margin() + config.timer_slice();
        assert!(trusted.as_nanos() <= ends, "{millis} ms: {trusted:?} of {ends} ns");
        assert_eq!(config.timer_slice(), ttl / 30, "a clock that is read all the time");
    }
}

#[test]
fn a_least_epoch_that_would_use_up_the_numbers_is_refused() {
    let with = |epoch| Config::builder().min_epoch(Epoch::new(epoch)).build();
    assert_eq!(with(0).unwrap().min_epoch(), Epoch::NONE);
    assert!(with(Config::MAX_MIN_EPOCH.get()).is_ok());
    for typo in [Config::MAX_MIN_EPOCH.get() + 1, i64::MAX as u64, u64::MAX] {
        let error = with(typo).unwrap_err();
        assert_eq!(error, ConfigError::MinEpochTooHigh(Epoch::new(typo)));
        let text = error.to_string();
        assert!(text.contains("4503599627370496") && text.contains(&typo.to_string()), "{text}");
    }
}

#[test]
fn a_lease_lasts_at_least_whole_milliseconds_and_a_day_at_most() {
    let with = |span| Config::builder().at_least_for(span).build();
    for (span, millis) in [(0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2)] {
        let config = with(Duration::from_nanos(span)).unwrap();
        assert_eq!(config.at_least_for().as_millis(), millis, "{span} ns");
    }
    assert!(with(Config::MAX_TTL).is_ok());
    let more = Config::MAX_TTL + Duration::from_nanos(1);
    assert_eq!(with(more), Err(ConfigError::AtLeastTooLong(more)));
    let most = with(Duration::MAX).unwrap_err().to_string();
    assert!(most.contains("at most 24 hours"), "{most}");
}

#[test]
fn an_attempt_takes_a_tick_of_the_databases_clock_at_least() {
    let with = |timeout| Config::builder().attempt_timeout(timeout).build();
    assert!(with(Duration::from_millis(1)).is_ok());
    let less = with(Duration::from_nanos(999_999));
    assert_eq!(less, Err(ConfigError::Zero("attempt_timeout")));
}

#[test]
fn what_was_set_is_what_is_told() {
    let ttl = Duration::from_millis(300);
    let config = Config::builder().ttl(ttl).min_epoch(Epoch::new(70)).build().unwrap();
    assert_eq!((config.ttl(), config.min_epoch()), (ttl, Epoch::new(70)));
    assert_eq!(config.wake_jitter(), ttl / 60, "less than 10 ms");
    let config = Config::builder().jitter(Duration::ZERO).build().unwrap();
    assert_eq!(config.warnings().collect::<Vec<_>>(), [Warning::NoJitter]);
}
