//! The rewritten workspace: a copy of the core and the simulator in the target directory.
//!
//! Only files that differ are written, so that cargo builds only what changed.

use crate::{
    mutation::tell_apart,
    rewrite::{Found, constants, rewrite},
    subject::Subject,
};
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// What of them has nothing to do with the checks.
const ASIDE: [&str; 6] = ["target", "planted", "mutants", "kevy", "compare", "proof"];
/// Where the switches are, in a rewritten crate.
const SWITCH: &str = include_str!("switch.rs");

/// Nobody debugs the copy; but overflows and broken assertions are to be noticed.
const PROFILE: &str = "
debug = false
incremental = false
debug-assertions = true
overflow-checks = true
";

/// Writes the copy, and returns what can be switched and counted in it.
pub(crate) fn write(subject: &Subject, root: &Path, copy: &Path) -> io::Result<Found> {
    let found = rewritten(subject, root, copy)?;
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let mut own = String::new();
    for line in manifest.lines() {
        match line.split_once(" = ") {
            _ if line.starts_with("[profile") => break,
            Some(("members", _)) => {
                writeln!(own, "members = {:?}", subject.crates).expect("a string")
            }
            Some(("exclude", _)) => {}
            _ => writeln!(own, "{line}").expect("a string"),
        }
    }
    write!(own, "\n[profile.dev]\nopt-level = {}", subject.level).expect("a string");
    write_if_changed(&copy.join("Cargo.toml"), &(own + PROFILE))?;
    fs::copy(root.join("Cargo.lock"), copy.join("Cargo.lock"))?;
    Ok(found)
}

fn rewritten(subject: &Subject, root: &Path, copy: &Path) -> io::Result<Found> {
    let mut found = Found::default();
    let source = root.join(subject.rewritten).join("src");
    let mut names = BTreeSet::new();
    for file in files(&source)? {
        if file.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(source.join(&file))?;
            constants(&text, &mut names).map_err(io::Error::other)?;
        }
    }
    for name in subject.crates.iter().copied() {
        let mut kept = BTreeSet::new();
        for file in files(&root.join(name))? {
            let (from, to) = (root.join(name).join(&file), copy.join(name).join(&file));
            let inner = file.strip_prefix("src").ok().filter(|_| name == subject.rewritten);
            let inner = inner.and_then(Path::to_str).unwrap_or("");
            if subject.takes(inner) {
                let text = fs::read_to_string(&from)?;
                let text =
                    rewrite(&format!("{}{inner}", subject.prefix), &text, &names, &mut found)
                        .map_err(|why| io::Error::other(format!("{}: {why}", from.display())))?;
                write_if_changed(&to, &text)?;
            } else if inner == "lib.rs" {
                write_if_changed(&to, &with_switch(subject, &fs::read_to_string(&from)?))?;
            } else {
                copy_if_changed(&from, &to)?;
            }
            kept.insert(file);
        }
        if name == subject.rewritten {
            kept.insert(PathBuf::from("src/switch.rs"));
        }
        for file in files(&copy.join(name))? {
            if !kept.contains(&file) {
                fs::remove_file(copy.join(name).join(file))?;
            }
        }
    }
    tell_apart(&mut found.mutants);
    write_if_changed(&copy.join(subject.rewritten).join("src/switch.rs"), &switch(&found))?;
    Ok(found)
}

/// The root of a crate that may look at its switches, which needs the standard library.
fn with_switch(subject: &Subject, root: &str) -> String {
    let root = root.replace("#![no_std]\n", "").replace("#[cfg(test)]\nextern crate std;\n", "");
    root + "\n#[doc(hidden)]\npub mod switch;\n" + subject.root
}

fn switch(found: &Found) -> String {
    let mut text = SWITCH.to_owned();
    let (mutants, branches) = (found.mutants.len(), found.branches.len());
    let _ = writeln!(text, "\nconst MUTANTS: usize = {mutants};");
    let _ = writeln!(text, "/// File, line, function and condition of each branch.");
    let _ = writeln!(text, "pub const BRANCHES: &[(&str, usize, &str, &str); {branches}] = &[");
    for branch in &found.branches {
        let (file, line, function, what) =
            (&branch.file, branch.line, &branch.function, &branch.what);
        let _ = writeln!(text, "    ({file:?}, {line}, {function:?}, {what:?}),");
    }
    text + "];\n"
}

/// All files below a directory, relative to it, in order.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        let entries = match fs::read_dir(directory.join(&inner)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            let is_aside = ASIDE.iter().any(|name| entry.file_name() == *name);
            if !entry.file_type()?.is_dir() {
                found.push(path);
            } else if !is_aside {
                open.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn copy_if_changed(from: &Path, to: &Path) -> io::Result<()> {
    let bytes = fs::read(from)?;
    if fs::read(to).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::write(to, bytes)
}

fn write_if_changed(to: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(to).is_ok_and(|known| known == text) {
        return Ok(());
    }
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::write(to, text)
}
