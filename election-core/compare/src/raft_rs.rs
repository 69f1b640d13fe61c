//! raft 0.7, beside which election-core's figures mean more: `Raft`, the part that takes messages
//! and ticks, with rust-protobuf.

use crate::{BATCH, Cluster, Mail, Play, timed};
use protobuf::Message as _;
use raft::{Config, Raft, StateRole, eraftpb::Message, storage::MemStorage};
use slog::{Discard, Logger, o};
use std::hint::black_box;

/// How many heartbeat intervals the others wait for a silent leader: the default of election-core.
const DOWN_AFTER: usize = 25;

/// One tick is one heartbeat interval. Without `CHECKED`, raft has its defaults: a deposed leader
/// does not notice, and a node that was cut off deposes the leader when it comes back. `CHECKED`
/// sets `check_quorum` and `pre_vote`, which prevent both; election-core always prevents both.
pub(crate) struct RaftRs<const CHECKED: bool> {
    nodes: Vec<Raft<MemStorage>>,
    mail: Mail,
}

fn node(count: usize, me: usize, checked: bool) -> Raft<MemStorage> {
    let voters: Vec<u64> = (1..=count as u64).collect();
    let config = Config {
        id: me as u64 + 1,
        heartbeat_tick: 1,
        election_tick: DOWN_AFTER,
        check_quorum: checked,
        pre_vote: checked,
        ..Config::default()
    };
    let disk = MemStorage::new_with_conf_state((voters, vec![]));
    Raft::new(&config, disk, &Logger::root(Discard, o!())).expect("a node")
}

fn read(bytes: &[u8]) -> Message {
    let mut message = Message::default();
    message.merge_from_bytes(bytes).expect("a message");
    message
}

/// Makes durable what must be durable before messages go out, and applies what is committed. Both
/// take no time here.
fn save(node: &mut Raft<MemStorage>) {
    let entries = node.raft_log.unstable_entries().to_vec();
    if let Some(last) = entries.last() {
        node.mut_store().wl().append(&entries).expect("an append");
        node.raft_log.stable_entries(last.index, last.term);
        node.on_persist_entries(last.index, last.term);
    }
    if node.raft_log.applied() < node.raft_log.committed {
        node.commit_apply(node.raft_log.committed);
    }
}

impl<const CHECKED: bool> RaftRs<CHECKED> {
    fn send_from(&mut self, from: usize) {
        let node = &mut self.nodes[from];
        save(node);
        for message in node.msgs.drain(..) {
            let to = usize::try_from(message.to).expect("a place") - 1;
            self.mail.send(from, to..to + 1, |to| message.write_to_vec(to).expect("encoded"));
        }
    }
}

impl<const CHECKED: bool> Cluster for RaftRs<CHECKED> {
    const NAME: &'static str = if CHECKED { "raft, checked" } else { "raft 0.7" };

    /// The first node has waited long enough, and the others have not. So it is elected.
    fn leaderless(count: usize) -> Self {
        let mut nodes: Vec<_> = (0..count).map(|me| node(count, me, CHECKED)).collect();
        nodes[0].election_elapsed = 2 * DOWN_AFTER;
        Self { nodes, mail: Mail::new() }
    }

    fn is_led(&self) -> bool {
        let leader = &self.nodes[0];
        let follows = |node: &Raft<_>| node.term == leader.term && node.leader_id == leader.id;
        leader.state == StateRole::Leader && self.nodes.iter().all(follows)
    }

    fn wake(&mut self) {
        for place in 0..self.nodes.len() {
            if self.nodes[place].tick() {
                self.send_from(place);
            }
        }
    }

    fn deliver_one(&mut self) -> bool {
        let Some((_, to, frame)) = self.mail.take() else { return false };
        self.nodes[to].step(read(frame)).expect("a step");
        self.send_from(to);
        true
    }

    fn beat(&mut self) -> usize {
        self.wake();
        self.settle()
    }

    fn hearing(mut self, by_leader: bool) -> Play {
        self.wake();
        if by_leader {
            // Its heartbeats; the answers come behind them.
            (1..self.nodes.len()).for_each(|_| assert!(self.deliver_one()));
        }
        let (_, hearer, frame) = self.mail.take().expect("a frame");
        let (frames, len) = (frame.repeat(BATCH), frame.len());
        Box::new(move || {
            let node = &mut self.nodes[hearer];
            timed(BATCH, || {
                for frame in frames.chunks_exact(len) {
                    node.step(read(black_box(frame))).expect("a step");
                    node.msgs.clear();
                }
                BATCH
            })
        })
    }
}
