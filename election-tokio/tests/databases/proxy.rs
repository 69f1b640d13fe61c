//! A link to a server that can be cut: what is sent into it then goes nowhere, and nobody is told.

use std::sync::{
    Arc,
    atomic::{AtomicU16, Ordering},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf, tcp::OwnedWriteHalf},
    sync::watch,
};

pub(crate) struct Proxy {
    port: u16,
    server: Arc<AtomicU16>,
    whole: watch::Sender<bool>,
}

impl Proxy {
    /// A link to a port on this machine.
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let this = Self {
            port: listener.local_addr().unwrap().port(),
            server: Arc::new(AtomicU16::new(port)),
            whole: watch::Sender::new(true),
        };
        let (server, whole) = (this.server.clone(), this.whole.subscribe());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let port = server.load(Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { continue };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(carry(from_client, to_server, whole.clone()));
                tokio::spawn(carry(from_server, to_client, whole.clone()));
            }
        });
        this
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Leads all who come from now on to another port.
    pub(crate) fn lead_to(&self, port: u16) {
        self.server.store(port, Ordering::Relaxed);
    }

    /// Cuts the link, or joins it again: what was sent meanwhile arrives then, late.
    pub(crate) fn set_whole(&self, whole: bool) {
        self.whole.send_replace(whole);
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut whole: watch::Receiver<bool>) {
    let mut buffer = vec![0; 4096];
    while let Ok(1..) = from.read(&mut buffer).await.inspect(|read| buffer.truncate(*read)) {
        if whole.wait_for(|whole| *whole).await.is_err() || to.write_all(&buffer).await.is_err() {
            return;
        }
        buffer.resize(4096, 0);
    }
}
