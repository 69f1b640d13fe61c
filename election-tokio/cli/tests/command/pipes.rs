//! Standard input, output and error of elector and job.

use super::{
    members::{IDS, Members},
    process::eventually,
    world::{Candidate, World},
};
use rustix::pipe::PipeFlags;
use std::{
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    os::fd::OwnedFd,
    process::{Command, Stdio},
};

/// A pipe that nobody reads, and which is not closed; it is soon full.
fn unread() -> (OwnedFd, OwnedFd) {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC).expect("a pipe")
}

/// Neither the chatter of the job nor the messages of the elector hold up a renewal.
#[test]
fn a_leader_that_nobody_listens_to_goes_on_leading() {
    let world = World::new();
    let (_unread_out, out) = unread();
    let (_unread_err, err) = unread();
    let mut command = world.run(&["--ttl", "2s", "--node", "first"], "chatter");
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    let mut first = Candidate::of(command);
    let job = world.start_after(0);
    let _second = world.candidate("second", &["--ttl", "2s"], "");
    world.listed(2);
    eventually("renewals over several leases", || {
        let row = world.row();
        assert_eq!(row.epoch.get(), job.epoch, "leadership was lost");
        (row.renewals > 6).then_some(())
    });
    first.send(rustix::process::Signal::TERM);
    assert_eq!(first.exit(), Some(0));
    world.start_after(job.epoch);
    world.assert_exclusive();
}

#[test]
fn the_job_reads_what_the_elector_was_given() {
    let world = World::new();
    let mut command = world.run(&["--ttl", "60s"], "read");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut candidate = Candidate::of(command);
    world.start_after(0);
    let mut stdin = candidate.stdin();
    stdin.write_all("a line with spaces\n".as_bytes()).expect("a job that reads");
    assert_eq!(candidate.exit(), Some(0));
    assert_eq!(world.first("read").rest, "a line with spaces");
}

/// A closed pipe on the other side, as `| head` leaves behind.
fn deaf(command: &mut Command) -> &mut Command {
    let (_, writer) = unread();
    command.stdin(Stdio::null()).stdout(writer)
}

#[test]
fn a_reader_who_went_away_ends_the_command_without_a_word() {
    let world = World::new();
    let _leader = world.candidate("leader", &["--ttl", "60s"], "");
    world.start_after(0);
    for command in ["status", "list", "observe", "schema", "resign"] {
        for json in [&[][..], &["--json"]] {
            let output = deaf(&mut world.election(command, json)).output().expect("its end");
            assert_eq!(output.status.code(), Some(141), "{command}: {output:?}");
            assert!(output.stderr.is_empty(), "{command}: {output:?}");
        }
    }
}

/// As `| head -1` goes away: behind the first line, and long before there is another.
#[test]
fn an_observer_ends_with_its_reader() {
    let world = World::new();
    let _leader = world.candidate("leader", &["--ttl", "60s"], "");
    world.start_after(0);
    let members = Members::new();
    let (_all, _job, first) = members.led();
    for mut observe in [world.election("observe", &[]), members.command("observe", IDS[first], &[])]
    {
        let (reader, writer) = unread();
        observe.stdin(Stdio::null()).stderr(Stdio::null()).stdout(writer);
        let mut observer = Candidate::of(observe);
        let mut line = String::new();
        let mut reader = BufReader::new(File::from(reader));
        reader.read_line(&mut line).expect("its first line");
        assert!(line.contains(" leads"), "{line}");
        assert!(observer.is_running());
        drop(reader);
        assert_eq!(observer.exit(), Some(141));
    }
}

#[test]
fn errors_that_nobody_can_read_do_not_change_the_exit_code() {
    let world = World::new();
    for (arguments, code) in [
        (&["status", "--store", "nonsense"][..], 125),
        (&["run", "--store", "nonsense", "true"], 125),
        (&["run", "--ttl", "nonsense", "true"], 125),
        (&["run", "--name", "n", "--store", &world.url(), "sh", "-c", "exit 3"], 3),
    ] {
        let (_, writer) = unread();
        let mut command = world.bare(arguments);
        let status = deaf(&mut command).stderr(writer).status().expect("its end");
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}
