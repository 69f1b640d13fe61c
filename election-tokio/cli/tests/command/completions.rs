//! What shells know of the command: each shell itself completes what is typed.

use super::world::World;
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// What is typed, and the only word that completes its last one: a subcommand, that of a subcommand,
/// an option, and one of its values.
const COMPLETED: [(&str, &str); 4] = [
    ("election ru", "run"),
    ("election cluster in", "init"),
    ("election run --on-le", "--on-lead"),
    ("election run --on-lost st", "stop"),
];

/// What the command says only to itself, and what it never says.
const UNKNOWN: [&str; 4] =
    ["election __", "election run --with-p", "election nobod", "election run --on-x"];

fn completes(offered: impl Fn(&str) -> Vec<String>) {
    for (typed, word) in COMPLETED {
        assert_eq!(offered(typed), [word], "{typed}");
    }
    for typed in UNKNOWN {
        let offered = offered(typed);
        assert!(offered.is_empty(), "{typed}: {offered:?}");
    }
}

/// Writes what the command prints for this shell to this file, below the test's directory.
fn install(world: &World, shell: &str, file: &str) {
    let script = world.output(&mut world.bare(&["completions", shell]));
    assert!(script.status.success() && script.stderr.is_empty(), "{script:?}");
    let file = world.path().join(file);
    fs::create_dir_all(file.parent().expect("a directory")).expect("a directory of our own");
    fs::write(file, &script.stdout).expect("a file of our own");
}

/// A shell of somebody who has no settings, and the command on the path.
fn shell(world: &World, program: &str) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_election")).parent().expect("a directory");
    let path = std::env::var("PATH").expect("a path");
    let mut shell = Command::new(program);
    shell.current_dir(world.path()).env("HOME", world.path()).env("TERM", "dumb");
    shell.env("PATH", format!("{}:{path}", built.display()));
    shell.env("XDG_CONFIG_HOME", world.path()).env("XDG_DATA_HOME", world.path().join("data"));
    shell
}

/// What this shell says. It is one of the tools that the tests need.
fn said(world: &World, shell: &mut Command) -> Output {
    let program = shell.get_program().to_owned();
    let there = Command::new(&program).arg("--version").output();
    assert!(there.is_ok(), "{program:?} is missing: install it, as .ci/test does");
    world.output(shell)
}

fn words(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
}

/// Bash, as it calls the function that the script has registered.
fn bash(world: &World, typed: &str) -> Vec<String> {
    let words_typed: Vec<_> = typed.split(' ').collect();
    let [.., before, last] = words_typed[..] else { panic!("{typed}") };
    let ask = format!(
        "source election.bash || exit 1; complete -p election >&2 || exit 2; \
         COMP_WORDS=({typed}); COMP_CWORD={}; _election election '{last}' '{before}'; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words_typed.len() - 1,
    );
    let output = said(world, shell(world, "bash").args(["--norc", "-c", &ask]));
    let registered = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && registered.contains("-F _election"), "{output:?}");
    words(&output)
}

/// Fish, which finds the script by its name, and explains each word behind a tabulator.
fn fish(world: &World, typed: &str) -> Vec<String> {
    let output = said(world, shell(world, "fish").args(["-c", "complete -C $argv[1]", typed]));
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let offered = String::from_utf8_lossy(&output.stdout);
    let word = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    offered.lines().map(word).collect()
}

/// Zsh at a terminal of its own. As soon as it lets one type, it completes once, as the tabulator key
/// does, and tells what the line is then.
const ZSH: &str = r#"
fpath=("$HOME/functions" $fpath)
autoload -Uz compinit && compinit -u -d "$HOME/dump"
complete() {
  BUFFER=$typed CURSOR=$#typed
  zle complete-word
  print -r -- "$BUFFER" >"$HOME/line"
  exit
}
zle -N zle-line-init complete
"#;

/// The shell around it: it holds the terminal, and reads it until the other has ended.
const TERMINAL: &str = r#"
zmodload zsh/zpty && zpty inner zsh -f -i && zpty -w inner 'source "$HOME/ask"' || exit 1
while zpty -r inner shown; do print -rn -- "$shown"; done
"#;

fn zsh(world: &World, typed: &str) -> Vec<String> {
    fs::write(world.path().join("ask"), ZSH).expect("a file of our own");
    let output = said(world, shell(world, "zsh").args(["-f", "-c", TERMINAL]).env("typed", typed));
    let line = fs::read_to_string(world.path().join("line"));
    let line = line.unwrap_or_else(|error| panic!("{typed}: {error}: {output:?}"));
    fs::remove_file(world.path().join("line")).expect("a file of our own");
    let line = line.trim_end_matches('\n');
    let (_, last) = typed.rsplit_once(' ').expect("a command and a word");
    let (_, word) = line.trim_end().rsplit_once(' ').expect("a command and a word");
    // Behind an option that takes a value it writes what comes next.
    let word = word.trim_end_matches('=');
    if word == last { Vec::new() } else { vec![word.to_owned()] }
}

#[test]
fn bash_completes_the_words_of_the_command() {
    let world = World::new();
    install(&world, "bash", "election.bash");
    completes(|typed| bash(&world, typed));
    assert_eq!(bash(&world, "election re"), ["resign", "resume"]);
}

#[test]
fn fish_completes_the_words_of_the_command() {
    let world = World::new();
    install(&world, "fish", "fish/completions/election.fish");
    completes(|typed| fish(&world, typed));
    assert_eq!(fish(&world, "election re"), ["resign", "resume"]);
}

#[test]
fn zsh_completes_the_words_of_the_command() {
    let world = World::new();
    install(&world, "zsh", "functions/_election");
    completes(|typed| zsh(&world, typed));
}

#[test]
fn every_shell_has_a_script() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = world.output(&mut world.bare(&["completions", shell]));
        let script = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && script.contains("min-epoch"), "{shell}: {script}");
        assert!(!script.contains("__guard"), "{shell}: {script}");
    }
    let output = world.output(&mut world.bare(&["completions", "tcsh"]));
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("zsh"), "{output:?}");
}
