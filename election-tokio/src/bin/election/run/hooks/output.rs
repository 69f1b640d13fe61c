//! What a hook prints, line by line.

use std::{io, os::fd::OwnedFd};
use tokio::net::unix::pipe::{self, Receiver};

/// A longer line is told in parts.
const LONGEST: usize = 4096;

pub(super) struct Output {
    pipe: Receiver,
    received: Vec<u8>,
    ended: bool,
}

impl Output {
    /// A pipe, and the end for the hook.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (sender, pipe) = pipe::pipe()?;
        Ok((Self { pipe, received: Vec::new(), ended: false }, sender.into_blocking_fd()?))
    }

    /// The next line; `None` once nobody can write any more. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            let newline = self.received.iter().position(|byte| *byte == b'\n');
            let whole = self.ended || self.received.len() >= LONGEST;
            if let Some(end) = newline {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Some(text(&line[..end]));
            }
            if whole && !self.received.is_empty() {
                return Some(text(&std::mem::take(&mut self.received)));
            }
            if self.ended {
                return None;
            }
            let mut chunk = [0; LONGEST];
            let read = match self.pipe.readable().await {
                Ok(()) => self.pipe.try_read(&mut chunk),
                Err(error) => Err(error),
            };
            match read {
                Ok(0) => self.ended = true,
                Ok(length) => self.received.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.ended = true,
            }
        }
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches('\r').to_owned()
}
