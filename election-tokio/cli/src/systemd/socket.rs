//! Where the service manager listens. The standard library can send a datagram there by itself.

#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt as _;
use std::{
    ffi::OsStr,
    io::{self, Error, ErrorKind},
    os::unix::{
        ffi::OsStrExt as _,
        net::{SocketAddr, UnixDatagram},
    },
};

pub(super) struct Socket {
    own: UnixDatagram,
    manager: SocketAddr,
}

impl Socket {
    /// The socket at an absolute path, or at an abstract name behind `@`.
    pub(super) fn at(name: &OsStr) -> io::Result<Self> {
        let manager = match name.as_bytes() {
            #[cfg(target_os = "linux")]
            [b'@', name @ ..] if !name.is_empty() => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => {
                let why = "neither an absolute path nor an abstract name with `@`";
                return Err(Error::new(ErrorKind::InvalidInput, why));
            }
        };
        let own = UnixDatagram::unbound()?;
        own.set_nonblocking(true)?;
        Ok(Self { own, manager })
    }

    /// Sends this as one datagram. Does not wait: [`ErrorKind::WouldBlock`] means that the manager
    /// has not read the earlier ones.
    pub(super) fn send(&self, words: &str) -> io::Result<()> {
        self.own.send_to_addr(words.as_bytes(), &self.manager).map(|_| ())
    }
}
