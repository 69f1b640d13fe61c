//! A peer of kevy-elect's protocol, which knows four frames and nothing else, among ours.

use crate::cluster::{DOWN_AFTER, Nodes, place_of};
use election_testing::process::eventually;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// A voter by kevy-elect's rules: it accepts a higher epoch from whoever has no older offset, and
/// follows whoever is announced. It never stands for election, and closes a connection on a number
/// of fields that it does not know.
struct Voter {
    over: Arc<AtomicBool>,
    state: Arc<State>,
}

struct State {
    id: String,
    epoch: Mutex<u64>,
    /// The connection to each peer, by its id.
    peers: BTreeMap<String, (String, Mutex<Option<TcpStream>>)>,
    accepted: AtomicUsize,
    announced: AtomicUsize,
    hung_up: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn frame(fields: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", fields.len());
    for field in fields {
        bytes += &format!("${}\r\n{field}\r\n", field.len());
    }
    bytes.into_bytes()
}

/// Reads one array of bulk strings; nothing at the end of the connection.
fn read(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let count = length(reader, '*')?;
    let mut fields = Vec::new();
    for _ in 0..count {
        let mut field = vec![0; length(reader, '$')? + 2];
        reader.read_exact(&mut field).ok()?;
        field.truncate(field.len() - 2);
        fields.push(String::from_utf8(field).ok()?);
    }
    Some(fields)
}

fn length(reader: &mut impl BufRead, mark: char) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.strip_prefix(mark)?.trim_end().parse().ok()
}

impl State {
    fn say(&self, peer: &str, fields: &[&str]) {
        let Some((address, stream)) = self.peers.get(peer) else { return };
        let mut stream = lock(stream);
        if stream.is_none() {
            *stream = TcpStream::connect(address).ok();
        }
        let bytes = frame(fields);
        if stream.as_mut().is_some_and(|stream| stream.write_all(&bytes).is_err()) {
            *stream = None;
        }
    }

    /// Takes a frame in; `false` for one that it does not know.
    fn hear(&self, fields: &[String]) -> bool {
        let verb = fields[0].to_ascii_uppercase();
        let epoch: u64 = fields.get(1).and_then(|epoch| epoch.parse().ok()).unwrap_or(0);
        let mut known = lock(&self.epoch);
        match (verb.as_str(), fields.len()) {
            ("OFFER", 4) if epoch > *known => {
                *known = epoch;
                self.accepted.fetch_add(1, Ordering::Relaxed);
                self.say(&fields[2], &["ACCEPT", &epoch.to_string(), &self.id]);
            }
            ("ANNOUNCE", 4) => {
                *known = epoch.max(*known);
                self.announced.fetch_add(1, Ordering::Relaxed);
            }
            ("HB", 5) if fields[3] == "primary" => *known = epoch.max(*known),
            ("HB", 5) | ("OFFER", 4) | ("ACCEPT", 3) => {}
            _ => return false,
        }
        true
    }
}

impl Voter {
    fn start(nodes: &Nodes, node: usize) -> Self {
        let peers = (0..nodes.count()).filter(|peer| *peer != node).map(|peer| {
            (format!("n{}", peer + 1), (nodes.address(peer).to_owned(), Mutex::new(None)))
        });
        let state = Arc::new(State {
            id: format!("n{}", node + 1),
            epoch: Mutex::new(0),
            peers: peers.collect(),
            accepted: AtomicUsize::new(0),
            announced: AtomicUsize::new(0),
            hung_up: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind(nodes.address(node)).expect("a free port");
        let over = Arc::new(AtomicBool::new(false));
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream);
                    while let Some(fields) = read(&mut reader) {
                        if !shared.hear(&fields) {
                            shared.hung_up.fetch_add(1, Ordering::Relaxed);
                            return;
                        }
                    }
                });
            }
        });
        let (shared, stop) = (state.clone(), over.clone());
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let epoch = lock(&shared.epoch).to_string();
                for peer in shared.peers.keys() {
                    shared.say(peer, &["HB", &epoch, &shared.id, "replica", "0"]);
                }
                thread::sleep(DOWN_AFTER / 25);
            }
        });
        Self { over, state }
    }
}

impl Drop for Voter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_voter_of_kevy_elect_makes_the_majority() {
    let mut nodes = Nodes::new(3);
    let voter = Voter::start(&nodes, 2);
    for node in 0..2 {
        nodes.position(node, "0:0");
        nodes.start(node);
    }
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    let old = place_of(&leader.node);
    nodes.kill(old);
    let next = nodes.leader_after(leader.epoch);
    assert_ne!(next.node, leader.node);
    let heir = place_of(&next.node);
    // Its vote alone made the majority, and now its frames alone keep the primary in office.
    assert!(voter.state.accepted.load(Ordering::Relaxed) >= 1);
    eventually("an announcement", || {
        (voter.state.announced.load(Ordering::Relaxed) >= 1).then_some(())
    });
    let alert = eventually("an alert", || {
        let alerts = nodes.said(heir, "alert");
        alerts.into_iter().find(|entry| entry.about.starts_with("best_effort"))
    });
    println!("{}", alert.about);
    nodes.start(old);
    nodes.follows(old, next.epoch);
    assert_eq!(nodes.tenures().len(), 2, "it stays: {:?}", nodes.tenures());
    assert_eq!(voter.state.hung_up.load(Ordering::Relaxed), 0, "frames that it does not know");
    nodes.check();
}
