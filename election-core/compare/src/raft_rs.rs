//! raft 0.7: `Raft`, the part that takes messages and ticks, with rust-protobuf.

use crate::{
    contender::{BATCH, Cluster, Letter, Mail, PATIENT, Patience, Play},
    watch::Watch,
};
use protobuf::Message as _;
use raft::{Config, Raft, StateRole, eraftpb::Message, storage::MemStorage};
use slog::{Discard, Logger, o};
use std::hint::black_box;

/// One tick is one heartbeat interval. Without `CHECKED`, raft has its defaults: a deposed leader
/// does not notice, and a node that was cut off deposes the leader when it comes back. `CHECKED`
/// sets `check_quorum` and `pre_vote`, which prevent both; election-core always prevents both.
pub(crate) struct RaftRs<const CHECKED: bool> {
    nodes: Vec<Raft<MemStorage>>,
    crashed: Option<usize>,
    leader: usize,
    patience: Patience,
}

type Post = Mail<Message>;

fn config(me: usize, patience: Patience, checked: bool) -> Config {
    Config {
        id: me as u64 + 1,
        heartbeat_tick: 1,
        election_tick: patience.0 as usize,
        check_quorum: checked,
        pre_vote: checked,
        ..Config::default()
    }
}

fn node(
    me: usize,
    patience: Patience,
    checked: bool,
    disk: MemStorage,
    applied: u64,
) -> Raft<MemStorage> {
    let logger = Logger::root(Discard, o!());
    let config = Config { applied, ..config(me, patience, checked) };
    Raft::new(&config, disk, &logger).expect("a node")
}

/// Makes durable what must be durable before messages go out, and applies what is committed. Both
/// take no time here.
fn save(node: &mut Raft<MemStorage>) {
    let entries = node.raft_log.unstable_entries();
    if let Some(last) = entries.last() {
        let (index, term) = (last.index, last.term);
        let entries = entries.to_vec();
        node.mut_store().wl().append(&entries).expect("an append");
        node.raft_log.stable_entries(index, term);
        node.on_persist_entries(index, term);
    }
    if node.raft_log.applied() < node.raft_log.committed {
        node.commit_apply(node.raft_log.committed);
    }
}

impl<const CHECKED: bool> RaftRs<CHECKED> {
    fn fresh(count: usize, patience: Patience) -> Self {
        let voters: Vec<u64> = (1..=count as u64).collect();
        let disk = || MemStorage::new_with_conf_state((voters.clone(), vec![]));
        let nodes = (0..count).map(|me| node(me, patience, CHECKED, disk(), 0)).collect();
        Self { nodes, crashed: None, leader: 0, patience }
    }

    fn post_from(&mut self, place: usize, post: &mut Post) {
        let node = &mut self.nodes[place];
        save(node);
        if node.state == StateRole::Leader {
            self.leader = place;
        }
        for message in node.msgs.drain(..) {
            let to = usize::try_from(message.to).expect("a place") - 1;
            let letter = if post.is_coded() {
                Letter::Coded(post.written(|to| message.write_to_vec(to).expect("encoded")))
            } else {
                Letter::Plain(message)
            };
            post.push(place, to, letter);
        }
    }

    fn tick(&mut self, place: usize, post: &mut Post) {
        if Some(place) != self.crashed && self.nodes[place].tick() {
            self.post_from(place, post);
        }
    }

    fn deliver_one(&mut self, post: &mut Post) -> bool {
        let Some((_, to, letter)) = post.pop() else { return false };
        if Some(to) == self.crashed {
            return true;
        }
        let message = match letter {
            Letter::Plain(message) => message,
            Letter::Coded(range) => read(post.bytes(range)),
        };
        self.nodes[to].step(message).expect("a step");
        self.post_from(to, post);
        true
    }

    fn is_led(&self) -> bool {
        if Some(self.leader) == self.crashed || self.nodes[self.leader].state != StateRole::Leader {
            return false;
        }
        let (id, term) = (self.leader as u64 + 1, self.nodes[self.leader].term);
        self.nodes.iter().enumerate().all(|(place, node)| {
            Some(place) == self.crashed || (node.term == term && node.leader_id == id)
        })
    }

    fn until_led(&mut self, post: &mut Post) {
        while !self.is_led() {
            self.beat(post);
        }
    }
}

fn read(bytes: &[u8]) -> Message {
    let mut message = Message::default();
    message.merge_from_bytes(bytes).expect("a message");
    message
}

impl<const CHECKED: bool> Cluster for RaftRs<CHECKED> {
    const NAME: &'static str = if CHECKED { "raft, checked" } else { "raft 0.7" };
    const CODED: bool = true;
    type Post = Post;

    fn post(_: usize, coded: bool) -> Post {
        Mail::new(coded)
    }

    fn led(count: usize, patience: Patience, post: &mut Post) -> Self {
        let mut cluster = Self::fresh(count, patience);
        cluster.until_led(post);
        for _ in 0..5 {
            cluster.beat(post);
        }
        cluster
    }

    fn leaderless(count: usize, _: &mut Post) -> Self {
        let mut cluster = Self::fresh(count, PATIENT);
        // Nobody has heard of a leader; the first node has waited long enough.
        for node in &mut cluster.nodes {
            node.election_elapsed = PATIENT.0 as usize;
            node.set_randomized_election_timeout(2 * PATIENT.0 as usize - 1);
        }
        cluster.nodes[0].set_randomized_election_timeout(PATIENT.0 as usize);
        cluster
    }

    fn elect(&mut self, post: &mut Post) -> u64 {
        for place in 0..self.nodes.len() {
            self.tick(place, post);
        }
        let mut frames = 0;
        while !self.is_led() {
            assert!(self.deliver_one(post), "nobody was elected");
            frames += 1;
        }
        post.clear();
        frames
    }

    fn beat(&mut self, post: &mut Post) -> u64 {
        for place in 0..self.nodes.len() {
            self.tick(place, post);
        }
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
        let disk = self.nodes[crashed].store().clone();
        disk.wl().set_hardstate(self.nodes[crashed].hard_state());
        let applied = self.nodes[crashed].raft_log.applied();
        self.nodes[crashed] = node(crashed, self.patience, CHECKED, disk, applied);
        self.crashed = None;
    }

    fn hearing(by_leader: bool, coded: bool) -> Option<Play> {
        let mut post = Self::post(3, false);
        let mut cluster = Self::led(3, PATIENT, &mut post);
        let leader = cluster.leader;
        let follower = (leader + 1) % 3;
        cluster.nodes[leader].ping();
        let to_follower = |message: &Message| message.to == follower as u64 + 1;
        let beat = cluster.nodes[leader].msgs.drain(..).find(to_follower).expect("a heartbeat");
        let (place, template) = if by_leader {
            cluster.nodes[follower].step(beat).expect("a step");
            (leader, cluster.nodes[follower].msgs.remove(0))
        } else {
            (follower, beat)
        };
        let mut messages = Vec::new();
        let mut bytes = Vec::new();
        Some(Box::new(move |watch: &mut Watch| {
            let node = &mut cluster.nodes[place];
            messages.clear();
            bytes.clear();
            let len = template.compute_size() as usize;
            for _ in 0..BATCH {
                messages.push(template.clone());
                template.write_to_vec(&mut bytes).expect("encoded");
            }
            if coded {
                watch.measure(BATCH, || {
                    for frame in bytes.chunks_exact(len) {
                        node.step(read(black_box(frame))).expect("a step");
                        node.msgs.clear();
                    }
                });
            } else {
                watch.measure(BATCH, || {
                    for message in messages.drain(..) {
                        node.step(black_box(message)).expect("a step");
                        node.msgs.clear();
                    }
                });
            }
        }))
    }

    fn idling(leader: bool) -> Play {
        let mut post = Self::post(3, false);
        let cluster = Self::led(3, PATIENT, &mut post);
        let place = (cluster.leader + usize::from(!leader)) % 3;
        // So patient that its timer is never due.
        let disk = cluster.nodes[place].store().clone();
        let endless = Config {
            heartbeat_tick: 1 << 40,
            election_tick: 1 << 50,
            ..config(place, PATIENT, CHECKED)
        };
        let logger = Logger::root(Discard, o!());
        let mut node = Raft::new(&endless, disk, &logger).expect("a node");
        if leader {
            node.become_candidate();
            node.become_leader();
            save(&mut node);
        }
        node.msgs.clear();
        Box::new(move |watch: &mut Watch| {
            watch.measure(BATCH, || {
                for _ in 0..BATCH {
                    black_box(black_box(&mut node).tick());
                }
            });
        })
    }
}
