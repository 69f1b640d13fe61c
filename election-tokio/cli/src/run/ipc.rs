//! The messages between elector and guard: short lines over a pair of sockets.
//!
//! The guard's end is its standard input, since no other descriptor can be handed over by name. The
//! job's own input comes with the first byte, as a file descriptor. The end of the connection means
//! that the other process is gone.

use super::deadline::Deadline;
use rustix::{
    cmsg_space,
    io::{Errno, IoSlice, IoSliceMut, read},
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, send, sendmsg,
    },
};
use std::{
    io::{self, Error},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    process::ExitStatus,
};

/// The elector's orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The deadline was moved: look at it.
    Look,
    /// The job was told to end. Processes that outlive its main process may use the remaining time.
    Stopping,
}

/// What the guard reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The job's process id.
    Started(i32),
    /// The job could not be started.
    Failed(String),
    /// The deadline has passed, and the job is being killed for it.
    Overdue,
    /// The job's main process has ended with this status, as `wait` encodes it.
    Ended(i32),
    /// The processes that it has left behind are being killed.
    LeftBehind(String),
    /// It takes so long to kill the job, which will begin so much earlier.
    Slow(String),
    /// The job has this control group.
    Cgroup(String),
    /// The job's processes fork faster than they can be killed, so the guard kills its whole
    /// process group, and itself with it.
    Together,
}

impl Report {
    pub(super) fn ended(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        Self::Ended(status.into_raw())
    }

    fn line(&self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}\n"),
            Self::Failed(why) => format!("failed {}\n", one_line(why)),
            Self::Overdue => "overdue\n".to_owned(),
            Self::Ended(status) => format!("ended {status}\n"),
            Self::LeftBehind(what) => format!("left {}\n", one_line(what)),
            Self::Slow(what) => format!("slow {}\n", one_line(what)),
            Self::Cgroup(path) => format!("cgroup {}\n", one_line(path)),
            Self::Together => "together\n".to_owned(),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match word {
            "started" => Self::Started(rest.parse().ok()?),
            "failed" => Self::Failed(rest.to_owned()),
            "overdue" => Self::Overdue,
            "ended" => Self::Ended(rest.parse().ok()?),
            "left" => Self::LeftBehind(rest.to_owned()),
            "slow" => Self::Slow(rest.to_owned()),
            "cgroup" => Self::Cgroup(rest.to_owned()),
            "together" => Self::Together,
            _ => return None,
        })
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

impl Order {
    fn line(self) -> &'static str {
        match self {
            Self::Look => "look\n",
            Self::Stopping => "stopping\n",
        }
    }

    fn parse(line: &str) -> Option<Self> {
        [Self::Look, Self::Stopping].into_iter().find(|each| each.line().trim_end() == line)
    }
}

/// The elector's end, and the guard's before it was started.
pub(super) fn pair(stdin: &OwnedFd, deadline: &Deadline) -> io::Result<(UnixStream, OwnedFd)> {
    let (here, there) = UnixStream::pair()?;
    let descriptors = [stdin.as_fd(), deadline.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(Error::other("two descriptors do not fit into one message"));
    }
    sendmsg(&here, &[IoSlice::new(b"\n")], &mut control, SendFlags::NOSIGNAL)?;
    Ok((here, there.into()))
}

/// The guard's end, and the descriptor that came with it.
pub(super) fn handed_over() -> io::Result<(UnixStream, OwnedFd, Deadline)> {
    let elector = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(&elector, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let descriptors: Vec<OwnedFd> = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    match <[OwnedFd; 2]>::try_from(descriptors) {
        Ok([stdin, deadline]) => Ok((elector, stdin, deadline.into())),
        Err(_) => Err(Error::other("only `election run` starts this")),
    }
}

/// One end of the connection.
pub(super) struct Connection {
    stream: tokio::net::UnixStream,
    received: Vec<u8>,
    ended: bool,
}

impl Connection {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let stream = tokio::net::UnixStream::from_std(stream)?;
        Ok(Self { stream, received: Vec::new(), ended: false })
    }

    pub(super) fn order(&self, order: Order) {
        self.say(order.line());
    }

    pub(super) fn report(&self, report: &Report) {
        self.say(&report.line());
    }

    /// The next order; `None` once the elector is gone, and for anything the elector would not say.
    pub(super) async fn next_order(&mut self) -> Option<Order> {
        Order::parse(&self.next_line().await?)
    }

    /// The next report; `None` once the guard is gone. Dropping the future loses nothing.
    pub(super) async fn next_report(&mut self) -> Option<Report> {
        Report::parse(&self.next_line().await?)
    }

    /// A report that has arrived already.
    pub(super) fn waiting_report(&mut self) -> Option<Report> {
        self.receive();
        Report::parse(&self.line()?)
    }

    /// Whether no report can arrive any more.
    pub(super) fn is_over(&self) -> bool {
        self.ended && self.received.is_empty()
    }

    /// Does not wait for a process that stands still and does not read. So short a line is sent as
    /// a whole or not at all.
    /// Returns whether it was sent.
    pub(super) fn say(&self, line: &str) -> bool {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        send(&self.stream, line.as_bytes(), flags).is_ok()
    }

    /// The next line; `None` once the other process is gone. Dropping the future loses nothing.
    pub(super) async fn next_line(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.line() {
                return Some(line);
            }
            if self.ended || self.stream.readable().await.is_err() {
                return None;
            }
            let mut chunk = [0; 512];
            match self.stream.try_read(&mut chunk) {
                Ok(0) => self.ended = true,
                Ok(length) => self.received.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.ended = true,
            }
        }
    }

    /// Takes what has arrived, whether or not the runtime has noticed it.
    fn receive(&mut self) {
        let mut chunk = [0; 512];
        loop {
            match read(&self.stream, &mut chunk[..]) {
                Ok(0) => return self.ended = true,
                Ok(length) => self.received.extend_from_slice(&chunk[..length]),
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    fn line(&mut self) -> Option<String> {
        let end = self.received.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.received.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for report in [
            Report::Started(7),
            Report::Failed("no such file: a b".to_owned()),
            Report::Overdue,
            Report::Ended(9),
            Report::LeftBehind("process 7 (a b)".to_owned()),
            Report::Slow("killing the job's 2 processes takes 7 ms".to_owned()),
            Report::Cgroup("/sys/fs/cgroup/a b".to_owned()),
            Report::Together,
        ] {
            assert_eq!(Report::parse(report.line().trim_end()), Some(report));
        }
        for order in [Order::Look, Order::Stopping] {
            assert_eq!(Order::parse(order.line().trim_end()), Some(order));
        }
        assert_eq!((Report::parse("started"), Order::parse("stop")), (None, None));
    }
}
