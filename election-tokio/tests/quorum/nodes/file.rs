//! Members that a file describes, which is edited while they run.

use crate::on::OnNothing;
use election_driver::{
    ClusterError, ClusterFileError, StartError,
    conformance::{
        certificates::Authority,
        cluster::{CLUSTER, DOWN_AFTER, IDS, Place, first, leads_on, shut_down},
        free_port,
    },
};
use election_tokio::{Cluster, Member};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;
use tokio::time::sleep;

const LOOK: Duration = Duration::from_millis(5);

/// The files of a cluster: one for all, or each with its member's certificate.
struct Files {
    place: TempDir,
    certified: bool,
}

impl Files {
    fn new(certified: bool) -> Self {
        let files = Self { place: tempfile::tempdir().expect("a temporary directory"), certified };
        let authority = Authority::new();
        let mut text = format!("election = {CLUSTER:?}\ndown-after = \"{DOWN_AFTER:?}\"\n");
        if certified {
            text += "[tls]\nauthority = \"a.pem\"\ncertificate = \"c.pem\"\nkey = \"k.pem\"\n";
        }
        for id in IDS {
            let port = free_port();
            text += &format!("[[member]]\nid = \"{id}\"\naddress = \"127.0.0.1:{port}\"\n");
        }
        for (place, id) in IDS.iter().enumerate() {
            let (folder, pair) = (files.folder(id), authority.member(place));
            fs::create_dir_all(&folder).expect("a folder of our own");
            fs::write(folder.join("cluster.toml"), &text).expect("a file of our own");
            let texts =
                [("a.pem", &authority.pem), ("c.pem", &pair.certificate), ("k.pem", &pair.key)];
            for (name, text) in texts.into_iter().filter(|_| certified) {
                fs::write(folder.join(name), text).expect("a file of our own");
            }
        }
        files
    }

    fn folder(&self, id: &str) -> PathBuf {
        self.place.path().join(if self.certified { id } else { "all" })
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder(id).join("cluster.toml")
    }

    fn replace(&self, old: &str, new: &str) {
        for id in IDS {
            let text = fs::read_to_string(self.file(id)).expect("a file of our own");
            let written = self.place.path().join("new");
            fs::write(&written, text.replace(old, new)).expect("a file of our own");
            fs::rename(written, self.file(id)).expect("a file of our own");
        }
    }

    /// Starts a member, once its ballot is no other's.
    async fn start(&self, id: &str) -> Member {
        loop {
            let begun = Cluster::from_file(self.file(id), id).expect("a file of our own");
            let begun = begun.ballot(self.place.path().join(format!("{id}.ballot")));
            match begun.without_data().build().expect("a valid cluster").start().await {
                Err(StartError::Ballot { .. }) => sleep(LOOK).await,
                started => return started.expect("a node"),
            }
        }
    }
}

async fn moves(files: Files) {
    let mut members = Vec::new();
    for id in IDS {
        members.push(files.start(id).await);
    }
    let (leads, epoch) = first(&members).await;
    let moved = (leads + 1) % 3;
    let status = members[leads].peers().into_iter().find(|peer| peer.id.as_str() == IDS[moved]);
    let (old, new) = (status.expect("a peer").address, format!("127.0.0.1:{}", free_port()));
    files.replace(&old, &new);
    // It leaves though it follows its file: its ballot is free afterwards.
    drop(members.remove(moved));
    members.insert(moved, files.start(IDS[moved]).await);
    let is_there = |member: &Member| {
        let peer = member.peers().into_iter().find(|peer| peer.id.as_str() == IDS[moved]);
        peer.is_none_or(|peer| peer.address == new && peer.connected)
    };
    while !members.iter().all(is_there) {
        sleep(LOOK).await;
    }
    leads_on(&members[leads], epoch, Duration::ZERO).await;
    shut_down(&members).await;
}

async fn a_members_move_is_taken_up_from_one_file(_: OnNothing) {
    moves(Files::new(false)).await;
}

async fn a_move_is_taken_up_from_files_with_certificates(_: OnNothing) {
    moves(Files::new(true)).await;
}

fn begun(place: &Place, text: &str) -> Result<Cluster, ClusterError> {
    let path = place.ballot(0).with_extension("toml");
    fs::write(&path, text).expect("a file of our own");
    let begun = Cluster::from_file(&path, "n1")?.ballot(place.ballot(0));
    begun.without_data().build()
}

async fn a_wrong_file_is_told_by_line_and_column(_: OnNothing) {
    let (place, member) =
        (Place::new(1), "[[member]]\nid = \"n1\"\naddress = \"127.0.0.1:7401\"\n");
    let good = format!("election = \"orders\"\n{member}");
    begun(&place, &good).expect("a valid file");
    let other = member.replace("n1", "n2");
    for (text, words) in [
        (good.clone() + "port = 1\n", &["line 5 (`port`): unknown key", "address"][..]),
        (format!("down-after = 5\n{good}"), &["line 1 (`down-after`), column 14: this is integer"]),
        (format!("down-after = \"7ms\"\n{good}"), &["line 1 (`down-after`), column 14: ", "short"]),
        (good.clone() + &other, &["line 7 (`address`), column 11: n1 and n2 have the same"]),
        (format!("preferred = \"n9\"\n{good}"), &["line 1 (`preferred`), column 13: n9 is not"]),
        (good.replace("n1", "n3"), &["ballot-0.toml: n1 is not on the member list"]),
        (good.clone() + "[tls]\nkey = \"k\"\n", &["line 5: `authority` is missing in"]),
        (good.clone() + "accepted = []\n", &["line 2", "`accepted` needs certificates"]),
    ] {
        let error = begun(&place, &text).err().expect("an error");
        assert!(matches!(error, ClusterError::InFile(_)), "{error:?}");
        let said = error.to_string();
        assert!(said.starts_with(&*place.ballot(0).with_extension("").to_string_lossy()), "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "no {word:?} in {said}"));
    }
    let said = |error: ClusterFileError| error.to_string();
    let none = Cluster::from_file(Path::new("no/such.toml"), "n1").map(drop).map_err(said);
    assert!(none.is_err_and(|said| said.starts_with("no/such.toml: No such file")));
}

async fn what_no_file_says_is_told_without_one(_: OnNothing) {
    let files = Files::new(false);
    let begun = || Cluster::from_file(files.file("n1"), "n1").expect("a file of our own");
    assert!(matches!(begun().ballot("b").build(), Err(ClusterError::NoPosition)));
    let begun = || begun().without_data();
    assert!(matches!(begun().build(), Err(ClusterError::NoBallot)));
    let listens = begun().ballot("b").listen("0.0.0.0").build();
    assert!(matches!(listens, Err(ClusterError::Address { .. })));
    let announces = begun().ballot("b").announce("a\nb").build().map(drop);
    let said = announces.expect_err("an error").to_string();
    assert!(!said.contains(", line ") && said.contains("address to announce, \"a\\nb\""), "{said}");
}

tests! {
    a_members_move_is_taken_up_from_one_file: by_itself;
    a_move_is_taken_up_from_files_with_certificates: by_itself;
    a_wrong_file_is_told_by_line_and_column: by_itself;
    what_no_file_says_is_told_without_one: by_itself;
}
