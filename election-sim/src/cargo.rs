//! What is known of the cargo that runs this test: where it builds, and which command runs the test
//! again. What a user is told works from any directory of the workspace, so paths are absolute.

use std::{
    env,
    fmt::Write as _,
    path::{Path, PathBuf},
    thread,
};

/// The directory of shrunk schedules and pictures: in cargo's build output, which is not committed.
pub(crate) fn directory() -> PathBuf {
    build_output().join("election-sim")
}

fn build_output() -> PathBuf {
    if let Some(target) = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from) {
        // A relative one was meant from where cargo was called, which nobody knows here.
        if target.is_absolute() {
            return target;
        }
    }
    // Cargo marks its build output, in which it also puts the tests.
    let test = env::current_exe().unwrap_or_default();
    let marked = test.ancestors().find(|place| place.join("CACHEDIR.TAG").is_file());
    marked.map_or_else(|| workspace().join("target"), Path::to_owned)
}

/// The directory with the lock file; a test runs in that of its package.
fn workspace() -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    let root = here.ancestors().find(|place| place.join("Cargo.lock").is_file());
    root.unwrap_or(&here).to_owned()
}

/// The file that a user means by this path: from the package, where cargo runs tests, or from a
/// directory above it up to the workspace's, where the user may have typed it. If there is none,
/// the directories in which it was sought.
pub(crate) fn find(path: &Path) -> Result<PathBuf, Vec<PathBuf>> {
    let (here, root) = (env::current_dir().unwrap_or_default(), workspace());
    let places = here.ancestors().take_while(|place| place.starts_with(&root));
    let places: Vec<PathBuf> = places.map(Path::to_owned).collect();
    let found = places.iter().map(|place| place.join(path)).find(|file| file.is_file());
    found.ok_or(places)
}

/// The test that is running now: it runs in a thread of its name, unless all run in the main thread.
pub(crate) fn running_test() -> Option<String> {
    let is_path = |name: &str| {
        name.split("::").all(|part| part.chars().all(|c| c == '_' || c.is_alphanumeric()))
    };
    thread::current().name().filter(|test| *test != "main" && is_path(test)).map(str::to_owned)
}

/// The command that runs the test that is running now, which built a simulation of this name.
pub(crate) fn test_command(name: &str) -> String {
    let package =
        env::var("CARGO_PKG_NAME").map_or_else(|_| String::new(), |of| format!(" -p {of}"));
    match running_test() {
        Some(test) => format!("cargo test{package} {test} -- --exact"),
        None => format!("cargo test{package} {}", quoted(name)),
    }
}

/// The text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:+,@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The URL of a file, which terminals open by a click.
pub(crate) fn url(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let text = path.to_string_lossy().replace('\\', "/");
    let mut url = "file://".to_owned();
    if !text.starts_with('/') {
        url.push('/'); // a drive of Windows
    }
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~:".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_one_word_and_one_link() {
        assert_eq!(quoted("/a/b-0x2a.scn"), "/a/b-0x2a.scn");
        assert_eq!(quoted("/my files/it's"), r"'/my files/it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(url(Path::new("/my files/a#1.html")), "file:///my%20files/a%231.html");
    }

    #[test]
    fn a_file_is_found_from_the_package_and_from_the_workspace() {
        let package = env::current_dir().unwrap();
        assert_eq!(find(Path::new("src/cargo.rs")), Ok(package.join("src/cargo.rs")));
        let nowhere = find(Path::new("no/such.scn")).unwrap_err();
        assert_eq!(nowhere.first(), Some(&package));
        assert_eq!(nowhere.last(), Some(&workspace()));
        for place in nowhere {
            let name = Path::new("src/cargo.rs");
            let from_there = package.join(name).strip_prefix(&place).unwrap().to_owned();
            assert_eq!(find(&from_there), Ok(package.join(name)));
        }
    }

    #[test]
    fn the_command_names_this_test() {
        let command = test_command("elsewhere");
        // With `--test-threads=1` the only name at hand is the simulation's.
        let named = command.ends_with(" cargo::tests::the_command_names_this_test -- --exact");
        assert!(named || command.ends_with(" elsewhere"), "{command}");
    }
}
