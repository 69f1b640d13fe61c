//! The structure of the sources: imports run one way between the files of a crate, and calls between
//! the files of a quorum's state machine. So whoever looks a definition up never arrives in a file
//! that depends on the one they came from.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Which file needs which others.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The files of a folder by their module paths, without comments and tests.
fn sources(folder: &str) -> BTreeMap<String, String> {
    fn collect(folder: &Path, module: &str, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let below = |name: &str| match (module, name) {
                (_, "mod" | "lib" | "main") => module.to_owned(),
                ("", _) => name.to_owned(),
                _ => format!("{module}::{name}"),
            };
            if entry.path().is_dir() {
                collect(&entry.path(), &below(&name), files);
            } else if let Some(name) = name.strip_suffix(".rs") {
                let text = fs::read_to_string(entry.path()).unwrap();
                let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
                let code = text.lines().map(|line| line.split("//").next().unwrap());
                files.insert(below(name), code.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut files = BTreeMap::new();
    collect(&root, "", &mut files);
    assert!(files.len() > 3, "{folder} has files");
    files
}

/// The paths that the `use` declarations of a file name, apart from those for its documentation.
fn imports(code: &str) -> Vec<String> {
    fn expand(path: &str, all: &mut Vec<String>) {
        let Some((prefix, rest)) = path.split_once('{') else {
            all.push(path.split(" as ").next().unwrap().trim().to_owned());
            return;
        };
        let (mut depth, mut from) = (0, 0);
        for (at, letter) in rest.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    let one = rest[from..at].trim();
                    if !one.is_empty() {
                        expand(&format!("{}{one}", prefix.trim()), all);
                    }
                    from = at + 1;
                }
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    let mut before = "";
    for (at, line) in code.lines().scan(0, |next, line| {
        let at = *next;
        *next += line.len() + 1;
        Some((at, line))
    }) {
        let words = line.trim_start();
        let is_documentation = before.starts_with("#[cfg(") && before.contains("doc");
        if words.starts_with("use ") || words.starts_with("pub") && words.contains(" use ") {
            let declared = code[at..].split("use ").nth(1).unwrap().split(';').next().unwrap();
            if !is_documentation {
                expand(&declared.replace('\n', " "), &mut all);
            }
        }
        before = words;
    }
    all
}

/// Which files import from which. What a file imports from a module around it is no arrow.
fn arrows_of_imports(files: &BTreeMap<String, String>) -> Arrows {
    let target = |module: &str, path: &str| {
        let mut parts: Vec<&str> = path.split("::").collect();
        let mut base: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
        match parts[0] {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                while parts.first() == Some(&"super") {
                    (_, parts) = (base.pop(), parts.split_off(1));
                }
                parts.insert(0, "super");
            }
            _ => return None,
        }
        base.extend(&parts[1..]);
        (1..=base.len()).rev().map(|n| base[..n].join("::")).find(|path| files.contains_key(path))
    };
    let is_around = |outer: &str, inner: &str| {
        inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
    };
    let of = |(module, code): (&String, &String)| {
        let targets = imports(code).into_iter().filter_map(|path| target(module, &path));
        (module.clone(), targets.filter(|path| !is_around(path, module)).collect())
    };
    files.iter().map(of).collect()
}

/// The name that a text begins with.
fn word(text: &str) -> String {
    text.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect()
}

/// Which files call methods of `machine` that stand in which.
fn arrows_of_calls(files: &BTreeMap<String, String>, machine: &str) -> Arrows {
    let mut bodies: Vec<(&String, &str)> = Vec::new();
    for (module, code) in files {
        for (at, _) in code.match_indices("\nimpl ") {
            let block = code[at + 1..].split("\n}").next().unwrap();
            let head = block.lines().next().unwrap();
            if head.ends_with(&format!(" {machine} {{")) {
                bodies.push((module, block));
            }
        }
    }
    let name = |line: &str| -> Option<String> {
        let line = line.strip_prefix("    ").filter(|line| !line.starts_with(' '))?;
        let rest = line.split("fn ").nth(1)?;
        Some(word(rest))
    };
    let homes: BTreeMap<String, &String> = bodies
        .iter()
        .flat_map(|(module, block)| block.lines().filter_map(name).map(|it| (it, *module)))
        .collect();
    assert!(homes.len() > 20, "{machine} has methods");
    let mut arrows = Arrows::new();
    for (module, block) in bodies {
        let paths = ["Self::".to_owned(), format!("{machine}::")];
        let calls = ["self.", "node.", &paths[0], &paths[1]];
        let calls =
            calls.into_iter().flat_map(|it| block.split(it).skip(1).map(move |call| (it, call)));
        for (by, call) in calls {
            let called = word(call);
            // A method can be named as a value; a field may have the name of a method.
            let is_call = by.ends_with("::") || call[called.len()..].starts_with('(');
            if let Some(home) = homes.get(&called).filter(|home| is_call && **home != module) {
                arrows.entry(module.clone()).or_default().insert((*home).clone());
            }
        }
    }
    arrows
}

/// The files from which one comes back to where one was, and those between them.
fn circles(mut arrows: Arrows) -> Arrows {
    loop {
        let before = arrows.len();
        let sources: BTreeSet<String> = arrows.keys().cloned().collect();
        arrows.values_mut().for_each(|targets| targets.retain(|it| sources.contains(it)));
        let targets: BTreeSet<String> = arrows.values().flatten().cloned().collect();
        arrows.retain(|file, needs| !needs.is_empty() && targets.contains(file));
        if arrows.len() == before {
            return arrows;
        }
    }
}

#[test]
fn imports_run_one_way() {
    for folder in [
        "election-core/src",
        "election-sim/src",
        "election-driver/src",
        "election-tokio/src",
        "election-tokio/cli/src",
        "election-async-std/src",
    ] {
        let circles = circles(arrows_of_imports(&sources(folder)));
        assert!(circles.is_empty(), "files of {folder} import each other: {circles:#?}");
    }
}

#[test]
fn calls_of_a_quorum_run_one_way() {
    let arrows = arrows_of_calls(&sources("election-core/src/quorum"), "Quorum");
    assert!(arrows["rules::votes"].contains("rules::endings"), "calls are found");
    let circles = circles(arrows);
    assert!(circles.is_empty(), "files call each other: {circles:#?}");
}

/// The fields of the structs in these files: how many structs have one of the name.
fn fields(files: &BTreeMap<String, String>) -> BTreeMap<String, usize> {
    let mut fields = BTreeMap::new();
    for code in files.values() {
        let structs = code.split("struct ").skip(1).filter_map(|it| it.split_once(" {\n"));
        for (_, body) in structs.filter(|(head, _)| !head.contains([';', '('])) {
            for line in body.split("\n}").next().unwrap().lines() {
                if let Some((name, _)) = line.split_once(':') {
                    *fields.entry(name.rsplit(' ').next().unwrap().to_owned()).or_default() += 1;
                }
            }
        }
    }
    fields
}

/// Which files assign a field of this name, or take its value away.
fn writers<'a>(files: &'a BTreeMap<String, String>, field: &str) -> BTreeSet<&'a str> {
    let writes = |rest: &str| {
        let rest = rest.trim_start();
        let sets = |sign| rest.strip_prefix(sign).is_some_and(|it| !it.starts_with(['=', '>']));
        let takes = [".take", ".insert(", ".replace(", ".get_or_insert"];
        ["=", "|=", "&=", "+=", "-="].into_iter().any(sets)
            || takes.into_iter().any(|it| rest.starts_with(it))
            || rest.strip_prefix(')').is_some_and(|it| it.starts_with(" = "))
            || rest.strip_prefix(", ").is_some_and(|it| {
                it.split('\n')
                    .next()
                    .is_some_and(|line| line.contains(") = (") && !line.contains("let "))
            })
    };
    let access = format!(".{field}");
    let is_writer =
        |code: &str| code.match_indices(&access).any(|(at, _)| writes(&code[at + access.len()..]));
    files.iter().filter(|(_, code)| is_writer(code)).map(|(file, _)| file.as_str()).collect()
}

#[test]
fn two_files_at_most_write_a_field_of_a_quorum() {
    let mut files = sources("election-core/src/quorum");
    // The model checker's own: it brings a whole state into one form.
    files.remove("canonical");
    files.retain(|file, _| !file.starts_with("wire"));
    let mut state = files.clone();
    state.retain(|file, _| file.starts_with("state::") || file == "machine");
    let fields = fields(&state);
    assert!(fields.len() > 80 && fields.contains_key("promised"), "fields are found");
    assert_eq!(
        writers(&files, "candidacy"),
        BTreeSet::from(["rules::elections", "rules::endings"])
    );
    for (field, structs) in fields {
        let writers = writers(&files, &field);
        assert!(writers.len() <= 2 * structs, "{field} is written by {writers:?}");
    }
}

#[test]
fn a_circle_is_found() {
    let arrow = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let found = circles(Arrows::from([arrow("a", "b"), arrow("b", "c"), arrow("c", "b")]));
    assert_eq!(found.into_keys().collect::<Vec<_>>(), ["b", "c"]);
    let files = ["use super::b::B;", "pub(crate) use crate::{a::{A, C}, x};"];
    let files = [("a", files[0]), ("b", files[1]), ("c", "#[cfg(doc)]\nuse crate::a::A;")];
    let files = files.map(|(name, code)| (name.to_owned(), code.to_owned())).into();
    let found = circles(arrows_of_imports(&files));
    assert_eq!(found.into_keys().collect::<Vec<_>>(), ["a", "b"]);
}
