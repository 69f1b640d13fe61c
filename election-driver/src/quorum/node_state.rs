//! What a running node shares with the [`Member`](super::Member) that an application holds.

use super::{
    cluster::{AddressList, ClusterError},
    observer::MemberObserver,
};
use async_channel::{Receiver, Sender};
use election_core::{
    Change, Input, NodeId, Protocol, Step, Tenure, Timestamp,
    quorum::{Action, Event, Position, Quorum},
};
use event_listener::Event as Signal;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The protocol and what surrounds it.
pub(super) struct NodeState {
    quorum: Mutex<Quorum>,
    orders: Sender<Order>,
    /// The position to report: the last one said counts.
    position: Mutex<Option<Position>>,
    addresses: Mutex<AddressList>,
    /// Why the list of members in the cluster's file is not the one in force.
    odd_file: Mutex<Option<String>>,
    /// The connection to each member.
    links: Mutex<BTreeMap<NodeId, LinkState>>,
    /// Notified whenever a step may have changed the record of maintenance or the lists of members, once
    /// that is published.
    pub(super) recorded: Signal,
}

/// What an application asks for.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// Look at the position.
    Moved,
    /// Look at the addresses of the members.
    Addresses,
    /// Anything else.
    Event(Event),
}

/// The connection to a member.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkState {
    pub(super) connected: bool,
    /// Where it was reached, or looked for last.
    pub(super) address: String,
    /// Why there was none the last time.
    pub(super) error: Option<String>,
}

impl NodeState {
    pub(super) fn new(quorum: Quorum, addresses: AddressList) -> (Arc<Self>, Receiver<Order>) {
        let (orders, receiver) = async_channel::unbounded();
        let state = Self {
            quorum: Mutex::new(quorum),
            orders,
            position: Mutex::new(None),
            addresses: Mutex::new(addresses),
            odd_file: Mutex::default(),
            links: Mutex::default(),
            recorded: Signal::new(),
        };
        (Arc::new(state), receiver)
    }

    pub(super) fn quorum(&self) -> MutexGuard<'_, Quorum> {
        lock(&self.quorum)
    }

    pub(super) fn links(&self) -> MutexGuard<'_, BTreeMap<NodeId, LinkState>> {
        lock(&self.links)
    }

    pub(super) fn odd_file(&self) -> MutexGuard<'_, Option<String>> {
        lock(&self.odd_file)
    }

    pub(super) fn addresses(&self) -> MutexGuard<'_, AddressList> {
        lock(&self.addresses)
    }

    /// Takes up other addresses of these members, or future members.
    ///
    /// # Errors
    /// If one cannot be used. Nothing has changed then.
    pub(super) fn relocate(&self, named: &[(String, String)]) -> Result<(), ClusterError> {
        self.addresses().change(named, |_| true)?;
        let _ = self.orders.try_send(Order::Addresses);
        Ok(())
    }

    /// The same, as all that is known of who is no member, nor is to be one.
    ///
    /// # Errors
    /// As [`relocate`](Self::relocate).
    #[cfg(feature = "cluster-file")]
    pub(super) fn relocate_all(&self, named: &[(String, String)]) -> Result<(), ClusterError> {
        let (members, lists) = {
            let quorum = self.quorum();
            (quorum.config().members().clone(), quorum.lists().clone())
        };
        self.addresses().change(named, |id| members.find(id).is_some_and(|it| lists.wants(it)))?;
        let _ = self.orders.try_send(Order::Addresses);
        Ok(())
    }

    /// Hands an order to the node. Does nothing once the node has ended.
    pub(super) fn order(&self, event: Event) {
        let _ = self.orders.try_send(Order::Event(event));
    }

    pub(super) fn moved(&self, position: Position) {
        // One waiting report is enough, however often an application says where it is.
        if lock(&self.position).replace(position).is_none() {
            let _ = self.orders.try_send(Order::Moved);
        }
    }

    pub(super) fn take_position(&self) -> Option<Position> {
        lock(&self.position).take()
    }

    pub(super) fn close(&self) {
        self.orders.close();
        self.recorded.notify(usize::MAX);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.orders.is_closed()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves nothing half-written here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The protocol as the loop drives it, while others read it between two steps.
pub(super) struct Locked {
    pub(super) state: Arc<NodeState>,
    /// Inputs that a position has overtaken.
    overtaken: VecDeque<Input<Event>>,
    /// Whether the last step may have changed the record of maintenance or the lists of members.
    pub(super) records: bool,
    observer: Option<Arc<dyn MemberObserver>>,
}

impl Locked {
    pub(super) fn new(state: Arc<NodeState>, observer: Option<Arc<dyn MemberObserver>>) -> Self {
        Self { state, overtaken: VecDeque::new(), records: false, observer }
    }

    /// A step of the protocol, which first learns the position that the application has reported. No
    /// vote may overlook that: the application may have acknowledged what it reports.
    fn step_on(&mut self, now: Timestamp, input: Input<Event>) -> Step<Action> {
        let (mut quorum, observer) = (self.state.quorum(), self.observer.as_deref());
        if let Some(position) = self.state.take_position() {
            let moved = Input::Event(Event::Position(position));
            let step = observed(observer, &mut quorum, now, moved);
            if step.change.is_some() || step.action.is_some() {
                self.overtaken.push_front(input);
                return step;
            }
        }
        observed(observer, &mut quorum, now, input)
    }
}

fn observed(
    observer: Option<&dyn MemberObserver>,
    quorum: &mut Quorum,
    now: Timestamp,
    input: Input<Event>,
) -> Step<Action> {
    let Some(observer) = observer else { return quorum.step(now, input) };
    observer.takes(&input);
    let step = quorum.step(now, input);
    observer.stepped(quorum, step.change.as_ref());
    step
}

impl Protocol for Locked {
    type Event = Event;
    type Action = Action;

    fn step(&mut self, now: Timestamp, input: Input<Event>) -> Step<Action> {
        let input = match self.overtaken.pop_front() {
            // Deadlines that are due are judged by any step.
            Some(first) if input == Input::Tick => first,
            Some(first) => {
                self.overtaken.push_back(input);
                first
            }
            None => input,
        };
        let record =
            |quorum: &Quorum| (quorum.maintenance(), quorum.lists().clone(), quorum.is_settled());
        let before = record(&self.state.quorum());
        let mut step = self.step_on(now, input);
        let is_alert = matches!(step.change, Some(Change::Alert(_)));
        self.records = is_alert || before != record(&self.state.quorum());
        if !self.overtaken.is_empty() {
            step.wake_at = Some(now);
        }
        step
    }

    fn tenure(&self, now: Timestamp) -> Option<Tenure> {
        self.state.quorum().tenure(now)
    }

    fn is_finished(&self) -> bool {
        self.state.quorum().is_finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use election_core::{
        Alert, Epoch, Incarnation, Label,
        quorum::{
            Attestation, Availability, Ballot, Config, Connection, Extension, Heartbeat, Held,
            Maintenance, Message, Outline, Peer, PeerSet, Restored, Role, Stamp, UnixMillis,
        },
    };
    use futures_lite::future::{block_on, poll_once};
    use std::time::Duration;
    use uuid::Uuid;

    fn life(number: u128) -> Incarnation {
        Incarnation::new(Uuid::from_u128(number))
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_millis(millis)
    }

    /// The first of three members, which has run before and starts with this position.
    fn started(offset: u64) -> (Locked, Receiver<Order>) {
        let ids = ["n1", "n2", "n3"].map(|id| NodeId::new(id).unwrap());
        let label = Label::new("127.0.0.1:1").unwrap();
        let config = Config::builder(ids[0].clone(), ids, label).build().unwrap();
        let ballot = Ballot {
            promised: Epoch::new(4),
            voted_for: None,
            incarnation: life(1),
            members: config.members().fingerprint(),
            lists: config.members().first_lists(),
            floor: Position::default(),
            maintenance: Maintenance::default(),
            pause: None,
        };
        let position = Some(Position { history: 1, offset });
        let restored = Restored::Ballot(ballot);
        let quorum = Quorum::new(config, life(2), &restored, position, 7);
        let (state, orders) = NodeState::new(quorum, AddressList::new(BTreeMap::new(), true));
        let mut locked = Locked::new(state, None);
        let _ = locked.step(at(0), Input::Tick);
        (locked, orders)
    }

    /// The same, long after its start.
    fn voter(offset: u64) -> (Locked, Receiver<Order>) {
        let (mut locked, orders) = started(offset);
        settle(&mut locked, 20_000);
        (locked, orders)
    }

    /// Takes whatever is due.
    fn settle(locked: &mut Locked, millis: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        loop {
            let step = locked.step(at(millis), Input::Tick);
            actions.extend(step.action);
            if step.wake_at.is_none_or(|wake_at| wake_at > at(millis)) {
                return actions;
            }
        }
    }

    fn offer(offset: u64, millis: u64) -> Input<Event> {
        let stamp = Some(Stamp { incarnation: life(3), at: at(millis) });
        let position = Position { history: 1, offset };
        let message = Message::Offer { epoch: Epoch::new(5), position, stamp };
        let (from, connection) = (Peer::new(1), Connection(1));
        Input::Event(Event::Received { from, connection, message })
    }

    fn saves(action: &Action) -> bool {
        matches!(action, Action::Save(_))
    }

    #[test]
    fn no_vote_overlooks_a_reported_position() {
        let (mut locked, _orders) = voter(2);
        let vote = locked.step(at(20_001), offer(3, 20_001));
        assert!(vote.action.as_ref().is_some_and(saves), "it would get the vote: {vote:?}");
        let (mut locked, orders) = voter(2);
        locked.state.moved(Position { history: 1, offset: 5 });
        let refused = locked.step(at(20_001), offer(3, 20_001));
        let rest = settle(&mut locked, 20_001);
        let actions = refused.action.into_iter().chain(rest).collect::<Vec<_>>();
        assert!(!actions.iter().any(saves), "{actions:?}");
        assert!(orders.try_recv().is_ok(), "and the node was woken for it");
    }

    #[test]
    fn what_a_position_has_overtaken_is_taken_next() {
        let (mut locked, _orders) = voter(2);
        // When the next heartbeat is due: the step of the position sends it, and nothing else is.
        let due = locked.step(at(20_000), Input::Tick).wake_at.expect("a heartbeat");
        let millis = due.as_nanos().div_ceil(1_000_000);
        locked.state.moved(Position { history: 1, offset: 3 });
        let step = locked.step(at(millis), offer(4, millis));
        assert!(matches!(step.action, Some(Action::Send { .. })), "{step:?}");
        assert_eq!(step.wake_at, Some(at(millis)), "more is to be done");
        let actions = settle(&mut locked, millis);
        assert!(actions.iter().any(saves), "{actions:?}");
    }

    #[test]
    fn what_comes_while_an_input_waits_is_taken_after_it() {
        let (mut locked, _orders) = voter(2);
        let due = locked.step(at(20_000), Input::Tick).wake_at.expect("a heartbeat");
        let millis = due.as_nanos().div_ceil(1_000_000);
        locked.state.moved(Position { history: 1, offset: 3 });
        let _ = locked.step(at(millis), offer(4, millis));
        let step = locked.step(at(millis), Input::Withdraw);
        assert!(step.action.as_ref().is_some_and(saves), "the offer: {step:?}");
        assert_eq!(step.wake_at, Some(at(millis)), "more is to be done");
        assert!(!locked.is_finished());
        settle(&mut locked, millis);
        assert!(locked.is_finished());
    }

    #[test]
    fn what_waits_is_taken_soon_after_an_input_without_a_request() {
        let (mut locked, _orders) = voter(2);
        let due = locked.step(at(20_000), Input::Tick).wake_at.expect("a heartbeat");
        let millis = due.as_nanos().div_ceil(1_000_000);
        locked.state.moved(Position { history: 1, offset: 3 });
        let told = Input::Event(Event::WallClock(UnixMillis(1)));
        let _ = locked.step(at(millis), told.clone());
        let later = at(millis) + Duration::from_micros(1);
        let mut steps = (0..5).map(|_| locked.step(later, told.clone()));
        let step = steps.find(|step| step.action.is_none()).expect("not so many");
        assert_eq!(step.wake_at, Some(later), "one is left");
        let step = locked.step(later, Input::Tick);
        assert!(step.wake_at > Some(later), "nothing is left: {step:?}");
    }

    /// What the second member says that votes and supports nobody.
    fn free(locked: &Locked, offset: u64, millis: u64) -> Input<Event> {
        let extension = Extension {
            stamp: Stamp { incarnation: life(3), at: at(millis) },
            attestation: Attestation::None,
            availability: Availability::Free,
            nominee: None,
            fingerprint: locked.state.quorum().config().members().fingerprint(),
            hears: PeerSet::from_bits(0b11),
            holds: Held::new(0),
            lists: Outline::default(),
        };
        let message = Message::Heartbeat(Heartbeat {
            epoch: Epoch::new(4),
            role: Role::Replica,
            position: Position { history: 1, offset },
            extension: Some(extension),
        });
        let (from, connection) = (Peer::new(1), Connection(1));
        Input::Event(Event::Received { from, connection, message })
    }

    #[test]
    fn what_a_position_changes_is_told_though_nothing_is_to_be_done() {
        let (mut locked, _orders) = voter(6);
        let heard = free(&locked, 5, 20_001);
        let _ = locked.step(at(20_001), heard);
        settle(&mut locked, 20_001);
        locked.state.moved(Position { history: 1, offset: 0 });
        let step = locked.step(at(20_002), Input::Withdraw);
        assert!(step.action.is_none(), "{step:?}");
        let behind = |change: &Change| matches!(change, Change::Alert(Alert::CatchUp { .. }));
        assert!(step.change.as_ref().is_some_and(behind), "{step:?}");
        assert_eq!(step.wake_at, Some(at(20_002)), "more is to be done");
        settle(&mut locked, 20_002);
        assert!(locked.is_finished(), "and what it has overtaken is not forgotten");
    }

    /// Whoever waits for the outcome of an order looks again only when it is told to.
    #[test]
    fn an_order_that_is_refused_is_told_to_who_waits_for_it() {
        let (mut locked, _orders) = voter(2);
        assert!(!locked.records, "nothing was ordered");
        let step = locked.step(at(20_001), Input::Event(Event::Pause(None)));
        assert!(matches!(step.change, Some(Change::Alert(_))), "{step:?}");
        assert!(locked.records);
        let _ = locked.step(at(20_002), Input::Tick);
        assert!(!locked.records);
    }

    #[test]
    fn a_record_that_changes_is_told_to_who_waits_for_it() {
        let (mut locked, _orders) = voter(2);
        let (from, epoch) = (Peer::new(1), Epoch::new(5));
        let record = Maintenance { number: 1, issuer: from, by: from, ..Maintenance::default() };
        let stamp = Some(Stamp { incarnation: life(3), at: at(20_001) });
        let message = Message::Maintenance { epoch, record, left: None, agreed: false, stamp };
        let connection = Connection(1);
        let received = Input::Event(Event::Received { from, connection, message });
        let step = locked.step(at(20_001), received);
        assert_eq!(step.change, None);
        assert!(locked.records);
    }

    /// In the moment of the wake-up, too: the node may still be about to fall.
    #[test]
    fn who_waits_for_an_order_is_woken_by_the_end_and_finds_it() {
        let (locked, orders) = voter(2);
        let woken = locked.state.recorded.listen();
        locked.state.close();
        assert!(locked.state.is_closed());
        assert_eq!(block_on(poll_once(woken)), Some(()));
        locked.state.order(Event::Resume);
        assert!(orders.is_empty());
    }

    #[test]
    fn the_last_report_counts_and_may_go_down() {
        let (locked, orders) = voter(2);
        for offset in [5, 9, 3] {
            locked.state.moved(Position { history: 1, offset });
        }
        assert_eq!(locked.state.take_position(), Some(Position { history: 1, offset: 3 }));
        assert_eq!(orders.len(), 1, "one wake-up is enough");
        locked.state.moved(Position { history: 1, offset: 4 });
        assert_eq!(orders.len(), 2, "and is not saved on after the position was taken");
    }
}
