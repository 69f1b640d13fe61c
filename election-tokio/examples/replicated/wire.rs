//! The port: lines from clients and from followers.

use crate::{Failed, Node};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// The longest line, in bytes.
const LONGEST: u64 = 1 << 20;

/// Serves whoever connects.
pub(crate) async fn accept(node: Arc<Node>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let node = node.clone();
                tokio::spawn(async move {
                    if let Err(error) = serve(&node, stream).await {
                        println!("{}: a connection ended: {error}", node.id);
                    }
                });
            }
            // Too many open files, for instance.
            Err(error) => {
                println!("{}: {error}", node.id);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(node: &Node, stream: TcpStream) -> Result<(), Failed> {
    let mut peer = Wire::new(stream)?;
    while !peer.reader.fill_buf().await?.is_empty() {
        let answer = match peer.line().await {
            Ok(line) => match line.strip_prefix("FOLLOW ") {
                Some(line) => node.replicate(line, &mut peer).await.map(|()| String::new()),
                None => node.answer(&line).await,
            },
            Err(error) => {
                peer.say(&format!("ERROR {error}\n")).await?;
                return Err(error.into());
            }
        };
        peer.say(&answer.unwrap_or_else(|error| format!("ERROR {error}\n"))).await?;
    }
    Ok(())
}

impl Node {
    /// Answers a client's line.
    async fn answer(&self, line: &str) -> Result<String, Failed> {
        match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
            _ if line.contains(char::is_control) => Err("no control characters".into()),
            ["SET", key, value] if !key.is_empty() => self.set(key, value).await,
            ["GET", key] if !key.is_empty() => self.get(key).await,
            _ => Err("write SET key value or GET key".into()),
        }
    }
}

/// Lines over TCP.
pub(crate) struct Wire {
    pub(crate) reader: BufReader<OwnedReadHalf>,
    pub(crate) writer: OwnedWriteHalf,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let (reader, writer) = stream.into_split();
        Ok(Self { reader: BufReader::new(reader), writer })
    }

    pub(crate) async fn line(&mut self) -> io::Result<String> {
        read_line(&mut self.reader).await
    }

    pub(crate) async fn say(&mut self, text: &str) -> io::Result<()> {
        self.writer.write_all(text.as_bytes()).await
    }
}

/// The next line, without its end.
pub(crate) async fn read_line(reader: &mut BufReader<OwnedReadHalf>) -> io::Result<String> {
    let mut line = Vec::new();
    if reader.take(LONGEST).read_until(b'\n', &mut line).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if line.pop() != Some(b'\n') {
        return Err(invalid("a line is longer than 1 MiB, or cut off"));
    }
    String::from_utf8(line).map_err(invalid)
}

/// What came from outside makes no sense.
pub(crate) fn invalid(error: impl Into<Failed>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
