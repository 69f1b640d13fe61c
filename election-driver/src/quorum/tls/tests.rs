//! Two ends of a connection, and every kind of certificate.

use super::{
    credentials::{Credentials, Tls},
    explain,
    fingerprint::Fingerprint,
    identity::Identity,
    name::{MemberName, certificate_name},
};
use crate::quorum::{
    fake::{Stream, pair},
    transport::Transport,
};
use election_core::{Namespace, NodeId};
use futures_lite::{
    AsyncReadExt as _, AsyncWriteExt as _,
    future::{block_on, zip},
};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
    date_time_ymd,
};
use std::io;

pub(in crate::quorum) struct Authority(Issuer<'static, KeyPair>, String);

impl Authority {
    pub(in crate::quorum) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self(Issuer::new(params, key), pem)
    }

    /// A certificate with these names, and whatever else is wrong with it.
    fn signs(&self, names: &[String], change: impl FnOnce(&mut CertificateParams)) -> [String; 2] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        let uri = |name: &String| SanType::URI(name.as_str().try_into().unwrap());
        params.subject_alt_names = names.iter().map(uri).collect();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        change(&mut params);
        [params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem()]
    }

    pub(in crate::quorum) fn of(&self, member: &str) -> Credentials {
        self.credentials(&self.signed(member))
    }

    /// A certificate and a key.
    pub(in crate::quorum) fn signed(&self, member: &str) -> [String; 2] {
        self.signs(&[certificate_name("c 1", member)], |_| ())
    }

    pub(in crate::quorum) fn credentials(&self, [certificate, key]: &[String; 2]) -> Credentials {
        let [authority, certificate, key] = [&self.1, certificate, key].map(String::as_bytes);
        Credentials::from_pem(authority, certificate, key).unwrap()
    }
}

pub(in crate::quorum) fn own(id: &str) -> MemberName {
    MemberName { cluster: Namespace::new("c 1").unwrap(), id: NodeId::new(id).unwrap() }
}

fn id(id: &str) -> NodeId {
    own(id).id
}

pub(in crate::quorum) fn identity(me: &str, credentials: &Credentials) -> Identity {
    Identity::new(&own(me), credentials).unwrap()
}

/// An identity whose own certificate nobody has looked at: a stranger's.
fn stranger(me: &str, credentials: &Credentials) -> Identity {
    Identity::unchecked(&own(me), credentials).unwrap()
}

/// What both ends say when the first connects to the second, which it takes for b.
fn meet(one: &Identity, other: &Identity) -> [Result<Option<NodeId>, String>; 2] {
    let (near, far) = pair();
    let connects = async {
        let mut transport = one.connect(near, id("b")).await.map_err(said)?;
        // Whether the other end has taken this one shows only when something comes back.
        transport.write_all(b"hello").await.map_err(said)?;
        transport.flush().await.map_err(said)?;
        let mut answer = [0; 3];
        transport.read_exact(&mut answer).await.map_err(said)?;
        assert_eq!(&answer, b"yes");
        Ok(None)
    };
    let accepts = async {
        let (mut transport, peer) = other.accept(far).await.map_err(said)?;
        let mut word = [0; 5];
        transport.read_exact(&mut word).await.map_err(said)?;
        assert_eq!(&word, b"hello");
        transport.write_all(b"yes").await.map_err(said)?;
        transport.flush().await.map_err(said)?;
        Ok(Some(peer))
    };
    let (one, other) = block_on(zip(connects, accepts));
    [one, other]
}

fn said(error: io::Error) -> String {
    explain::explained(error).unwrap_or_else(|explained| explained).to_string()
}

#[test]
fn two_members_know_each_other() {
    let authority = Authority::new();
    let (a, b) = (identity("a", &authority.of("a")), identity("b", &authority.of("b")));
    assert_eq!(meet(&a, &b), [Ok(None), Ok(Some(id("a")))]);
}

#[test]
fn each_end_refuses_who_is_not_that_member() {
    let (authority, other) = (Authority::new(), Authority::new());
    let names = |of: &[&str]| of.iter().map(|it| certificate_name("c 1", it)).collect::<Vec<_>>();
    let signed = |names: &[String], change: fn(&mut CertificateParams)| {
        authority.credentials(&authority.signs(names, change))
    };
    let foreign = {
        let [certificate, key] = other.signs(&names(&["b"]), |_| ());
        // It knows the right authority, and has a certificate of another.
        authority.credentials(&[certificate, key])
    };
    let elsewhere = [certificate_name("c 2", "b")];
    let cases: [(Credentials, &str, &str); 8] = [
        (foreign, "not signed by this cluster's authority", "its authority has not signed"),
        (signed(&[], |_| ()), "it names nobody", "does not accept"),
        (
            signed(&elsewhere, |_| ()),
            "names no member of this cluster; it names election://c%202/b",
            "does not accept",
        ),
        (signed(&["b".to_owned()], |_| ()), "it names b.", "does not accept"),
        (signed(&names(&["b", "c"]), |_| ()), "names several members", "does not accept"),
        (
            signed(&names(&["b"]), |params| params.not_after = date_time_ymd(2020, 1, 1)),
            "has expired",
            "as expired",
        ),
        (
            signed(&names(&["b"]), |params| params.not_before = date_time_ymd(2999, 1, 1)),
            "not valid yet",
            "",
        ),
        (
            signed(&names(&["b"]), |params| {
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
            }),
            "not valid for both ends",
            "",
        ),
    ];
    let a = identity("a", &authority.of("a"));
    for (credentials, here, there) in cases {
        let wrong = stranger("b", &credentials);
        // As the one that is connected to, and as the one that connects.
        for (ends, [judge, judged]) in
            [(meet(&a, &wrong), [0, 1]), (meet(&wrong, &as_b(&authority)), [1, 0])]
        {
            let said = ends.map(|end| end.unwrap_err());
            assert!(said[judge].contains(here), "{said:?} lacks {here:?}");
            assert!(said[judged].contains(there), "{said:?} lacks {there:?}");
        }
    }
}

fn as_b(authority: &Authority) -> Identity {
    identity("b", &authority.of("b"))
}

#[test]
fn a_member_is_only_itself() {
    let authority = Authority::new();
    let (a, c) = (identity("a", &authority.of("a")), identity("c", &authority.of("c")));
    // c is where b was expected.
    let [near, far] = meet(&a, &c).map(|end| end.unwrap_err());
    assert!(near.contains("election://c%201/c's instead of b's"), "{near}");
    assert!(far.contains("does not accept our certificate"), "{far}");
    // c is c to b, whatever it says later.
    assert_eq!(meet(&c, &as_b(&authority)), [Ok(None), Ok(Some(id("c")))]);
}

#[test]
fn who_is_taken_off_the_list_is_refused() {
    let authority = Authority::new();
    let (old, new) = (authority.of("a"), authority.of("a"));
    let fingerprint = |of: &Credentials| Fingerprint::of_der(&of.chain[0]);
    let listed = fingerprint(&new);
    let b = identity("b", &authority.of("b").accept("a", [listed]));
    let [_, far] = meet(&identity("a", &old), &b);
    let said = far.unwrap_err();
    assert!(said.contains(&fingerprint(&old).to_string()), "{said}");
    assert!(said.contains("not on the list of accepted certificates of a"), "{said}");
    assert_eq!(meet(&identity("a", &new), &b)[1], Ok(Some(id("a"))));
    // A list that accepts nothing accepts nobody; members without one are not affected.
    let b = identity("b", &authority.of("b").accept("a", []).accept("x", [listed]));
    assert!(meet(&identity("a", &new), &b)[1].is_err());
    assert_eq!(meet(&identity("c", &authority.of("c")), &b)[1], Ok(Some(id("c"))));
}

#[test]
fn a_connection_that_was_made_stays_as_long_as_it_would_be_made() {
    let authority = Authority::new();
    let (a, b) = (authority.of("a"), authority.of("b"));
    let (near, far) = pair();
    let (one, other) = (identity("a", &a), identity("b", &b));
    let (near, far) = block_on(zip(one.connect(near, id("b")), other.accept(far)));
    let (near, (far, peer)) = (near.unwrap(), far.unwrap());
    assert!(one.still_admits(&near, &id("b")) && other.still_admits(&far, &peer));
    assert!(!other.still_admits(&far, &id("b")), "it is another member's");
    let strict = identity("b", &authority.of("b").accept("a", []));
    assert!(!strict.still_admits(&far, &id("a")));
    let strict = identity("a", &authority.of("a").accept("b", []));
    assert!(!strict.still_admits(&near, &id("b")));
    let elsewhere = Authority::new();
    assert!(!identity("b", &elsewhere.of("b")).still_admits(&far, &id("a")));
    assert!(!identity("a", &elsewhere.of("a")).still_admits(&near, &id("b")));
    assert!(
        other.still_admits(&Transport::<Stream>::Plain(pair().0), &id("a")),
        "nothing to judge"
    );
}

#[test]
fn own_credentials_that_nobody_would_take_are_refused_at_once() {
    let (authority, other) = (Authority::new(), Authority::new());
    let names = [certificate_name("c 1", "a")];
    let refusal = |me, credentials: &Credentials| {
        Identity::new(&own(me), credentials).map(drop).unwrap_err().to_string()
    };
    let a = authority.of("a");
    for (said, part) in [
        (refusal("b", &a), "names election://c%201/a, but this member is b"),
        (
            refusal("a", &Credentials { authority: other.of("a").authority, ..authority.of("a") }),
            "not signed by this cluster's authority",
        ),
        (
            refusal(
                "a",
                &authority.credentials(&authority.signs(&names, |params| {
                    params.not_after = date_time_ymd(2020, 1, 1);
                })),
            ),
            "expired",
        ),
        (
            refusal(
                "a",
                &authority.credentials(&authority.signs(&names, |params| {
                    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
                })),
            ),
            "not valid for both ends",
        ),
        (
            refusal(
                "a",
                &authority.credentials(&authority.signs(&names, |params| {
                    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
                })),
            ),
            "not valid for both ends",
        ),
        (
            refusal("a", &Credentials { key: authority.of("a").key, ..authority.of("a") }),
            "key does not belong to its certificate",
        ),
        (refusal("a", &authority.of("a").accept("a", [])), "not on the list"),
    ] {
        assert!(said.contains(part), "{said} lacks {part:?}");
    }
    for certificate in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let [_, key] = authority.signs(&names, |_| ());
        let read =
            Credentials::from_pem(authority.1.as_bytes(), certificate.as_bytes(), key.as_bytes());
        assert!(read.and_then(|read| Identity::new(&own("a"), &read).map(drop)).is_err());
    }
}

/// What the log says of it has to be true: an authority's own end is a matter of the others.
#[test]
fn certificates_stay_valid_after_their_authority_expires() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = date_time_ymd(2020, 1, 1);
    let pem = params.self_signed(&key).unwrap().pem();
    let authority = Authority(Issuer::new(params, key), pem);
    let (a, b) = (identity("a", &authority.of("a")), identity("b", &authority.of("b")));
    assert_eq!(meet(&a, &b), [Ok(None), Ok(Some(id("a")))]);
    assert!(a.expiry().authority < std::time::SystemTime::now());
}

#[test]
fn a_source_that_panics_is_one_that_cannot_be_used() {
    let source = Tls::source(|| panic!("not at home"));
    let said = source.read().unwrap_err().to_string();
    assert!(said.contains("panicked") && said.contains("standard error"), "{said}");
}

/// A member goes on when its own certificate has ended. So it must go on taking up whom it accepts.
#[test]
fn an_expired_certificate_does_not_block_a_new_ban_list() {
    let authority = Authority::new();
    let names = [certificate_name("c 1", "a")];
    let signed = authority.signs(&names, |params| params.not_after = date_time_ymd(2020, 1, 1));
    let ended = || authority.credentials(&signed);
    assert!(Identity::new(&own("a"), &ended()).is_err());
    let known = stranger("a", &ended()).expiry();
    let renewed = |credentials: &Credentials| {
        Identity::renewed(&own("a"), credentials, known).map_err(|error| error.to_string())
    };
    let banning = renewed(&ended().accept("b", [])).unwrap();
    // It recheck b before b recheck it.
    let [near, _] = meet(&banning, &as_b(&authority));
    assert!(near.is_err_and(|said| said.contains("not on the list")));
    // What is wrong with it otherwise still is.
    assert!(renewed(&ended().accept("a", [])).is_err_and(|said| said.contains("not on the list")));
    let elsewhere = Authority::new().of("a").authority;
    let foreign = Credentials { authority: elsewhere, ..ended() };
    assert!(renewed(&foreign).is_err_and(|said| said.contains("not signed")));
}

#[test]
fn what_is_no_handshake_is_named() {
    let authority = Authority::new();
    let b = as_b(&authority);
    for (bytes, part) in [
        (&b"*5\r\n$2\r\nHB\r\n$1\r\n0\r\n$2\r\nn3\r\n"[..], "does not speak TLS"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "does not speak TLS"),
        (b"\x16\x03\x01\xff\xff\x01\x00\x00\x00", "larger than TLS allows"),
        (b"", "eof"),
        (b"\x16\x03\x01\x00\x05\x01", "eof"),
    ] {
        let (mut near, far) = pair();
        block_on(near.write_all(bytes)).unwrap();
        drop(near);
        let said = block_on(b.accept(far)).map(drop).map_err(said).unwrap_err();
        assert!(said.contains(part), "{said} lacks {part:?}");
    }
    // And a member that gets a plain answer.
    let (near, mut far) = pair();
    block_on(far.write_all(b"*5\r\n$2\r\nHB\r\n")).unwrap();
    let said =
        block_on(identity("a", &authority.of("a")).connect(near, id("b"))).map(drop).map_err(said);
    assert!(said.as_ref().is_err_and(|said| said.contains("does not speak TLS")), "{said:?}");
}
