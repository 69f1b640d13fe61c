//! A whole node in virtual time: the test moves the clock, is its peers, and makes its disk hang.

mod host;
mod trio;

use super::*;
use crate::{
    Cluster, Member, PauseError, Runtime,
    log::capture,
    quorum::{
        ballot::BallotFile,
        fake::{DOWN_AFTER, FakeNetwork, Remote, accept, at, frame, id, life},
    },
};
use election_core::{
    Epoch,
    quorum::{Ballot, Hindrance, Maintenance, Message, Position, Stamp},
};
use futures_lite::future::{block_on, poll_once};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{
    fs::{self, OpenOptions},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    pin::pin,
    sync::atomic::{AtomicU32, Ordering},
};

/// A node, and the place of its ballot.
struct Desk {
    network: FakeNetwork,
    /// Where the node listens.
    here: SocketAddr,
    place: tempfile::TempDir,
    member: Member<FakeNetwork>,
    node: Option<Node>,
}

/// The first of three members, which has run before.
fn cluster(
    network: &FakeNetwork,
    place: &tempfile::TempDir,
    here: SocketAddr,
) -> Cluster<FakeNetwork> {
    let members = [("a", "127.0.0.1:1"), ("b", "127.0.0.1:2"), ("c", "127.0.0.1:3")];
    let builder = Cluster::builder_on(network.clone(), "x").node("a").ballot(ballot_in(place));
    let builder = members.iter().fold(builder, |it, (id, address)| it.member(*id, *address));
    let builder = builder.listen(here.to_string()).without_data().down_after(DOWN_AFTER);
    let cluster = builder.build().unwrap();
    let earlier = Ballot {
        promised: Epoch::new(4),
        voted_for: None,
        incarnation: life(1),
        members: cluster.config().members().fingerprint(),
        lists: cluster.config().members().first_lists(),
        floor: Position::default(),
        maintenance: Maintenance::default(),
        pause: None,
    };
    BallotFile::open(&ballot_in(place), id("a")).unwrap().save(&earlier).unwrap();
    cluster
}

/// What a start would refuse is refused later, and nothing else.
#[test]
fn addresses_are_bound_to_what_the_builder_permits() {
    for insecure in [false, true] {
        let (network, place) = (FakeNetwork::new(), tempfile::tempdir().unwrap());
        let builder = Cluster::builder_on(network, "x").node("a").ballot(ballot_in(&place));
        let builder = builder.member("a", free().to_string()).member("b", "127.0.0.1:2");
        let builder = if insecure { builder.insecure() } else { builder };
        let (member, node) = block_on(builder.without_data().build().unwrap().open()).unwrap();
        let moved = member.set_addresses([("b", "10.0.0.2:7400")]);
        assert_eq!(moved.is_ok(), insecure, "{moved:?}");
        drop(node);
    }
}

/// Where nobody listens yet. A port that the system chose would be free, and then perhaps another
/// process's. These are not among those that it chooses, and each process has its own for a while.
fn free() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id().wrapping_mul(64) + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + u16::try_from(number % 20_000).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

impl Desk {
    fn new() -> Self {
        let (place, here, network) = (tempfile::tempdir().unwrap(), free(), FakeNetwork::new());
        network.accept_all();
        let (member, node) = block_on(cluster(&network, &place, here).open()).unwrap();
        Self { network, here, place, member, node: Some(node) }
    }

    /// Lets the node do what it can do now. Returns whether it has ended.
    fn poll(&mut self) -> bool {
        block_on(poll_once(self.node.as_mut().unwrap())).is_some()
    }

    /// Moves the clock to the next instant at which anybody wakes up.
    fn pass(&mut self) -> Timestamp {
        self.network.pass()
    }
}

fn ballot_in(place: &tempfile::TempDir) -> PathBuf {
    place.path().join("ballot")
}

/// Makes a disk hang that is to hold the ballot: whoever opens a pipe waits for a reader.
fn hang(ballot: &Path) -> PathBuf {
    let pipe = ballot.with_file_name("ballot.new");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    pipe
}

impl Desk {
    /// Another member connects and says this.
    fn hears(&mut self, of: &str, message: &Message) -> Remote {
        let caller = self.network.calls(self.here, &frame(of, message));
        self.poll();
        caller
    }

    fn stamp(&self) -> Stamp {
        Stamp { incarnation: life(3), at: self.network.now() }
    }

    /// Lets this time come.
    fn settle(&mut self, millis: u64) {
        while self.network.now() < at(millis) {
            self.poll();
            self.pass();
        }
        self.poll();
    }

    /// Lets time pass until the node votes, on a disk that hangs. Returns when it did. The candidate
    /// speaks once more, so that nothing else is due when the disk has hung for long.
    fn votes(&mut self) -> Timestamp {
        self.settle(20_000);
        let (epoch, position, stamp) = (Epoch::new(5), Position::default(), Some(self.stamp()));
        let candidate = self.hears("b", &Message::Offer { epoch, position, stamp });
        let hindrance = self.member.status().hindrance;
        assert_eq!(hindrance, Some(Hindrance::Saves));
        let since = self.network.now();
        let later = since + Duration::from_millis(7);
        self.network.set_now(later);
        candidate.says(&frame("b", &accept(self.stamp())));
        self.poll();
        since
    }
}

/// It may be asked to lead in the next moment, so it says so in that very moment.
#[test]
fn a_node_is_unfit_while_its_disk_hangs() {
    let mut desk = Desk::new();
    let pipe = hang(&ballot_in(&desk.place));
    let since = desk.votes();
    let is_unfit = |desk: &Desk| desk.member.status().hindrance == Some(Hindrance::Unfit);
    let told = capture::told(|| {
        while !is_unfit(&desk) {
            assert!(desk.pass() <= since + DOWN_AFTER, "nobody looks at the disk");
            desk.poll();
        }
    });
    assert!(told.contains(&"save_hangs".to_owned()), "{told:?}");
    assert_eq!(desk.network.now(), since + DOWN_AFTER);
    // The pipe takes the ballot, but cannot be synced, so the save fails; the next one succeeds.
    let reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    fs::remove_file(&pipe).unwrap();
    let (mut node, member) = (desk.node.take().unwrap(), desk.member.clone());
    let fit = poll_fn(|cx| {
        assert!(Pin::new(&mut node).poll(cx).is_pending());
        match member.status().hindrance {
            Some(Hindrance::Unfit) => Poll::Pending,
            _ => Poll::Ready(()),
        }
    });
    let told = capture::told(|| block_on(fit));
    // Whether that one is tried depends on when the disk goes on.
    assert!(told.iter().any(|it| it == "saved" || it == "save_failed"), "{told:?}");
    drop(reader);
}

/// Whoever says nothing has its place for so long and no longer.
#[test]
fn a_stranger_that_is_silent_is_left_in_the_very_moment() {
    let mut desk = Desk::new();
    desk.settle(7_000);
    let since = desk.network.now() + Duration::from_millis(7);
    desk.network.set_now(since);
    let stranger = desk.network.calls(desk.here, b"");
    desk.poll();
    while stranger.is_open() {
        assert!(desk.pass() <= since + DOWN_AFTER, "nobody looks at it");
        desk.poll();
    }
    assert_eq!(desk.network.now(), since + DOWN_AFTER);
}

/// An election may be waiting for the connection.
#[test]
fn a_connection_that_has_failed_is_made_anew_in_the_next_moment() {
    let mut desk = Desk::new();
    desk.poll();
    while desk.network.dialed().len() < 4 {
        assert!(desk.pass() <= at(5_010), "nobody connects");
        desk.poll();
    }
    assert!(desk.network.now() >= at(5_000), "those before were good for so long");
}

/// The last frame may be the one by which the others elect at once.
#[test]
fn a_leaving_node_flushes_and_closes_its_connections() {
    let mut desk = Desk::new();
    desk.settle(7_000);
    let mut callers = Vec::new();
    for of in ["b", "c"] {
        let accept = accept(desk.stamp());
        callers.push(desk.hears(of, &accept));
    }
    let lines = desk.network.take_remotes().split_off(2);
    assert_eq!(lines.len(), 2, "those on which nobody spoke were made anew");
    lines.iter().for_each(|line| line.takes(0));
    let before: Vec<_> = lines.iter().map(|line| line.taken().len()).collect();
    desk.settle(8_000); // a heartbeat waits
    desk.member.handle().withdraw();
    assert!(!desk.poll());
    lines.iter().for_each(|line| line.takes(usize::MAX));
    block_on(desk.node.take().unwrap());
    for (line, before) in lines.iter().zip(before) {
        assert!(line.is_closed() && line.taken().len() > before);
    }
    let next = BallotFile::open(&ballot_in(&desk.place), id("a"));
    assert!(next.is_ok(), "its ballot is free");
    let handle = desk.member.handle();
    assert!(handle.status().closed);
    let works = handle.run_while_leader(async |_| Ok::<(), String>(()));
    assert!(block_on(works).is_ok(), "it has ended as it was asked to");
}

/// A disk that hangs keeps the ballot, but nobody from leaving.
#[test]
fn a_node_that_leaves_waits_for_its_disk_for_a_bounded_time() {
    let mut desk = Desk::new();
    let pipe = hang(&ballot_in(&desk.place));
    desk.votes();
    let stranger = desk.network.calls(desk.here, b"");
    desk.poll();
    let lines = desk.network.take_remotes();
    desk.member.handle().withdraw();
    let since = desk.network.now();
    assert!(!desk.poll());
    assert!(!stranger.is_open(), "the disk is no reason to keep connections");
    assert!(lines.iter().all(|line| !line.is_open()));
    while !desk.poll() {
        desk.pass();
        assert!(desk.network.now() <= since + LEAVING);
    }
    assert_eq!(desk.network.now(), since + LEAVING);
    drop(OpenOptions::new().read(true).write(true).open(&pipe).unwrap());
}

/// Nobody takes the order any more, and whoever waits for that has to hear it.
#[test]
fn who_waits_for_a_pause_is_told_that_the_node_has_ended() {
    let mut desk = Desk::new();
    let member = desk.member.clone();
    let mut paused = pin!(member.pause(None));
    assert!(block_on(poll_once(paused.as_mut())).is_none());
    desk.node = None;
    assert!(desk.member.handle().status().closed);
    assert_eq!(block_on(poll_once(paused)), Some(Err(PauseError::Stopped)));
    assert_eq!(block_on(poll_once(member.pause(None))), Some(Err(PauseError::Stopped)));
}

#[test]
fn what_is_for_one_peer_goes_to_no_other() {
    let (one, other) = (Peer::new(1), Peer::new(2));
    assert!(is_for(Audience::All, one) && is_for(Audience::All, other));
    assert!(is_for(Audience::One(one), one) && !is_for(Audience::One(one), other));
}
