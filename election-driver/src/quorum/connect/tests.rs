use super::*;
#[cfg(feature = "tls")]
use crate::quorum::fake::Secured;
use crate::quorum::{
    fake::{DOWN_AFTER, FakeNetwork, at, id},
    lookup::tests::at_9,
};
use futures_lite::future::{block_on, pending, poll_once};
use std::{future::Future, pin::pin};

fn connect(network: &FakeNetwork) -> Connect<FakeNetwork> {
    Connect {
        runtime: network.clone(),
        security: Security::Plain,
        id: id("b"),
        begin: Begin::First,
        down_after: DOWN_AFTER,
    }
}

/// When somebody woke up, until the attempt was over, and how that ended.
fn ends<T>(network: &FakeNetwork, attempt: impl Future<Output = T>) -> (Vec<u64>, T) {
    let mut attempt = pin!(attempt);
    let mut instants = Vec::new();
    loop {
        if let Some(outcome) = block_on(poll_once(attempt.as_mut())) {
            return (instants, outcome);
        }
        instants.push(network.pass().since(at(0)).as_millis().try_into().expect("soon"));
    }
}

/// The others wait while one is dialed in vain, and an election may wait for any of them.
#[test]
fn a_connection_attempt_ends_within_half_of_down_after() {
    for (count, expected) in
        [(1, &[2_500][..]), (2, &[1_250, 2_500]), (4, &[625, 1_250, 1_875, 2_500])]
    {
        let network = FakeNetwork::new();
        (0..count).for_each(|_| network.hangs());
        let addresses = (0..count).map(at_9).collect();
        let connect = connect(&network);
        let tried = connect.tried(Found { addresses, stale: None }, DOWN_AFTER / 2);
        let (instants, outcome) = ends(&network, tried);
        assert_eq!(instants, expected);
        let error = outcome.map(drop).expect_err("nobody answers");
        assert!(error.to_string().contains("does not answer"), "{error}");
    }
}

#[test]
fn a_hanging_name_service_costs_a_share_and_is_reported() {
    let network = FakeNetwork::new();
    network.hangs();
    let lookup = Lookup::that_knows("member.test:9", &[at_9(1)], pending());
    let (instants, (lookup, outcome)) = ends(&network, connect(&network).attempt(lookup));
    assert_eq!(instants, [625, 3_125]);
    assert_eq!(lookup.known(), [at_9(1)]);
    let error = outcome.map(drop).expect_err("nobody answers");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("the name server does not answer"), "{error}");
}

#[test]
fn a_name_that_means_nothing_leads_nowhere() {
    let network = FakeNetwork::new();
    let connect = connect(&network);
    let tried = connect.tried(Found { addresses: Vec::new(), stale: None }, DOWN_AFTER);
    let (_, outcome) = ends(&network, tried);
    assert_eq!(outcome.map(drop).expect_err("nothing to try").kind(), io::ErrorKind::NotFound);
    let failed = async { Err(io::Error::other("no such name")) };
    let lookup = Lookup::that_knows("member.test:9", &[], failed);
    let (_, (_, outcome)) = ends(&network, self::connect(&network).attempt(lookup));
    assert_eq!(outcome.map(drop).expect_err("nothing to try").to_string(), "no such name");
    assert!(network.dialed().is_empty());
}

/// Whoever is found at an address that may be stale is refused for as long as anybody.
#[cfg(feature = "tls")]
#[test]
fn a_refusal_is_one_while_the_name_service_is_down() {
    let (network, secured) = (FakeNetwork::new(), Secured::new());
    let remote = network.accepts();
    remote.says(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let security = secured.security();
    let connect = Connect { security: security.clone(), id: id("a"), ..connect(&network) };
    let failed = async { Err(io::Error::other("it is down")) };
    let lookup = Lookup::that_knows("member.test:9", &[at_9(1)], failed);
    let (_, (_, outcome)) = ends(&network, connect.attempt(lookup));
    let error = security.explained(outcome.map(drop).expect_err("it is no member"));
    for words in ["it does not speak TLS", "cannot be resolved now: it is down"] {
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(security.is_refusal(&error), "{error:?}");
}
