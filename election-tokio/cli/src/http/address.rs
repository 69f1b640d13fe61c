//! Where HTTP is answered, as the user writes it.

use crate::exit::Failed;
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

/// An address that may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) socket: SocketAddr,
    /// Others may ask, by whatever name leads them here.
    pub(super) exposed: bool,
}

impl Address {
    /// Where `election serve` answers unless told.
    pub(crate) const USUAL: Self = Self {
        socket: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), USUAL_PORT),
        exposed: false,
    };

    /// The address in a text; one that other machines reach only if they may.
    ///
    /// # Errors
    /// If it is none, or others would reach it.
    pub(crate) fn of(text: &str, exposed: bool) -> Result<Self, Failed> {
        let Ok(socket) = text.parse::<SocketAddr>() else {
            return Err(Failed::new(format!("--http {text:?}: {}", remedy(text))));
        };
        if !exposed && !socket.ip().to_canonical().is_loopback() {
            let port = socket.port();
            return Err(Failed::new(format!(
                "--http {socket}: other machines may reach this address and see who leads; add \
                 --http-exposed if that is intended, or write 127.0.0.1:{port}"
            )));
        }
        Ok(Self { socket, exposed })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.socket.fmt(f)
    }
}

const USUAL_PORT: u16 = 4040;

/// What is wrong with a text that is no address, and what to write instead.
fn remedy(text: &str) -> String {
    let port = |text: &str| text.parse::<u16>().ok();
    if let Some(port) = port(text.strip_prefix(':').unwrap_or(text)) {
        return format!("the IP address is missing; write 127.0.0.1:{port}");
    }
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return format!("the port is missing; write {}", SocketAddr::new(ip, USUAL_PORT));
    }
    match text.rsplit_once(':').and_then(|(host, digits)| Some((host, port(digits)?))) {
        Some(("localhost", port)) => {
            format!("host names are not resolved; write 127.0.0.1:{port} or [::1]:{port}")
        }
        Some((host, port)) if host.parse::<IpAddr>().is_ok() => {
            format!("an IPv6 address needs brackets; write [{host}]:{port}")
        }
        _ => "this is not an IP address with a port; write one like 127.0.0.1:4040 or [::1]:4040"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, exposed: bool) -> String {
        let error = Address::of(text, exposed).expect_err(text);
        error.into_parts().0.expect("a message")
    }

    #[test]
    fn the_loopback_interface_needs_no_permission() {
        for text in
            ["127.0.0.1:4040", "127.1.2.3:1", "[::1]:4040", "127.0.0.1:0", "[::ffff:127.0.0.1]:80"]
        {
            assert_eq!(Address::of(text, false).expect(text).socket.to_string(), text);
        }
        assert_eq!(Address::of("127.0.0.1:4040", false).expect("an address"), Address::USUAL);
    }

    #[test]
    fn any_other_address_needs_it() {
        for text in ["0.0.0.0:4040", "[::]:4040", "10.0.0.1:4040", "[::ffff:10.0.0.1]:4040"] {
            let said = refused(text, false);
            assert!(said.contains("--http-exposed") && said.contains("127.0.0.1:4040"), "{said}");
            assert_eq!(Address::of(text, true).expect(text).socket.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_write() {
        for (text, words) in [
            ("4040", "the IP address is missing; write 127.0.0.1:4040"),
            (":4040", "the IP address is missing; write 127.0.0.1:4040"),
            ("127.0.0.1", "the port is missing; write 127.0.0.1:4040"),
            ("::1", "the port is missing; write [::1]:4040"),
            ("[::1]", "the port is missing; write [::1]:4040"),
            ("localhost:80", "host names are not resolved; write 127.0.0.1:80 or [::1]:80"),
            ("2001:db8:0:0:0:0:0:0:0:80", "write one like"),
            ("fe80::1::80", "write one like"),
            ("1:2:3:4:5:6:7:8:80", "needs brackets; write [1:2:3:4:5:6:7:8]:80"),
            ("node.example:80", "write one like 127.0.0.1:4040 or [::1]:4040"),
            ("http://127.0.0.1:4040", "write one like"),
            ("127.0.0.1:4040/", "write one like"),
            ("127.0.0.1:70000", "write one like"),
            ("127.0.0.1:-1", "write one like"),
            ("127.1:4040", "write one like"),
            (" 127.0.0.1:4040", "write one like"),
            ("", "write one like"),
        ] {
            let said = refused(text, true);
            assert!(said.contains(words) && said.starts_with("--http \""), "{text:?}: {said}");
        }
    }
}
