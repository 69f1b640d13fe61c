//! A register that says anything: no text panics the reader, what it accepts is written the same again, and
//! a client replaces only the version that it was told last, by a value that reads well and never has an
//! older epoch.
#![no_main]

use arbitrary::Arbitrary;
use election_core::{
    Candidate, Drift, Epoch, Incarnation, Namespace, NodeId, Timestamp,
    lease::{Answer, Holder, Query, Registration},
    register::{Candidates, Client, Key, Leader, Next, Reply, Request},
};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;
use uuid::Uuid;

#[derive(Arbitrary, Debug)]
enum Ask {
    Observe,
    Attempt(u64),
    Renew(u64, u64),
    Resign(u64),
    Register,
    Unregister,
    Others,
}

#[derive(Arbitrary, Debug)]
enum Say<'a> {
    Text(&'a str),
    Nothing,
    Held { life: bool, epoch: u64, renewals: u64, ttl: u32, asked: bool },
    Written,
    Changed,
}

#[derive(Arbitrary, Debug)]
struct Play<'a> {
    text: &'a str,
    turns: Vec<(Ask, u32, i64, Vec<Say<'a>>)>,
}

fn candidate(life: bool) -> Candidate {
    let incarnation = Incarnation::new(Uuid::from_u128(u128::from(life)));
    Candidate { id: NodeId::new("n").unwrap(), incarnation }
}

/// But for lines of later releases, which are skipped.
fn rewritten(text: &str) {
    if let Ok(leader) = text.parse::<Leader>() {
        let written = leader.to_string();
        assert!(written.len() <= text.len() && written.parse() == Ok(leader));
    }
    if let Ok(listed) = text.parse::<Candidates>() {
        let written = listed.to_string();
        assert!(written.len() <= text.len() && written.parse() == Ok(listed));
    }
}

fn epoch(text: Option<&str>) -> Epoch {
    text.and_then(|text| text.parse::<Leader>().ok()).map_or(Epoch::NONE, |leader| leader.epoch)
}

fuzz_target!(|play: Play<'_>| {
    rewritten(play.text);
    let namespace = Namespace::default();
    let who = Registration { namespace, candidate: candidate(true), label: None };
    let mut client = Client::new(who, Drift::MAX);
    let ttl = Duration::from_secs(10);
    let (mut now, mut versions) = (Timestamp::from_nanos(1 << 40), 0_u64);
    // What the client was told last of each value.
    let mut told: [Option<(String, u64)>; 2] = [None, None];
    for (ask, passes, wall_ms, says) in play.turns {
        let clock_step = Duration::ZERO;
        client.ask(
            match ask {
                Ask::Observe => Query::Observe,
                Ask::Attempt(seen) => Query::Attempt { seen: Epoch::new(seen), ttl, clock_step },
                Ask::Renew(epoch, ordinal) => {
                    let epoch = Epoch::new(epoch);
                    Query::Renew { epoch, ordinal, ttl, clock_step, leads: true }
                }
                Ask::Resign(epoch) => Query::Resign { epoch: Epoch::new(epoch) },
                Ask::Register => Query::Register { ttl, sweep: true },
                Ask::Unregister => Query::Unregister,
                Ask::Others => Query::Others,
            },
            now,
            wall_ms,
        );
        for say in says {
            now = now + Duration::from_millis(passes.into());
            let Some(request) = client.request() else { break };
            let (key, write) = match request {
                Request::Read(key) => (key, None),
                Request::Write { key, value, expected } => {
                    let place = &told[usize::from(key == Key::Candidates)];
                    assert_eq!(place.as_ref().map(|(_, version)| version), expected);
                    rewritten(value);
                    if key == Key::Leader {
                        let before = place.as_ref().map(|(text, _)| &**text);
                        assert!(epoch(before) <= epoch(Some(value)));
                    }
                    (key, Some(value.to_owned()))
                }
            };
            versions += 1;
            let found = |text: String| Reply::Found(Some((text, versions)));
            let reply = match (say, &write) {
                (Say::Written, Some(_)) => Reply::Written(versions),
                (_, Some(_)) | (Say::Changed | Say::Written, None) => Reply::Changed,
                (Say::Nothing, None) => Reply::Found(None),
                (Say::Text(text), None) => found(text.to_owned()),
                (Say::Held { life, epoch, renewals, ttl, asked }, None) => {
                    let holder = Some(Holder { candidate: candidate(life), label: None });
                    let (epoch, ttl) = (Epoch::new(epoch), Duration::from_millis(ttl.into()));
                    let mut leader = Leader::default();
                    (leader.epoch, leader.holder, leader.ttl) = (epoch, holder, ttl);
                    (leader.renewals, leader.resign_requested) = (renewals, asked);
                    found(leader.to_string())
                }
            };
            match (&reply, &write) {
                (Reply::Found(value), _) => {
                    told[usize::from(key == Key::Candidates)] = value.clone()
                }
                (Reply::Written(version), Some(value)) => {
                    told[usize::from(key == Key::Candidates)] = Some((value.clone(), *version));
                }
                _ => {}
            }
            let written = matches!(reply, Reply::Written(_));
            match client.advance(reply, now) {
                Ok(Next::Ask) => {}
                Ok(Next::Answer(Answer::Won { .. })) => {
                    assert!(written);
                    break;
                }
                _ => break,
            }
        }
    }
});
