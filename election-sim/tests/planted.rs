//! Every planted bug still has its place: a patch that no longer applies proves nothing.
//! (`planted/run` builds each and demands that the simulator finds it.)

use std::{
    fs,
    path::{Path, PathBuf},
};

#[test]
fn every_patch_still_applies() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut patches: Vec<_> = fs::read_dir(here.join("planted"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "patch"))
        .collect();
    patches.sort();
    assert_eq!(patches.len(), 48, "a patch was added or lost");
    for patch in patches {
        applies(&patch, here.parent().unwrap());
    }
}

/// Every hunk's old lines stand in its file, exactly once.
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
