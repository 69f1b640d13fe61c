//! A terminal, as a user sits at, for the command under test; and what a job has of it.

use super::{
    process::{children, eventually, send},
    world::World,
};
use rustix::{
    fs::{Mode, OFlags},
    process::Signal,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use std::{
    fs::{self, File},
    io::Read as _,
    num::NonZeroU16,
    os::fd::OwnedFd,
    process::{Child, Command},
    sync::{Arc, Mutex},
};

/// A terminal of its own, which the command controls.
pub(crate) struct Terminal {
    pub(crate) master: File,
    pub(crate) shown: Arc<Mutex<vt100::Parser>>,
    /// Everything that ever came, escape sequences and all.
    pub(crate) reader: std::thread::JoinHandle<()>,
}

impl Terminal {
    /// Starts a command on a terminal of this size.
    pub(crate) fn start(command: &Command, rows: u16, columns: u16) -> (Self, Child) {
        let (master, child) = Self::open(command, rows, columns);
        let shown = Arc::new(Mutex::new(vt100::Parser::new(some(rows), some(columns), 1_000)));
        let (mut from, parser) = (master.try_clone().expect("a descriptor"), shown.clone());
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails once nobody has the other end any more.
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                parser.lock().expect("no panic there").process(&bytes[..count]);
            }
        });
        (Self { master, shown, reader }, child)
    }

    /// The same, with the only descriptor of the terminal's other end.
    pub(crate) fn open(command: &Command, rows: u16, columns: u16) -> (File, Child) {
        // No child has a copy of it: it goes away with this one.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a pseudo-terminal");
        grantpt(&master).expect("a pseudo-terminal");
        unlockpt(&master).expect("a pseudo-terminal");
        resize(&master, rows, columns);
        let name = ptsname(&master, Vec::new()).expect("a pseudo-terminal");
        let slave = || -> OwnedFd {
            rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("a tty")
        };
        let mut session = Command::new("setsid");
        session
            .env("TERM", "xterm-256color")
            .args(["--ctty", "--wait"])
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => session.env(name, value),
                None => session.env_remove(name),
            };
        }
        session.stdin(slave()).stdout(slave()).stderr(slave());
        let child = session.spawn().expect("setsid, of util-linux");
        drop(session); // its copies of the terminal with it, so that reading ends
        (File::from(master), child)
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        self.shown.lock().expect("no panic there").screen_mut().set_size(some(rows), some(columns));
        resize(&self.master, rows, columns);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let parser = self.shown.lock().expect("no panic there");
        let columns = parser.screen().size().1;
        parser.screen().rows(0, columns.get()).map(|line| line.trim_end().to_owned()).collect()
    }

    pub(crate) fn is_on_the_other_screen(&self) -> bool {
        self.shown.lock().expect("no panic there").screen().alternate_screen()
    }
}

fn some(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).expect("a size")
}

fn resize(terminal: &impl std::os::fd::AsFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a terminal of that size");
}

/// The kernel stops a background process that reads from its terminal.
#[test]
fn a_job_finds_nothing_to_read_on_a_terminal() {
    let world = World::new();
    let read = world.path().join("read");
    let job = format!("cat > {}; exit 7", read.display());
    let run = world.election("run", &["--", "sh", "-c", &job]);
    let (_terminal, mut child) = Terminal::start(&run, 24, 80);
    let status = eventually("the job's end", || child.try_wait().expect("our own child"));
    assert_eq!((status.code(), fs::read(&read).expect("its file").len()), (Some(7), 0));
}

#[test]
fn a_table_is_no_wider_than_the_terminal() {
    let world = World::new();
    let label = "a label of many words ".repeat(5);
    let _leader = world.candidate("one", &["--ttl", "60s", "--label", label.trim()], "");
    world.start_after(0);
    let (terminal, mut child) = Terminal::start(&world.election("list", &[]), 24, 60);
    assert!(child.wait().expect("our own child").success());
    let shown = terminal.shown.clone();
    terminal.reader.join().expect("no panic there");
    let first = shown.lock().expect("no panic there").screen().rows(0, 60).next();
    assert!(first.as_ref().is_some_and(|it| it.trim_end().ends_with("LISTING LEFT")), "{first:?}");
}

/// It may open the terminal itself, to read from it or to set it, as for a password.
#[test]
fn a_job_stopped_at_its_terminal_still_has_a_guard() {
    let state = |pid: i32| -> Option<char> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(") ")?.1.chars().next()
    };
    let stands = |pid: i32| state(pid) == Some('T');
    for job in ["read password < /dev/tty", "exec stty -echo < /dev/tty"] {
        let world = World::new();
        let options = ["--grace", "100ms", "--", "sh", "-c", job];
        let (_terminal, mut child) = Terminal::start(&world.election("run", &options), 24, 80);
        let elector = i32::try_from(child.id()).expect("a process");
        let guard = eventually("a job that stands still", || {
            let guard = children(elector).into_iter().next()?;
            children(guard).into_iter().any(stands).then_some(guard)
        });
        assert!(
            state(guard).is_some_and(|state| "SR".contains(state)),
            "{job}: {:?}",
            state(guard)
        );
        send(elector, Signal::TERM);
        let status = eventually("the end", || child.try_wait().expect("our own child"));
        assert_eq!(status.code(), Some(128 + 9), "{job}");
    }
}
