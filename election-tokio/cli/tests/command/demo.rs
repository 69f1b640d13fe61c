//! `election demo` as a user at a terminal sees it, and as a pipe does.

use super::{
    job,
    process::{eventually, every_pid},
    terminal::Terminal,
    world::World,
};
use rustix::pipe::PipeFlags;
use std::{
    fs::File,
    io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    os::unix::net::UnixDatagram,
    process::{Command, Stdio},
};

/// Waits until the view stands on the screen, and nothing else, after this many kills at least.
fn shows_the_view(terminal: &Terminal, least: u32) -> Vec<String> {
    eventually(&format!("a view of {least} kills"), || {
        let lines = terminal.lines();
        let count = |what| lines.iter().filter(|line| line.contains(what)).count();
        let killed = lines[0].strip_prefix("leaders killed: ")?.split(';').next()?;
        let whole = killed.parse::<u32>().ok()? >= least
            && lines[2..5].iter().all(|line| line.contains("candidate-"))
            && lines.last()?.as_str() == "Ctrl-C ends the demo"
            && (count("Ctrl-C ends the demo"), count("leaders killed")) == (1, 1);
        whole.then_some(lines)
    })
}

#[test]
fn the_demo_fits_any_terminal_and_leaves_it_as_it_was() {
    let world = World::new();
    let command = world.bare(&["demo", "--ttl", "300ms"]);
    let (mut terminal, mut child) = Terminal::start(&command, 24, 80);
    shows_the_view(&terminal, 0);
    shows_the_view(&terminal, 1);
    for (rows, columns) in [(20, 60), (50, 200), (24, 80)] {
        terminal.resize(rows, columns);
        let lines = shows_the_view(&terminal, 1);
        assert_eq!(lines.len(), usize::from(rows));
    }
    assert!(terminal.is_on_the_other_screen());
    terminal.master.write_all(b"typed\x03").expect("a terminal");
    let status = eventually("the end", || child.try_wait().expect("our own child"));
    assert!(status.success(), "{status}");
    terminal.reader.join().expect("a reader");
    let parser = terminal.shown.lock().expect("no panic there");
    assert!(!parser.screen().alternate_screen() && !parser.screen().hide_cursor());
    let report = parser.screen().contents();
    assert!(report.contains("beyond") && report.contains("median"), "{report}");
    assert!(report.lines().all(|line| line.chars().count() < 80), "{report}");
}

#[test]
fn the_demo_tells_a_pipe_in_lines() {
    let world = World::new();
    let mut command = world.bare(&["demo", "--ttl", "300ms", "--kills", "2"]);
    // A service manager's, to which its candidates have nothing to say.
    let name = world.path().join("notify");
    let manager = UnixDatagram::bind(&name).expect("a socket of our own");
    let output = world.output(command.env("NOTIFY_SOCKET", &name));
    manager.set_nonblocking(true).expect("a socket of our own");
    let heard = manager.recv(&mut [0; 512]).expect_err("a candidate spoke for the demo");
    assert_eq!(heard.kind(), ErrorKind::WouldBlock);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success() && output.stderr.is_empty(), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let failovers = text.lines().filter(|line| line.contains(" → ")).count();
    assert_eq!(failovers, 2, "{text}");
}

/// A user who kills the demo has not started its candidates, and would not look for them.
#[test]
fn candidates_end_with_a_demo_that_is_killed() {
    let world = World::new();
    // One that loses its lease starts another job, which could not say so either.
    let mut command = world.bare(&["demo", "--ttl", "60s", "--kills", "1"]);
    let said = world.path().join("said");
    let output = File::create(&said).expect("a file of our own");
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
    let mut demo = command.spawn().expect("the election command");
    let ours = || every_pid().into_iter().filter(|pid| job::is_of(*pid, world.path())).count();
    // A job that could not say so, nobody being there to hear it, would end by itself.
    eventually("a job that has begun", || {
        std::fs::read_to_string(&said).is_ok_and(|said| said.contains(" leads ")).then_some(())
    });
    assert!(ours() >= 5, "a demo, three candidates and a guard");
    demo.kill().and_then(|()| demo.wait()).expect("our own child");
    eventually("the end of all that it has started", || (ours() == 0).then_some(()));
}

/// A temporary directory of the demo's own, so that a test sees what is left in it.
fn quorum(world: &World, options: &[&str]) -> Command {
    let place = world.path().join("tmp");
    std::fs::create_dir_all(&place).expect("a directory of our own");
    let mut command = world.bare(&["demo", "--quorum", "--down-after", "500ms"]);
    command.args(options).env("TMPDIR", place);
    command
}

#[track_caller]
fn nothing_is_left(world: &World) {
    let left = || every_pid().into_iter().filter(|pid| job::is_of(*pid, world.path())).count();
    eventually("the end of all that it has started", || (left() == 0).then_some(()));
    let files = std::fs::read_dir(world.path().join("tmp")).expect("a directory of our own");
    assert_eq!(files.count(), 0);
}

#[test]
fn the_demo_needs_no_database() {
    let world = World::new();
    let output = world.output(&mut quorum(&world, &["--kills", "3"]));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success() && output.stderr.is_empty(), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let failovers: Vec<_> = text.lines().filter(|line| line.contains(" → ")).collect();
    assert_eq!(failovers.len(), 3, "{text}");
    assert!(text.contains("support left") && text.lines().all(|it| it.chars().count() < 80));
    nothing_is_left(&world);
    let output = world.output(&mut quorum(&world, &["--candidates", "2"]));
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("use three or more"));
    let output = world.output(world.bare(&["demo", "--quorum"]).args(["--down-after", "1ms"]));
    assert_eq!(output.status.code(), Some(125));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--down-after: ") && said.contains("use at least"), "{said}");
}

/// As `| head -1` goes away: nobody is there for what would follow.
#[test]
fn a_demo_ends_with_its_reader() {
    let world = World::new();
    for ttl_or_down_after in [&["--ttl", "60s"][..], &["--quorum", "--down-after", "60s"]] {
        let place = world.path().join("tmp");
        std::fs::create_dir_all(&place).expect("a directory of our own");
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
        let mut command = world.bare(&["demo"]);
        command.args(ttl_or_down_after).env("TMPDIR", place).stdin(Stdio::null()).stdout(writer);
        let mut demo = command.stderr(Stdio::piped()).spawn().expect("the election command");
        if ttl_or_down_after[0] == "--ttl" {
            let mut line = String::new();
            BufReader::new(File::from(reader)).read_line(&mut line).expect("its first line");
            assert!(line.contains(" leads"), "{line}");
        } else {
            drop(reader); // before there is anything to say
        }
        let status = eventually("the end", || demo.try_wait().expect("our own child"));
        assert_eq!(status.code(), Some(141));
        let mut said = String::new();
        demo.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
        assert_eq!(said, "");
        nothing_is_left(&world);
    }
}

/// A user who closes the window has nobody left to tell anything to.
#[test]
fn a_demo_whose_terminal_goes_away_clears_up() {
    let world = World::new();
    let (mut master, mut child) = Terminal::open(&quorum(&world, &[]), 24, 80);
    let (mut said, mut bytes) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&said).contains("Ctrl-C ends the demo") {
        let count = master.read(&mut bytes).expect("a terminal");
        said.extend_from_slice(&bytes[..count]);
    }
    drop(master);
    let _ = eventually("the end", || child.try_wait().expect("our own child"));
    nothing_is_left(&world);
}
