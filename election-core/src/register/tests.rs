use super::*;
use crate::{
    Candidate, Drift, Epoch, Incarnation, Label, Namespace, NodeId, Timestamp,
    lease::{Answer, Holder, Query, Registration, Row},
    sql::CandidateRow,
};
use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;
use uuid::Uuid;

const TTL: Duration = Duration::from_secs(10);
/// A ttl, its nine per cent, and a millisecond.
const SILENCE: Duration = Duration::from_millis(10_901);
const WALL: i64 = 1_764_450_000_000;

fn candidate(id: &str, life: u128) -> Candidate {
    let incarnation = Incarnation::new(Uuid::from_u128(life));
    Candidate { id: NodeId::new(id).unwrap(), incarnation }
}

/// One value of each kind, with versions that count.
#[derive(Default)]
struct Memory {
    values: [Option<(String, u64)>; 2],
    writes: u64,
    reads: u64,
}

impl Memory {
    fn at(&mut self, key: Key) -> &mut Option<(String, u64)> {
        &mut self.values[usize::from(key == Key::Candidates)]
    }

    fn serve(&mut self, request: &Request<'_, u64>) -> Reply<u64> {
        match *request {
            Request::Read(key) => {
                self.reads += 1;
                Reply::Found(self.at(key).clone())
            }
            Request::Write { key, value, expected } => {
                if self.at(key).as_ref().map(|(_, version)| version) != expected {
                    return Reply::Changed;
                }
                self.writes += 1;
                let version = self.writes;
                *self.at(key) = Some((value.into(), version));
                Reply::Written(version)
            }
        }
    }

    fn leader(&mut self) -> Leader {
        self.at(Key::Leader).as_ref().map_or(Leader::default(), |(value, _)| value.parse().unwrap())
    }
}

fn client(id: &str) -> Client<u64> {
    let (namespace, label) = (Namespace::default(), None);
    let who = Registration { namespace, candidate: candidate(id, 1), label };
    Client::new(who, Drift::NINE_PERCENT)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000_000) + Duration::from_millis(millis)
}

fn ask(register: &mut Memory, who: &mut Client<u64>, query: Query, now: Timestamp) -> Answer {
    who.ask(query, now, WALL);
    loop {
        let reply = register.serve(&who.request().unwrap());
        match who.advance(reply, now).unwrap() {
            Next::Ask => {}
            Next::Answer(answer) => return answer,
            Next::Conflict => panic!("nobody else writes"),
        }
    }
}

fn attempt() -> Query {
    Query::Attempt { seen: Epoch::NONE, ttl: TTL, clock_step: Duration::ZERO }
}

fn renew(epoch: Epoch, ordinal: u64) -> Query {
    Query::Renew { epoch, ordinal, ttl: TTL, clock_step: Duration::ZERO, leads: true }
}

fn won(answer: &Answer) -> Epoch {
    let Answer::Won { epoch, remaining: TTL } = answer else { panic!("{answer:?}") };
    *epoch
}

fn seen(answer: Answer) -> Row {
    let Answer::Seen(row) = answer else { panic!("{answer:?}") };
    row
}

#[test]
fn a_value_is_read_as_it_was_written() {
    let holder = Holder { candidate: candidate(" o'brien ", 7), label: None };
    let labelled = Holder { label: Some(Label::new("label 1").unwrap()), ..holder.clone() };
    let held = Leader {
        epoch: Epoch::new(9),
        elected_ms: -1,
        holder: Some(holder),
        ttl: TTL,
        renewals: 4,
        resign_requested: false,
    };
    let asked = Leader { holder: Some(labelled), resign_requested: true, ..held.clone() };
    for leader in [Leader::default(), held.vacated(), held, asked] {
        assert_eq!(leader.to_string().parse(), Ok(leader));
    }
}

/// Processes of different releases read each other's values.
#[test]
fn the_text_of_a_held_value_is_what_it_was() {
    let label = Some(Label::new("10.0.0.1:80").unwrap());
    let leader = Leader {
        epoch: Epoch::new(9),
        elected_ms: 8,
        holder: Some(Holder { candidate: candidate("a", 7), label }),
        ttl: TTL,
        renewals: 4,
        resign_requested: true,
    };
    let text = "election-leader 1\nepoch 9\nholder a\n\
                incarnation 00000000-0000-0000-0000-000000000007\nelected_ms 8\nlabel 10.0.0.1:80\n\
                ttl_ms 10000\nrenewals 4\nresign_requested yes\n";
    assert_eq!(leader.to_string(), text);
}

#[test]
fn a_value_begins_alike_for_as_long_as_a_term_is_held() {
    let (mut register, mut a, mut b) = (Memory::default(), client("a"), client("b"));
    let begins = |register: &Memory, epoch, client: &Client<u64>| {
        let (value, _) = register.values[0].as_ref().unwrap();
        value.starts_with(&Leader::beginning(epoch, &client.who.candidate))
    };
    let first = won(&ask(&mut register, &mut a, attempt(), at(0)));
    assert!(begins(&register, first, &a) && !begins(&register, first, &b));
    ask(&mut register, &mut a, renew(first, 1), at(1));
    let mut leader = register.leader();
    leader.ask_to_resign(None);
    register.values[0].as_mut().unwrap().0 = leader.to_string();
    assert!(begins(&register, first, &a), "renewed, and asked to resign");
    let mut a = client("a");
    ask(&mut register, &mut a, Query::Resign { epoch: first }, at(2));
    assert!(!begins(&register, first, &a), "resigned");
    let second = won(&ask(&mut register, &mut b, attempt(), at(3)));
    assert!(begins(&register, second, &b) && !begins(&register, first, &a));
}

#[test]
fn the_list_names_who_stands_and_with_which_label() {
    let (mut register, mut a) = (Memory::default(), client("a"));
    let query = || Query::Register { ttl: TTL, sweep: false };
    ask(&mut register, &mut a, query(), at(0));
    assert_eq!(ask(&mut register, &mut a, Query::Others, at(0)), Answer::Others(false));
    for (id, label) in [("label x", None), ("c", Some("label 1"))] {
        let label = label.map(|label| Label::new(label).unwrap());
        let who = Registration { label, ..client(id).who };
        ask(&mut register, &mut Client::new(who, Drift::NINE_PERCENT), query(), at(0));
    }
    assert_eq!(ask(&mut register, &mut a, Query::Others, at(0)), Answer::Others(true));
    let (text, _) = register.at(Key::Candidates).clone().unwrap();
    let listed: Candidates = text.parse().unwrap();
    let live = |wall_ms| {
        let named = |row: CandidateRow| {
            (row.candidate.id.to_string(), row.label.map(|label| label.to_string()))
        };
        listed.live(wall_ms).map(named).collect::<Vec<_>>()
    };
    let label = Some("label 1".to_string());
    let all = [("a", None), ("c", label), ("label x", None)].map(|(id, label)| (id.into(), label));
    assert_eq!(live(WALL + 9_999), all);
    assert_eq!(live(WALL + 10_000), []);
    assert_eq!(live(WALL + 10_001), []);
    assert_eq!((text.clone() + "zone 7\n").parse::<Candidates>().unwrap(), listed);
    for edited in [text.replace("10000", "010000"), text.clone() + "label x y"] {
        assert_eq!(edited.parse::<Candidates>(), Err(ValueError::Malformed), "{edited}");
    }
}

#[test]
fn a_foreign_or_edited_value_is_refused() {
    let good = Leader { epoch: Epoch::new(9), ..Leader::default() }.to_string();
    assert_eq!(good, "election-leader 1\nepoch 9\nelected_ms 0\n");
    let cases = [
        ("", ValueError::Foreign("election-leader")),
        ("election-leader", ValueError::Foreign("election-leader")),
        ("election-candidates 1\n", ValueError::Foreign("election-leader")),
        ("election-leader 2\nwhatever\n", ValueError::UnknownVersion { found: "2".into() }),
        ("election-leader 1\nepoch 9\n", ValueError::Malformed),
        ("election-leader 1\nepoch 09\nelected_ms 0\n", ValueError::Malformed),
        ("election-leader 1\nepoch 9\nelected_ms 0\nttl_ms 5\n", ValueError::Malformed),
        ("election-leader 1\nepoch 9\nepoch 9\nelected_ms 0\n", ValueError::Malformed),
        ("election-leader 1\nelected_ms 0\nepoch 9\n", ValueError::Malformed),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<Leader>(), Err(error), "{text:?}");
    }
    let later = good.clone() + "since_version 2\n";
    assert_eq!(later.parse::<Leader>().unwrap().to_string(), good, "lines of later releases");
}

#[test]
fn a_value_is_taken_over_after_its_silence_only() {
    let (mut register, mut a, mut b) = (Memory::default(), client("a"), client("b"));
    let first = won(&ask(&mut register, &mut a, attempt(), at(0)));
    assert_eq!(first.get(), WALL.unsigned_abs());
    // The silence counts from b's own reading, however long ago the win was.
    let row = seen(ask(&mut register, &mut b, Query::Observe, at(7_000)));
    assert_eq!((row.remaining, row.elected_ms), (TTL, Some(WALL)));
    let last = at(7_000) + SILENCE - Duration::from_nanos(1);
    assert_eq!(seen(ask(&mut register, &mut b, attempt(), last)).epoch, first);
    let second = won(&ask(&mut register, &mut b, attempt(), at(7_000) + SILENCE));
    assert!(second > first);
    assert_eq!(ask(&mut register, &mut a, renew(first, 1), at(0)), Answer::Gone);
}

#[test]
fn only_a_renewal_begins_the_silence_again() {
    let (mut register, mut a, mut b) = (Memory::default(), client("a"), client("b"));
    let epoch = won(&ask(&mut register, &mut a, attempt(), at(0)));
    ask(&mut register, &mut b, Query::Observe, at(0));
    ask(&mut register, &mut a, renew(epoch, 1), at(3_000));
    let row = seen(ask(&mut register, &mut b, Query::Observe, at(5_000)));
    assert_eq!((row.renewals, row.remaining), (1, TTL));
    let mut value = register.leader();
    assert_eq!(value.ask_to_resign(Some(Epoch::new(1))), None);
    assert_eq!(value.vacated().ask_to_resign(None), None);
    assert_eq!(value.clone().ask_to_resign(Some(epoch)), Some(epoch));
    assert_eq!(value.ask_to_resign(None), Some(epoch));
    *register.at(Key::Leader) = Some((value.to_string(), 99));
    let row = seen(ask(&mut register, &mut b, Query::Observe, at(8_000)));
    assert_eq!((row.resign_requested, row.remaining), (true, SILENCE - Duration::from_secs(3)));
    let answer = ask(&mut register, &mut a, renew(epoch, 2), at(6_000));
    assert_eq!(answer, Answer::Renewed { remaining: TTL, resign_requested: true });
}

#[test]
fn an_own_value_that_nobody_acknowledged_is_taken_anew() {
    let (mut register, mut a, mut b) = (Memory::default(), client("a"), client("b"));
    assert_eq!(seen(ask(&mut register, &mut a, Query::Observe, at(0))).elected_ms, None);
    let epoch = won(&ask(&mut register, &mut a, attempt(), at(0)));
    ask(&mut register, &mut a, Query::Resign { epoch }, at(0));
    a.ask(attempt(), at(0), WALL);
    register.serve(&a.request().unwrap()); // it takes effect, and its reply is lost
    let row = seen(ask(&mut register, &mut a, Query::Observe, at(5_000)));
    assert_eq!(row.live_holder(), None);
    let second = won(&ask(&mut register, &mut a, attempt(), at(5_000)));
    assert!(second > row.epoch);
    // What was acknowledged is its own, and nobody's to take.
    let row = seen(ask(&mut register, &mut a, attempt(), at(7_000)));
    assert_eq!((row.epoch, row.remaining), (second, SILENCE - Duration::from_secs(2)));
    assert_eq!(seen(ask(&mut register, &mut b, attempt(), at(6_000))).epoch, second);
    assert_eq!(a.holds_until(), Some(at(5_000 + 9_099)));
}

#[test]
fn a_late_write_never_meets_the_version_that_it_replaces() {
    let (mut register, mut a, mut b) = (Memory::default(), client("a"), client("b"));
    a.ask(attempt(), at(0), WALL);
    a.advance(Reply::Found(None), at(0)).unwrap();
    let epoch = won(&ask(&mut register, &mut b, attempt(), at(0)));
    assert_eq!(register.serve(&a.request().unwrap()), Reply::Changed);
    assert_eq!(a.advance(Reply::Changed, at(0)), Ok(Next::Ask));
    let found = register.serve(&a.request().unwrap());
    let Ok(Next::Answer(answer)) = a.advance(found, at(0)) else { panic!() };
    assert_eq!(seen(answer).epoch, epoch);
}

/// Of a write that is found already made, nobody knows when it was asked for.
#[test]
fn a_renewal_that_was_made_before_is_made_again() {
    let (mut register, mut a) = (Memory::default(), client("a"));
    let epoch = won(&ask(&mut register, &mut a, attempt(), at(0)));
    a.ask(renew(epoch, 1), at(1), WALL);
    register.serve(&a.request().unwrap());
    let writes = register.writes;
    let renewed = Answer::Renewed { remaining: TTL, resign_requested: false };
    assert_eq!(ask(&mut register, &mut a, renew(epoch, 1), at(5_000)), renewed);
    assert_eq!((register.writes, register.leader().renewals), (writes + 1, 2));
}

#[test]
fn a_leader_renews_and_resigns_without_reading() {
    let (mut register, mut a, mut b) = (Memory::default(), client("a"), client("b"));
    let epoch = won(&ask(&mut register, &mut a, attempt(), at(0)));
    let reads = register.reads;
    ask(&mut register, &mut a, renew(epoch, 1), at(1));
    ask(&mut register, &mut a, renew(epoch, 2), at(2));
    let other = Query::Resign { epoch: Epoch::new(1) };
    assert_eq!(ask(&mut register, &mut b, Query::Resign { epoch }, at(2)), Answer::Released);
    assert_eq!(ask(&mut register, &mut b, renew(epoch, 3), at(2)), Answer::Gone);
    assert_eq!(register.reads, reads + 2, "only b had to read");
    assert_eq!(ask(&mut register, &mut a, other, at(2)), Answer::Released);
    assert_eq!(ask(&mut register, &mut a, renew(Epoch::new(1), 3), at(2)), Answer::Gone);
    assert_eq!(register.leader().epoch, epoch, "neither another's nor another epoch");
    assert!(register.leader().holder.is_some());
    assert_eq!(ask(&mut register, &mut a, Query::Resign { epoch }, at(3)), Answer::Released);
    assert_eq!(register.leader(), Leader { epoch, elected_ms: WALL, ..Leader::default() });
    assert!(won(&ask(&mut register, &mut b, attempt(), at(3))) > epoch);
}

#[test]
fn an_epoch_is_above_all_before_whatever_the_clock_says() {
    let (mut register, mut a) = (Memory::default(), client("a"));
    let seen = Epoch::new(5_000_000_000_000);
    let query = Query::Attempt { seen, ttl: TTL, clock_step: Duration::ZERO };
    let epoch = won(&ask(&mut register, &mut a, query, at(0)));
    assert_eq!(epoch.get(), seen.get() + 1);
    ask(&mut register, &mut a, Query::Resign { epoch }, at(0));
    for (wall_ms, next) in [(-5, epoch.get() + 1), (i64::MAX, 1 << 52)] {
        a.ask(attempt(), at(0), wall_ms);
        let reply = register.serve(&a.request().unwrap());
        let Ok(Next::Answer(answer)) = a.advance(reply, at(0)) else { panic!() };
        assert_eq!(won(&answer).get(), next);
        let epoch = won(&answer);
        ask(&mut register, &mut a, Query::Resign { epoch }, at(0));
    }
}

#[test]
fn a_value_that_others_write_again_and_again_is_a_conflict() {
    let mut a = client("a");
    a.ask(attempt(), at(0), WALL);
    for _ in 0..4 {
        assert_eq!(a.advance(Reply::Found(None), at(0)), Ok(Next::Ask));
        assert_eq!(a.advance(Reply::Changed, at(0)), Ok(Next::Ask));
    }
    assert_eq!(a.advance(Reply::Found(None), at(0)), Ok(Next::Ask));
    assert_eq!(a.advance(Reply::Changed, at(0)), Ok(Next::Conflict));
    assert_eq!(a.request(), None);
}

#[test]
fn a_candidate_that_is_long_gone_leaves_the_list() {
    let (mut register, mut a, mut b) = (Memory::default(), client("a"), client("b"));
    let query = || Query::Register { ttl: TTL, sweep: true };
    ask(&mut register, &mut a, query(), at(0));
    for (wall_ms, entries) in [(WALL + 20_000, 2), (WALL + 20_001, 1)] {
        b.ask(query(), at(0), wall_ms);
        loop {
            let reply = register.serve(&b.request().unwrap());
            if b.advance(reply, at(0)).unwrap() == Next::Answer(Answer::Listed) {
                break;
            }
        }
        let (list, _) = register.at(Key::Candidates).clone().unwrap();
        assert_eq!(list.lines().count(), 1 + entries, "{list}");
    }
    assert_eq!(ask(&mut register, &mut b, Query::Unregister, at(0)), Answer::Listed);
    assert_eq!(ask(&mut register, &mut b, Query::Others, at(0)), Answer::Others(false));
}
