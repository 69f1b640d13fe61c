//! Every `.scn` file of `tests/scenarios` gives its transcript when played. `UPDATE=1` rewrites
//! them.

use election_sim::Scn;
use std::{fs, path::PathBuf, sync::Arc};

fn scenarios() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files = Vec::new();
    for directory in [root.join("quorum"), root] {
        let entries = fs::read_dir(directory).expect("a directory");
        files.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "scn"));
    files.sort();
    files
}

#[test]
fn every_scenario_plays_as_its_transcript_says() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let files = scenarios();
    assert!(files.len() >= 70, "only {} scenarios were found", files.len());
    let mut differing = String::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let scn: Scn = text.parse().unwrap_or_else(|why| panic!("{}:{why}", path.display()));
        let (_, transcript) = scn.play(&Arc::default()).unwrap();
        if scn.transcript.as_ref() == Some(&transcript) {
            continue;
        }
        if update {
            fs::write(&path, Scn::rewritten(&text, &transcript)).unwrap();
        } else {
            differing += &format!("{}\n{transcript}\n", path.display());
        }
    }
    assert!(differing.is_empty(), "transcripts differ; UPDATE=1 rewrites them\n{differing}");
}

/// A scenario that does not tell its story is a regression test of nothing.
#[test]
fn every_scenario_says_what_it_is_about() {
    for path in scenarios() {
        let scn: Scn = fs::read_to_string(&path).unwrap().parse().unwrap();
        assert!(!scn.head.is_empty(), "{} has no comment at its head", path.display());
        assert_eq!(scn.to_string().parse::<Scn>().unwrap(), scn, "{}", path.display());
    }
}
