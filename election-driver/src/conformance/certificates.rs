//! Certificates of every kind, and a client that presents any of them, or none.

use super::cluster::CLUSTER;
use crate::tls::{Credentials, Tls, certificate_name};
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
    io::{self, Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

static AUTHORITIES: AtomicU32 = AtomicU32::new(0);

/// A certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// Somebody who signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate.
    pub pem: String,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// Another authority each time.
    ///
    /// # Panics
    /// If no key can be made.
    #[must_use]
    pub fn new() -> Self {
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, format!("authority {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate with this URI, and whatever else is wrong with it.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn signs(&self, uri: &str, change: impl FnOnce(&mut CertificateParams)) -> Pair {
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
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn member(&self, node: usize) -> Pair {
        self.signs(&certificate_name(CLUSTER, &format!("n{}", node + 1)), |_| ())
    }

    /// What a member has that trusts this authority and presents this certificate.
    #[must_use]
    pub fn credentials(&self, pair: &Pair) -> Tls {
        let (authority, pair) = (self.pem.clone(), pair.clone());
        Tls::source(move || {
            let Pair { certificate, key } = &pair;
            Credentials::from_pem(authority.as_bytes(), certificate.as_bytes(), key.as_bytes())
        })
    }
}

/// A socket that remembers what was written to it.
#[derive(Debug)]
pub struct Tap {
    stream: TcpStream,
    /// All of that.
    pub sent: Vec<u8>,
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
pub type Session = StreamOwned<ClientConnection, Tap>;

/// What a client with this certificate says first, and everything after.
///
/// # Panics
/// If the key does not fit the certificate.
#[must_use]
pub fn client(pair: Option<&Pair>) -> ClientConnection {
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
///
/// # Errors
/// If the other end hangs up, or refuses.
pub fn shakes_hands(stream: TcpStream, pair: Option<&Pair>) -> io::Result<Session> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut session = client(pair);
    let mut stream = Tap { stream, sent: Vec::new() };
    while session.is_handshaking() {
        session.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(session, stream))
}
