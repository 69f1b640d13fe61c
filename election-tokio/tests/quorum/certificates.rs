//! Certificates of every kind, the folders of members that have one, and a client that presents any of
//! them, or none.

use crate::{checker::Tenure, cluster::Nodes};
use election_driver::conformance::process::eventually;
use election_driver::tls::{Tls, certificate_name};
use futures_rustls::{
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
    rustls::{
        ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
        client::{
            Resumption,
            danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        },
        crypto::{CryptoProvider, ring},
    },
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType,
};
use std::{
    fs,
    io::{self, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// The name of the cluster in all of these tests.
pub(crate) const CLUSTER: &str = "quorum";

const AUTHORITY: &str = "authority.pem";
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";

static AUTHORITIES: AtomicU32 = AtomicU32::new(0);

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate.
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, format!("authority {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate with this URI, and whatever else is wrong with it.
    pub(crate) fn signs(&self, uri: &str, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![SanType::URI(uri.try_into().expect("a URI"))];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        change(&mut params);
        let signed = params.signed_by(&key, &self.issuer).expect("a certificate");
        Pair { certificate: signed.pem(), key: key.serialize_pem() }
    }

    /// A member's.
    pub(crate) fn member(&self, node: usize) -> Pair {
        self.signs(&certificate_name(CLUSTER, &format!("n{}", node + 1)), |_| ())
    }
}

/// Where a node in a process of its own has its credentials.
pub(crate) fn in_folder(folder: &Path) -> Tls {
    Tls::files(folder.join(AUTHORITY), folder.join(CERTIFICATE), folder.join(KEY))
}

/// The folder of a member's credentials.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn of(nodes: &Nodes, node: usize) -> Self {
        let path = nodes.path().join(format!("certificate-n{}", node + 1));
        fs::create_dir_all(&path).expect("a folder of our own");
        Self(path)
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.0.join(KEY)
    }

    /// Replaces the certificate and its key.
    pub(crate) fn put(&self, pair: &Pair) {
        self.replace(KEY, &pair.key);
        self.replace(CERTIFICATE, &pair.certificate);
    }

    /// Replaces whom it trusts.
    pub(crate) fn trust(&self, authorities: &[&Authority]) {
        let all: String = authorities.iter().map(|authority| &*authority.pem).collect();
        self.replace(AUTHORITY, &all);
    }

    /// As one is told to: by renaming another file over it.
    fn replace(&self, name: &str, text: &str) {
        let new = self.0.join(format!("{name}.new"));
        fs::write(&new, text).expect("a file of our own");
        fs::rename(&new, self.0.join(name)).expect("a file of our own");
    }
}

impl Nodes {
    /// Gives a node a certificate, from its next start on.
    pub(crate) fn certify(&mut self, node: usize, authority: &Authority) -> Folder {
        let folder = Folder::of(self, node);
        folder.trust(&[authority]);
        folder.put(&authority.member(node));
        self.set_certificate(node, Some(folder.0.clone()));
        folder
    }

    /// A cluster that was not started, whose members all have certificates.
    pub(crate) fn certified(count: usize, authority: &Authority) -> (Self, Vec<Folder>) {
        let mut nodes = Self::new(count);
        let folders = (0..count).map(|node| nodes.certify(node, authority)).collect();
        (nodes, folders)
    }

    /// The same, started, and who leads it.
    pub(crate) fn secured(count: usize, authority: &Authority) -> (Self, Vec<Folder>, Tenure) {
        let (mut nodes, folders) = Self::certified(count, authority);
        (0..count).for_each(|node| nodes.start(node));
        let leader = nodes.leader_after(0);
        nodes.all_follow(&leader);
        (nodes, folders, leader)
    }

    /// Nobody else has led, and the first leader goes on.
    #[track_caller]
    pub(crate) fn still_leads(&self, leader: &Tenure) {
        let before = self.tenures();
        let last = before.last().expect("a leader").last;
        eventually("another act", || {
            self.tenures().last().filter(|tenure| tenure.last > last).map(drop)
        });
        let tenures = self.tenures();
        assert_eq!(tenures.len(), 1, "leadership moved: {tenures:?}");
        assert_eq!((&tenures[0].node, tenures[0].epoch), (&leader.node, leader.epoch));
        self.check();
    }
}

/// A socket that remembers what was written to it.
pub(crate) struct Tap {
    stream: TcpStream,
    pub(crate) sent: Vec<u8>,
}

impl Read for Tap {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Tap {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.stream.write(bytes)?;
        self.sent.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Somebody who believes whoever answers.
#[derive(Debug)]
struct Gullible(Arc<CryptoProvider>);

impl ServerCertVerifier for Gullible {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection to a member, encrypted.
pub(crate) type Session = StreamOwned<ClientConnection, Tap>;

/// What a client with this certificate says first, and everything after.
pub(crate) fn client(pair: Option<&Pair>) -> ClientConnection {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Gullible(provider)));
    let mut config = match pair {
        None => config.with_no_client_auth(),
        Some(Pair { certificate, key }) => {
            let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
            let chain = chain.collect::<Result<_, _>>().expect("certificates");
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
            config.with_client_auth_cert(chain, key).expect("a key that fits")
        }
    };
    config.resumption = Resumption::disabled();
    let name = "member.invalid".try_into().expect("a name");
    ClientConnection::new(Arc::new(config), name).expect("a client")
}

/// Connects, and shakes hands as far as it depends on this side: whether the member has taken the
/// certificate shows only later.
pub(crate) fn shakes_hands(stream: TcpStream, pair: Option<&Pair>) -> io::Result<Session> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut session = client(pair);
    let mut stream = Tap { stream, sent: Vec::new() };
    while session.is_handshaking() {
        session.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(session, stream))
}
