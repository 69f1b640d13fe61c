//! Connections from anybody, and what each of them may take.

use super::{answers::answer, knowledge::Knowledge};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_socket_send_buffer_size;
use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpStream,
    task::{AbortHandle, yield_now},
    time::{interval, sleep, timeout},
};
use tracing::debug;

/// How many connections are kept. A further one takes the place of the oldest.
pub(super) const CONNECTIONS: usize = 64;
/// The largest head of a request, in bytes and in headers.
const LARGEST_HEAD: usize = 16 * 1024;
const MOST_HEADERS: usize = 64;
/// What the system keeps of answers that nobody reads, in bytes for each connection; it keeps up to
/// twice as much. By itself it keeps megabytes, and who asks without reading has them written.
const UNREAD: usize = 32 * 1024;
/// The pause after the system has refused to accept a connection.
const PAUSE: Duration = Duration::from_secs(1);
/// How often what was recorded is summed up.
const TIDY: Duration = Duration::from_secs(5);

/// How long a connection may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Until the head of a request is there: so long may it idle, too.
    pub(super) head: Duration,
    /// In all, whatever it does.
    pub(super) whole: Duration,
}

impl Patience {
    pub(super) const USUAL: Self =
        Self { head: Duration::from_secs(5), whole: Duration::from_secs(60) };
}

/// Answers at this port until the process ends. Returns its address.
///
/// # Errors
/// If the system has no room for a thread, or refuses settings of the port.
pub(super) fn start(
    listener: TcpListener,
    knowledge: Arc<Knowledge>,
    patience: Patience,
) -> io::Result<SocketAddr> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    // Connections have it from the socket that accepts them.
    set_socket_send_buffer_size(&listener, UNREAD)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    std::thread::Builder::new().name("http".to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::spawn(tidy(knowledge.clone()));
            accept(listener, knowledge, patience).await;
        });
    })?;
    Ok(address)
}

async fn tidy(knowledge: Arc<Knowledge>) {
    let mut due = interval(TIDY);
    loop {
        due.tick().await;
        knowledge.tidy();
    }
}

async fn accept(listener: tokio::net::TcpListener, knowledge: Arc<Knowledge>, patience: Patience) {
    let mut open: VecDeque<AbortHandle> = VecDeque::with_capacity(CONNECTIONS);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                open.retain(|connection| !connection.is_finished());
                if open.len() >= CONNECTIONS {
                    open.pop_front().iter().for_each(AbortHandle::abort);
                }
                let meeting = tokio::spawn(meet(stream, knowledge.clone(), patience));
                open.push_back(meeting.abort_handle());
            }
            Err(error) => {
                debug!("the HTTP port accepts no connections: {error}");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn meet(stream: TcpStream, knowledge: Arc<Knowledge>, patience: Patience) {
    let service = service_fn(|request: Request<Incoming>| {
        let knowledge = knowledge.clone();
        async move {
            // However many questions wait on this connection, the others have their turn first.
            yield_now().await;
            Ok::<_, Infallible>(answer(&knowledge, &request))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // A client that has said everything may close its side before it hears the answer (`nc -N`).
        .half_close(true)
        .header_read_timeout(patience.head)
        .max_buf_size(LARGEST_HEAD)
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    match timeout(patience.whole, connection).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => debug!("an HTTP connection ended: {error}"),
    }
}
