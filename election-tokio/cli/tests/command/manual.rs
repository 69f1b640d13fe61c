//! What `man` knows of the command.

use super::world::World;
use std::{fs, process::Command};

/// As `man` would show them.
#[test]
fn manual_pages_can_be_read() {
    let world = World::new();
    let pages = world.path().join("man1");
    let output = world.output(&mut world.bare(&["man", pages.to_str().expect("UTF-8")]));
    assert!(output.status.success(), "{output:?}");
    let mut names: Vec<_> = fs::read_dir(&pages)
        .expect("a directory")
        .map(|entry| entry.expect("a page").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    for page in ["election.1", "election-run.1", "election-status.1", "election-cluster-init.1"] {
        assert!(names.iter().any(|name| name == page), "no {page} in {names:?}");
    }
    assert!(names.iter().all(|name| !name.contains("__")), "{names:?}");
    for name in names {
        let page = fs::read_to_string(pages.join(&name)).expect("a page");
        for part in [".TH election", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"] {
            assert!(page.contains(part), "{name}: no {part}");
        }
        assert!(!page.contains(".SH EXTRA"), "{name}: a heading that `man` does not know");
        let (title, _) = page.split_once(".SH NAME").expect("a title");
        let foot = concat!("\"election ", env!("CARGO_PKG_VERSION"), "\" \"Leader election\"");
        assert!(title.contains(foot), "{name}: {title}");
        for heading in page.split("\n.SH ").skip(1) {
            let text = heading.split_once('\n').map_or("", |(_, text)| text);
            assert!(!text.trim().is_empty(), "{name}: a heading over nothing: {heading}");
        }
    }
    let read = |name: &str| fs::read_to_string(pages.join(name)).expect("a page");
    for command in ["run", "pause", "cluster-init"] {
        let page = read(&format!("election-{command}.1"));
        assert!(page.contains(".SH \"EXIT STATUS\"\nExit codes: "), "{page}");
        let (_, examples) =
            page.split_once(".SH EXAMPLES\n.nf\n").unwrap_or_else(|| panic!("{page}"));
        let own = format!("    election {} ", command.replace('-', " "));
        assert!(examples.contains(&own) && examples.contains(".fi"), "{examples}");
    }
    for name in ["election.1", "election-run.1", "election-check.1"] {
        let page = read(name);
        let status = ".SH \"EXIT STATUS\"\nExit codes: ";
        let (_, behind) = page.split_once(status).unwrap_or_else(|| panic!("{name}: {page}"));
        let (codes, notes) = behind.split_once(".SH NOTES\n").expect("what else there is to say");
        assert!(codes.contains("a usage error"), "{name}: {codes}");
        assert!(!codes.contains("environment") && notes.contains("environment"), "{name}");
    }
    let page = read("election-run.1");
    for word in ["\\-\\-min\\-epoch", "ELECTION_MIN_EPOCH"] {
        assert!(page.contains(word), "no {word} in {page}");
    }
    let Ok(shown) = Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "-z"])
        .arg(pages.join("election-run.1"))
        .output()
    else {
        return; // no groff here
    };
    assert!(shown.status.success() && shown.stderr.is_empty(), "{shown:?}");
}
