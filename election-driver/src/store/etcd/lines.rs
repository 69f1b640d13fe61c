//! What comes of a watch, line by line.

use super::{
    link::{LONGEST, Link},
    wire::{self, News},
};
use futures_lite::io::{AsyncRead, AsyncWrite};
use hyper::body::Incoming;

pub(super) struct Lines<S: AsyncRead + AsyncWrite + Unpin> {
    pub(super) at: usize,
    pub(super) endpoint: String,
    link: Link<S>,
    body: Incoming,
    /// What has been read of the next line, or more.
    read: Vec<u8>,
}

impl<S> Lines<S>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(at: usize, endpoint: String, link: Link<S>, body: Incoming) -> Self {
        Self { at, endpoint, link, body, read: Vec::new() }
    }

    /// # Errors
    /// If there is no more to come.
    pub(super) async fn next(&mut self) -> Result<News, String> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(end + 1);
                let line = std::mem::replace(&mut self.read, rest);
                return wire::news(&line);
            }
            if self.read.len() > LONGEST {
                return Err("it tells of a change in more than 1 MiB".to_owned());
            }
            match self.link.more(&mut self.body).await {
                Some(bytes) => self.read.extend_from_slice(&bytes?),
                // An error that ends it has no end of line.
                None if !self.read.is_empty() => {
                    return wire::news(&std::mem::take(&mut self.read));
                }
                None => return Err("it has closed the watch".to_owned()),
            }
        }
    }
}
