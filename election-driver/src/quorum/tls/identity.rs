//! What a member is in this cluster: its credentials, ready for connections.

use super::{
    credentials::{Credentials, CredentialsError},
    expiry::Expiry,
    explain,
    fingerprint::Fingerprint,
    judge::{Judge, OfClients, OfServer},
    name::MemberName,
    own, provider,
};
use crate::quorum::transport::Transport;
use election_core::NodeId;
use futures_lite::io::{AsyncRead, AsyncWrite};
use futures_rustls::{
    TlsAcceptor, TlsConnector, TlsStream,
    pki_types::{CertificateDer, ServerName, UnixTime},
    rustls::{
        ClientConfig, RootCertStore, ServerConfig,
        client::Resumption,
        server::{NoServerSessionStorage, WebPkiClientVerifier},
        version::TLS13,
    },
};
use std::{
    io,
    net::Ipv4Addr,
    sync::Arc,
    time::{Duration, SystemTime},
};
use x509_parser::{certificate::X509Certificate, prelude::FromDer as _};

/// How many bytes may wait for encryption or a socket, besides what the kernel holds.
const BUFFERED: usize = 32 * 1024;

/// A member's credentials, checked and ready.
pub(in crate::quorum) struct Identity {
    judge: Arc<Judge>,
    server: TlsAcceptor,
    /// To every member, but for whom it has to be.
    client: ClientConfig,
    expiry: Expiry,
    fingerprint: Fingerprint,
}

impl Identity {
    /// Checks that the credentials are this member's, and that others will take them now.
    pub(in crate::quorum) fn new(
        own: &MemberName,
        credentials: &Credentials,
    ) -> Result<Self, CredentialsError> {
        Self::checked(own, credentials, UnixTime::now())
    }

    /// The same for other lists or authorities while its own certificate stays as it is: that this has
    /// ended meanwhile is no reason to go on as before.
    pub(super) fn renewed(
        own: &MemberName,
        credentials: &Credentials,
        known: Expiry,
    ) -> Result<Self, CredentialsError> {
        let last = known.certificate - Duration::from_secs(1);
        let last = last.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = UnixTime::now().as_secs().min(last.as_secs());
        Self::checked(own, credentials, UnixTime::since_unix_epoch(Duration::from_secs(now)))
    }

    fn checked(
        own: &MemberName,
        credentials: &Credentials,
        now: UnixTime,
    ) -> Result<Self, CredentialsError> {
        let identity = Self::unchecked(own, credentials)?;
        let unfit = |error| {
            let why = explain::plain(&error);
            CredentialsError::Unfit(format!("this member's own certificate: {why}"))
        };
        let chain = &credentials.chain;
        if let Some(named) = chain.first().and_then(|own| identity.judge.another(own)) {
            return Err(CredentialsError::Unfit(named));
        }
        identity.judge.server(chain, &own.id, now).map_err(unfit)?;
        identity.judge.client(chain, now).map_err(unfit)?;
        Ok(identity)
    }

    pub(in crate::quorum) fn expiry(&self) -> Expiry {
        self.expiry
    }

    /// That of this member's certificate.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The lists of accepted certificates, by the members' ids.
    pub(super) fn accepted(&self) -> Vec<(String, Vec<Fingerprint>)> {
        self.judge.accepted.clone().into_iter().collect()
    }

    /// The same as [`new`](Self::new), but whether the others will take them is not looked at.
    pub(super) fn unchecked(
        own: &MemberName,
        credentials: &Credentials,
    ) -> Result<Self, CredentialsError> {
        let unfit = |why: String| CredentialsError::Unfit(why);
        let Credentials { authority, chain, key, .. } = credentials;
        let mut roots = RootCertStore::empty();
        for certificate in authority {
            roots.add(certificate.clone()).map_err(|error| {
                let why = explain::plain(&error);
                unfit(format!("the authority's certificate cannot be used: {why}"))
            })?;
        }
        let roots = Arc::new(roots);
        let chains = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider()).build();
        let chains = chains.map_err(|error| unfit(error.to_string()))?;
        let accepted = credentials.accepted.clone();
        let judge = Arc::new(Judge { roots, own: own.clone(), accepted, chains });

        let keyed = |error| unfit(own::why_not(chain, key, &error));

        let server = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unfit(error.to_string()))?
            .with_client_cert_verifier(Arc::new(OfClients(judge.clone())))
            .with_single_cert(chain.clone(), key.clone_key());
        let mut server = server.map_err(keyed)?;
        // Every connection proves anew who speaks.
        server.send_tls13_tickets = 0;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        let client = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unfit(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(OfServer(judge.clone(), own.id.clone())))
            .with_client_auth_cert(chain.clone(), key.clone_key());
        let mut client = client.map_err(keyed)?;
        client.resumption = Resumption::disabled();
        client.enable_sni = false;
        let unreadable = || unfit("a certificate's expiry cannot be read".to_owned());
        let certificate = soonest(chain).ok_or_else(unreadable)?;
        // Of several, one replaces the others.
        let authority = authority.iter().filter_map(ends).max().ok_or_else(unreadable)?;
        let expiry = Expiry { certificate, authority };
        let fingerprint = credentials.fingerprint().ok_or_else(unreadable)?;
        let server = TlsAcceptor::from(Arc::new(server));
        Ok(Self { judge, server, client, expiry, fingerprint })
    }

    /// Proves to whoever has connected who this is, and demands the same.
    pub(in crate::quorum) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<(Transport<S>, NodeId)> {
        let limit = |session: &mut futures_rustls::rustls::ServerConnection| {
            session.set_buffer_limit(Some(BUFFERED));
        };
        let stream = self.server.accept_with(stream, limit).await?;
        let stream = TlsStream::Server(stream);
        let own = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let own = own.ok_or(io::ErrorKind::InvalidData)?;
        let id = self.judge.member(own).map_err(io::Error::other)?;
        Ok((Transport::Encrypted(Box::new(stream)), id))
    }

    /// The same to a member that was connected to.
    pub(in crate::quorum) async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        id: NodeId,
    ) -> io::Result<Transport<S>> {
        let limit = |session: &mut futures_rustls::rustls::ClientConnection| {
            session.set_buffer_limit(Some(BUFFERED));
        };
        let mut client = self.client.clone();
        let verifier = Arc::new(OfServer(self.judge.clone(), id));
        client.dangerous().set_certificate_verifier(verifier);
        let connector = TlsConnector::from(Arc::new(client));
        // Nobody sends or compares it: whom a certificate names is judged by its URI.
        let name = ServerName::IpAddress(Ipv4Addr::UNSPECIFIED.into());
        let shaken = connector.connect_with(name, stream, limit).await;
        let stream = shaken.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                let why =
                    "it closed the connection during the handshake; see its log, or give it a \
                     certificate";
                io::Error::new(error.kind(), why)
            }
            _ => error,
        })?;
        Ok(Transport::Encrypted(Box::new(TlsStream::Client(stream))))
    }

    /// Whether a connection that was made under other credentials may stay.
    pub(in crate::quorum) fn still_admits<S>(&self, transport: &Transport<S>, id: &NodeId) -> bool {
        let Transport::Encrypted(stream) = transport else { return true };
        let session = stream.get_ref().1;
        let Some(chain) = session.peer_certificates() else { return false };
        let now = UnixTime::now();
        match &**stream {
            TlsStream::Client(_) => self.judge.server(chain, id, now).is_ok(),
            TlsStream::Server(_) => self.judge.client(chain, now).is_ok_and(|found| found == *id),
        }
    }
}

/// When the first of these certificates ends.
fn soonest(chain: &[CertificateDer<'_>]) -> Option<SystemTime> {
    chain.iter().map(ends).min().flatten()
}

fn ends(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, parsed) = X509Certificate::from_der(certificate.as_ref()).ok()?;
    let seconds = u64::try_from(parsed.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}
