//! What a process and the simulated network say to each other of connections.

use std::{io::ErrorKind, net::SocketAddr};

/// What a process does with its sockets.
#[derive(Debug)]
pub(crate) enum SocketDeed {
    /// Whether it listens from now on.
    Listens(bool),
    /// It tries to connect; `dial` tells its attempts apart.
    Dials {
        dial: u64,
        to: SocketAddr,
    },
    Writes {
        connection: u64,
        bytes: Vec<u8>,
    },
    /// It writes no more.
    Finishes(u64),
    /// It has let go of the connection.
    Drops(u64),
}

/// What happens to the sockets of a process.
#[derive(Debug)]
pub(crate) enum SocketEvent {
    /// An attempt has led to a connection, or failed.
    Dialed {
        dial: u64,
        outcome: Result<u64, ErrorKind>,
    },
    /// Somebody has connected.
    Accepted {
        connection: u64,
        from: SocketAddr,
    },
    Came {
        connection: u64,
        bytes: Vec<u8>,
    },
    /// Nothing more comes, or the connection is broken.
    Ended {
        connection: u64,
        how: Result<(), ErrorKind>,
    },
    /// So many bytes that were written have left.
    Left {
        connection: u64,
        count: usize,
    },
}
