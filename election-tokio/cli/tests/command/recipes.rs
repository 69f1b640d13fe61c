//! The files for operators beside the command: what they name is there, and what they run works.

use super::{
    control::text,
    process::eventually,
    systemd::Manager,
    world::{World, block_on},
};
use election_tokio::{SqliteStore, core::Namespace};
use rustix::process::Signal;
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn recipe(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The values of a key of a unit, for the instance `report`.
fn values(unit: &str, key: &str) -> Vec<String> {
    let unit = recipe(unit);
    let pairs = unit.lines().filter_map(|line| line.split_once('='));
    pairs.filter(|(name, _)| *name == key).map(|(_, it)| it.replace("%i", "report")).collect()
}

/// What the unit runs as the manager would run it, but for the place of the database, the port and
/// the job.
fn service(world: &World, unit: &str, url: &str) -> Command {
    let start = values(unit, "ExecStart").concat();
    let (program, words) = start.split_once(' ').expect("a program and its words");
    assert_eq!(program, "/usr/bin/election");
    let words = words.replace("$ELECTION_JOB", "sh job");
    let mut command = world.bare(&words.split(' ').collect::<Vec<_>>());
    for setting in values(unit, "Environment") {
        let (name, value) = setting.split_once('=').expect("NAME=VALUE");
        command.env(name, value.replace("%t", world.path().to_str().expect("UTF-8")));
    }
    let example = recipe("systemd/report.env");
    let set = example.lines().filter(|line| !line.starts_with('#'));
    for (name, value) in set.filter_map(|line| line.split_once('=')) {
        command.env(name, if value.contains("://") { url } else { value });
    }
    if start.ends_with(" serve") {
        command.env("ELECTION_HTTP", "127.77.0.1:0");
    }
    command
}

#[test]
fn the_units_run_the_command_and_know_its_exit_codes() {
    for unit in ["systemd/election@.service", "systemd/election-serve@.service"] {
        let world = World::new();
        let (manager, job) = (Manager::of(&world), world.path().join("job"));
        fs::write(job, "env > new; mv new seen; exec sleep 1000").expect("a file of our own");
        assert_eq!(values(unit, "Type"), ["notify"]);
        let code = |key: &str| values(unit, key).concat().parse::<i32>().ok();
        let mut running = manager.start(&world, service(&world, unit, &world.url()), None);
        assert!(manager.next().starts_with("READY=1\n"), "{}", running.messages());
        let name = Namespace::new("report").expect("a name");
        eventually("a leader of the election `report`", || {
            let mut store = SqliteStore::open(world.database()).ok()?;
            block_on(store.leader(&name)).ok()?.live_holder().map(drop)
        });
        if !unit.contains("serve") {
            let seen = eventually("the job", || fs::read_to_string(world.path().join("seen")).ok());
            assert!(seen.contains("ELECTION_NAME=report\n"), "{seen}");
        }
        running.send(Signal::TERM);
        assert_eq!(running.exit(), code("SuccessExitStatus"), "{}", running.messages());
        let mut wrong = manager.start(&world, service(&world, unit, "nonsense://x"), None);
        assert_eq!(wrong.exit(), code("RestartPreventExitStatus"), "{}", wrong.messages());
    }
}

#[test]
fn every_variable_and_every_probe_in_a_recipe_is_there() {
    let world = World::new();
    let help = |command| -> Output { world.output(&mut world.bare(&[command, "--help"])) };
    let known = text(&help("run")) + &text(&help("serve"));
    for name in [
        "Containerfile",
        "kubernetes/job.yaml",
        "kubernetes/sidecar.yaml",
        "systemd/election@.service",
        "systemd/election-serve@.service",
        "systemd/report.env",
    ] {
        let recipe = recipe(name);
        let words = recipe.split(|each: char| !(each.is_ascii_uppercase() || each == '_'));
        // The job is the unit's own variable.
        for word in words.filter(|it| it.starts_with("ELECTION_") && *it != "ELECTION_JOB") {
            assert!(known.contains(&format!("[env: {word}")), "{name}: nothing reads {word}");
        }
        for probe in recipe.lines().filter_map(|line| line.trim().strip_prefix("path: ")) {
            let is_probe = probe != "/leader" && known.contains(&format!("{probe}:"));
            assert!(is_probe, "{name}: {probe}");
        }
    }
    let recipe = recipe("Containerfile");
    for part in ["cargo build --locked --release ", "/src/target/release/election "] {
        assert!(recipe.contains(part), "no {part} in {recipe}");
    }
}
