//! Every planted bug still has its place: a patch that no longer applies proves nothing. The tools
//! beside the patches keep them applicable (`refresh`) and let CI play all of them in turns
//! (`turn`). (`planted/run` builds each bug and demands that the simulator finds it.)
#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn planted() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("planted")
}

/// The patches of a directory, by their names.
fn patches(directory: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names
        .filter_map(|name| name.to_str().unwrap().strip_suffix(".patch").map(str::to_owned))
        .collect()
}

#[test]
fn every_patch_still_applies() {
    let patches = patches(&planted());
    assert!(!patches.is_empty());
    for patch in patches {
        applies(&planted().join(patch + ".patch"), &planted().join("../.."));
    }
}

#[test]
fn every_patch_stands_beside_its_rule() {
    let map = fs::read_to_string(planted().join("README.md")).unwrap();
    let cells = map.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1));
    let mapped: BTreeSet<_> = cells
        .flat_map(|cell| cell.split(", "))
        .filter(|it| *it != "patches" && *it != "---")
        .collect();
    let patches = patches(&planted());
    let there: BTreeSet<_> = patches.iter().map(|name| name.split('-').next().unwrap()).collect();
    assert_eq!(mapped, there);
}

/// The old lines of every hunk stand in its file exactly once.
fn applies(patch: &Path, root: &Path) {
    let text = fs::read_to_string(patch).expect("a readable patch");
    let (mut file, mut hunks) = (String::new(), 0);
    let mut old = String::new();
    for line in text.lines().chain(["@@"]) {
        if let Some(name) = line.strip_prefix("+++ b/") {
            file = fs::read_to_string(root.join(name)).expect(name);
        } else if line.starts_with("@@") || line.starts_with("--- ") {
            if !old.is_empty() {
                let times = file.matches(old.as_str()).count();
                assert_eq!(times, 1, "{}: not in its file:\n{old}", patch.display());
                hunks += 1;
            }
            old.clear();
        } else if !file.is_empty() && (line.starts_with(' ') || line.starts_with('-')) {
            old += &line[1..];
            old.push('\n');
        }
    }
    assert!(hunks > 0, "{} changes nothing", patch.display());
}

#[test]
fn ten_runs_play_every_bug() {
    let turn = planted().join("turn");
    let turns: Vec<_> = (0..30).map(|run| names(&turn, &[&run.to_string()])).collect();
    // From run to run the number of commits grows by one, two, or three.
    for step in 1..=3 {
        for first in 0..30 - 9 * step {
            let ten: Vec<_> = turns[first..].iter().step_by(step).take(10).collect();
            let played: BTreeSet<_> = ten.iter().copied().flatten().cloned().collect();
            assert_eq!(played, patches(&planted()), "from {first} by {step}");
            for next in ten.windows(2) {
                assert!(next[0].is_disjoint(next[1]), "twice in a row: {next:?}");
            }
        }
    }
}

#[test]
fn a_merge_is_one_step_of_the_rotation() {
    let house = House::build();
    let turn = house.planted().join("turn");
    let first = names(&turn, &[]);
    assert_eq!(first, names(&turn, &["1"]));
    house.git(&["checkout", "-q", "-b", "side"]);
    for _ in 0..3 {
        house.git(&["commit", "-q", "--allow-empty", "-m", "on the side"]);
    }
    house.git(&["checkout", "-q", "main"]);
    house.git(&["merge", "-q", "--no-ff", "-m", "one step", "side"]);
    assert_eq!(names(&turn, &[]), names(&turn, &["2"]));
}

#[test]
fn a_shallow_clone_says_that_it_cannot_count() {
    let house = House::build();
    house.git(&["commit", "-q", "--allow-empty", "-m", "another"]);
    let clone = tempfile::tempdir().unwrap();
    let from = format!("file://{}", house.0.path().display());
    house.git(&["clone", "-q", "--depth=1", &from, clone.path().to_str().unwrap()]);
    let done = run(&clone.path().join("election-sim/planted/turn"), &[]);
    assert!(done.status.success(), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stderr).contains("shallow"), "{done:?}");
}

#[test]
fn a_patch_follows_a_new_name_into_a_renamed_file() {
    let house = House::build();
    house.git(&["mv", "election-core/src/reign.rs", "election-core/src/leadership.rs"]);
    let renamed = REIGN.replace("Reign", "Leadership");
    house.write("election-core/src/leadership.rs", &renamed);
    let done = run(&house.planted().join("refresh"), &["--rename", "Reign=Leadership", "1-ever"]);
    assert!(done.status.success(), "{done:?}");
    let patch = house.patch();
    assert!(patch.starts_with("swarm: within\nIt leads for ever.\n\ndiff --git "), "{patch}");
    assert!(patch.contains("+    pub fn leads(self) -> Leadership {\n"), "{patch}");
    applies(&house.planted().join("1-ever.patch"), house.0.path());
}

#[test]
fn a_patch_follows_its_function_into_another_file() {
    let house = House::build();
    let (before, function) = REIGN.split_at(REIGN.find("impl Until").unwrap());
    house.write("election-core/src/reign.rs", before);
    house.write("election-core/src/until.rs", &format!("use crate::reign::Until;\n\n{function}"));
    let done = run(&house.planted().join("refresh"), &["1-ever"]);
    assert!(done.status.success(), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stdout).contains("is now in election-core/src/until.rs"));
    assert!(house.patch().contains("+++ b/election-core/src/until.rs\n"));
    applies(&house.planted().join("1-ever.patch"), house.0.path());
}

#[test]
fn a_patch_whose_lines_are_rewritten_needs_a_hand() {
    let house = House::build();
    let before = house.patch();
    house.write("election-core/src/reign.rs", &REIGN.replace("now < self.0", "self.0 > now"));
    let done = run(&house.planted().join("refresh"), &["1-ever"]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stdout).contains("1-ever: NEEDS A HAND"), "{done:?}");
    assert_eq!(house.patch(), before, "it stays as it was");
}

/// A repository with the tools, one file and one bug.
struct House(tempfile::TempDir);

const REIGN: &str = "\
//! When a reign ends.

/// Somebody's.
pub struct Reign(pub u64);

/// The end of one.
pub struct Until(pub u64);

impl Until {
    /// What is left of it.
    pub fn leads(self, now: u64) -> Reign {
        if now < self.0 { Reign(self.0 - now) } else { Reign(0) }
    }
}
";

const BUG: &str = "\
swarm: within
It leads for ever.

--- a/election-core/src/reign.rs
+++ b/election-core/src/reign.rs
@@ -8,7 +8,7 @@

 impl Until {
     /// What is left of it.
-    pub fn leads(self, now: u64) -> Reign {
-        if now < self.0 { Reign(self.0 - now) } else { Reign(0) }
+    pub fn leads(self) -> Reign {
+        Reign(self.0)
     }
 }
";

impl House {
    fn build() -> Self {
        let house = Self(tempfile::tempdir().unwrap());
        house.write("election-core/src/reign.rs", REIGN);
        house.write("election-sim/planted/1-ever.patch", &BUG.replace("@@\n\n", "@@\n \n"));
        // One patch for each other turn, without a bug in it.
        for name in 2..=7 {
            house.write(&format!("election-sim/planted/{name}.patch"), "");
        }
        for tool in ["turn", "refresh"] {
            fs::copy(planted().join(tool), house.planted().join(tool)).unwrap();
        }
        fs::copy(planted().join("../../.rustfmt.toml"), house.0.path().join(".rustfmt.toml"))
            .unwrap();
        house.git(&["init", "-q", "-b", "main"]);
        house.git(&["add", "."]);
        house.git(&["commit", "-q", "-m", "a house"]);
        house
    }

    fn planted(&self) -> PathBuf {
        self.0.path().join("election-sim/planted")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn patch(&self) -> String {
        fs::read_to_string(self.planted().join("1-ever.patch")).unwrap()
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.0.path());
        for (name, value) in [("user.name", "a test"), ("user.email", "test@example.org")] {
            git.args(["-c", &format!("{name}={value}")]);
        }
        let done = git.args(arguments).output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {done:?}");
    }
}

fn run(tool: &Path, arguments: &[&str]) -> Output {
    Command::new(tool).args(arguments).env_remove("TURN").output().unwrap()
}

/// The names that a tool prints, one a line.
fn names(tool: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let done = run(tool, arguments);
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}
