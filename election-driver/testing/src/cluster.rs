//! A throw-away cluster of three MariaDB servers (Galera).
//!
//! All begin with the same data, those of a server that was a cluster of its own for a moment. So
//! who joins lacks only the newest writes, and takes them from another server's memory. One that was
//! away for longer than that reaches back, or has kept a write that the others have lost, takes a copy
//! of another's files. MariaDB's own program for that needs rsync; theirs copies from one directory to
//! the other.

use super::{
    data,
    kind::Kind,
    launch::OPTIONS,
    process::eventually,
    servers::{Server, directory},
};
use election_driver::conformance::free_port;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// A cluster of three servers, each with the database `election`, user `election`, password
/// `election`.
pub struct Galera {
    nodes: Vec<Server>,
    /// What each server is told beside what every server is told.
    options: Vec<String>,
}

/// How many servers there are: two of them are a majority.
const SIZE: usize = 3;

/// Where Debian's package `galera-4` puts it.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// A server that is not heard for two seconds is out. One that was comes back as soon as it is heard. An attempt to
/// agree on who is in ends after half of the inactive timeout: it has to outlast the suspicion of a server that was
/// killed, or the attempts may follow each other without end.
const PACE: &str = "evs.suspect_timeout=PT2S;evs.inactive_timeout=PT6S;\
                    evs.inactive_check_period=PT0.2S;evs.keepalive_period=PT0.3S;evs.join_retrans_period=PT0.2S;\
                    gmcast.time_wait=PT1S;gcache.size=16M";

/// The program that brings a server up to date: it hands over the giver's files, if memory does not reach back far
/// enough, and how far the giver is.
const HANDOVER: &str = r#"#!/bin/sh
set -e
while [ $# -gt 0 ]; do
  case "$1" in
    --role) role=$2 ;;
    --address) address=$2 ;;
    --datadir) data=$2 ;;
    --gtid) position=$2 ;;
    --bypass) newest=yes ;;
  esac
  shift
done
case "$role" in
  joiner)
    handed=${data}handed
    rm -f "$handed" && mkfifo "$handed" && echo "ready $handed"
    exec timeout 60 cat "$handed" ;; # the giver may have died
  donor)
    if [ -z "$newest" ]; then
      cd "$data" && rm -f tables_flushed
      echo "flush tables"
      timeout 60 sh -c "until [ -s tables_flushed ]; do sleep 0.01; done"
      position=$(cat tables_flushed)
      # Aria's log, InnoDB's files and the databases.
      (cd "${address%/*}" && rm -rf [aiu]* */)
      cp -a --sparse=always [aiu]* */ "${address%/*}"
      echo "continue"
    fi
    echo "$position" >"$address"
    echo "done $position" ;;
esac
"#;

impl Galera {
    /// Starts three servers and waits until they are a cluster.
    ///
    /// # Panics
    /// If they are not installed or do not start; the message says what to install, or quotes one.
    #[must_use]
    pub fn start() -> Self {
        Self::start_as(Server::start_on)
    }

    /// Like [`start`](Self::start), with a wall clock for each server
    /// ([`set_clock`](Server::set_clock)).
    ///
    /// # Panics
    /// As there, or if libfaketime is not installed.
    #[must_use]
    pub fn start_with_clocks() -> Self {
        Self::start_as(Server::start_with_clock_on)
    }

    fn start_as(start: fn(tempfile::TempDir, &Path) -> Server) -> Self {
        let (base, _seed) = base();
        let groups: Vec<u16> = (0..SIZE).map(|_| free_port()).collect();
        let members: Vec<String> = groups.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let address = format!("--wsrep-cluster-address=gcomm://{}", members.join(","));
        let options: Vec<String> =
            groups.iter().map(|port| format!("{}\n{address}", member(*port))).collect();
        let mut nodes = Vec::new();
        for (at, own) in options.iter().enumerate() {
            let founds = if at == 0 { "\n--wsrep-new-cluster" } else { "" };
            let directory = directory();
            instruct(directory.path(), &format!("{own}{founds}"));
            let mut node = start(directory, &base);
            if at == 0 {
                node.wait_until_up(); // who joins gives up if it meets only others that join
            }
            nodes.push(node);
        }
        let mut cluster = Self { nodes, options };
        cluster.nodes.iter_mut().for_each(Server::wait_until_up);
        (0..SIZE).for_each(|at| cluster.wait_until_in(at));
        cluster
    }

    /// One of the servers.
    #[must_use]
    pub fn node(&self, at: usize) -> &Server {
        &self.nodes[at]
    }

    /// The same, to do something to it that nobody waits for.
    pub fn node_mut(&mut self, at: usize) -> &mut Server {
        &mut self.nodes[at]
    }

    /// Kills a server (SIGKILL), and waits until the others are a cluster without it.
    ///
    /// # Panics
    /// If the kernel refuses, or they do not become one.
    pub fn kill(&mut self, at: usize) {
        self.nodes[at].kill();
        self.wait_until_without(at);
    }

    /// Starts a server again that was killed, from where its own files say that it was, and waits
    /// until it is in the cluster.
    ///
    /// # Panics
    /// If it does not start.
    pub fn rejoin(&mut self, at: usize) {
        self.launch_again(at);
        self.nodes[at].wait_until_up();
        self.wait_until_in(at);
    }

    /// Starts the servers that have ended, as [`rejoin`](Self::rejoin) does, and does not wait. If all of the last
    /// cluster are there, they become one again, even where there was no majority.
    ///
    /// # Panics
    /// If a server cannot say where it was.
    pub fn mend(&mut self) {
        for at in 0..SIZE {
            if self.nodes[at].ended().is_some() {
                self.launch_again(at);
            }
        }
    }

    /// How many times a server has found that the others have lost a commit that it had kept. That happens when most
    /// die at once, the one that is left had not heard of their last commit, and they follow it.
    #[must_use]
    pub fn losses(&self) -> usize {
        let log = |node: &Server| fs::read_to_string(node.place().join("log")).unwrap_or_default();
        self.nodes.iter().map(|node| log(node).matches("Reversing history").count()).sum()
    }

    fn launch_again(&mut self, at: usize) {
        let (node, options) = (&mut self.nodes[at], &self.options[at]);
        instruct(&node.place(), &format!("{options}\n--wsrep-recover"));
        let said = node.run_to_its_end();
        let position = said.lines().rev().find_map(|line| line.split_once("Recovered position: "));
        let (_, position) = position.unwrap_or_else(|| panic!("no position in {said}"));
        instruct(&node.place(), &format!("{options}\n--wsrep-start-position={position}"));
        node.relaunch();
    }

    /// Freezes a server (SIGSTOP), and waits until the others are a cluster without it.
    ///
    /// # Panics
    /// As [`kill`](Self::kill).
    pub fn freeze(&self, at: usize) {
        self.nodes[at].freeze();
        self.wait_until_without(at);
    }

    /// Cuts a server off from the others, and waits until they are a cluster without it. Clients still reach it.
    ///
    /// # Panics
    /// As [`kill`](Self::kill), or if the server does not do so.
    pub fn isolate(&self, at: usize) {
        self.cut(at, true);
        self.wait_until_without(at);
    }

    /// Ends that, and waits until the server is in the cluster again.
    ///
    /// # Panics
    /// If it does not come back.
    pub fn reconnect(&self, at: usize) {
        self.cut(at, false);
        self.wait_until_in(at);
    }

    fn cut(&self, at: usize, off: bool) {
        let set = format!("SET GLOBAL wsrep_provider_options='gmcast.isolate={}'", u8::from(off));
        self.nodes[at].administer("mysql", &set);
    }

    /// Waits until a server is in the cluster and has caught up.
    ///
    /// # Panics
    /// If it does not come so far.
    pub fn wait_until_in(&self, at: usize) {
        let state =
            "SHOW STATUS WHERE Variable_name='wsrep_local_state_comment' AND Value='Synced'";
        let node = &self.nodes[at];
        eventually("a server in its cluster", || {
            node.try_administer("mysql", state).ok().filter(|said| !said.is_empty())
        });
    }

    /// Waits until the others are a cluster without this server.
    ///
    /// If they lose each other before they have agreed that it is gone, as on a machine that stood still, neither
    /// is of a majority, and they stay so when they meet again. An operator then declares them the cluster.
    fn wait_until_without(&self, gone: usize) {
        let others = || (0..SIZE).filter(|at| *at != gone).map(|at| &self.nodes[at]);
        let state = "SELECT concat(max(if(variable_name = 'WSREP_CLUSTER_SIZE', variable_value, '')), ' ', \
                     max(if(variable_name = 'WSREP_CLUSTER_STATUS', variable_value, ''))) \
                     FROM information_schema.global_status";
        eventually("a cluster of those that are left", || {
            let all = |said: &str| {
                others().all(|node| {
                    node.try_administer("mysql", state).is_ok_and(|is| is.trim() == said)
                })
            };
            if all("2 non-Primary") {
                let declare = "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'";
                others().next().map(|node| node.administer("mysql", declare));
            }
            all("2 Primary").then_some(())
        });
    }

    /// Waits until a server has noticed that it is out of the cluster.
    ///
    /// # Panics
    /// If it does not notice.
    pub fn wait_until_out(&self, at: usize) {
        let ready = "SHOW STATUS WHERE Variable_name='wsrep_ready' AND Value='OFF'";
        let node = &self.nodes[at];
        eventually("a server that knows that it is cut off", || {
            node.try_administer("mysql", ready).ok().filter(|said| !said.is_empty())
        });
    }
}

/// Where the data of a server lie that was a cluster of its own, and whose they are if they are not
/// kept.
fn base() -> (PathBuf, Option<Server>) {
    let kept = data::kept(Kind::MariaDb).map(|plain| plain.with_extension("galera"));
    if let Some(kept) = kept.as_ref().filter(|kept| kept.exists()) {
        return (kept.clone(), None);
    }
    let mut seed = Server::start(Kind::MariaDb);
    seed.terminate();
    let founds =
        format!("{}\n--wsrep-new-cluster\n--wsrep-cluster-address=gcomm://", member(free_port()));
    instruct(&seed.place(), &founds);
    seed.restart();
    seed.terminate();
    match kept {
        Some(kept) => {
            data::keep(&seed.data(), &kept);
            (kept, None)
        }
        None => (seed.data(), Some(seed)),
    }
}

/// The options of a server that talks to others at this port.
fn member(port: u16) -> String {
    assert!(
        Path::new(PROVIDER).exists(),
        "{PROVIDER} is missing; on Debian: apt-get install galera-4"
    );
    let newest = free_port();
    [
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={PROVIDER}"),
        "--binlog-format=ROW".to_owned(),
        "--innodb-autoinc-lock-mode=2".to_owned(),
        "--wsrep-sst-method=handover".to_owned(),
        format!("--wsrep-node-address=127.0.0.1:{port}"),
        format!(
            "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{port};\
             ist.recv_addr=127.0.0.1:{newest};{PACE}"
        ),
    ]
    .join("\n")
}

/// Writes down what the server in this directory is told at its next start.
fn instruct(directory: &Path, options: &str) {
    let program = directory.join("wsrep_sst_handover");
    fs::write(&program, HANDOVER).expect("a writable directory");
    let runs = fs::Permissions::from_mode(0o755);
    fs::set_permissions(program, runs).expect("a file of our own");
    fs::write(directory.join(OPTIONS), options).expect("a writable directory");
}
