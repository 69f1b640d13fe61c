//! The end of standard input, which tells `election hold` that whoever wanted to lead is done.

use super::process_tree::own_group;
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{FileType, fstat},
    io::Errno,
    termios::tcgetpgrp,
};
use std::{
    io::{self, IsTerminal as _},
    os::fd::AsFd as _,
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use tracing::info;

/// How often a process in the background of its terminal looks whether it is in front again.
const BACKGROUND: Duration = Duration::from_secs(1);

/// Cancelled once standard input has ended; never, if nobody is there to end it: the end of a file,
/// or of `/dev/null`, means nothing.
pub(super) fn ended() -> io::Result<CancellationToken> {
    let ended = CancellationToken::new();
    if is_held() {
        let tell = ended.clone();
        std::thread::Builder::new().name("input".to_owned()).spawn(move || {
            drain();
            info!(event = "stop_requested", "told to end by the end of standard input");
            tell.cancel();
        })?;
    }
    Ok(ended)
}

/// Whether standard input has another end: a pipe's, a socket's, or somebody at a terminal.
fn is_held() -> bool {
    let kind = fstat(io::stdin()).map(|status| FileType::from_raw_mode(status.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket)) || io::stdin().is_terminal()
}

/// Reads to the end. In the background of a terminal it must not: the kernel would stop the whole
/// process.
fn drain() {
    let input = io::stdin();
    let mut chunk = [0; 4096];
    loop {
        let mut ready = [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)];
        if poll(&mut ready, None) == Err(Errno::INTR) {
            continue;
        }
        if input.is_terminal()
            && tcgetpgrp(&input).is_ok_and(|front| front.as_raw_pid() != own_group())
        {
            std::thread::sleep(BACKGROUND);
            continue;
        }
        match rustix::io::read(&input, &mut chunk[..]) {
            Ok(0) => return,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return, // the terminal is gone
        }
    }
}
