//! Where a member is reached: a name or number, and a port.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _},
};

/// The longest name that DNS can hold, in bytes.
const LONGEST: usize = 253;

/// A host and a port. The host is looked up anew at every use: it may have moved.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    host: String,
    pub(crate) port: u16,
}

impl Address {
    /// Reads `host:port`; an IPv6 number stands in brackets.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.chars().any(|character| character.is_whitespace() || character.is_control()) {
            return Err("it contains a space or a control character; remove it");
        }
        if text.contains("://") {
            return Err("it is a URL; write only host:port");
        }
        if text.contains(['/', '@', '?', '#']) {
            return Err("it is more than a host and a port; write host:port");
        }
        let (host, port) = split(text)?;
        if port.is_empty() {
            return Err("the port is missing; write host:port");
        }
        // The standard library would take a sign, too.
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        if digits && port.len() > 1 && port.starts_with('0') {
            return Err("the port has a leading zero; remove it");
        }
        let port = port.parse().ok().filter(|_| digits);
        let port = port.ok_or("the port is not a number from 1 to 65535; correct it")?;
        if port == 0 {
            return Err("port 0 means any free port, but peers have to know which; name one");
        }
        if host.is_empty() {
            return Err("the host is missing; write host:port");
        }
        if host.len() > LONGEST {
            return Err("the host is longer than the 253 bytes that a name can have; correct it");
        }
        // A name whose last part is a number is read as a number, or not at all.
        let last = host.rsplit('.').next().unwrap_or_default();
        let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && host.parse::<IpAddr>().is_err() {
            return Err(
                "the host is not an IPv4 address: four numbers from 0 to 255 without leading \
                 zeros; correct it",
            );
        }
        Ok(Self { host: host.to_owned(), port })
    }

    /// Whether two addresses are one, however they are written. What names mean is not asked, but for
    /// `localhost`, which means the same everywhere.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let name = || self.host.eq_ignore_ascii_case(&other.host);
        self.port == other.port
            && match (self.number(), other.number()) {
                (Some(one), Some(other)) => canonical(one) == canonical(other),
                (Some(number), None) => other.is_localhost() && is_its_number(number),
                (None, Some(number)) => self.is_localhost() && is_its_number(number),
                (None, None) => name(),
            }
    }

    /// Without the port, and without brackets.
    #[cfg(all(feature = "etcd", feature = "tls"))]
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    fn is_localhost(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
    }

    /// The same host, so many ports further.
    pub(super) fn shard(&self, shard: u16) -> Option<Self> {
        Some(Self { host: self.host.clone(), port: self.port.checked_add(shard)? })
    }

    /// Whether it can mean this machine only.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(number) => number.to_canonical().is_loopback(),
            Err(_) => {
                let host = self.host.to_ascii_lowercase();
                host == "localhost" || host.ends_with(".localhost")
            }
        }
    }

    /// What it means now. May take as long as the system's resolver does.
    pub(super) fn look_up(&self) -> io::Result<Vec<SocketAddr>> {
        let found: Vec<_> = (&*self.host, self.port).to_socket_addrs()?.collect();
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        Ok(found)
    }

    /// The same without a resolver, for numbers.
    pub(crate) fn number(&self) -> Option<SocketAddr> {
        self.host.parse().ok().map(|number: IpAddr| SocketAddr::new(number, self.port))
    }
}

/// One number for an IPv4 address, whether it is written as such or as an IPv6 number.
fn canonical(number: SocketAddr) -> SocketAddr {
    match number.ip().to_canonical() {
        four @ IpAddr::V4(_) => SocketAddr::new(four, number.port()),
        IpAddr::V6(_) => number,
    }
}

/// What `localhost` means, in one of the two ways to count.
fn is_its_number(number: SocketAddr) -> bool {
    let number = number.ip().to_canonical();
    number == IpAddr::V4(Ipv4Addr::LOCALHOST) || number == IpAddr::V6(Ipv6Addr::LOCALHOST)
}

/// The host without brackets, and the port, which may be empty.
fn split(text: &str) -> Result<(&str, &str), &'static str> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or("the closing bracket is missing; add it")?;
        // A link-local number may name its interface: fe80::1%eth0.
        let number = host.split('%').next().unwrap_or_default();
        let number = number.parse::<Ipv6Addr>().map_err(
            |_| "the text in brackets is not an IPv6 address; correct it, or remove the brackets",
        )?;
        let has_interface =
            host.split_once('%').is_some_and(|(_, interface)| !interface.is_empty());
        if number.is_unicast_link_local() && !has_interface {
            return Err(
                "a link-local address needs an interface; write it like [fe80::1%eth0]:7400",
            );
        }
        return match port.strip_prefix(':') {
            Some(port) => Ok((host, port)),
            None if port.is_empty() => Ok((host, "")),
            None => Err("the colon between bracket and port is missing; write it like [::1]:7400"),
        };
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    if host.contains(':') {
        return Err("an IPv6 address needs brackets before the port; write it like [::1]:7400");
    }
    Ok((host, port))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_numbers() {
        for text in ["db1:7400", "127.0.0.1:7400", "[::1]:7400", "n1.example.org:1"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        for text in ["db1", "db1:", "db1:x", "db1:0", "db1:65536", ":7400", "::1:7400", "[::1:7400"]
        {
            Address::parse(text).unwrap_err();
        }
        for text in ["a b:1", "a\n:1", "[]:1", ""] {
            Address::parse(text).unwrap_err();
        }
        for text in ["[fe80::1%eth0]:80", "db_1:7400", "1.2.3.4.example.org:1", "3com:1"] {
            Address::parse(text).unwrap();
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_the_remedy() {
        let long = format!("{}:1", "x".repeat(254));
        for (text, words) in [
            ("tcp://127.0.0.1:7400", "it is a URL"),
            ("http://db1/", "it is a URL"),
            ("root@db1:7400", "more than a host and a port"),
            ("db1:7400/x", "more than a host and a port"),
            ("[::1]", "the port is missing"),
            ("db1", "the port is missing"),
            ("db1:", "the port is missing"),
            ("", "the port is missing"),
            ("::1", "needs brackets"),
            ("::1:7400", "needs brackets"),
            ("[::1:7400", "closing bracket"),
            ("[::1]7400", "the colon between bracket and port is missing"),
            ("[127.0.0.1]:7400", "remove the brackets"),
            ("[db1]:7400", "remove the brackets"),
            ("[fe80::1]:7400", "an interface"),
            ("[fe80::1%]:7400", "an interface"),
            ("db1: 7400", "a space"),
            (" db1:7400", "a space"),
            ("db1\0:7400", "a control character"),
            (":7400", "the host is missing"),
            ("db1:0", "port 0"),
            ("db1:07400", "a leading zero"),
            ("db1:00", "a leading zero"),
            ("db1:+1", "from 1 to 65535"),
            ("db1:65536", "from 1 to 65535"),
            ("256.0.0.1:1", "not an IPv4 address"),
            ("127.0.0.01:1", "not an IPv4 address"),
            ("10.1:1", "not an IPv4 address"),
            (&long, "253 bytes"),
        ] {
            let why = Address::parse(text).unwrap_err();
            assert!(why.contains(words), "{text:?}: {why}");
            assert!(why.contains("; "), "{text:?} has no remedy: {why}");
        }
    }

    #[test]
    fn one_address_may_be_written_in_several_ways() {
        let is_same = |one, other| {
            let [one, other] = [one, other].map(|text| Address::parse(text).unwrap());
            one.is_same(&other)
        };
        assert!(is_same("DB1:7400", "db1:7400"));
        for number in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(is_same("Localhost:1", number) && is_same(number, "localhost:1"), "{number}");
            assert!(!is_same("localhost:2", number) && !is_same("db1:1", number), "{number}");
        }
        assert!(!is_same("localhost:1", "127.0.0.2:1"));
        assert!(is_same("[::1]:1", "[0:0:0:0:0:0:0:1]:1"));
        assert!(is_same("[::ffff:127.0.0.1]:1", "127.0.0.1:1"));
        assert!(!is_same("db1:1", "db1:2"));
        assert!(!is_same("[::1]:1", "127.0.0.1:1"));
    }

    #[test]
    fn what_stays_on_this_machine() {
        let is_loopback = |text| Address::parse(text).unwrap().is_loopback();
        for text in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "n1.localhost:1"] {
            assert!(is_loopback(text), "{text}");
        }
        for text in ["LOCALHOST:1", "n1.Localhost:1", "[::ffff:127.0.0.1]:1"] {
            assert!(is_loopback(text), "{text}");
        }
        for text in
            ["10.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::ffff:10.0.0.1]:1", "localhost.example.org:1"]
        {
            assert!(!is_loopback(text), "{text}");
        }
    }

    #[test]
    fn a_shard_has_a_port_of_its_own() {
        let base = Address::parse("h:65534").unwrap();
        assert_eq!(base.shard(1).unwrap().port, 65535);
        assert!(base.shard(2).is_none());
    }
}
