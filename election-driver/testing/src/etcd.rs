//! A throw-away etcd cluster: real members on the loopback address, or each on a host of a router; killed,
//! stopped, cut off, replaced and started again at will. They die with the process that started them.

use super::{
    kind::Kind,
    launch::{certify, found},
    process::{eventually, freeze, send, thaw},
    router::{Router, address},
};
use election_driver::conformance::free_port;
use rustix::process::Signal;
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// A cluster of one or three members.
pub struct Etcd {
    directory: TempDir,
    members: Vec<Member>,
    /// How many were there at first.
    founders: usize,
    /// Whether clients have to show certificates, and speak TLS.
    is_encrypted: bool,
    /// Further arguments of each member.
    arguments: &'static [&'static str],
}

struct Member {
    host: String,
    /// What its command line begins with: the namespace of its host, if it has one of its own.
    within: Vec<String>,
    client: u16,
    peer: u16,
    /// `None` while it is down.
    process: Option<Child>,
}

impl Member {
    fn on(host: String, within: Vec<String>) -> Self {
        Self { host, within, client: free_port(), peer: free_port(), process: None }
    }

    fn local() -> Self {
        Self::on("127.0.0.1".to_owned(), Vec::new())
    }

    fn endpoint(&self) -> String {
        format!("{}:{}", self.host, self.client)
    }

    fn peer_url(&self) -> String {
        format!("http://{}:{}", self.host, self.peer)
    }
}

/// The password of `root`, once [`enable_auth`](Etcd::enable_auth) was called.
const ROOT: &str = "root:secret";

impl Etcd {
    /// Starts three members, and waits until they have a leader.
    ///
    /// # Panics
    /// If they are not installed or do not start; the message says what to install, or quotes them.
    #[must_use]
    pub fn start() -> Self {
        Self::of((0..3).map(|_| Member::local()).collect(), false, &[])
    }

    /// Starts a member on each of these hosts, and waits until they have a leader.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_on(router: &Router) -> Self {
        let host = |node| Member::on(address(node), router.within(node).to_vec());
        Self::of((0..router.count()).map(host).collect(), false, &[])
    }

    /// Starts one member that is a cluster of its own, with these further arguments.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_single(arguments: &'static [&'static str]) -> Self {
        Self::of(vec![Member::local()], false, arguments)
    }

    /// Starts one member to which clients speak by TLS, and show a certificate. In
    /// [`directory`](Self::directory) are the authority's certificate, `ca.pem`, and one with its key
    /// for the member and its clients, `server.pem` and `server.key`.
    ///
    /// # Panics
    /// As [`start`](Self::start), or if openssl is not installed.
    #[must_use]
    pub fn start_encrypted() -> Self {
        Self::of(vec![Member::local()], true, &[])
    }

    fn of(members: Vec<Member>, is_encrypted: bool, arguments: &'static [&'static str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        if is_encrypted {
            certify(Kind::MariaDb, directory.path());
        }
        let founders = members.len();
        let mut cluster = Self { directory, members, founders, is_encrypted, arguments };
        (0..founders).for_each(|at| cluster.launch(at));
        cluster.wait_until_led();
        cluster
    }

    /// Where everything of it lies.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Adds a member that learns, and has no vote and no answers. Tells which it is.
    ///
    /// # Panics
    /// If the others refuse it.
    pub fn add_learner(&mut self) -> usize {
        let at = self.size();
        self.members.push(Member::local());
        let (name, url) =
            (format!("m{at}"), format!("--peer-urls={}", self.members[at].peer_url()));
        self.run(&["member", "add", &name, "--learner", &url]);
        self.launch(at);
        at
    }

    /// Replaces a member by a new one at the same address, as after the loss of its disk.
    ///
    /// # Panics
    /// If the others refuse it.
    pub fn replace(&mut self, at: usize) {
        self.kill(at);
        self.wait_until_led(); // it may have been the leader: nothing is asked twice
        let (name, list) = (format!("m{at}"), self.run(&["member", "list"]));
        let line = list.lines().find(|line| line.contains(&format!(" {name},")));
        let id = line.and_then(|line| line.split(',').next()).expect("a member");
        self.run(&["member", "remove", id]);
        self.wipe(at);
        let url = format!("--peer-urls={}", self.members[at].peer_url());
        self.run(&["member", "add", &name, &url]);
        self.founders = 0; // whoever starts from now on joins
        self.launch(at);
    }

    /// How many members there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The port at which a member serves clients.
    #[must_use]
    pub fn port(&self, at: usize) -> u16 {
        self.members[at].client
    }

    /// The hosts of a URL that names every member, this one first.
    #[must_use]
    pub fn hosts_from(&self, first: usize) -> String {
        let mut hosts: Vec<_> = self.members.iter().map(Member::endpoint).collect();
        hosts.rotate_left(first);
        hosts.join(",")
    }

    /// The URL that names every member.
    #[must_use]
    pub fn url(&self) -> String {
        format!("etcd://{}", self.hosts_from(0))
    }

    fn launch(&mut self, at: usize) {
        let listed: Vec<_> = (self.members.iter().enumerate())
            .map(|(at, member)| format!("m{at}={}", member.peer_url()))
            .collect();
        let data = self.data(at);
        let log = OpenOptions::new().create(true).append(true).open(self.log(at));
        let log = log.expect("a log file");
        let member = &self.members[at];
        let scheme = if self.is_encrypted { "https" } else { "http" };
        let client = format!("{scheme}://{}", member.endpoint());
        let peer = member.peer_url();
        // It must not outlive the test, however the test ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).args(&member.within).arg(found("etcd"));
        command.args(["--name", &format!("m{at}"), "--data-dir"]);
        command.arg(data);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &listed.join(",")]);
        // Soon, and still not by mistake on a machine that is busy.
        command.args(["--heartbeat-interval", "100", "--election-timeout", "1000"]);
        command.args(["--initial-cluster-token", &format!("of-{}", self.members[0].peer)]);
        let is_new = at < self.founders;
        command.args(["--initial-cluster-state", if is_new { "new" } else { "existing" }]);
        if self.is_encrypted {
            for (option, file) in [
                ("--trusted-ca-file", "ca.pem"),
                ("--cert-file", "server.pem"),
                ("--key-file", "server.key"),
            ] {
                command.arg(option).arg(self.directory.path().join(file));
            }
            command.arg("--client-cert-auth");
        }
        command.args(self.arguments);
        command.args(["--logger", "zap", "--log-level", "warn"]);
        let errors = log.try_clone().expect("a second handle");
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        self.members[at].process = Some(command.spawn().expect("a member that can be started"));
    }

    fn data(&self, at: usize) -> PathBuf {
        self.directory.path().join(format!("m{at}"))
    }

    fn log(&self, at: usize) -> PathBuf {
        self.directory.path().join(format!("log{at}"))
    }

    fn pid(&self, at: usize) -> Option<i32> {
        let process = self.members[at].process.as_ref()?;
        i32::try_from(process.id()).ok()
    }

    /// What `etcdctl` says to this input, if it succeeds.
    fn told(&self, endpoints: &str, arguments: &[&str], input: &str) -> Option<String> {
        let mut etcdctl = Command::new(found("etcdctl"));
        etcdctl.env("ETCDCTL_API", "3").arg("--command-timeout=2s").arg("--dial-timeout=1s");
        if self.is_encrypted {
            for (option, file) in
                [("--cacert", "ca.pem"), ("--cert", "server.pem"), ("--key", "server.key")]
            {
                etcdctl.arg(option).arg(self.directory.path().join(file));
            }
        }
        etcdctl.arg(format!("--endpoints={endpoints}")).args(arguments);
        etcdctl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = etcdctl.spawn().expect("etcdctl");
        // It reads none unless it is told to.
        let _ = process.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        let output = process.wait_with_output().expect("etcdctl");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs `etcdctl` on the whole cluster.
    ///
    /// # Panics
    /// If it fails for long.
    pub fn run(&self, arguments: &[&str]) -> String {
        self.feed(arguments, "")
    }

    /// Runs `etcdctl` on the whole cluster, with this input.
    ///
    /// # Panics
    /// If it fails for long.
    pub fn feed(&self, arguments: &[&str], input: &str) -> String {
        let what = format!("etcdctl {arguments:?}");
        eventually(&what, || self.told(&self.hosts_from(0), arguments, input))
    }

    /// The member that leads the others, if one says so and serves.
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        (0..self.size()).filter(|at| self.members[*at].process.is_some()).find(|at| {
            let endpoint = self.members[*at].endpoint();
            let status = self.told(&endpoint, &["endpoint", "status", "--write-out=fields"], "");
            let status = status.unwrap_or_default();
            let field = |name: &str| {
                let line = status.lines().find(|line| line.starts_with(name))?;
                line.split_once(':').map(|(_, value)| value.trim().to_owned())
            };
            field("\"Leader\"").is_some_and(|leader| field("\"MemberID\"") == Some(leader))
        })
    }

    /// Waits until a member leads the others.
    ///
    /// # Panics
    /// If none does, or a member has ended by itself.
    pub fn wait_until_led(&self) -> usize {
        eventually("a leader of etcd", || {
            for (at, member) in self.members.iter().enumerate() {
                if member.process.is_some() && !self.runs(at) {
                    panic!(
                        "a member has ended: {}",
                        fs::read_to_string(self.log(at)).unwrap_or_default()
                    );
                }
            }
            self.leader()
        })
    }

    /// Whether a member's process lives.
    #[must_use]
    pub fn runs(&self, at: usize) -> bool {
        self.pid(at).is_some_and(super::process::alive)
    }

    /// Kills a member (SIGKILL).
    ///
    /// # Panics
    /// If the kernel refuses.
    pub fn kill(&mut self, at: usize) {
        if let Some(mut process) = self.members[at].process.take() {
            process.kill().expect("a child that can be killed");
            process.wait().expect("a child that ends");
        }
    }

    /// Removes the data of a member that was killed.
    ///
    /// # Panics
    /// If they cannot be removed.
    pub fn wipe(&self, at: usize) {
        fs::remove_dir_all(self.data(at)).expect("a member's data");
    }

    /// Starts a member again, with its data. It may take a while to serve.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn restart(&mut self, at: usize) {
        self.kill(at);
        self.launch(at);
    }

    /// Stops a member (SIGSTOP): its connections stay open, and nothing comes from it.
    ///
    /// # Panics
    /// If it does not stand still.
    pub fn freeze(&self, at: usize) {
        freeze(self.pid(at).expect("a member that runs"));
    }

    /// Lets a stopped member go on.
    ///
    /// # Panics
    /// If it was killed.
    pub fn thaw(&self, at: usize) {
        thaw(self.pid(at).expect("a member that runs"));
    }

    /// Demands user and password from now on. `root` has the password `secret`, and the user
    /// `election` with the same password may read and write keys that begin with `mine/`.
    ///
    /// # Panics
    /// If etcd refuses.
    pub fn enable_auth(&self) {
        for order in [
            &["user", "add", ROOT][..],
            &["role", "add", "root"],
            &["user", "grant-role", "root", "root"],
            &["user", "add", "election:secret"],
            &["role", "add", "elections"],
            &["role", "grant-permission", "elections", "readwrite", "mine/", "--prefix=true"],
            &["user", "grant-role", "election", "elections"],
            &["auth", "enable"],
        ] {
            self.run(order);
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for at in 0..self.size() {
            if let Some(pid) = self.pid(at) {
                send(pid, Signal::KILL);
            }
            if let Some(mut process) = self.members[at].process.take() {
                let _ = process.wait();
            }
        }
    }
}
