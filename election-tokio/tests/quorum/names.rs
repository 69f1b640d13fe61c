//! Members by name: names that mean several addresses, and name servers that say nothing.
//!
//! Each test has a `/etc` of its own as far as names go, where mounts are its own.

use crate::cluster::Nodes;
use election_testing::{
    free_port,
    router::{ip, moved},
};
use election_tokio::Cluster;
use rustix::net::listen;
use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket},
    path::Path,
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Puts a file of the test's own in place of one of the system's.
fn replace(place: &Path, file: &str, text: &str) {
    let own = place.join(file.replace('/', "-"));
    fs::write(&own, text).expect("a directory of our own");
    let mut mount = Command::new("mount");
    let status = mount.arg("--bind").arg(&own).arg(file).status().expect("mount");
    assert!(status.success(), "{file}: {status}");
}

/// A port at which the kernel answers nobody any more.
fn deaf(address: SocketAddr) -> (TcpListener, Vec<TcpStream>) {
    let listener = TcpListener::bind(address).expect("an address of this machine");
    listen(&listener, 0).expect("a smaller backlog");
    let patience = Duration::from_millis(100);
    let connect = || TcpStream::connect_timeout(&address, patience).ok();
    let waiting: Vec<_> = std::iter::from_fn(connect).collect();
    (listener, waiting)
}

/// A port at which somebody accepts, and keeps the connection or not.
fn stranger(address: SocketAddr, keeps: bool) {
    let listener = TcpListener::bind(address).expect("an address of this machine");
    thread::spawn(move || {
        let mut kept = Vec::new();
        kept.extend(listener.incoming().flatten().filter(|_| keeps));
    });
}

/// Of the addresses that a name means, the first says nothing at all, the second hangs up, the third
/// accepts and keeps silent, and the last is the member.
#[test]
fn every_address_of_a_name_is_tried() {
    if !moved("names::every_address_of_a_name_is_tried") {
        return;
    }
    ip("link set lo up");
    let place = TempDir::new().expect("a temporary directory");
    let hosts = (1..=4).map(|last| format!("127.0.9.{last} many\n")).collect::<String>();
    replace(place.path(), "/etc/hosts", &hosts);
    replace(place.path(), "/etc/nsswitch.conf", "hosts: files\n");
    let port = free_port();
    let found: Vec<_> = ("many", port).to_socket_addrs().expect("a name").collect();
    assert_eq!(found.len(), 4, "{found:?}");
    let _deaf = deaf(found[0]);
    stranger(found[1], false);
    stranger(found[2], true);

    let mut nodes = Nodes::at(vec![format!("127.0.0.1:{port}"), found[3].to_string()]);
    nodes.route(0, 1, &format!("many:{port}"));
    let began = Instant::now();
    (0..2).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    println!("elected after {:?}", began.elapsed());
    nodes.check();
}

/// A node of three whose peers have these addresses.
fn cluster(place: &Path, own: usize, addresses: &[String]) -> Cluster {
    let members = (1..).zip(addresses);
    let builder = Cluster::builder("names").node(format!("n{own}")).insecure().without_data();
    let builder = members.fold(builder, |it, (nth, at)| it.member(format!("n{nth}"), at.clone()));
    let builder = builder.ballot(place.join(format!("ballot-{own}")));
    builder.down_after(Duration::from_secs(2)).build().expect("a valid cluster")
}

/// An application may have filled every thread on which its runtime lets it block.
#[test]
fn nodes_elect_while_the_runtime_has_no_thread_to_block_on() {
    let place = TempDir::new().expect("a temporary directory");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let (ended, blocks) = mpsc::channel::<()>();
    runtime.spawn_blocking(move || blocks.recv());
    let addresses: Vec<_> = (0..3).map(|_| format!("localhost:{}", free_port())).collect();
    let elected = runtime.block_on(async {
        let mut members = Vec::new();
        let all = async {
            for own in 1..=3 {
                let started = cluster(place.path(), own, &addresses).start().await;
                members.push(started.expect("a node"));
            }
            let mut watch = members[0].handle().watch();
            watch.until(|status| status.leader.is_some()).await;
        };
        let elected = tokio::time::timeout(Duration::from_secs(20), all).await;
        for member in &members {
            member.handle().shutdown().await;
        }
        elected
    });
    drop(ended);
    elected.expect("a leader");
}

/// A name server that takes questions and never answers.
#[test]
fn a_hanging_name_server_does_not_delay_the_runtimes_end() {
    if !moved("names::a_hanging_name_server_does_not_delay_the_runtimes_end") {
        return;
    }
    ip("link set lo up");
    let place = TempDir::new().expect("a temporary directory");
    replace(place.path(), "/etc/nsswitch.conf", "hosts: files dns\n");
    let resolver = "nameserver 127.0.0.1\noptions timeout:30 attempts:1\n";
    replace(place.path(), "/etc/resolv.conf", resolver);
    let server = UdpSocket::bind("127.0.0.1:53").expect("a name server's port");
    server.set_read_timeout(Some(Duration::from_secs(20))).expect("our own socket");
    let addresses =
        ["127.0.0.1", "n2.example.org", "127.0.0.1"].map(|host| format!("{host}:{}", free_port()));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let member = runtime.block_on(cluster(place.path(), 1, &addresses).start()).expect("a node");
    let mut question = [0; 512];
    server.recv_from(&mut question).expect("a question");
    assert!(question.windows(7).any(|it| it == b"example"), "for the member's name");
    let began = Instant::now();
    drop(member);
    drop(runtime);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(5), "it was held up for {took:?}");
    // One lookup at a time: what came meanwhile belongs to the first (both families, perhaps twice).
    server.set_nonblocking(true).expect("our own socket");
    let more = std::iter::from_fn(|| server.recv_from(&mut question).ok()).count();
    assert!(more <= 3, "{more} questions more");
}
