//! What a hook prints, line by line, up to a megabyte: one that prints without an end must fill no log.

use std::{io, os::fd::OwnedFd};
use tokio::{
    net::unix::pipe::{self, Receiver},
    task::yield_now,
};

/// A longer line is told in parts.
const LONGEST: usize = 4096;
/// So many bytes of the log are for a hook. The rest is read, so that the hook can go on, and counted.
const MOST: usize = 1 << 20;
/// What a line takes there besides its text.
const FRAME: usize = 100;

pub(super) struct Output {
    pipe: Receiver,
    received: Vec<u8>,
    /// How much of the log is used.
    told: usize,
    dropped: usize,
    /// It was told that the rest is dropped.
    cut: bool,
    ended: bool,
}

impl Output {
    /// A pipe, and the end for the hook.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (sender, pipe) = pipe::pipe()?;
        let output =
            Self { pipe, received: Vec::new(), told: 0, dropped: 0, cut: false, ended: false };
        Ok((output, sender.into_blocking_fd()?))
    }

    /// The next line; `None` once nobody can write any more. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            if self.told >= MOST {
                self.dropped += self.received.len();
                self.received.clear();
                if self.dropped > 0 && !self.cut {
                    self.cut = true;
                    return Some("(more than a megabyte: the rest is dropped)".to_owned());
                }
            }
            if let Some(line) = self.line() {
                self.told += line.len() + FRAME;
                return Some(line);
            }
            if self.ended {
                let dropped = std::mem::take(&mut self.dropped);
                let most = "a megabyte of log";
                return (dropped > 0)
                    .then(|| format!("(its last {dropped} bytes are dropped, after {most})"));
            }
            let mut chunk = [0; LONGEST];
            let read = match self.pipe.readable().await {
                Ok(()) => self.pipe.try_read(&mut chunk),
                Err(error) => Err(error),
            };
            match read {
                Ok(0) => self.ended = true,
                Ok(length) => {
                    self.received.extend_from_slice(&chunk[..length]);
                    // Whoever waits for something else at the same time has its turn.
                    yield_now().await;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.ended = true,
            }
        }
    }

    /// The next line of what was received, or what there is of it if nothing more will come.
    fn line(&mut self) -> Option<String> {
        if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            return Some(text(&line[..end]));
        }
        let whole = self.ended || self.received.len() >= LONGEST;
        (whole && !self.received.is_empty()).then(|| text(&std::mem::take(&mut self.received)))
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches('\r').to_owned()
}
