use super::*;
use crate::quorum::fake::FakeNetwork;
use futures_lite::future::{block_on, poll_once, ready};

const PATIENCE: Duration = Duration::from_secs(1);

pub(in crate::quorum) fn at_9(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 9))
}

impl Lookup {
    /// A name that meant something, and what the name service answers next.
    pub(in crate::quorum) fn that_knows(
        name: &str,
        known: &[SocketAddr],
        answer: impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static,
    ) -> Self {
        let address = Address::parse(name).expect("an address");
        Self { address, known: known.to_vec(), asked: Some(Box::pin(answer)) }
    }

    pub(in crate::quorum) fn known(&self) -> &[SocketAddr] {
        &self.known
    }

    fn now(&mut self, network: &FakeNetwork) -> Option<io::Result<Found>> {
        block_on(poll_once(self.look_up(network, PATIENCE)))
    }
}

/// What was found, and why it is only what was known.
fn told(found: Option<io::Result<Found>>) -> (Vec<SocketAddr>, Option<String>) {
    let found = found.expect("an outcome").expect("addresses");
    (found.addresses, found.stale.map(|error| error.to_string()))
}

#[test]
fn a_number_is_looked_up_by_nobody() {
    let mut lookup = Lookup::that_knows("10.0.0.7:9", &[], pending());
    assert_eq!(told(lookup.now(&FakeNetwork::new())), (vec![at_9(7)], None));
}

#[test]
fn a_name_is_asked_for_anew_each_time() {
    let mut lookup = Lookup::new(Address::parse("localhost:9").expect("an address"));
    for _ in 0..2 {
        let found = block_on(lookup.look_up(&FakeNetwork::new(), PATIENCE)).expect("it is known");
        assert!(found.stale.is_none());
        assert!(found.addresses.iter().all(|it| it.ip().is_loopback() && it.port() == 9));
        assert!(lookup.asked.is_none() && *lookup.known() == *found.addresses);
    }
}

#[test]
fn what_a_name_meant_last_counts_while_the_name_service_is_down() {
    let failed = || ready(Err(io::Error::other("it is down")));
    let mut lookup = Lookup::that_knows("member.test:9", &[at_9(1)], failed());
    let network = FakeNetwork::new();
    assert_eq!(told(lookup.now(&network)), (vec![at_9(1)], Some("it is down".into())));
    assert!(lookup.asked.is_none(), "the next call asks again");
    let mut lookup = Lookup::that_knows("member.test:9", &[], failed());
    assert!(lookup.now(&network).is_some_and(|found| found.is_err()));
}

#[test]
fn a_hanging_name_service_is_asked_once_beside_other_work() {
    let network = FakeNetwork::new();
    let (answers, answer) = async_channel::bounded(1);
    let answer = async move { answer.recv().await.expect("an answer") };
    let mut lookup = Lookup::that_knows("member.test:9", &[at_9(1)], answer);
    {
        let mut found = Box::pin(lookup.look_up(&network, PATIENCE));
        assert!(block_on(poll_once(&mut found)).is_none());
        assert_eq!(network.pass().as_nanos(), 1_000_000_000);
        let (addresses, stale) = told(block_on(poll_once(found)));
        assert_eq!(addresses, [at_9(1)]);
        assert!(stale.is_some_and(|why| why.contains("does not answer")));
    }
    // What comes later serves the next call.
    answers.try_send(Ok(vec![at_9(2)])).expect("the question is still there");
    assert_eq!(told(lookup.now(&network)), (vec![at_9(2)], None));
    assert_eq!(lookup.known(), [at_9(2)]);
}

#[test]
fn a_name_that_meant_nothing_yet_is_waited_for() {
    let network = FakeNetwork::new();
    let mut lookup = Lookup::that_knows("member.test:9", &[], pending());
    assert!(lookup.now(&network).is_none());
    assert!(network.nobody_sleeps());
}
