//! Plays the same random ticks and frames to kevy-elect and to the simulator's model of it. After each
//! of them both must have saved and sent the same, and be in the same state.
//!
//! `cargo run --release --ignore-rust-version -- [RUNS]`

#[path = "../../src/quorum/legacy/elector.rs"]
mod elector;

use election_core::{
    Random, Timestamp,
    quorum::{Peer, Role},
};
use elector::{Deed, Elector, Said, Tunables, system_jitter};
use kevy_elect::{ElectConfig, ElectJitter, ElectorPersist, Message, Outbound};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

type Saves = Arc<Mutex<Vec<(u64, Option<String>)>>>;

/// What kevy-elect has saved, and what it finds when it starts.
struct Disk(Saves, (u64, Option<String>));

impl ElectorPersist for Disk {
    fn save(&self, epoch: u64, voted_for: Option<&str>) {
        self.0.lock().expect("one thread").push((epoch, voted_for.map(str::to_owned)));
    }

    fn load(&self) -> (u64, Option<String>) {
        self.1.clone()
    }
}

struct Pair {
    theirs: kevy_elect::Elector,
    ours: Elector,
    saves: Saves,
    ids: Vec<String>,
    start: Instant,
    now: u64,
}

impl Pair {
    fn new(random: &mut Random, start: Instant) -> Self {
        let count = 2 + random.up_to(4);
        let ids: Vec<String> = (0..count).map(|n| format!("n{n}")).collect();
        let me = usize::try_from(random.up_to(count - 1)).expect("small");
        let config = ElectConfig::default();
        let found = match random.up_to(2) {
            0 => (0, None),
            1 => (1 + random.up_to(5), None),
            _ => (1 + random.up_to(5), Some(ids[0].clone())),
        };
        let saves = Saves::default();
        let (id, role) = (ids[me].clone(), kevy_elect::Role::Replica);
        let theirs =
            kevy_elect::Elector::new(id, ids.clone(), "a:1", role, config, ElectJitter::System)
                .with_persist(Box::new(Disk(saves.clone(), found.clone())));
        let tunables = Tunables {
            hb_interval: config.hb_interval,
            down_after: config.down_after,
            election_timeout: config.election_timeout,
            backoff: config.election_backoff,
            jitter: system_jitter(&ids[me], config.election_backoff_jitter),
        };
        let saved = Some((found.0, found.1.is_some()));
        let ours = Elector::new(Peer::new(me as u8), ids.len(), tunables, saved);
        Self { theirs, ours, saves, ids, start, now: 0 }
    }

    /// One random input to both.
    fn step(&mut self, random: &mut Random) {
        let most = if random.up_to(9) == 0 { 6_000_000_000 } else { 300_000_000 };
        self.now += random.up_to(most);
        let (instant, stamp) =
            (self.start + Duration::from_nanos(self.now), Timestamp::from_nanos(self.now));
        let from = Peer::new(random.up_to(self.ids.len() as u64 - 1) as u8);
        let id = self.ids[from.index()].clone();
        let (epoch, offset) = (random.up_to(9), random.up_to(2));
        let own = id == self.ids[self.me()];
        let sent = match random.up_to(9) {
            0..=3 => {
                self.ours.tick(stamp);
                self.theirs.tick(instant)
            }
            _ if own => return,
            4 | 5 => {
                let (role, theirs) = roles(random.up_to(2));
                self.ours.heartbeat(from, Said { epoch, role, offset }, stamp);
                let node_id = id.clone();
                let hb = Message::Hb { epoch, node_id, role: theirs, repl_offset: offset };
                self.theirs.on_message(&id, hb, instant)
            }
            6 => {
                self.ours.offer(from, epoch, offset);
                let candidate_id = id.clone();
                let offer = Message::Offer { new_epoch: epoch, candidate_id, repl_offset: offset };
                self.theirs.on_message(&id, offer, instant)
            }
            7 => {
                let epoch = self.theirs.epoch() - random.up_to(1);
                self.ours.accept(from, epoch);
                let accept = Message::Accept { epoch, accepter_id: id.clone() };
                self.theirs.on_message(&id, accept, instant)
            }
            8 => {
                self.ours.announcement(from, epoch);
                let (new_primary_id, new_primary_addr) = (id.clone(), "b:1".to_owned());
                let announce = Message::Announce { epoch, new_primary_id, new_primary_addr };
                self.theirs.on_message(&id, announce, instant)
            }
            _ => {
                self.ours.offset = offset;
                self.theirs.set_repl_offset(offset);
                Vec::new()
            }
        };
        self.compare(sent, instant, stamp);
    }

    fn me(&self) -> usize {
        self.ours.me().index()
    }

    fn compare(&mut self, sent: Vec<Outbound>, instant: Instant, stamp: Timestamp) {
        let saved = std::mem::take(&mut *self.saves.lock().expect("one thread"));
        let mut theirs: Vec<String> = saved.iter().map(|save| format!("save {save:?}")).collect();
        theirs.extend(sent.iter().map(|out| format!("{:?}", out.msg)));
        theirs.dedup(); // a heartbeat goes to each peer
        let (me, ids) = (self.ids[self.me()].clone(), &self.ids);
        let (mut saves, mut frames) = (Vec::new(), Vec::new());
        for deed in self.ours.deeds.drain(..) {
            let name = |peer: Peer| ids[peer.index()].clone();
            frames.push(format!(
                "{:?}",
                match deed {
                    Deed::Save(epoch, vote) => {
                        saves.push(format!("save {:?}", (epoch, vote.map(name))));
                        continue;
                    }
                    Deed::Heartbeat(Said { epoch, role, offset }) => {
                        let (node_id, role) = (me.clone(), their(role));
                        Message::Hb { epoch, node_id, role, repl_offset: offset }
                    }
                    Deed::Offer(new_epoch, repl_offset) => {
                        Message::Offer { new_epoch, candidate_id: me.clone(), repl_offset }
                    }
                    Deed::Accept(epoch, _) => Message::Accept { epoch, accepter_id: me.clone() },
                    Deed::Announce(epoch) => {
                        let (new_primary_id, new_primary_addr) = (me.clone(), "a:1".to_owned());
                        Message::Announce { epoch, new_primary_id, new_primary_addr }
                    }
                }
            ));
        }
        saves.extend(frames);
        assert_eq!(theirs, saves);
        assert_eq!(self.theirs.epoch(), self.ours.epoch());
        assert_eq!(self.theirs.role(), their(self.ours.role()));
        let primary = self.ours.primary().map(|peer| self.ids[peer.index()].as_str());
        assert_eq!(self.theirs.current_primary(), primary);
        assert_eq!(self.theirs.has_quorum(instant), self.ours.has_quorum(stamp));
    }
}

fn roles(nth: u64) -> (Role, kevy_elect::Role) {
    let role = [Role::Primary, Role::Replica, Role::Candidate][nth as usize];
    (role, their(role))
}

fn their(role: Role) -> kevy_elect::Role {
    match role {
        Role::Primary => kevy_elect::Role::Primary,
        Role::Replica => kevy_elect::Role::Replica,
        Role::Candidate => kevy_elect::Role::Candidate,
    }
}

fn main() {
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(20_000);
    let (start, mut won) = (Instant::now(), 0_u64);
    for seed in 0..runs {
        let mut random = Random::new(seed);
        let mut pair = Pair::new(&mut random, start);
        for _ in 0..100 {
            let before = pair.ours.role();
            pair.step(&mut random);
            won += u64::from(before == Role::Candidate && pair.ours.role() == Role::Primary);
        }
    }
    println!("{runs} runs of 100 inputs: the same; {won} elections won");
    assert!(won > runs / 100, "too few elections");
}
