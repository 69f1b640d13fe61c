//! One node: its machine, clock, disk, application and leader work.

use super::{Plan, SECOND, Trouble};
use election_core::{
    Drift, Epoch, Incarnation, Label, NodeId, Protocol, Random, Timestamp,
    quorum::{Ballot, Config, Event, Heartbeat, Message, Position, Quorum, Restored},
};
use uuid::Uuid;

/// What a disk holds.
pub(super) type Disk = Option<Ballot>;

/// A clock that is never right: it started at some time, and runs too fast or too slow.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    offset: u64,
    ppm: u64,
}

const WHOLE: u128 = 1_000_000;

impl Clock {
    fn new(random: &mut Random, drifts: bool) -> Self {
        let ppm = if drifts { 990_000 + random.up_to(20_000) } else { 1_000_000 };
        Self { offset: random.up_to(1_000 * SECOND), ppm }
    }

    pub(super) fn local(self, now: u64) -> Timestamp {
        let run = u128::from(now) * u128::from(self.ppm) / WHOLE;
        Timestamp::from_nanos(self.offset + u64::try_from(run).unwrap())
    }

    /// The first true instant at which the clock shows at least `local`.
    pub(super) fn true_time(self, local: Timestamp) -> u64 {
        let run = u128::from(local.as_nanos().saturating_sub(self.offset));
        let at = u64::try_from((run * WHOLE).div_ceil(u128::from(self.ppm))).unwrap_or(u64::MAX);
        if self.local(at) < local { at + 1 } else { at }
    }
}

pub(super) struct Node {
    pub(super) machine: Option<Quorum>,
    pub(super) clock: Clock,
    pub(super) life: u64,
    pub(super) disk: Disk,
    pub(super) position: Position,
    /// The epoch of running leader work, and when it ends at the latest.
    pub(super) work: Option<(u64, u64)>,
    /// Work that stopped while no machine was there to be told.
    pub(super) stops: Vec<Epoch>,
    pub(super) wake_at: Option<Timestamp>,
    /// Counts the deadlines, so that only the last one counts.
    pub(super) plan: u64,
    pub(super) stepped: u64,
    /// Steps taken at this instant.
    pub(super) rest: u32,
    pub(super) paused: bool,
    pub(super) inbox: Vec<(u64, Event)>,
    pub(super) saving: bool,
    pub(super) fails: bool,
    pub(super) was_wiped: bool,
    legacy: bool,
}

impl Node {
    pub(super) fn new(plan: &Plan, at: usize, random: &mut Random) -> Self {
        let legacy = plan.has(Trouble::Legacy) && at != 0 && random.up_to(2) == 0;
        let mut node = Self {
            machine: None,
            clock: Clock::new(random, plan.has(Trouble::Drift)),
            life: 0,
            disk: None,
            position: Position::default(),
            work: None,
            stops: Vec::new(),
            wake_at: Some(Timestamp::ZERO),
            plan: 0,
            stepped: 0,
            rest: 0,
            paused: false,
            inbox: Vec::new(),
            saving: false,
            fails: false,
            was_wiped: false,
            legacy,
        };
        node.machine = Some(node.boot(plan, at, random));
        node
    }

    fn boot(&mut self, plan: &Plan, at: usize, random: &mut Random) -> Quorum {
        let ids = (0..plan.nodes).map(|n| NodeId::new(&format!("n{n}")).unwrap());
        let me = NodeId::new(&format!("n{at}")).unwrap();
        let config = Config::builder(me, ids, Label::new(&format!("n{at}:1")).unwrap());
        let drift = Drift::from_ppm(10_000).unwrap();
        let config = config.margin(core::time::Duration::from_millis(10)).drift(drift);
        let config = config.build().unwrap();
        let incarnation = Incarnation::new(Uuid::from_u128(u128::from(random.next_u64())));
        let restored = match &self.disk {
            None => Restored::Nothing,
            Some(ballot) => Restored::Ballot(ballot.clone()),
        };
        Quorum::new(config, incarnation, &restored, Some(self.position), plan.seed)
    }

    pub(super) fn start(&mut self, plan: &Plan, at: usize, wiped: bool, random: &mut Random) {
        if wiped {
            self.disk = None;
            self.position = Position::default();
        }
        self.machine = Some(self.boot(plan, at, random));
        self.clock = Clock::new(random, plan.has(Trouble::Drift));
        self.wake_at = None;
        self.plan += 1;
    }

    pub(super) fn crash(&mut self) {
        self.machine = None;
        self.life += 1;
        self.plan += 1;
        self.work = None;
        self.stops.clear();
        self.inbox.clear();
        self.saving = false;
        self.paused = false;
    }

    pub(super) fn runs(&self) -> bool {
        self.machine.is_some()
    }

    pub(super) fn is_due(&self, now: u64) -> bool {
        self.wake_at.is_some_and(|at| at <= self.clock.local(now))
    }

    /// Whether this node would now say that it leads.
    pub(super) fn leads(&self, now: u64) -> bool {
        let machine = self.machine.as_ref().filter(|_| !self.paused);
        machine.is_some_and(|machine| machine.is_leader(self.clock.local(now)))
    }

    /// Whether leader work can be running: the node believes that it leads, or the work was told to
    /// stop and still has time.
    pub(super) fn works(&self, now: u64) -> bool {
        let stopping = self.work.is_some_and(|(_, until)| until != u64::MAX && now < until);
        self.runs() && !self.paused && (self.leads(now) || stopping)
    }

    /// The message as a legacy peer would have sent it.
    pub(super) fn spoken(&self, message: &Message) -> Message {
        let mut message = message.clone();
        if self.legacy {
            match &mut message {
                Message::Heartbeat(Heartbeat { extension, .. }) => *extension = None,
                Message::Offer { stamp, .. }
                | Message::Accept { stamp, .. }
                | Message::Maintenance { stamp, .. }
                | Message::Announce { stamp, .. } => *stamp = None,
            }
        }
        message
    }

    pub(super) fn is_legacy(&self) -> bool {
        self.legacy
    }
}
