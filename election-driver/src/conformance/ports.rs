//! Ports that nobody else takes before whoever they are meant for listens there.
//!
//! A port that the kernel picks comes from the range that it picks from for everybody: for whoever
//! listens at port 0 next, and for every connection that is made. Between the moment a test learns
//! such a port and the moment its node listens there, one of these may get it. Therefore the ports
//! here lie below that range, and whoever wants some first takes a whole block of them, for as long
//! as the process lives, by listening at the first one of the block. So tests in other processes
//! keep out as well, within one network namespace.

use std::{
    fs,
    net::{Ipv4Addr, Ipv6Addr, TcpListener},
    ops::Range,
    process,
    sync::{Mutex, PoisonError},
};

/// Ports in a block, the one that stands for it included.
const BLOCK: u16 = 32;

/// Below are the ports of well-known services.
const LOWEST: u16 = 10_000;

/// Where the kernel's own range begins unless it is told otherwise.
const USUAL_END: u16 = 32_768;

static BLOCKS: Mutex<Blocks> = Mutex::new(Blocks { owned: Vec::new(), left: 0..0 });

struct Blocks {
    /// Nobody connects to them. They say whose the blocks are.
    owned: Vec<TcpListener>,
    left: Range<u16>,
}

impl Blocks {
    fn next(&mut self) -> u16 {
        loop {
            match self.left.next() {
                Some(port) if is_free(port) => return port,
                Some(_) => {}
                None => self.left = self.another(),
            }
        }
    }

    fn another(&mut self) -> Range<u16> {
        let count = u32::from((end() - LOWEST) / BLOCK);
        // Tests that run side by side begin at different places.
        let first = process::id().wrapping_mul(7) % count;
        let places = (0..count).filter_map(|nth| u16::try_from((first + nth) % count).ok());
        for block in places.map(|place| LOWEST + place * BLOCK) {
            if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, block)) {
                self.owned.push(listener);
                return block + 1..block + BLOCK;
            }
        }
        panic!("every port from {LOWEST} to {} is in use", end());
    }
}

/// Where the range begins that the kernel picks from.
fn end() -> u16 {
    let told = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok();
    let told = told.and_then(|range| range.split_whitespace().next()?.parse().ok());
    told.filter(|first| *first >= LOWEST + 2 * BLOCK).unwrap_or(USUAL_END)
}

/// Whether nobody outside the tests listens there.
fn is_free(port: u16) -> bool {
    // There may be no IPv6 here at all.
    let sixth = TcpListener::bind((Ipv6Addr::LOCALHOST, port));
    let taken = matches!(&sixth, Err(error) if error.kind() == std::io::ErrorKind::AddrInUse);
    !taken && TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

/// A port of the loopback interface that nobody listens at. The process keeps it to itself for as
/// long as it lives: it is never handed out again.
///
/// # Panics
/// If all are in use.
#[must_use]
pub fn free_port() -> u16 {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// They differ, across blocks too, and the kernel hands out none of them.
    #[test]
    fn a_port_is_handed_out_once() {
        let ports: BTreeSet<_> = (0..3 * BLOCK).map(|_| free_port()).collect();
        assert_eq!(ports.len(), 3 * usize::from(BLOCK));
        assert!(ports.iter().all(|port| *port < end()), "{ports:?}");
    }

    /// What somebody else listens at is left to them, and so is another process's block.
    #[test]
    fn a_port_in_use_is_passed_over() {
        let port = free_port();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a free port");
        let mut others = Blocks { owned: Vec::new(), left: port..port + 1 };
        let next = others.next();
        assert_ne!(next, port);
        assert_ne!((next - LOWEST) / BLOCK, (port - LOWEST) / BLOCK, "a block of its own");
        drop(listener);
        let mut others = Blocks { owned: Vec::new(), left: port..port + 1 };
        assert_eq!(others.next(), port, "it is free again");
    }
}
