//! `election cluster`: from nothing to a failover, and what it says of files that it finds.

use super::{
    job,
    members::{IDS, Members, NAME, leads, refused, said},
    world::{Candidate, World, below},
};
use election_testing::router::{Router, address, moved};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file of our own").permissions().mode() & 0o777
}

/// Three hosts that nothing connects but a network; each is given the folder that was made for it.
#[test]
fn from_nothing_to_a_failover_between_three_hosts() {
    if !moved("setup::from_nothing_to_a_failover_between_three_hosts") {
        return;
    }
    let router = Router::new(3);
    let addresses = (0..3).map(|node| format!("{}:7400", address(node))).collect();
    let members = Members::initialized(addresses);
    let start = |place: usize| -> Candidate {
        let run = members.run(IDS[place], &[], "");
        let [enter, host] = router.within(place);
        let mut command = Command::new(enter);
        command.arg(host).env(job::PLACE, members.world.path());
        members.world.start(below(command, &run))
    };
    let mut all: Vec<_> = (0..3).map(start).collect();
    let job = members.world.start_after(0);
    let first = leads(&all, &job);
    IDS.iter().for_each(|node| members.settled(node));
    all[first].kill();
    let next = members.world.start_after(job.epoch);
    assert_ne!(leads(&all, &next), first);
    all[first] = start(first);
    all[first].says(&format!("following leader={}", IDS[leads(&all, &next)]));
    members.world.assert_exclusive();
}

/// A limit on files stands for a full disk: keys are short enough for it, certificates are not.
#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let members = Members::certified();
    let limited = |arguments: &[&str]| {
        let command = members.bare(arguments);
        // 512 bytes.
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"]);
        members.world.output(&mut below(shell, &command))
    };
    let names = |folder: &str| {
        let entries = fs::read_dir(members.world.path().join(folder));
        let mut names: Vec<_> = entries
            .map(|entries| entries.map(|entry| entry.expect("one").file_name()).collect())
            .unwrap_or_default();
        names.sort();
        names
    };
    let words = &["the file-size limit of this process", "ulimit -f"];
    let init = limited(&["cluster", "init", "--out", "else", "a=10.0.0.1:7400", "b=10.0.0.2:7400"]);
    refused(&init, 125, words);
    assert!(!members.world.path().join("else").exists(), "{:?}", names("else"));

    let key = ["cluster", "add-key", "n1", "--cluster", "n1/cluster.toml"];
    let new = limited(&[&key[..], &["--authority", "authority", "--out", "new"]].concat());
    refused(&new, 125, words);
    assert!(!members.world.path().join("new").exists(), "{:?}", names("new"));

    let (before, old) = (names("n1"), fs::read(members.folder("n1").join("key.pem")));
    let replace = ["--authority", "authority", "--out", "n1", "--force"];
    refused(&limited(&[&key[..], &replace].concat()), 125, words);
    assert_eq!(names("n1"), before);
    assert_eq!(fs::read(members.folder("n1").join("key.pem")).ok(), old.ok(), "the key stays");
}

#[test]
fn keys_are_for_their_owners_and_nothing_is_overwritten() {
    let members = Members::certified();
    let path = |name: &str| members.world.path().join(name);
    for folder in ["authority", "n1", "n2", "n3"] {
        assert_eq!(mode(&path(folder)), 0o700, "{folder}");
    }
    for key in ["authority/authority.key", "n1/key.pem", "n2/key.pem", "n3/key.pem"] {
        assert_eq!(mode(&path(key)), 0o600, "{key}");
    }
    assert!(!path("n1/authority.key").exists(), "the authority's key is for no member");
    let keys = || IDS.map(|node| fs::read(members.folder(node).join("key.pem")).expect("a key"));
    let before = keys();
    assert!(before[0] != before[1] && before[1] != before[2]);
    let again = || {
        let mut init = members.bare(&["cluster", "init"]);
        let ats = IDS.iter().zip(0..3).map(|(id, at)| format!("{id}={}", members.address(at)));
        members.world.output(init.args(ats))
    };
    refused(&again(), 125, &["n1 already exists", "nothing is overwritten", "--out", "add-key"]);
    IDS.iter().for_each(|node| {
        fs::rename(members.folder(node), path(&format!("old-{node}"))).expect("our own");
    });
    let authority = fs::read(path("authority/authority.key")).expect("a key");
    refused(&again(), 125, &["authority already exists"]);
    assert_eq!(fs::read(path("authority/authority.key")).expect("a key"), authority);
    assert!(IDS.iter().all(|node| !members.folder(node).exists()), "nothing was written");
    IDS.iter().for_each(|node| {
        fs::rename(path(&format!("old-{node}")), members.folder(node)).expect("our own");
    });
    // A new key replaces the old one, and whoever could not read that cannot read this.
    let mut add = members.bare(&["cluster", "add-key", "n1", "--cluster", "n1/cluster.toml"]);
    refused(
        &members.world.output(&mut add),
        125,
        &["n1/key.pem already exists", "--out", "--force"],
    );
    assert_eq!(keys(), before);
    let told = said(&members.world.output(add.arg("--force")));
    assert!(!told.contains("authority.pem"), "n1 has one, and it is left as it is: {told}");
    assert!(told.contains("n1 has a new key") && told.contains("fingerprint"), "{told}");
    let after = keys();
    assert!(after[0] != before[0] && after[1..] == before[1..]);
    assert_eq!(mode(&path("n1/key.pem")), 0o600);
    let left: Vec<_> = fs::read_dir(path("n1")).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 4, "{left:?}");
    let mut nobody = members.bare(&["cluster", "add-key", "n9", "--cluster", "n1/cluster.toml"]);
    refused(
        &members.world.output(&mut nobody),
        125,
        &["\"n9\" is not a member", "n1, n2, n3 after add-key"],
    );
    let mut add = members.bare(&["cluster", "add-key", "n1", "--cluster", "n1/cluster.toml"]);
    add.args(["--authority", "nowhere", "--force"]);
    refused(&members.world.output(&mut add), 125, &["nowhere/authority", "No such file"]);
}

/// What the members would not take is not written over what they take.
#[test]
fn an_authority_that_members_do_not_trust_signs_nothing() {
    let members = Members::certified();
    let path = |name: &str| members.world.path().join(name);
    let mut init = members.bare(&["cluster", "init", "--out", "other"]);
    let ats = IDS.iter().zip(0..3).map(|(id, at)| format!("{id}={}", members.address(at)));
    said(&members.world.output(init.args(ats)));
    let files = || {
        let all = ["key.pem", "certificate.pem", "authority.pem"];
        all.map(|name| fs::read(members.folder("n1").join(name)).expect("a file"))
    };
    let before = files();
    let add = |authority: &str| {
        let mut add = members.bare(&["cluster", "add-key", "n1", "--cluster", "n1/cluster.toml"]);
        members.world.output(add.args(["--force", "--authority", authority]))
    };
    let words = ["n1/authority.pem does not trust", "other/authority/authority.pem", "not signed"];
    refused(&add("other/authority"), 125, &words);
    fs::copy(path("authority/authority.key"), path("other/authority/authority.key")).expect("ours");
    let words = ["authority.key is not the key of", "nothing was written"];
    refused(&add("other/authority"), 125, &words);
    assert_eq!(files(), before);
    said(&add("authority"));
    assert_ne!(files(), before);
}

#[test]
fn a_check_says_what_is_there_and_warns_of_what_is_to_come() {
    let members = Members::certified();
    let check = |options: &[&str]| {
        let mut check = members.bare(&["cluster", "check", "n1/cluster.toml"]);
        members.world.output(check.args(options))
    };
    let told = said(&check(&[]));
    for words in [&*format!("{:?}: 3 members", *NAME), "n1 at ", "whose certificate is here"] {
        assert!(told.contains(words), "no {words:?} in {told}");
    }
    assert!(
        told.contains("certificate: expires in 36") && told.contains("authority: expires in 36")
    );
    assert!(!told.contains("warning"), "{told}");
    refused(
        &check(&["--node", "n2"]),
        125,
        &[&format!("names election://{}/n1, but this member is n2", *NAME)],
    );
    let add = |days: &str| {
        let mut add = members.bare(&["cluster", "add-key", "n1", "--cluster", "n1/cluster.toml"]);
        said(&members.world.output(add.args(["--force", "--days", days])));
        said(&check(&[]))
    };
    let told = add("20");
    let warning =
        "warning: this member's certificate expires in 19 days: renew it with `election cluster";
    assert!(told.contains(warning), "{told}");
    assert!(!add("31").contains("warning"), "not earlier");
    // The same is said by a member that runs.
    add("20");
    let member = members.start("n1", "");
    member.says("event=certificate_expires");
    member.says("this member's certificate expires in 19 days");
}

/// What is written, and what is not there to be overwritten.
#[test]
fn a_new_key_elsewhere_is_whole_and_what_was_written_is_said() {
    let members = Members::certified();
    let mut add = members.bare(&["cluster", "add-key", "n1", "--cluster", "n1/cluster.toml"]);
    let told = said(&members.world.output(add.args(["--out", "new", "--days", "3700"])));
    for words in
        ["new/key.pem", "new/certificate.pem", "authority/authority.pem, new/authority.pem"]
    {
        assert!(told.contains(words), "no {words:?} in {told}");
    }
    assert!(told.contains("warning: the authority's own certificate expires before"), "{told}");
    let same = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|it| fs::read(members.world.path().join(it)));
        one.expect("a file") == other.expect("a file")
    };
    assert!(same("new/authority.pem", "authority/authority.pem"));
    let mut add = members.bare(&["cluster", "add-key", "n1", "--cluster", "n1/cluster.toml"]);
    let told = said(&members.world.output(add.args(["--out", "newer", "--days", "3600"])));
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn an_authority_lives_as_long_as_what_it_signs_first() {
    let members = Members::new();
    members.init(&["--days", "5000"]);
    let mut check = members.bare(&["cluster", "check", "n1/cluster.toml"]);
    let told = said(&members.world.output(&mut check));
    assert_eq!(told.matches("expires in 4999 days").count(), 2, "{told}");
}

/// Before the folders are copied, their paths are those of this machine.
#[test]
fn what_is_to_be_copied_where_is_said() {
    let members = Members::new();
    let told = members.init(&["--out", "made"]);
    for words in
        ["made/n1 to that of n1", "--cluster /etc/election/cluster.toml --node n1", "--out new"]
    {
        assert!(told.contains(words), "no {words:?} in {told}");
    }
}

#[test]
fn without_certificates_a_cluster_says_so() {
    let members = Members::new();
    members.init(&["--insecure"]);
    assert!(!members.world.path().join("authority").exists());
    assert!(!members.folder("n1").join("key.pem").exists());
    let mut check = members.bare(&["cluster", "check", "n1/cluster.toml"]);
    let told = said(&members.world.output(&mut check));
    assert!(told.contains("3 members") && !told.contains("certificate"), "{told}");
}

#[test]
fn a_number_of_members_that_tolerates_too_little_is_warned_of() {
    let world = World::new();
    let told = |members: &[&str], out: &str| {
        let all = [&["cluster", "init", "--insecure", "--out", out], members].concat();
        said(&world.output(&mut world.bare(&all)))
    };
    let (n1, n2, n3, n4) = ("n1=h:1", "n2=h:2", "n3=h:3", "n4=h:4");
    let one = told(&[n1], "one");
    assert!(one.contains("warning: N=1"), "nobody takes over");
    assert!(one.starts_with("the election is called default (--election)\n"), "{one}");
    assert!(told(&[n1, n2], "two").contains("warning: N=2"), "both are needed");
    assert!(!told(&[n1, n2, n3], "three").contains("warning"), "one may fail");
    assert!(told(&[n1, n2, n3, n4], "four").contains("warning: N=4"), "only one may fail");
}

#[test]
fn what_makes_no_cluster_is_refused_before_anything_is_written() {
    let members = Members::new();
    for (arguments, words) in [
        (&["n1"][..], &["ID=HOST:PORT", "n1=10.0.0.1:7400"][..]),
        (&["n1=h:1", "n1=h:2"], &["n1 is listed twice"]),
        (&["n1=h:1", "n2=h:1"], &["same address"]),
        (&["a/b=h:1"], &["cannot be the name of a directory", "choose another id"]),
        (&["../n=h:1"], &["cannot be the name of a directory", "choose another id"]),
        (&["authority=h:1"], &["cannot be the name of a directory", "choose another id"]),
        (&["n1=h"], &["port is missing"]),
        (&["n1=0.0.0.0:1"], &["n1=0.0.0.0:1", "the others find themselves", "--listen"]),
        (&["n1=[::]:1"], &["n1=[::]:1", "the others find themselves", "--listen"]),
        (&["n1=h:1", "--days", "0"], &["--days"]),
        (&["n1=h:1", "--insecure", "--days", "4"], &["--days", "cannot be used with '--days"]),
        (&["n1=h:1", "--days", "4000000"], &["--days 4000000", "use fewer"]),
        (&["n1=h:1", "--election", ""], &["--election", "empty"]),
        (&[], &["ID=HOST:PORT"]),
    ] {
        let mut init = members.bare(&["cluster", "init", "--out", "made"]);
        refused(&members.world.output(init.args(arguments)), 125, words);
    }
    assert!(!members.world.path().join("made").exists());
}
