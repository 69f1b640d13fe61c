//! Asking over HTTP with nothing but a socket: what is sent, and what comes back, byte by byte.

use crate::{process::eventually, world::Candidate};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use serde_json::Value;
use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// No answer takes longer, on a busy machine either.
const PATIENCE: Duration = Duration::from_secs(20);

/// The head and the body of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The first answer among these bytes; its body is all that follows.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        Some(Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The port of an `election serve` or `run` whose log says where it answers.
#[track_caller]
pub(crate) fn port(candidate: &Candidate) -> SocketAddr {
    eventually("the address of the HTTP port", || {
        let said = candidate.messages();
        let (_, rest) = said.split_once("answering at http://")?;
        rest.split_once("/leader")?.0.parse().ok()
    })
}

/// A connection whose answers do not take for ever. It comes from an address of these tests' own, so
/// that none of the many takes a port that another test expects to be free.
pub(crate) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let open = |family| socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let socket = match address {
        SocketAddr::V4(_) => {
            let socket = open(AddressFamily::INET)?;
            bind(&socket, &SocketAddr::from(([127, 77, 0, 2], 0)))?;
            socket
        }
        SocketAddr::V6(_) => open(AddressFamily::INET6)?,
    };
    rustix::net::connect(&socket, &address)?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// What comes until the other end closes. A connection that was reset is closed, too.
pub(crate) fn rest(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(error),
        _ => Ok(answer),
    }
}

/// Sends these bytes, as far as they are taken, and returns all that comes back.
pub(crate) fn say(address: SocketAddr, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = connect(address)?;
    let _ = stream.write_all(bytes);
    rest(&mut stream)
}

pub(crate) fn try_ask(address: SocketAddr, method: &str, path: &str) -> io::Result<Answer> {
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let answer = say(address, request.as_bytes())?;
    let strange = || io::Error::other(format!("no answer: {:?}", String::from_utf8_lossy(&answer)));
    Answer::of(&answer).ok_or_else(strange)
}

/// The answer to a GET.
#[track_caller]
pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    try_ask(address, "GET", path).unwrap_or_else(|error| panic!("GET {path}: {error}"))
}

/// What this node says of who leads.
#[track_caller]
pub(crate) fn leader(address: SocketAddr) -> Value {
    get(address, "/leader").json()
}

/// Asks who leads until the answer is as expected.
#[track_caller]
pub(crate) fn leader_until(
    what: &str,
    address: SocketAddr,
    holds: impl Fn(&Value) -> bool,
) -> Value {
    eventually(&format!("{what}, from {address}"), || Some(leader(address)).filter(&holds))
}

/// Asks until the answer has this status.
#[track_caller]
pub(crate) fn until(address: SocketAddr, path: &str, status: u16) -> Answer {
    eventually(&format!("{status} of {path}"), || {
        Some(get(address, path)).filter(|answer| answer.status == status)
    })
}

/// The value of a metric with these words among its labels.
pub(crate) fn metric(address: SocketAddr, name: &str, label: &str) -> Option<f64> {
    let body = get(address, "/metrics").body;
    let mut lines = body.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
    let line = lines.find(|labels| labels.contains(label))?;
    line.rsplit_once(' ').expect("a value").1.parse().ok()
}
