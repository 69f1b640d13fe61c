//! Several hosts in one URL: `postgres://user:password@a:5432,b:5433/database`.
//!
//! sqlx takes one host for each connection, so a list becomes one URL for each host, and the rest of
//! the URL holds for all. The rules are those of PostgreSQL's own clients, with two exceptions: what
//! is left empty between two commas is an error and no default, and no text of a list that is wrong
//! is repeated, since it may be a part of a password.

use crate::StoreError;
use election_core::lease::Failure;
#[cfg(feature = "postgres")]
use url::form_urlencoded::Serializer;
use url::form_urlencoded::parse;

/// More are a mistake, and would leave none of them the time to answer.
const MOST: usize = 16;

/// One URL for each host.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Hosts {
    pub(super) urls: Vec<String>,
    /// `target_session_attrs`, which sqlx does not know.
    #[cfg(feature = "postgres")]
    pub(super) target: Option<Target>,
}

/// Which hosts to use.
#[cfg(feature = "postgres")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Whichever lets the client in.
    Any,
    /// One that takes writes.
    ReadWrite,
    /// One that is no replica.
    Primary,
}

#[cfg(feature = "postgres")]
impl Target {
    const KEY: &'static str = "target_session_attrs";

    fn of(value: &str) -> Result<Self, StoreError> {
        let key = Self::KEY;
        let why = match value {
            "any" => return Ok(Self::Any),
            "read-write" => return Ok(Self::ReadWrite),
            "primary" => return Ok(Self::Primary),
            "read-only" | "standby" | "prefer-standby" => format!(
                "{key}={value} selects a host without elections, since nobody can lead where \
                 nobody can write"
            ),
            _ => format!("{key} has an unknown value"),
        };
        Err(wrong(&format!(
            "{why}; write read-write (the default with several hosts), primary, or any to inspect \
             only"
        )))
    }
}

fn wrong(why: &str) -> StoreError {
    StoreError::new(Failure::Fatal, format!("the URL is not valid: {why}"))
}

/// There is always one.
pub(super) fn none() -> StoreError {
    StoreError::new(Failure::Transient, "the URL names no host that can be tried now")
}

/// The primary has become a replica. The statement was refused, so it was not executed.
pub(super) fn reads_now(error: StoreError) -> StoreError {
    let context = "this host no longer accepts writes (a replica now?); the next call looks for \
                   one that does among the URL's hosts";
    StoreError { kind: Failure::Transient, context: context.to_owned(), ..error }
}

/// Special characters, as they may have come from a password.
const SPECIAL: &str = "with several hosts, user and password are given once, before the first \
                       host, and special characters are percent-encoded: a comma as %2C, @ as %40, \
                       : as %3A, / as %2F, ? as %3F, # as %23";

/// A URL in its parts.
struct Parts<'a> {
    scheme: &'a str,
    /// User and password.
    who: Option<&'a str>,
    hosts: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (who, hosts) = match authority.rsplit_once('@') {
            Some((who, hosts)) => (Some(who), hosts),
            None => (None, authority),
        };
        let (path, query) = match tail.split_once('?') {
            // What comes after # is no query; such a URL is refused as a whole.
            Some((path, query)) if !tail.contains('#') => (path, Some(query)),
            _ => (tail, None),
        };
        Some(Self { scheme, who, hosts, path, query })
    }

    /// The same URL with one host. Where the parameters name it, a URL with a user has to have another
    /// one all the same.
    fn with(&self, host: &str, query: Option<&str>) -> String {
        let Self { scheme, who, path, .. } = self;
        let host = if host.is_empty() && who.is_some() { "localhost" } else { host };
        let (who, at) = who.map_or(("", ""), |who| (who, "@"));
        let (mark, query) = query.map_or(("", ""), |query| ("?", query));
        format!("{scheme}://{who}{at}{host}{path}{mark}{query}")
    }

    /// Whether it has a user, and no host behind that.
    #[cfg(feature = "postgres")]
    fn lacks_host(&self) -> bool {
        self.hosts.is_empty() && self.who.is_some()
    }

    /// Whether several hosts are meant, with a user before each of them too.
    fn are_several(&self) -> bool {
        let again = self.who.and_then(|who| who.split_once('@'));
        self.hosts.contains(',') || again.is_some_and(|(_, rest)| rest.contains(','))
    }

    /// The list between user and path, each host with its port if it has one.
    fn list(&self) -> Result<Vec<&'a str>, StoreError> {
        let hosts: Vec<_> = self.hosts.split(',').collect();
        let tail = [Some(self.path), self.query];
        let astray = tail.into_iter().flatten().any(|part| part.contains(['@', '#']));
        if astray || self.who.is_some_and(|who| who.contains([',', '@'])) {
            return Err(wrong(SPECIAL));
        }
        are_few(hosts.len())?;
        for (host, number) in hosts.iter().zip(1..) {
            is_host(host, number)?;
        }
        Ok(hosts)
    }
}

fn are_few(hosts: usize) -> Result<(), StoreError> {
    if hosts <= MOST {
        return Ok(());
    }
    Err(wrong(&format!("it names {hosts} hosts; name {MOST} at most")))
}

/// A name or address, and perhaps a port.
fn is_host(host: &str, number: usize) -> Result<(), StoreError> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, "")) => (address, None),
            Some((address, port)) if port.starts_with(':') => (address, port.get(1..)),
            _ => {
                return Err(wrong(&format!(
                    "the bracket of host {number} is not closed before its port; write [ADDRESS] or \
                     [ADDRESS]:PORT"
                )));
            }
        },
        None => match host.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(wrong(&format!(
                    "host {number} has more than one colon; an IPv6 address needs brackets \
                     ([ADDRESS]:PORT), and {SPECIAL}"
                )));
            }
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    if name.is_empty() {
        return Err(is_empty(number));
    }
    port.map_or(Ok(()), |port| is_port(port, number))
}

fn is_empty(number: usize) -> StoreError {
    wrong(&format!("host {number} of the list is empty; name it, or remove the comma beside it"))
}

fn is_port(port: &str, number: usize) -> Result<(), StoreError> {
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(1..) if digits => Ok(()),
        _ => Err(wrong(&format!(
            "the port of host {number} is not a number from 1 to 65535; correct it, or remove it \
             with its colon for the default; {SPECIAL}"
        ))),
    }
}

/// Takes a `postgres://` URL apart.
///
/// # Errors
/// If a list of hosts is malformed, or asks for hosts that cannot hold an election. No error holds a
/// part of the URL.
#[cfg(feature = "postgres")]
pub(super) fn of_postgres(url: &str) -> Result<Hosts, StoreError> {
    let single = |target| Hosts { urls: vec![url.to_owned()], target };
    let Some(parts) = Parts::of(url) else { return Ok(single(None)) };
    let mut pairs: Vec<(String, String)> =
        parse(parts.query.unwrap_or_default().as_bytes()).into_owned().collect();
    let said = pairs.iter().rfind(|(key, _)| key == Target::KEY);
    let target = said.map(|(_, value)| Target::of(value)).transpose()?;
    pairs.retain(|(key, _)| key != Target::KEY);
    let last = |key: &str| pairs.iter().rfind(|(name, _)| name == key).map(|(_, value)| &**value);
    let listed = last("host").filter(|host| host.contains(','));
    let several = listed.is_some() || parts.are_several();
    if several && last("hostaddr").is_some() {
        return Err(wrong("hostaddr takes one host; write the addresses in place of the names"));
    }
    let ports = last("port").unwrap_or_default();
    let in_query = match listed {
        Some(_) if parts.are_several() => {
            return Err(wrong("hosts are listed before the path and after it; list them once"));
        }
        Some(listed) => Some(pair_up(listed, ports)?),
        None if ports.contains(',') => {
            return Err(wrong(
                "it lists ports separately from their hosts; write each after its host \
                 (a:5432,b:5433)",
            ));
        }
        None => None,
    };
    // Untouched, it stays as it was written.
    let kept = if target.is_some() || in_query.is_some() { None } else { parts.query };
    let query = |host: Option<&(String, Option<String>)>| match (kept, host) {
        (Some(query), _) => Some(query.to_owned()),
        (None, host) => rewritten(&pairs, host),
    };
    let urls = match in_query {
        Some(hosts) => {
            hosts.iter().map(|host| parts.with(parts.hosts, query(Some(host)).as_deref())).collect()
        }
        None if several => {
            let query = query(None);
            parts.list()?.iter().map(|host| parts.with(host, query.as_deref())).collect()
        }
        None if target.is_none() && !(parts.lacks_host() && last("host").is_some()) => {
            return Ok(single(None));
        }
        None => vec![parts.with(parts.hosts, query(None).as_deref())],
    };
    Ok(Hosts { urls, target })
}

/// The parameters, with this host in place of theirs.
#[cfg(feature = "postgres")]
fn rewritten(
    pairs: &[(String, String)],
    host: Option<&(String, Option<String>)>,
) -> Option<String> {
    let own = |key: &str| host.is_some() && (key == "host" || key == "port");
    let mut query = Serializer::new(String::new());
    query.extend_pairs(pairs.iter().filter(|(key, _)| !own(key)));
    if let Some((host, port)) = host {
        query.append_pair("host", host);
        query.extend_pairs(port.iter().map(|port| ("port", port)));
    }
    Some(query.finish()).filter(|query| !query.is_empty())
}

/// The hosts of a parameter, each with its port: one for each host, or one for all.
#[cfg(feature = "postgres")]
fn pair_up(hosts: &str, ports: &str) -> Result<Vec<(String, Option<String>)>, StoreError> {
    let hosts: Vec<_> = hosts.split(',').collect();
    are_few(hosts.len())?;
    let ports: Vec<_> = if ports.is_empty() { Vec::new() } else { ports.split(',').collect() };
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(wrong(&format!(
            "it lists {} hosts and {} ports; give each host its port, or one port for all",
            hosts.len(),
            ports.len()
        )));
    }
    let port = |at: usize| ports.get(at).or(ports.first().filter(|_| ports.len() == 1)).copied();
    hosts
        .iter()
        .enumerate()
        .map(|(at, host)| {
            if host.is_empty() {
                return Err(is_empty(at + 1));
            }
            port(at).map_or(Ok(()), |port| is_port(port, at + 1))?;
            Ok(((*host).to_owned(), port(at).map(str::to_owned)))
        })
        .collect()
}

/// Takes a `mysql://` URL apart.
///
/// # Errors
/// If a list of hosts is malformed. No error holds a part of the URL.
#[cfg(feature = "mysql")]
pub(super) fn of_mysql(url: &str) -> Result<Hosts, StoreError> {
    let of = |urls| Hosts {
        urls,
        #[cfg(feature = "postgres")]
        target: None,
    };
    let parts = Parts::of(url).filter(Parts::are_several);
    let Some(parts) = parts else { return Ok(of(vec![url.to_owned()])) };
    let hosts = parts.list()?;
    if parse(parts.query.unwrap_or_default().as_bytes()).any(|(key, _)| key == "socket") {
        return Err(wrong("a socket leads to one server; remove it, or the list of hosts"));
    }
    Ok(of(hosts.iter().map(|host| parts.with(host, parts.query)).collect()))
}

#[cfg(all(test, feature = "postgres", feature = "mysql"))]
mod tests;
