//! omnipaxos 0.2: its ballot leader election, which is only available inside `OmniPaxos`.

use crate::{
    contender::{BATCH, Cluster, Letter, Mail, PATIENT, Patience, Play},
    watch::Watch,
};
use omnipaxos::{
    ClusterConfig, OmniPaxos, OmniPaxosConfig, ServerConfig,
    ballot_leader_election::Ballot,
    messages::Message,
    storage::{Entry, NoSnapshot, Storage},
};
use omnipaxos_storage::memory_storage::MemoryStorage;
use std::hint::black_box;

/// An entry of a log that stays empty.
#[derive(Clone, Debug)]
pub(crate) struct Nothing;

impl Entry for Nothing {
    type Snapshot = NoSnapshot;
}

type Frame = Message<Nothing>;
type Post = Mail<Frame>;
type Node = OmniPaxos<Nothing, MemoryStorage<Nothing>>;

/// One tick is one round of heartbeats, and a leader that misses two rounds is replaced. That
/// number cannot be configured.
pub(crate) struct Omni {
    nodes: Vec<Node>,
    taken: Vec<Frame>,
    crashed: Option<usize>,
    leader: usize,
}

/// A node with this promise that has accepted nothing, since nobody ever proposes anything.
fn node(count: usize, me: usize, rounds: u64, promise: Option<Ballot>) -> Node {
    let mut disk = MemoryStorage::default();
    if let Some(promise) = promise {
        disk.set_promise(promise).expect("saved");
    }
    let cluster_config = ClusterConfig {
        configuration_id: 1,
        nodes: (1..=count as u64).collect(),
        flexible_quorum: None,
    };
    let server_config = ServerConfig {
        pid: me as u64 + 1,
        election_tick_timeout: rounds,
        resend_message_tick_timeout: u64::MAX,
        flush_batch_tick_timeout: u64::MAX,
        buffer_size: 64,
        ..ServerConfig::default()
    };
    let config = OmniPaxosConfig { cluster_config, server_config };
    config.build(disk).expect("a node")
}

impl Omni {
    fn fresh(count: usize) -> Self {
        let nodes = (0..count).map(|me| node(count, me, 1, None)).collect();
        Self { nodes, taken: Vec::with_capacity(64), crashed: None, leader: 0 }
    }

    fn post_from(&mut self, place: usize, post: &mut Post) {
        self.nodes[place].take_outgoing_messages(&mut self.taken);
        for message in self.taken.drain(..) {
            let to = usize::try_from(message.get_receiver()).expect("a place") - 1;
            post.push(place, to, Letter::Plain(message));
        }
    }

    fn tick(&mut self, post: &mut Post) {
        // The highest ballot wins. Its first frame need not wait for what the others send next.
        for place in (0..self.nodes.len()).rev() {
            if Some(place) != self.crashed {
                self.nodes[place].tick();
                self.post_from(place, post);
            }
        }
    }

    fn deliver_one(&mut self, post: &mut Post) -> bool {
        let Some((_, to, letter)) = post.pop() else { return false };
        let Letter::Plain(message) = letter else { return false };
        if Some(to) != self.crashed {
            self.nodes[to].handle_incoming(message);
            self.post_from(to, post);
        }
        true
    }

    /// Whether all nodes have promised one ballot, and one of them owns it.
    fn is_led(&mut self) -> bool {
        let alive = |place: &usize| Some(*place) != self.crashed;
        let mut promises =
            (0..self.nodes.len()).filter(alive).map(|place| self.nodes[place].get_promise());
        let Some(first) = promises.next().filter(|first| first.pid != 0) else { return false };
        if !promises.all(|other| other == first) {
            return false;
        }
        let leader = usize::try_from(first.pid).expect("a place") - 1;
        let led = Some(leader) != self.crashed;
        if led {
            self.leader = leader;
        }
        led
    }

    fn until_led(&mut self, post: &mut Post) {
        while !self.is_led() {
            self.beat(post);
        }
    }
}

impl Cluster for Omni {
    const NAME: &'static str = "omnipaxos 0.2";
    const CODED: bool = false;
    type Post = Post;

    fn post(_: usize, _: bool) -> Post {
        Mail::new(false)
    }

    fn led(count: usize, _: Patience, post: &mut Post) -> Self {
        let mut cluster = Self::leaderless(count, post);
        for place in 0..count {
            cluster.post_from(place, post);
        }
        while cluster.deliver_one(post) {}
        cluster.until_led(post);
        for _ in 0..5 {
            cluster.beat(post);
        }
        cluster
    }

    fn leaderless(count: usize, _: &mut Post) -> Self {
        Self::fresh(count)
    }

    /// The first round of heartbeats, which the nodes asked for when they were made, and the tick
    /// that ends it.
    fn elect(&mut self, post: &mut Post) -> u64 {
        let mut frames = 0;
        for place in 0..self.nodes.len() {
            self.post_from(place, post);
        }
        while self.deliver_one(post) {
            frames += 1;
        }
        self.tick(post);
        while !self.is_led() {
            assert!(self.deliver_one(post), "nobody was elected");
            frames += 1;
        }
        post.clear();
        frames
    }

    fn beat(&mut self, post: &mut Post) -> u64 {
        self.tick(post);
        let mut frames = 0;
        while self.deliver_one(post) {
            frames += 1;
        }
        frames
    }

    fn replace_leader(&mut self, post: &mut Post) {
        let crashed = self.leader;
        self.crashed = Some(crashed);
        self.until_led(post);
        self.crashed = None;
        let promise = self.nodes[crashed].get_promise();
        self.nodes[crashed] = node(self.nodes.len(), crashed, 1, Some(promise));
        self.post_from(crashed, post);
        while self.deliver_one(post) {}
    }

    /// A follower hears requests and answers them. The leader's work on the answers cannot be
    /// measured alone: it keeps them until a tick ends the round.
    fn hearing(by_leader: bool, coded: bool) -> Option<Play> {
        if by_leader || coded {
            return None;
        }
        let mut post = Self::post(3, false);
        let mut cluster = Self::led(3, PATIENT, &mut post);
        let (leader, follower) = (cluster.leader, (cluster.leader + 1) % 3);
        let mut taken = Vec::new();
        cluster.nodes[leader].tick();
        cluster.nodes[leader].take_outgoing_messages(&mut taken);
        let request = taken.iter().find(|frame| frame.get_receiver() == follower as u64 + 1);
        let request = request.expect("a request").clone();
        let mut node = cluster.nodes.swap_remove(follower);
        let mut requests = Vec::new();
        Some(Box::new(move |watch: &mut Watch| {
            requests.clear();
            requests.resize(64, request.clone());
            watch.measure(BATCH, || {
                for request in requests.drain(..) {
                    node.handle_incoming(black_box(request));
                    taken.clear();
                    node.take_outgoing_messages(black_box(&mut taken));
                }
            });
        }))
    }

    fn idling(leader: bool) -> Play {
        let mut post = Self::post(3, false);
        let cluster = Self::led(3, PATIENT, &mut post);
        let place = (cluster.leader + usize::from(!leader)) % 3;
        let mut node = node(3, place, u64::MAX, None);
        Box::new(move |watch: &mut Watch| {
            watch.measure(BATCH, || {
                for _ in 0..BATCH {
                    black_box(&mut node).tick();
                }
            });
        })
    }
}
