//! Who only greets in a member's name, on one connection or on several, and who is at a member's place.

use super::*;

const ONE: &str = "10.0.0.1";
const OTHER: &str = "10.0.0.2";

/// What is said of greetings at these times, each on a connection of its own and from this address,
/// while another connection in the same name speaks.
fn greetings(greetings: &[(u64, &str)]) -> Vec<bool> {
    let mut desk = Desk::new();
    let speaks = desk.calls_from("10.0.0.9", &frame("b"), 0);
    let mut greet = |(millis, from): &(u64, &str)| {
        speaks.says(&frame("b"));
        desk.poll(*millis);
        let _greets = desk.calls_from(from, &greeting("b"), *millis);
        desk.poll(*millis).contains(&"duplicate_id".to_owned())
    };
    greetings.iter().map(&mut greet).collect()
}

#[test]
fn a_twin_that_makes_new_connections_again_and_again_is_told_of() {
    let told = greetings(&[(0, ONE), (2_500, ONE), (4_999, ONE), (5_000, ONE)]);
    assert_eq!(told, [false, false, false, true]);
}

#[test]
fn somebody_elsewhere_begins_anew() {
    let told = greetings(&[(0, ONE), (2_500, ONE), (4_000, OTHER), (5_000, OTHER), (9_000, OTHER)]);
    assert_eq!(told, [false, false, false, false, true]);
}

#[test]
fn whoever_was_away_for_long_begins_anew() {
    assert_eq!(greetings(&[(0, ONE), (4_999, ONE), (5_000, ONE)]), [false, false, true]);
    assert_eq!(greetings(&[(0, ONE), (5_000, ONE), (9_999, ONE)]), [false; 3]);
}

/// The one that the members dial has greeted first, as everybody does.
#[test]
fn one_that_greeted_and_speaks_now_has_a_twin() {
    let mut desk = Desk::new();
    let speaks = desk.calls(&greeting("b"));
    assert_eq!(desk.poll(0), ["1 greets"]);
    speaks.says(&frame("b"));
    assert_eq!(desk.poll(1), ["1 speaks"]);
    let greets = desk.calls(&greeting("b"));
    assert_eq!(desk.poll(2), ["2 greets"]);
    for (millis, told) in [(2_500, "2 greets"), (5_002, "duplicate_id")] {
        speaks.says(&frame("b"));
        desk.poll(millis);
        greets.says(&greeting("b"));
        assert_eq!(desk.poll(millis), [told], "{millis} ms");
    }
}

/// Too many strangers take each other's places, and not that of whoever may be a member.
#[test]
fn who_comes_from_a_members_address_keeps_its_place() {
    for expected in [false, true] {
        let mut desk = Desk::new();
        if expected {
            desk.inbound.expects(Peer::new(1), ONE.parse().expect("an address"));
        }
        let first = desk.calls_from(ONE, b"", 0);
        let others: Vec<_> = (1..=UNKNOWN)
            .map(|nth| desk.calls_from(&format!("10.1.{}.{}", nth / 256, nth % 256), b"", 0))
            .collect();
        assert_eq!(first.is_open(), expected);
        assert_eq!(
            others.iter().filter(|other| other.is_open()).count(),
            UNKNOWN - usize::from(expected)
        );
    }
}
