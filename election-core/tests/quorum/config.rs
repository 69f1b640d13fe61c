//! The list of members and the timing are checked before anything runs.

use super::hand::{A, B, C, D, E, defaults, id, ids};
use core::time::Duration;
use election_core::{
    Drift, Epoch, Label, Namespace, NodeId,
    quorum::{Config, ConfigBuilder, ConfigError, Peer, Warning},
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn of(members: &[&str]) -> ConfigBuilder {
    let members = members.iter().map(|id| NodeId::new(id).unwrap());
    Config::builder(id(A), members, Label::new("a:1").unwrap())
}

#[test]
fn the_defaults_are_those_of_the_seed() {
    let config = defaults(3, A).loopback(true).build().unwrap();
    assert_eq!(config.hb_interval(), ms(200));
    assert_eq!(config.down_after(), ms(5_000));
    assert_eq!(config.grace(), ms(500));
    assert_eq!(config.election_timeout(), ms(3_000));
    assert_eq!(config.election_backoff(), (ms(1_000), ms(5_000)));
    assert_eq!(config.stagger(), ms(150));
    assert_eq!(config.drift(), Config::DEFAULT_DRIFT);
    assert_eq!(config.trust_window().as_nanos(), 5_000_000_000 * 91 / 109 - 100_000_000);
    assert_eq!(config.boot_grace().as_nanos(), (5_000_000_000_u128 * 109).div_ceil(91));
    assert_eq!((config.margin(), config.timer_slice()), (ms(100), ms(99)));
    assert_eq!(config.warnings().count(), 0);
}

#[test]
fn a_timer_looks_at_the_clock_once_in_a_millisecond_at_most() {
    let config = defaults(3, A).margin(ms(1)).build().unwrap();
    assert_eq!(config.timer_slice(), ms(1));
}

#[test]
fn every_span_has_defaults_that_add_up() {
    for millis in (50..2_000).chain([5_000, 60_000, 3_600_000]) {
        let config = defaults(3, A).down_after(ms(millis)).build();
        assert!(config.is_ok(), "{millis} ms: {config:?}");
    }
}

#[test]
fn lists_that_cannot_work_are_refused_with_the_remedy() {
    let long = "x".repeat(33);
    let refused = [
        (of(&["b", "c"]), ConfigError::NotAMember(id(A))),
        (of(&["a", "b", "b"]), ConfigError::DuplicateId(NodeId::new("b").unwrap())),
        (of(&["a", &long]), ConfigError::IdTooLong(NodeId::new(&long).unwrap())),
        (of(&["a", "b c"]), ConfigError::IdNotPrintable(NodeId::new("b c").unwrap())),
        (of(&["a", "é"]), ConfigError::IdNotPrintable(NodeId::new("é").unwrap())),
        (of(&["a"]).min_epoch(Epoch::new((1 << 52) + 1)), {
            ConfigError::MinEpochTooHigh(Epoch::new((1 << 52) + 1))
        }),
        (of(&["a"]).preferred_primary(NodeId::new("z").unwrap()), {
            ConfigError::NotAMember(NodeId::new("z").unwrap())
        }),
        (Config::builder(id(A), ids(64), Label::new("a:1").unwrap()), {
            ConfigError::TooManyMembers(64)
        }),
    ];
    for (builder, error) in refused {
        let refusal = builder.build().unwrap_err();
        assert_eq!(refusal, error);
        assert!(refusal.to_string().contains(": "), "{refusal} has no remedy");
    }
    assert!(of(&["a", &"x".repeat(32)]).build().is_ok());
    assert!(Config::builder(id(A), ids(63), Label::new("a:1").unwrap()).build().is_ok());
}

#[test]
fn nodes_of_another_cluster_count_as_ones_with_another_list() {
    let fingerprint = |cluster: Option<&str>| {
        let named = cluster.map(|name| defaults(3, A).cluster(Namespace::new(name).unwrap()));
        let config = named.unwrap_or_else(|| defaults(3, A)).build().unwrap();
        config.members().fingerprint()
    };
    let (none, east, west) =
        (fingerprint(None), fingerprint(Some("east")), fingerprint(Some("west")));
    assert!(none != east && none != west && east != west);
    assert_eq!(fingerprint(Some("east")), east);
}

/// The error speaks of what was set, not of what follows from it.
#[test]
fn a_refused_span_is_named_with_its_limit() {
    let short = |builder: ConfigBuilder| builder.build().unwrap_err();
    let least = ms(50);
    for micros in [0, 1, 5_000, 49_999] {
        let down_after = Duration::from_micros(micros);
        let error = short(defaults(3, A).down_after(down_after));
        assert_eq!(error, ConfigError::DownAfterTooShort { down_after, least });
        assert!(error.to_string().contains("use at least 50ms"), "{error}");
    }
    // What was set need not follow from it.
    let margin = defaults(3, A).margin(ms(1));
    let interval = margin.clone().hb_interval(ms(1));
    let timeout = interval.clone().election_timeout(ms(1));
    for (builder, least) in [(margin, 25_000), (interval, 1_667), (timeout, 1_000)] {
        let least = Duration::from_micros(least);
        let down_after = least - Duration::from_nanos(1);
        let error = short(builder.down_after(down_after));
        assert_eq!(error, ConfigError::DownAfterTooShort { down_after, least });
    }
    let (down_after, most) = (ms(5_000), ms(1_073));
    for grace in [most + ms(2), ms(4_000), Duration::MAX] {
        match short(defaults(3, A).grace(grace)) {
            ConfigError::GraceTooLong { down_after: of, most: limit, .. } => {
                assert_eq!((of, limit), (down_after, most));
            }
            other => panic!("{grace:?}: {other}"),
        }
    }
    assert!(defaults(3, A).grace(most).build().is_ok());
    // Two heartbeats have to fit, too: 5 s · 91/109 − 100 ms − 4 s.
    let slow = defaults(3, A).hb_interval(ms(2_000));
    let error = short(slow.clone().grace(ms(500)));
    assert!(matches!(error, ConfigError::GraceTooLong { most, .. } if most == ms(73)), "{error}");
    assert!(slow.grace(ms(73)).build().is_ok());
    // Without any grace it would not fit either.
    let both = defaults(3, A).grace(ms(1)).election_timeout(ms(4_900));
    assert!(matches!(short(both), ConfigError::TimeoutTooLong { .. }));
}

#[test]
fn timings_that_cannot_work_are_refused() {
    let config = || defaults(3, A);
    let room = ms(3_574) + Duration::from_nanos(311_926); // 5 s · 91/109 − 100 ms − 500 ms
    let too_long = config().election_timeout(room).build().unwrap_err();
    assert_eq!(too_long, ConfigError::TimeoutTooLong { timeout: room, room });
    assert!(config().election_timeout(room - Duration::from_nanos(1)).build().is_ok());
    assert!(config().election_timeout(ms(4_500)).build().is_err(), "down_after − grace");
    let half = room / 2;
    let too_long = config().hb_interval(half).build().unwrap_err();
    assert_eq!(too_long, ConfigError::IntervalTooLong { interval: half, room });
    assert!(config().hb_interval(half - Duration::from_nanos(1)).build().is_ok());
    assert!(config().margin(ms(1)).hb_interval(ms(1)).build().is_ok());
    let refused = [
        config().hb_interval(ms(1) - Duration::from_nanos(1)),
        config().hb_interval(Duration::ZERO),
        config().election_timeout(Duration::ZERO),
        config().down_after(Duration::ZERO),
        config().down_after(Duration::MAX),
        config().margin(Duration::ZERO),
        config().grace(Duration::MAX),
        config().hb_interval(Duration::MAX),
        config().hb_interval(ms(2_200)),
        config().election_backoff(ms(2), ms(1)),
    ];
    for builder in refused {
        assert!(builder.clone().build().is_err(), "{builder:?}");
    }
}

#[test]
fn discomforts_are_data() {
    // An even number of members tolerates no more failures, and two tolerate none.
    let local = |count| defaults(count, A).loopback(true);
    let drift = |ppm| Drift::from_ppm(ppm).unwrap();
    let witnesses = |count, witnesses: &[Peer]| {
        let witnesses: Vec<_> = witnesses.iter().map(|peer| id(*peer)).collect();
        local(count).witnesses(witnesses)
    };
    let few = Warning::FewBeats { down_after: ms(1_999), hb_interval: ms(200) };
    let table = [
        (local(3), vec![]),
        (local(1), vec![Warning::Alone]),
        (local(2), vec![Warning::TwoMembers]),
        (local(4), vec![Warning::EvenMembers(4)]),
        (local(9), vec![]),
        (local(10), vec![Warning::EvenMembers(10), Warning::ManyMembers(10)]),
        (local(11), vec![Warning::ManyMembers(11)]),
        (witnesses(5, &[D, E]), vec![]),
        (witnesses(3, &[C]), vec![Warning::TwoDataNodes]),
        (witnesses(3, &[B, C]), vec![Warning::OneDataNode]),
        (defaults(1, A), vec![Warning::Alone]),
        (defaults(2, A), vec![Warning::TwoMembers, Warning::NoKey]),
        (defaults(3, A), vec![Warning::NoKey]),
        (defaults(3, A).authenticated(true), vec![]),
        (local(3).down_after(ms(2_000)).hb_interval(ms(200)), vec![]),
        (local(3).down_after(ms(1_999)).hb_interval(ms(200)), vec![few]),
        (local(3).down_after(ms(1_000)), vec![]),
        (local(3).down_after(ms(900)), vec![Warning::ShortDownAfter(ms(900))]),
        (local(3).down_after(ms(60_000)), vec![]),
        (local(3).down_after(ms(60_001)), vec![Warning::LongDownAfter(ms(60_001))]),
        (local(3).grace(ms(0)), vec![Warning::NoGrace]),
        (local(3).drift(drift(83_333)), vec![Warning::SmallDrift(drift(83_333))]),
        (local(3).drift(drift(83_334)), vec![]), // as fast as chrony slews unless told otherwise
        (local(3).stagger(ms(0)), vec![Warning::NoStagger]),
        (local(3).election_backoff(ms(1_000), ms(1_000)), vec![Warning::FixedBackoff]),
        (local(3).new_peers(true), vec![Warning::NewPeers]),
        (local(3).accept_loss(true), vec![Warning::AcceptsLoss]),
    ];
    for (builder, expected) in table {
        let warnings: Vec<_> = builder.build().unwrap().warnings().collect();
        assert_eq!(warnings, expected);
    }
    assert_eq!(
        Warning::TwoMembers.to_string(),
        "N=2: no fault tolerance, since both members are needed to elect; use three"
    );
}
