//! The control socket of a running member: whose it is, where, and who is answered.

use super::{
    control::text,
    members::{IDS, Members, NAME, leads, refused},
    place::{as_user, permit, programs},
    process::{alive, eventually},
};
use rustix::process::{Signal, geteuid};
use std::{
    fs::{self, Permissions},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    process::{Command, Stdio},
    time::Instant,
};

#[test]
fn a_dead_members_socket_is_replaced_and_a_living_ones_is_not() {
    let members = Members::new();
    let mut dead = members.start("n1", "");
    members.status("n1");
    dead.kill();
    assert!(members.socket("n1").exists(), "nobody could remove it");
    refused(&members.ask("status", "n1", &[]), 125, &["nothing answers at", "is not running here"]);
    let living = members.start("n1", "");
    assert_eq!(members.status("n1")["pid"].as_i64(), Some(living.pid().into()));
    let other = members.world.path().join("other").display().to_string();
    let options = ["--ballot", &other, "--listen", members.address(1), "true"];
    let second = members.ask("run", "n1", &options);
    refused(&second, 125, &["another process answers there", "--socket"]);
    assert_eq!(members.status("n1")["pid"].as_i64(), Some(living.pid().into()));
    // What is no socket is nobody's to remove.
    let file = members.world.path().join("file");
    fs::write(&file, "precious").expect("a file of our own");
    let path = file.display().to_string();
    let output = members.ask("run", "n2", &["--socket", &path, "true"]);
    refused(&output, 125, &["something else is there", "--socket"]);
    assert_eq!(fs::read_to_string(&file).expect("a file of our own"), "precious");
    let long = "x".repeat(120);
    for command in ["run", "status"] {
        let output = members.ask(command, "n2", &["--socket", &long]);
        refused(&output, 125, &["120 bytes", "107", "--socket"]);
    }
}

#[test]
fn a_socket_has_a_directory_of_its_users_own() {
    let members = Members::new();
    let _running = members.start("n1", "");
    members.status("n1");
    let mode =
        |path: &std::path::Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    let directory = members.world.path().join("run/election");
    assert_eq!((mode(&directory), mode(&members.socket("n1"))), (0o700, 0o600));
    fs::set_permissions(&directory, Permissions::from_mode(0o755)).expect("a directory");
    let words = ["accessible to other users", "chmod 700"];
    refused(&members.ask("status", "n1", &[]), 125, &words);
    // A member does without.
    let others = [members.start("n2", ""), members.start("n3", "")];
    others[0].says("no control socket");
    others[0].says("chmod 700");
    members.world.start_after(0);
    fs::set_permissions(&directory, Permissions::from_mode(0o700)).expect("a directory");
}

/// The directory of a session that is over does not matter.
#[test]
fn without_a_session_the_socket_is_below_tmp() {
    let members = Members::new();
    // Others may test at the same time, in the same directory.
    let path = format!("/tmp/election-{}/{}.n1.sock", geteuid().as_raw(), *NAME);
    for missing in [true, false] {
        let outside = |mut command: Command| {
            match missing {
                true => command.env("XDG_RUNTIME_DIR", members.world.path().join("no/session")),
                false => command.env_remove("XDG_RUNTIME_DIR"),
            };
            command
        };
        let mut running = members.world.start(outside(members.run("n1", &[], "")));
        running.says(&path);
        let said = eventually("an answer", || {
            let asked = members.world.output(&mut outside(members.command("status", "n1", &[])));
            asked.status.success().then(|| text(&asked))
        });
        assert!(said.starts_with(&*NAME), "{said}");
        // One session's commands find what was started outside of it.
        text(&members.ask("status", "n1", &[]));
        running.send(Signal::TERM);
        running.exit();
        assert!(!std::path::Path::new(&path).exists());
    }
}

/// Without root this test asks `sudo` for another user.
#[test]
fn another_user_is_not_answered() {
    let members = Members::new();
    let open = programs(0o755);
    let place = |name: &str| open.path().join(name);
    fs::copy(members.file(), place("cluster.toml")).expect("a copy");
    let socket = place("socket");
    let path = socket.display().to_string();
    let _running = members.world.start(members.run("n1", &["--socket", &path], ""));
    let asked = eventually("a socket", || {
        let output = members.ask("status", "n1", &["--socket", &path]);
        output.status.success().then_some(output)
    });
    text(&asked);
    permit(&socket, 0o666); // whatever an operator has done to it
    let mut command = as_user(65_534, place("election"));
    command.args(["status", "--node", "n1", "--socket", &path, "--cluster"]);
    let stranger = members.world.output(command.arg(place("cluster.toml")));
    // Root's own sockets are trusted by everybody, so there the member speaks.
    let root = ["only root and the user that runs this member may ask it"];
    let user = ["another user (id ", "answers there"];
    refused(&stranger, 125, if geteuid().is_root() { &root } else { &user });
}

/// Whatever comes in at the socket, the member goes on and its operator is heard.
#[test]
fn a_crowd_at_the_socket_delays_nobody() {
    let members = Members::new();
    let all = members.all("");
    let job = members.world.start_after(0);
    let node = IDS[leads(&all, &job)];
    IDS.iter().for_each(|node| members.settled(node));
    let connect = || UnixStream::connect(members.socket(node)).expect("a member that answers");
    let answer = |mut stream: UnixStream| {
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("an answer");
        said
    };
    let crowd: Vec<_> = (0..8).map(|_| connect()).collect();
    assert!(answer(connect()).contains("too many clients ask this member"));
    // They say nothing for too long.
    let before = Instant::now();
    members.status(node);
    assert!(before.elapsed() < std::time::Duration::from_secs(20));
    drop(crowd);
    let mut observers: Vec<_> = (0..4)
        .map(|_| {
            let mut observer = members.command("observe", node, &[]);
            let observer = observer.stdout(Stdio::piped()).stderr(Stdio::null());
            observer.spawn().expect("the command")
        })
        .collect();
    for observer in &mut observers {
        let mut byte = [0];
        observer.stdout.as_mut().expect("a pipe").read_exact(&mut byte).expect("the state");
    }
    refused(&members.ask("observe", node, &[]), 125, &["too many clients observe this member"]);
    members.status(node);
    for mut observer in observers {
        observer.kill().and_then(|()| observer.wait()).expect("our own child");
    }
    // Nothing has changed, so nothing was written to them: that they have gone is seen by itself.
    eventually("a place for another observer", || {
        let mut observer = connect();
        observer.write_all(b"{\"ask\":\"observe\"}\n").expect("a reader");
        let mut line = String::new();
        BufReader::new(observer).read_line(&mut line).expect("a line");
        line.contains("seen").then_some(())
    });
    assert!(alive(job.pid), "the primary goes on");
    assert_eq!(members.world.notes("start").len(), 1);
}

/// Another process may have put its own socket there meanwhile.
#[test]
fn a_member_that_ends_leaves_the_socket_of_another_alone() {
    let members = Members::new();
    let mut running = members.start("n1", "");
    members.status("n1");
    let socket = members.socket("n1");
    fs::remove_file(&socket).expect("the member's socket");
    let _successor = UnixListener::bind(&socket).expect("a socket in its place");
    running.send(Signal::TERM);
    running.exit();
    UnixStream::connect(&socket).expect("the successor's socket");
}

/// Who can put a socket where a member's should be must not be able to answer in its place.
#[test]
fn another_user_is_not_believed() {
    let members = Members::new();
    let open = programs(0o777);
    let place = |name: &str| open.path().join(name);
    fs::copy(members.file(), place("cluster.toml")).expect("a copy");
    let path = place("socket").display().to_string();
    let run_as = |user: u32, arguments: &[&str]| {
        let mut command = as_user(user, place("election"));
        command.args(arguments).args(["--node", "n1", "--socket", &path]);
        command.arg("--cluster").arg(place("cluster.toml"));
        command
    };
    let ballot = place("ballot").display().to_string();
    let mut other = run_as(65533, &["run", "--ballot", &ballot]);
    let mut other = members.world.start({
        other.args(["--", "true"]).env(super::job::PLACE, members.world.path());
        other
    });
    other.says("answering at");
    // Root is trusted by it, and may change what is not root's.
    assert!(as_user(0, "chmod").args(["0666", &path]).status().expect("chmod").success());
    let root = members.world.output(&mut run_as(0, &["status"]));
    assert!(root.status.success(), "root may ask whoever runs: {root:?}");
    let output = members.world.output(&mut run_as(65534, &["status"]));
    refused(&output, 125, &["n1 did not answer", "another user (id 65533) answers there"]);
    other.send(Signal::TERM);
    other.exit();
}
