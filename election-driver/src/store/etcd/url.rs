//! `etcd://user:password@a:2379,b:2379/prefix` in its parts.

use super::encryption::Encryption;
use crate::{StoreError, quorum::address::Address};
use election_core::lease::Failure;
use std::path::PathBuf;

/// More are a mistake, and would leave none of them the time to answer.
const MOST: usize = 16;

/// Where etcd listens for clients.
const PORT: u16 = 2379;

/// A user and a password.
pub(super) type Login = (String, String);

/// What all connections need to know.
pub(super) struct Url {
    pub(super) endpoints: Vec<Address>,
    pub(super) login: Option<Login>,
    #[cfg_attr(not(feature = "tls"), allow(dead_code))]
    pub(super) encryption: Option<Encryption>,
}

fn wrong(why: &str) -> StoreError {
    StoreError::new(Failure::Fatal, format!("the URL of etcd is not valid: {why}"))
}

impl Url {
    /// The URL, and the prefix of its keys, without a slash at its end.
    ///
    /// # Errors
    /// If it is malformed. No error holds a part of the URL, which may be one of the password.
    pub(super) fn parse(url: &str) -> Result<(Self, String), StoreError> {
        let form = "write etcd://HOST:PORT,HOST:PORT/PREFIX";
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(wrong(&format!("it has no scheme; {form}")));
        };
        if !matches!(scheme, "etcd" | "etcds") {
            return Err(wrong(&format!("its scheme is neither etcd nor etcds; {form}")));
        }
        if rest.contains('#') {
            return Err(wrong("it contains a #; remove it, or write it as %23"));
        }
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login_of(login)?), hosts),
            None => (None, authority),
        };
        if [prefix, parameters].iter().any(|part| part.contains('@')) {
            return Err(wrong(
                "it has an @ behind / or ?; percent-encode them in a password, prefix or file: / as \
                 %2F, ? as %3F, @ as %40",
            ));
        }
        let prefix = decoded(prefix, "prefix")?;
        let prefix = prefix.strip_suffix('/').unwrap_or(&prefix).to_owned();
        let encryption = encryption(scheme == "etcds", parameters)?;
        Ok((Self { endpoints: endpoints(hosts)?, login, encryption }, prefix))
    }
}

fn encryption(is_wanted: bool, parameters: &str) -> Result<Option<Encryption>, StoreError> {
    let (mut authority, mut certificate, mut key) = (None, None, None);
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let place = match name {
            "ca" => &mut authority,
            "cert" => &mut certificate,
            "key" => &mut key,
            _ => return Err(wrong("it has an unknown parameter; there are ca, cert and key")),
        };
        let file = decoded(value, "parameter")?;
        if file.is_empty() || place.replace(PathBuf::from(file)).is_some() {
            return Err(wrong("ca, cert and key name a file each; name it, and once"));
        }
    }
    let own = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(wrong("cert and key belong together; give both, or neither")),
    };
    match (is_wanted, authority) {
        (true, Some(_)) if cfg!(not(feature = "tls")) => Err(wrong(
            "this program was built without encrypted connections; enable the feature `tls`",
        )),
        (true, Some(authority)) => Ok(Some(Encryption { authority, own })),
        (true, None) => Err(wrong(
            "etcds:// needs the authority of the members' certificates; write ?ca=FILE behind the \
             prefix",
        )),
        (false, None) if own.is_none() => Ok(None),
        (false, _) => Err(wrong("ca, cert and key are for encrypted connections; write etcds://")),
    }
}

fn endpoints(hosts: &str) -> Result<Vec<Address>, StoreError> {
    let mut endpoints: Vec<Address> = Vec::new();
    for (host, number) in hosts.split(',').zip(1..) {
        if host.is_empty() {
            return Err(wrong(&format!(
                "host {number} is empty; name it, or remove the comma beside it"
            )));
        }
        let has_port = host.rsplit_once(']').map_or(host, |(_, behind)| behind).contains(':');
        let full = if has_port { host.to_owned() } else { format!("{host}:{PORT}") };
        let endpoint =
            Address::parse(&full).map_err(|why| wrong(&format!("host {number}: {why}")))?;
        if endpoints.iter().any(|other| other.is_same(&endpoint)) {
            return Err(wrong(&format!("host {number} is named twice; remove one of them")));
        }
        endpoints.push(endpoint);
    }
    if endpoints.len() > MOST {
        return Err(wrong(&format!("it names {} hosts; name {MOST} at most", endpoints.len())));
    }
    Ok(endpoints)
}

fn login_of(text: &str) -> Result<Login, StoreError> {
    let Some((user, password)) = text.split_once(':') else {
        return Err(wrong("the user has no password; write USER:PASSWORD@ before the first host"));
    };
    if text.contains('@') || password.contains([':', ',']) {
        return Err(wrong(
            "what is before the last @ is no user and password; give them once, before the first host, \
             and percent-encode their special characters: @ as %40, : as %3A, a comma as %2C",
        ));
    }
    let (user, password) = (decoded(user, "user")?, decoded(password, "password")?);
    if user.is_empty() {
        return Err(wrong("the user is empty; name it, or remove the @ and what is before it"));
    }
    Ok((user, password))
}

/// A text whose special characters are percent-encoded.
fn decoded(text: &str, what: &str) -> Result<String, StoreError> {
    let malformed =
        || wrong(&format!("its {what} has a % that begins no character; write % as %25"));
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let (Some(high), Some(low)) = (digit(), digit()) else { return Err(malformed()) };
                u8::try_from(16 * high + low).map_err(|_| malformed())?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> (Vec<String>, Option<Login>, String) {
        let (Url { endpoints, login, .. }, prefix) = Url::parse(url).unwrap();
        (endpoints.iter().map(ToString::to_string).collect(), login, prefix)
    }

    #[test]
    fn a_url_has_hosts_and_perhaps_a_login_and_a_prefix() {
        let login = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        for (url, hosts, user, prefix) in [
            ("etcd://a", vec!["a:2379"], None, ""),
            ("etcd://a/", vec!["a:2379"], None, ""),
            (
                "etcd://a:1,b,[::1]:3,[::1]/x/y",
                vec!["a:1", "b:2379", "[::1]:3", "[::1]:2379"],
                None,
                "x/y",
            ),
            ("etcd://a//x/", vec!["a:2379"], None, "/x"),
            ("etcd://u:p@a/x%20%C3%A9", vec!["a:2379"], login("u", "p"), "x é"),
            ("etcd://u%40:%3a%2f%2C@a,b", vec!["a:2379", "b:2379"], login("u@", ":/,"), ""),
            ("etcd://u:@a", vec!["a:2379"], login("u", ""), ""),
        ] {
            assert_eq!(
                parts(url),
                (hosts.into_iter().map(str::to_owned).collect(), user, prefix.to_owned())
            );
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn an_encrypted_connection_names_its_files() {
        let files = |url: &str| Url::parse(url).unwrap().0.encryption.unwrap();
        let authority = PathBuf::from("/etc/ca.pem");
        let ca = "etcds://u:p@a,b/x?ca=/etc/ca.pem";
        assert_eq!(files(ca), Encryption { authority: authority.clone(), own: None });
        let own = Some((PathBuf::from("c"), PathBuf::from("k y")));
        assert_eq!(files(&format!("{ca}&cert=c&key=k%20y")), Encryption { authority, own });
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said_with_the_remedy() {
        let many =
            format!("etcd://{}", (1..=17).map(|n| format!("h{n}")).collect::<Vec<_>>().join(","));
        for (url, words) in [
            ("a:2379", "no scheme"),
            ("http://a:2379", "scheme is neither etcd nor etcds"),
            ("etcds://a", "?ca=FILE"),
            ("etcds://a?ca=x&ca=y", "once"),
            ("etcds://a?ca=", "a file each"),
            ("etcds://a?ca=x&cert=y", "belong together"),
            ("etcd://a?ca=x", "write etcds://"),
            ("etcd://a?cert=x&key=y", "write etcds://"),
            ("etcd://u:sec?ret@a", "an @ behind"),
            ("etcd://", "host 1 is empty"),
            ("etcd://a,,b", "host 2 is empty"),
            ("etcd:///x", "host 1 is empty"),
            ("etcd://a:x", "host 1: the port is not a number"),
            ("etcd://a,::1", "host 2: an IPv6 address needs brackets"),
            ("etcd://a,A:2379", "host 2 is named twice"),
            ("etcd://a?x=y", "an unknown parameter"),
            ("etcd://a/x#y", "contains a #"),
            ("etcd://secret@a", "has no password"),
            ("etcd://:secret@a", "the user is empty"),
            ("etcd://u:secret@x@a", "give them once"),
            ("etcd://u:secret@a,v:secret@b", "give them once"),
            ("etcd://u:sec/ret@a", "an @ behind"),
            ("etcd://u:secret%@a", "write % as %25"),
            ("etcd://u:secret%+1@a", "write % as %25"),
            ("etcd://a/%ff", "its prefix has a %"),
            (&many, "17 hosts; name 16"),
        ] {
            let error = Url::parse(url).err().expect(url);
            let said = error.to_string();
            assert!(said.contains(words), "{url}: {said}");
            assert!(said.contains("; ") && !said.contains("secret"), "{url}: {said}");
            assert_eq!(error.kind, Failure::Fatal);
        }
    }
}
