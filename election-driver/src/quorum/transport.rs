//! A connection between members, plain or encrypted.

use futures_lite::io::{AsyncRead, AsyncWrite};
#[cfg(feature = "tls")]
use futures_rustls::TlsStream;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

pub(crate) enum Transport<S> {
    Plain(S),
    #[cfg(feature = "tls")]
    Encrypted(Box<TlsStream<S>>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Transport<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            #[cfg(feature = "tls")]
            Self::Encrypted(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Transport<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(feature = "tls")]
            Self::Encrypted(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            #[cfg(feature = "tls")]
            Self::Encrypted(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_close(cx),
            #[cfg(feature = "tls")]
            Self::Encrypted(stream) => Pin::new(stream).poll_close(cx),
        }
    }
}
