//! The control socket of a running member.
//!
//! It must not be able to delay the member: it has tasks of its own, answers few connections at a
//! time, takes one short request from each, and gives nobody more than a bounded time. The kernel
//! says who asks: only the same user and root are answered. An order counts only while whoever gives
//! it waits for the answer: one that has lain at a process which stood still may be minutes old.

use super::{
    exchange::{Answer, LONGEST_REQUEST, Request},
    place::Spot,
    report, successor,
};
use crate::exit::Failed;
use election_tokio::{
    HandOverError, Member, Status,
    core::{Change, NodeId},
    now,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::geteuid,
};
use std::{
    fs, io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream, unix::OwnedWriteHalf},
    sync::{Mutex, Semaphore},
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};
use tracing::{debug, warn};

/// How many are answered at a time, and how many of these may be observers.
const CONNECTIONS: usize = 8;
const OBSERVERS: usize = 4;
/// How long reading a request and writing a line may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an order may take at most, whatever the request says.
const LONGEST_ORDER: Duration = Duration::from_secs(60);
/// The pause after the system has refused to accept a connection.
const PAUSE: Duration = Duration::from_secs(1);

/// A socket that nobody is answered at yet.
pub(crate) struct Bound {
    listener: UnixListener,
    file: SocketFile,
}

/// Removes the socket at the end, unless another process has put its own there.
struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

impl Bound {
    /// Opens the socket of a member. It replaces one that a dead process has left. Without a safe
    /// directory a member does without a socket, unless one was chosen, and logs that.
    ///
    /// # Errors
    /// If another process listens there, something else is there, or it cannot be opened.
    pub(crate) async fn open(spot: &Spot) -> Result<Option<Self>, Failed> {
        if let Err(why) = spot.prepare() {
            warn!(
                event = "control",
                "no control socket, so `election status` and the other commands cannot ask this \
                 member: {why}; remove it, or choose a place with --socket"
            );
            return Ok(None);
        }
        let path = &spot.path;
        let shown = path.display();
        let failed = |error: io::Error| {
            Failed::new(format!(
                "the control socket {shown} cannot be opened: {error}; allow it, or choose another \
                 place with --socket"
            ))
        };
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Self::remove_dead(path).await?;
                UnixListener::bind(path).map_err(failed)?
            }
            bound => bound.map_err(failed)?,
        };
        let file = identity(path).map_err(failed)?;
        let file = SocketFile { path: path.clone(), identity: file };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(Some(Self { listener, file }))
    }

    async fn remove_dead(path: &Path) -> Result<(), Failed> {
        let shown = path.display();
        let failed = |why: &str| Err(Failed::new(format!("the control socket {shown}: {why}")));
        if !fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
            return failed(
                "something else is there; remove it, or choose another place with --socket",
            );
        }
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return failed("it belongs to another user; choose another place with --socket");
            }
            _ => {
                return failed(
                    "another process answers there: this member is already running; stop that \
                     process, or choose another place with --socket",
                );
            }
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                failed(&format!("a dead process left it behind, and it cannot be removed: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Begins to answer.
    pub(crate) fn serve(self, member: Member) -> Control {
        let task = tokio::spawn(accept(self.listener, Arc::new(Knowledge::new(member))));
        Control { task: task.abort_handle(), _file: self.file }
    }
}

/// The control socket of a running member. Dropping it ends all of its connections.
pub(crate) struct Control {
    task: AbortHandle,
    _file: SocketFile,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: UnixListener, knowledge: Arc<Knowledge>) {
    let mut connections = JoinSet::new(); // ended with this task
    loop {
        let accepted = listener.accept().await;
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) if connections.len() < CONNECTIONS => {
                connections.spawn(knowledge.clone().meet(stream));
            }
            Ok((stream, _)) => {
                let busy = refused("too many clients ask this member at the same time; try again");
                // What the system's buffer does not take at once is not worth waiting for.
                let _ = stream.try_write(&line(&busy));
            }
            Err(error) => {
                debug!("the control socket accepts no connections: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}

fn refused(why: impl Into<String>) -> Answer {
    Answer::Refused(why.into())
}

fn line(answer: &Answer) -> Vec<u8> {
    // Texts and numbers can always be serialized.
    let mut line = serde_json::to_vec(answer).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Whether the other end was closed. One that only writes no more still waits for an answer.
fn is_gone(stream: &UnixStream) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::empty())];
    poll(&mut polled, Some(&Timespec::default())).is_ok()
        && polled[0].revents().contains(PollFlags::HUP)
}

struct Knowledge {
    member: Member,
    /// Held while an order is carried out: what the member says of one could answer another.
    orders: Mutex<()>,
    observers: Semaphore,
}

impl Knowledge {
    fn new(member: Member) -> Self {
        Self { member, orders: Mutex::new(()), observers: Semaphore::new(OBSERVERS) }
    }

    async fn meet(self: Arc<Self>, stream: UnixStream) {
        let own = geteuid().as_raw();
        let user = stream.peer_cred().map(|cred| cred.uid());
        let (read, mut write) = stream.into_split();
        if !user.is_ok_and(|user| user == own || user == 0) {
            let why = "only root and the user that runs this member may ask it";
            let _ = timeout(PATIENCE, write.write_all(&line(&refused(why)))).await;
            return;
        }
        let mut read = BufReader::new(read.take(LONGEST_REQUEST));
        let mut request = Vec::new();
        let Ok(Ok(_)) = timeout(PATIENCE, read.read_until(b'\n', &mut request)).await else {
            return;
        };
        let answer = match serde_json::from_slice(&request) {
            Ok(Request::Observe) => match self.observers.try_acquire() {
                Ok(_place) => return self.observe(read, write).await,
                Err(_) => refused("too many clients observe this member; end one of them"),
            },
            // Whoever gave this order was told that it failed, while this process stood still.
            Ok(_) if is_gone(write.as_ref()) => return,
            Ok(request) => self.answer(request).await,
            Err(error) => refused(format!(
                "this member does not know the request ({error}); use the same version of \
                 `election`"
            )),
        };
        let _ = timeout(PATIENCE, write.write_all(&line(&answer))).await;
    }

    /// Writes every change until the other end closes, or does not read.
    async fn observe(
        &self,
        mut read: impl tokio::io::AsyncRead + Unpin,
        mut write: OwnedWriteHalf,
    ) {
        let mut changes = self.member.handle().changes();
        loop {
            let mut byte = [0];
            let change = tokio::select! {
                change = changes.next() => change,
                _ = read.read(&mut byte) => return,
            };
            let Ok(Some(change)) = change else { return };
            if matches!(change, Change::Alert(_)) {
                continue; // it changes nothing about who leads
            }
            let line = line(&Answer::Seen(report::seen(&change, &self.member)));
            if !matches!(timeout(PATIENCE, write.write_all(&line)).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    async fn answer(&self, request: Request) -> Answer {
        let within = match request {
            Request::Status | Request::Observe => {
                return Answer::Status(Box::new(report::report(&self.member)));
            }
            Request::Resign { within_ms, .. }
            | Request::Pause { within_ms, .. }
            | Request::Resume { within_ms } => Duration::from_millis(within_ms).min(LONGEST_ORDER),
        };
        let Ok(_order) = self.orders.try_lock() else {
            return refused("another order is in progress; try again in a moment");
        };
        timeout(within, self.obey(request)).await.unwrap_or_else(|_| {
            let within = humantime::format_duration(within);
            refused(format!(
                "not done within {within}; the order still stands: see `election status`, or allow \
                 more time (--timeout)"
            ))
        })
    }

    async fn obey(&self, request: Request) -> Answer {
        match request {
            Request::Resign { to, .. } => self.resign(to).await,
            Request::Pause { for_ms, .. } => {
                let paused = self.member.pause(for_ms.map(Duration::from_millis)).await;
                self.maintained(true, paused)
            }
            Request::Resume { .. } => {
                let known = self.member.maintenance();
                let changes = known.is_some_and(|it| it.is_paused || it.proposed.is_some());
                let resumed = self.member.resume().await;
                self.maintained(changes, resumed)
            }
            Request::Status | Request::Observe => refused("no order"),
        }
    }

    fn maintained<E: std::fmt::Display>(&self, changed: bool, done: Result<(), E>) -> Answer {
        match done {
            Ok(()) => Answer::Maintained { changed, pause: report::paused(&self.member) },
            Err(error) => refused(match self.boots_for() {
                Some(left) => format!(
                    "this member has just started, and may not vote for another {} ms: repeat the \
                     order then, or give it to another member",
                    left.as_millis()
                ),
                None => error.to_string(),
            }),
        }
    }

    /// How long this member does not vote yet, because it has just started.
    fn boots_for(&self) -> Option<Duration> {
        let left = self.member.status().boots_until?.since(now());
        (!left.is_zero()).then_some(left)
    }

    /// Returns once leader work has been told to end.
    async fn resign(&self, to: Option<String>) -> Answer {
        let handle = self.member.handle();
        let me = &handle.registration().candidate.id;
        let Some(lease) = handle.lease() else {
            return refused(match report::led(&self.member).leader {
                Some(leader) => {
                    format!(
                        "{me} is not the leader, {leader} is: ask it on its machine (--node \
                         {leader})"
                    )
                }
                None => format!("{me} is not the leader, and knows of none"),
            });
        };
        let epoch = lease.epoch();
        drop(lease);
        let Some(to) = to else {
            if self.member.maintenance().is_some_and(|known| known.is_paused) {
                return refused(format!(
                    "automatic failover is paused, so only {me} can be elected again: name its \
                     successor with --to, or resume first"
                ));
            }
            // Whoever asks need not wait for the end of the job.
            let resigning = handle.clone();
            tokio::spawn(async move {
                let _ = resigning.resign().await;
            });
            let is_told = |status: &Status| {
                status.tenure.as_ref().is_none_or(|tenure| tenure.term.epoch != epoch)
            };
            handle.watch().until(is_told).await;
            return Answer::Resigning { epoch: epoch.get() };
        };
        let handed_over = match NodeId::new(&to) {
            Ok(successor) => self.member.hand_over(&successor).await.map_err(Some),
            Err(_) => Err(None),
        };
        match handed_over {
            Ok(()) => Answer::Resigning { epoch: epoch.get() },
            Err(None | Some(HandOverError::NotAMember(_))) => {
                let others: Vec<_> = self.member.peers().into_iter().map(|peer| peer.id).collect();
                let others: Vec<_> = others.iter().map(NodeId::as_str).collect();
                let others = others.join(", ");
                refused(format!(
                    "{to:?} is not another member of this cluster; name one of {others} (--to), or \
                     remove --to"
                ))
            }
            Err(Some(error)) => {
                let why = successor::hindrance(&self.member, &to).map(|why| {
                    format!("not handed over: {to} cannot be elected now, because it {why}")
                });
                refused(why.unwrap_or_else(|| error.to_string()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
