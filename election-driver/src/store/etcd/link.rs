//! One connection to an endpoint, on which hyper speaks HTTP/1.1.
//!
//! Nothing runs in the background: the connection goes on while somebody waits for an answer of it, and
//! ends with its owner. So whoever gives up a call drops its connection, and no late answer is taken for
//! that of the next call.

use futures_lite::{
    future::{or, pending, poll_once},
    io::{AsyncRead, AsyncWrite},
};
use hyper::{
    Request, Response,
    body::{Body as _, Bytes, Incoming},
    client::conn::http1::{Connection, SendRequest, handshake},
    rt::{Read, ReadBufCursor, Write},
};
use std::{
    error::Error,
    future::{Future, poll_fn},
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// The longest answer, and the longest line of one that never ends.
pub(super) const LONGEST: usize = 1 << 20;

/// A runtime's stream as hyper wants it.
struct Io<S>(S);

impl<S: AsyncRead + Unpin> Read for Io<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; 4096];
        let room = buffer.remaining().min(bytes.len());
        let (room, _) = bytes.split_at_mut(room);
        let length = ready!(Pin::new(&mut self.0).poll_read(cx, room))?;
        buffer.put_slice(room.get(..length).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Write for Io<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

/// A connection; `connection` is `None` once it has ended.
pub(super) struct Link<S: AsyncRead + AsyncWrite + Unpin> {
    /// Which of the endpoints is at its other end.
    pub(super) at: usize,
    host: String,
    sender: SendRequest<String>,
    connection: Option<Connection<Io<S>, String>>,
}

/// Why there is no answer.
pub(super) struct NoAnswer {
    /// Whether the endpoint may have read the request.
    pub(super) was_sent: bool,
    pub(super) why: String,
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Link<S> {
    pub(super) async fn open(at: usize, stream: S, host: String) -> Result<Self, String> {
        let made = handshake(Io(stream)).await;
        let (sender, connection) = made.map_err(|error| explained(&error))?;
        Ok(Self { at, host, sender, connection: Some(connection) })
    }

    /// Whether it leads to this endpoint, which has left it open since it was used last.
    pub(super) async fn is_open(&mut self, at: usize) -> bool {
        let Self { sender, connection, .. } = self;
        if self.at != at {
            return false;
        }
        let ended = match connection {
            Some(open) => poll_once(open).await.is_some(),
            None => true,
        };
        if ended {
            *connection = None;
        }
        // Without a connection, this fails.
        drive(connection, sender.ready()).await.is_ok()
    }

    /// Sends a request, and waits for the head of the answer.
    pub(super) async fn post(
        &mut self,
        path: &str,
        token: &str,
        body: String,
    ) -> Result<Response<Incoming>, NoAnswer> {
        let request = Request::post(path)
            .header("host", &self.host)
            .header("content-type", "application/json")
            // By this header etcd tells the gateway's requests from others (CVE-2018-16886).
            .header("accept", "application/json")
            // A member without a leader says so, and does not wait for one.
            .header("grpc-metadata-hasleader", "true");
        let request = match token {
            "" => request,
            token => request.header("authorization", token),
        };
        let request = request.body(body);
        let request =
            request.map_err(|error| NoAnswer { was_sent: false, why: explained(&error) })?;
        let Self { sender, connection, .. } = self;
        let answer = drive(connection, sender.try_send_request(request)).await;
        answer.map_err(|mut error| NoAnswer {
            was_sent: error.take_message().is_none(),
            why: explained(error.error()),
        })
    }

    /// More of an answer; `None` at its end.
    pub(super) async fn more(&mut self, body: &mut Incoming) -> Option<Result<Bytes, String>> {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
        let frame = drive(&mut self.connection, frame).await?;
        // Trailers are of no interest.
        let bytes = frame.map(|frame| frame.into_data().unwrap_or_default());
        Some(bytes.map_err(|error| explained(&error)))
    }

    /// The rest of an answer.
    ///
    /// # Errors
    /// If it breaks off, or is too long.
    pub(super) async fn rest(&mut self, mut body: Incoming) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        while let Some(bytes) = self.more(&mut body).await {
            all.extend_from_slice(&bytes?);
            if all.len() > LONGEST {
                return Err("its answer is longer than 1 MiB".to_owned());
            }
        }
        Ok(all)
    }
}

/// Waits for something on a connection, which goes on meanwhile. If the connection ends, what waits for
/// it learns that.
async fn drive<S, T>(
    connection: &mut Option<Connection<Io<S>, String>>,
    work: impl Future<Output = T>,
) -> T
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let end = async {
        if let Some(open) = connection.as_mut() {
            let _: Result<(), hyper::Error> = open.await;
        }
        *connection = None;
        pending().await
    };
    or(work, end).await
}

/// An error and what caused it, in one line.
fn explained(error: &(dyn Error + 'static)) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
        said.push_str("; check what listens there");
    }
    // Told only when the handshake is over.
    if said.contains("fatal alert") {
        said.push_str("; etcd may want a certificate: write cert=FILE&key=FILE in the URL");
    }
    said
}
