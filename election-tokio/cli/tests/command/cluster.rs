//! Jobs on the primary of a cluster: three real processes, and no database.

use super::{
    members::{DOWN_AFTER, IDS, Members, NAME, leads, refused, said},
    process::{alive, eventually, gone},
};
use rustix::process::Signal;
use std::{fs, process::Command, time::Instant};

#[test]
fn a_member_told_to_end_is_succeeded_at_once() {
    let members = Members::new();
    let mut all = members.all("code=3");
    let job = members.world.start_after(0);
    let first = leads(&all, &job);
    IDS.iter().for_each(|node| members.settled(node));
    let told = Instant::now();
    all[first].send(Signal::TERM);
    let next = members.world.start_after(job.epoch);
    let took = told.elapsed();
    assert!(took < DOWN_AFTER, "not before the silence of the primary was noticed: {took:?}");
    assert_eq!(all[first].exit(), Some(3), "{}", all[first].messages());
    assert_eq!(members.world.notes("stop").len(), 1, "the job was not asked first");
    assert_ne!(leads(&all, &next), first);
    assert!(!members.socket(IDS[first]).exists(), "it leaves no socket behind");
    let follower = (0..3).find(|place| ![first, leads(&all, &next)].contains(place));
    let follower = follower.expect("three members");
    all[follower].send(Signal::TERM);
    assert_eq!(all[follower].exit(), Some(128 + 15));
    members.world.assert_exclusive();
}

/// A stopped primary neither runs its job any longer than a majority believes in it, nor comes back
/// as one.
#[test]
fn the_job_of_a_stopped_primary_ends_before_another_begins() {
    let members = Members::new();
    let all = members.all("");
    let job = members.world.start_after(0);
    let first = leads(&all, &job);
    IDS.iter().for_each(|node| members.settled(node));
    super::process::freeze(all[first].pid());
    let next = members.world.start_after(job.epoch);
    assert!(!alive(job.pid));
    super::process::thaw(all[first].pid());
    all[first].says(&format!("following leader={}", IDS[leads(&all, &next)]));
    members.world.assert_exclusive();
}

#[test]
fn a_witness_votes_and_needs_no_job() {
    let members = Members::with("", ["", "", "witness = true"]);
    let witness = members.world.start(members.command("run", "n3", &[]));
    witness.says("a witness, which votes and never runs a job");
    let mut all = vec![members.start("n1", ""), members.start("n2", "")];
    let job = members.world.start_after(0);
    members.settled("n3");
    let first = leads(&all, &job);
    all[first].kill();
    members.world.start_after(job.epoch);
    let output = members.ask("run", "n3", &["--try"]);
    refused(&output, 125, &["a witness is never elected", "remove --wait or --try"]);
    let output = members.ask("hold", "n3", &[]);
    refused(&output, 125, &["a witness is never elected", "it can hold nothing"]);
    members.world.assert_exclusive();
}

/// It is told where the election is held, and of no database.
#[test]
fn a_primarys_job_inherits_its_cluster_and_nothing_else() {
    let members = Members::new();
    let seen = members.world.path().join("seen");
    let script = "env > seen.new; mv seen.new seen; exec sleep 1000";
    let _all = IDS.map(|node| {
        let mut run = members.command("run", node, &["--", "sh", "-c", script]);
        run.env("ELECTION_STORE", "sqlite:other.db").env("ELECTION_STORE_FILE", "other.url");
        members.world.start(run)
    });
    let seen = eventually("the job's environment", || fs::read_to_string(&seen).ok());
    let cluster = format!("ELECTION_CLUSTER={}\n", members.file().display());
    assert!(seen.contains(&cluster) && !seen.contains("ELECTION_STORE"), "{seen}");
}

/// A job that stands for its own election would wait for its own end.
#[test]
fn a_member_inside_a_job_of_its_election_is_warned() {
    let members = Members::new();
    let started = |name: &str| {
        let mut run = members.run("n1", &[], "");
        run.env("ELECTION_EPOCH", "7").env("ELECTION_NAME", name);
        let mut member = members.world.start(run);
        members.status("n1");
        member.send(Signal::TERM);
        assert_eq!(member.exit(), Some(128 + 15));
        member.messages()
    };
    let words =
        "on the same cluster it would wait for its own end; name another one with --cluster";
    let said = started(&NAME);
    assert!(said.contains(words), "{said}");
    let said = started("another");
    assert!(!said.contains("its own end"), "{said}");
}

#[test]
fn who_waits_for_a_time_says_why_it_was_not_elected() {
    let members = Members::new();
    let alone = members.ask("run", "n1", &["--wait", "500ms", "true"]);
    let words = [
        "not elected in time: no leader is known",
        "this member does not ask for votes, because",
        "too few members are heard (n2, n3 are not)",
        "start them, or check the network",
    ];
    refused(&alone, 124, &words);
    let tries = members.ask("run", "n1", &["--try", "true"]);
    refused(&tries, 125, &["no leader is known", "must hear 2 more members"]);
    let _others = members.two();
    let late = members.ask("run", "n3", &["--try", "true"]);
    refused(&late, 124, &["somebody else leads"]);
    let patient = members.ask("run", "n3", &["--wait", "3s", "true"]);
    refused(&patient, 124, &["not elected in time: n", " leads"]);
}

/// A disk or a name server may hang. Here whoever makes a directory never comes back.
#[test]
fn who_cannot_even_start_can_be_told_to_end() {
    const HANGS: &str = "#include <sys/types.h>\n#include <unistd.h>\n\
        int mkdir(const char *path, mode_t mode) { for (;;) pause(); }\n";
    let members = Members::new();
    let [path, source, library] =
        ["ballot", "hangs.c", "hangs.so"].map(|name| members.world.path().join(name));
    fs::write(&source, HANGS).expect("a file of our own");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    assert!(compiler.status().expect("a C compiler").success());
    let ballot = path.to_str().expect("UTF-8");
    let run = |options: &[&str]| {
        let mut run = members.run("n1", &[&["--ballot", ballot], options].concat(), "");
        run.env("LD_PRELOAD", &library);
        run
    };
    let hangs = members.world.output(&mut run(&["--wait", "300ms"]));
    refused(&hangs, 124, &["not elected in time", "ballot", "check the disk"]);
    let hangs = members.world.output(&mut run(&["--wait", "300ms", "--conflict-exit-code", "75"]));
    refused(&hangs, 75, &["not elected in time"]);
    let mut waits = members.world.start(run(&[]));
    eventually("the thread that hangs", || {
        let tasks = fs::read_dir(format!("/proc/{}/task", waits.pid())).ok()?;
        let names = tasks.filter_map(|it| fs::read_to_string(it.ok()?.path().join("comm")).ok());
        names.into_iter().any(|name| name.trim() == "election-start").then_some(())
    });
    waits.send(Signal::TERM);
    assert_eq!(waits.exit(), Some(128 + Signal::TERM.as_raw()));
}

#[test]
fn the_ballot_is_where_it_outlives_a_restart_of_the_machine() {
    let members = Members::new();
    let path = |name: &str| members.world.path().join(name);
    for directory in ["systemd", "home"] {
        fs::create_dir(path(directory)).expect("a directory of our own");
    }
    let give_up = |change: &dyn Fn(&mut Command)| {
        let mut command = members.command("run", "n1", &["--wait", "500ms", "true"]);
        change(&mut command);
        members.world.output(&mut command)
    };
    let both = format!("{}:/nowhere", path("systemd").display());
    let output = give_up(&|run| {
        run.env("STATE_DIRECTORY", &both);
    });
    refused(&output, 124, &[&format!("systemd/{}.n1.ballot", *NAME), "kept in memory"]);
    assert!(path(&format!("systemd/{}.n1.ballot.lock", *NAME)).exists());
    refused(&give_up(&|_| ()), 124, &[&format!("state/election/{}/n1.ballot", *NAME)]);
    let output = give_up(&|run| {
        run.env_remove("XDG_STATE_HOME").env("HOME", path("home"));
    });
    refused(&output, 124, &[&format!("home/.local/state/election/{}/n1.ballot", *NAME)]);
    let output = give_up(&|run| {
        run.env("ELECTION_BALLOT", path("mine"));
    });
    refused(&output, 124, &["ballot file: /", "/mine event=joined"]);
    let loss = members.ask("run", "n1", &["--accept-loss", "--wait", "500ms", "true"]);
    refused(&loss, 124, &["accept_loss: this start discards the ballot's record"]);
    let output = give_up(&|run| {
        run.env_remove("XDG_STATE_HOME").env_remove("HOME");
    });
    refused(&output, 125, &["no directory for the ballot", "--ballot"]);
    let output = give_up(&|run| {
        run.env("ELECTION_BALLOT", path("no/such/place"));
    });
    refused(&output, 125, &["no/such", "create its directory"]);
}

/// A new list of members is confirmed once, on every node.
#[test]
fn another_list_of_members_has_to_be_confirmed() {
    let members = Members::new();
    let all = members.all("");
    members.world.start_after(0);
    IDS.iter().for_each(|node| members.settled(node));
    // A ballot names the list once its node has voted.
    for node in IDS {
        members.until("a durable vote", node, |status| status["durable"] == true);
    }
    for mut each in all {
        each.send(Signal::TERM);
        each.exit();
    }
    let text = fs::read_to_string(members.file()).expect("a file of our own");
    fs::write(members.file(), text.replace("\"n3\"", "\"n4\"")).expect("a file of our own");
    let _first = members.start("n1", "");
    members.until("what is wrong", "n1", |status| {
        status["hindrance"].as_str().is_some_and(|why| why.contains("a different member list"))
    });
    let second = members.world.start(members.run("n2", &["--new-peers"], ""));
    second.says("new_peers: the new member list is confirmed; leave it out next time");
}

/// One member is started with a file that lists a fourth: the other two go on.
#[test]
fn a_member_with_a_wrong_file_is_named_by_all() {
    let members = Members::new();
    let (mut all, job, first) = members.led();
    let odd = (first + 1) % 3;
    // A ballot names the list once its node has promised something.
    members.until("a durable promise", IDS[odd], |status| status["durable"] == true);
    all[odd].send(Signal::TERM);
    all[odd].exit();
    let right = fs::read_to_string(members.file()).expect("a file of our own");
    // An address at which nobody listens.
    let more = format!("{right}[[member]]\nid = \"n4\"\naddress = \"127.0.0.1:1\"\n");
    fs::write(members.file(), more).expect("a file of our own");
    all[odd] = members.start(IDS[odd], "");
    for node in IDS {
        members.until("who has the odd file", node, |status| {
            status["odd"] == serde_json::json!([IDS[odd]])
        });
        let text = said(&members.ask("status", node, &[]));
        let named = format!("file      {} has a different member list", IDS[odd]);
        assert!(text.contains(&named), "{text}");
    }
    // By its list it follows nobody, and cannot say that nobody leads.
    members.until("what the odd one knows", IDS[odd], |status| {
        let unknown = status["unknown"].as_str().unwrap_or_default();
        status["leader"].is_null() && unknown.contains("has a different member list")
    });
    assert!(alive(job.pid));
}

/// Where all ballots are lost, epochs begin anew, and not without a word.
#[test]
fn lost_ballots_are_told_and_the_least_epoch_makes_up_for_them() {
    let members = Members::new();
    let all = members.all("");
    let job = members.world.start_after(0);
    assert_eq!(job.epoch, 1);
    all[leads(&all, &job)].says("all its ballots are lost");
    IDS.iter().for_each(|node| members.settled(node));
    for mut each in all {
        each.kill();
    }
    let state = members.world.path().join("state");
    fs::remove_dir_all(&state).and_then(|()| fs::create_dir(&state)).expect("ballots of our own");
    members.write("min-epoch = 1000", [""; 3]);
    let all = members.all("");
    let next = members.world.start_after(job.epoch);
    assert_eq!(next.epoch, 1_000);
    let log = all[leads(&all, &next)].messages();
    assert!(!log.contains("all its ballots are lost"), "{log}");
}

/// A file that was copied for another election, and keeps the addresses of the first.
#[test]
fn a_member_of_another_cluster_is_told_and_gets_no_vote() {
    let members = Members::new();
    let mut all = members.all("");
    members.world.start_after(0);
    IDS.iter().for_each(|node| members.settled(node));
    let mut third = all.pop().expect("three members");
    third.send(Signal::TERM);
    third.exit();
    let text = fs::read_to_string(members.file()).expect("a file of our own");
    let other = text.replace(&*NAME, "another");
    fs::write(members.file(), other).expect("a file of our own");
    let third = members.start("n3", "");
    all[0].says("n3 has a different member list, down_after or cluster name");
    third.says("give every member the same");
    members.until("what is wrong", "n3", |status| {
        let differs = |peer: &serde_json::Value| peer["heard"]["other_list"] == true;
        let peers = status["peers"].as_array().expect("peers");
        status["leader"].is_null() && peers.iter().all(differs)
    });
}

const GOOD: &str = "election = \"e\"\n[[member]]\nid = \"n1\"\naddress = \"127.0.0.1:7401\"\n";

#[test]
fn a_wrong_file_is_told_by_line_and_key_with_the_remedy() {
    let members = Members::new();
    let second = "[[member]]\nid = \"n2\"\naddress = \"127.0.0.1:7402\"\n";
    for (text, words) in [
        (String::new(), &["line 1: `election` is missing", "election = \"NAME\""][..]),
        ("election = \"\"\n".to_owned(), &["line 1 (`election`)", "empty"]),
        ("election = \"e\"\n".to_owned(), &["no member is listed", "[[member]]"]),
        (format!("{GOOD}port = 1\n"), &["line 5 (`port`)", "unknown key", "address"]),
        (format!("down = 1\n{GOOD}"), &["line 1 (`down`)", "(did you mean `down-after`?)"]),
        (format!("down_after = \"2h\"\n{GOOD}"), &["line 1 (`down_after`)", "too long", "3600s"]),
        (format!("down-after = \"5ms\"\n{GOOD}"), &["down-after 5ms is too short", "50ms"]),
        (format!("shards = 60000\n{GOOD}"), &["(`shards`)", "port 67400", "at most 58135"]),
        (format!("{GOOD}[[members]]\n"), &["line 5", "did you mean `member`?"]),
        (GOOD.replace("[[", "[").replace("]]", "]"), &["line 2", "[[member]]"]),
        (format!("{GOOD}[[member]]\nid = \"{}\"\naddress = \"h:1\"", "x".repeat(300)), {
            &["line 6 (`id`)", "300 bytes", "at most 32"]
        }),
        (GOOD.replacen("\"e\"", &format!("{:?}", "x".repeat(256)), 1), {
            &["line 1 (`election`)", "256 bytes", "at most 255"]
        }),
        (GOOD.replace("127.0.0.1:7401", "tcp://127.0.0.1:7401"), &["line 4 (`address`)", "URL"]),
        (format!("shards = 0\n{GOOD}"), &["line 1 (`shards`)", "shards 0", "use 1"]),
        (
            format!("{GOOD}[[member]]\nid = \"n2\"\n"),
            &["line 5: `address` is missing", "HOST:PORT"],
        ),
        (format!("{GOOD}[[member]]\naddress = \"h:1\"\n"), &["line 5: `id` is missing"]),
        (format!("{GOOD}{}", second.replace("n2", "n1")), &["line 6 (`id`)", "n1 is listed twice"]),
        (
            format!("{GOOD}{}", second.replace("7402", "7401")),
            &["line 7 (`address`)", "n1 and n2 have the same address"],
        ),
        (
            format!("{GOOD}{}", second.replace("127.0.0.1", "10.0.0.1")),
            &["line 7 (`address`)", "not on the loopback interface", "`insecure`"],
        ),
        (
            format!("preferred = \"n9\"\n{GOOD}"),
            &["line 1 (`preferred`)", "n9 is not on the member list"],
        ),
        (format!("fail_back = \"5m\"\n{GOOD}"), &["line 1 (`fail_back`)", "preferred"]),
        (format!("{GOOD}witness = true\n"), &["every member is a witness"]),
        (GOOD.replace("n1", "n5"), &["n1 is not a member; name one of n5 (--node)"]),
        ("election = ".to_owned(), &["line 1"]),
    ] {
        fs::write(members.file(), &text).expect("a file of our own");
        let output = members.ask("run", "n1", &["true"]);
        refused(&output, 125, words);
        refused(&output, 125, &["cluster.toml"]);
        let said = String::from_utf8_lossy(&output.stderr);
        for foreign in ["database", "PostgreSQL", "struct", "u16", "invalid", "fail_back, "] {
            assert!(!said.contains(foreign), "{foreign:?} in {said}");
        }
    }
    fs::write(members.file(), GOOD).expect("a file of our own");
    for (name, words) in [
        ("\"n1\"", "has quotes or spaces around it, but n1 is listed without"),
        ("", "the name of the member is empty: name one of n1 (--node, ELECTION_NODE)"),
    ] {
        refused(&members.ask("status", name, &[]), 125, &[words]);
    }
    for (options, words) in [
        (["--grace", "10s"], ["--grace 10s is too long", "use at most 1.073s"]),
        (["--ballot", &"x".repeat(251)], ["--ballot", "255 bytes"]),
        (["--listen", "tcp://0.0.0.0:1"], ["--listen", "it is a URL"]),
    ] {
        refused(&members.ask("run", "n1", &[&options[..], &["true"]].concat()), 125, &words);
    }
    fs::remove_file(members.file()).expect("a file of our own");
    refused(&members.ask("status", "n1", &[]), 125, &["cluster.toml", "No such file"]);
    members.write("", ["", "", ""]);
    let mut nobody = members.bare(&["run", "--cluster"]);
    let output = members.world.output(nobody.arg(members.file()));
    refused(&output, 125, &["which member", "--node", "n1, n2, n3"]);
    refused(&members.ask("run", "n1", &[]), 125, &["<CMD>"]);
}

#[test]
fn a_database_and_a_cluster_are_not_mixed_up() {
    let members = Members::new();
    let says = |options: &[&str], words: &[&str]| {
        refused(&members.ask("run", "n1", &[options, &["true"]].concat()), 125, words);
    };
    says(&["--store", "sqlite:x"], &["--cluster and --store", "keep one"]);
    says(&["--store-file", "x"], &["--cluster and --store", "keep one"]);
    says(&["--ttl", "5s"], &["--ttl is for databases", "`down-after`", "cluster.toml"]);
    says(&["--interval", "5s"], &["--interval is for databases", "a heartbeat"]);
    says(&["--clock-step", "5s"], &["--clock-step is for databases", "no database"]);
    says(&["--at-least-for", "5s"], &["--at-least-for is for databases", "no lease"]);
    says(&["--name", "x"], &["--name is for databases", "`election`", "cluster.toml"]);
    says(&["--no-schema"], &["--no-schema is for databases", "no tables"]);
    says(
        &["--min-epoch", "5"],
        &["--min-epoch is for databases", "the file's `min-epoch` sets it"],
    );
    let mut both = members.bare(&["run", "--node", "n1", "true"]);
    both.env("ELECTION_CLUSTER", members.file()).env("ELECTION_STORE", "sqlite:x");
    refused(
        &members.world.output(&mut both),
        125,
        &["both ELECTION_CLUSTER and ELECTION_STORE", "keep one"],
    );
    for flag in ["--ballot=x", "--socket=x", "--listen=x:1", "--new-peers", "--accept-loss"] {
        let output = members.world.output(&mut members.world.election("run", &[flag, "true"]));
        refused(&output, 125, &["is for clusters", "--cluster FILE"]);
    }
    let to = members.world.output(&mut members.world.election("resign", &["--to", "n2"]));
    refused(&to, 125, &["--to is for clusters"]);
    let nothing = members.world.output(&mut members.bare(&["pause", "--node", "n1"]));
    refused(&nothing, 125, &["only a cluster's failover can be paused", "--cluster FILE"]);
    let zero = members.ask("pause", "n1", &["--for", "0s"]);
    refused(&zero, 125, &["--for", "at least 1ms"]);
}

/// What is said for all starts contradicts nothing; the command line wins.
#[test]
fn the_place_comes_from_option_then_environment_then_file() {
    let members = Members::new();
    let config = members.world.path().join("election.toml");
    let cluster = members.file();
    let (ballot, socket) = (members.world.path().join("b"), members.world.path().join("s"));
    let text = format!(
        "cluster = {cluster:?}\nnode = \"n1\"\nballot = {ballot:?}\nsocket = {socket:?}\n\
         ttl = \"9s\"\nwait = \"500ms\"\nlabel = \"1.2.3.4:5\"\nlisten = {:?}\n",
        members.address(0)
    );
    fs::write(&config, text).expect("a file of our own");
    let from_file = || {
        let mut command = members.bare(&["run", "--config"]);
        command.arg(&config);
        command
    };
    let output = members.world.output(from_file().arg("true"));
    refused(&output, 124, &["event=joined", "/b ", "answering at", "/s ", "node=n1"]);
    let url = members.world.url();
    let output = members.world.output(from_file().args(["--store", &url, "--name", "x", "true"]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("SQLite at"), "{output:?}");
    let mut command = from_file();
    command.arg("true").env("ELECTION_STORE", &url).env("ELECTION_NAME", "x");
    let output = members.world.output(&mut command);
    assert!(String::from_utf8_lossy(&output.stderr).contains("SQLite at"), "{output:?}");
    let mut command = members.command("run", "n2", &["--wait", "500ms", "true"]);
    command.env("ELECTION_STORE", &url).env("ELECTION_TTL", "9s").env("ELECTION_NAME", "x");
    refused(&members.world.output(&mut command), 124, &[&format!("election={} node=n2", *NAME)]);
}

#[test]
fn a_primary_that_loses_its_majority_stops_its_job() {
    let members = Members::new();
    let (mut all, job, first) = members.led();
    (0..3).filter(|place| *place != first).for_each(|place| all[place].kill());
    gone("the job of a primary without a majority", job.pid);
    all[first].says("event=lost");
    let why = "it can count on 1 of the 2 votes that it needs";
    members.until("the reason", IDS[first], |status| status["hindrance"] == why);
}
