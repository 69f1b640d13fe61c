//! Whose certificate is this, and does it count?
//!
//! A certificate names a member by a URI, `election://CLUSTER/MEMBER`, among its alternative names. It
//! is compared as text: nothing of a stranger's certificate is interpreted. A host's name would not
//! do. Authorities sign those for other purposes, and they say nothing of the cluster.

use super::{fingerprint::Fingerprint, provider};
use election_core::quorum::Peer;
use futures_rustls::{
    pki_types::{CertificateDer, ServerName, UnixTime},
    rustls::{
        CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError,
        RootCertStore, SignatureScheme,
        client::{
            danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
            verify_server_cert_signed_by_trust_anchor,
        },
        crypto::verify_tls13_signature,
        server::{
            ParsedCertificate,
            danger::{ClientCertVerified, ClientCertVerifier},
        },
    },
};
use std::{fmt, sync::Arc};
use thiserror::Error as ThisError;
use x509_parser::{certificate::X509Certificate, extensions::GeneralName, prelude::FromDer as _};

/// What is wrong with a certificate that the authority has signed.
#[derive(Debug, ThisError)]
pub(super) enum Unfit {
    #[error("its certificate cannot be read")]
    Unreadable,
    #[error(
        "its certificate names no member of this cluster; it names {0}. Give it one that names a \
         member, by a URI as `election cluster add-key` writes it"
    )]
    Nobody(Names),
    #[error("its certificate names several members: {0}. Give every member its own")]
    Several(Names),
    #[error(
        "its certificate is {0}'s instead of {1}'s; correct the addresses, or give every member \
         its own certificate"
    )]
    Another(Names, String),
    #[error(
        "its certificate, {0}, is not on the list of accepted certificates of {1}; unless it was \
         removed on purpose, add it"
    )]
    NotAccepted(Fingerprint, String),
}

/// The URIs of a certificate, for a message.
#[derive(Debug)]
pub(super) struct Names(Vec<String>);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nobody");
        }
        for (place, name) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            // A stranger chose it, as far as an authority let them.
            write!(f, "{comma}{}", name.chars().take(100).collect::<String>().escape_debug())?;
        }
        Ok(())
    }
}

/// A member, as certificates name it.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) id: String,
    pub(super) uri: String,
    /// The only certificates that count, if there is a list.
    pub(super) accepted: Option<Vec<Fingerprint>>,
}

/// Judges certificates.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) roots: Arc<RootCertStore>,
    /// Of each member by its place.
    pub(super) members: Vec<Named>,
    /// Judges where a certificate of a client comes from.
    pub(super) chains: Arc<dyn ClientCertVerifier>,
}

impl Judge {
    /// The member whose certificate this is. Where the certificate comes from has been judged.
    pub(super) fn member(&self, certificate: &CertificateDer<'_>) -> Result<Peer, Unfit> {
        whose(&self.members, certificate)
    }

    /// Whether this is the certificate of that member.
    pub(super) fn is(&self, certificate: &CertificateDer<'_>, peer: Peer) -> Result<(), Unfit> {
        if self.member(certificate)? == peer {
            return Ok(());
        }
        let id = self.members.get(peer.index()).map_or("", |member| &member.id).to_owned();
        Err(Unfit::Another(Names(names(certificate).unwrap_or_default()), id))
    }

    /// What to say of a certificate that is another member's, though it should be this one's own.
    pub(super) fn another(&self, certificate: &CertificateDer<'_>, me: Peer) -> Option<String> {
        let Err(Unfit::Another(names, id)) = self.is(certificate, me) else { return None };
        Some(format!(
            "the certificate names {names}, but this member is {id}; name the files of {id}"
        ))
    }

    /// Whether a connection of somebody who connects may be.
    pub(super) fn client(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<Peer, Error> {
        let (own, between) = chain.split_first().ok_or(Error::NoCertificatesPresented)?;
        self.chains.verify_client_cert(own, between, now)?;
        self.member(own).map_err(unfit)
    }

    /// Whether whoever was connected to may be that member.
    pub(super) fn server(
        &self,
        chain: &[CertificateDer<'_>],
        peer: Peer,
        now: UnixTime,
    ) -> Result<(), Error> {
        let (own, between) = chain.split_first().ok_or(Error::NoCertificatesPresented)?;
        let algorithms = provider().signature_verification_algorithms;
        let parsed = ParsedCertificate::try_from(own)?;
        verify_server_cert_signed_by_trust_anchor(
            &parsed,
            &self.roots,
            between,
            now,
            algorithms.all,
        )?;
        self.is(own, peer).map_err(unfit)
    }
}

/// The member among these that a certificate names, if it is one that counts.
pub(super) fn whose(members: &[Named], certificate: &CertificateDer<'_>) -> Result<Peer, Unfit> {
    let names = names(certificate).ok_or(Unfit::Unreadable)?;
    let named = |(_, member): &(usize, &Named)| names.contains(&member.uri);
    let mut all = members.iter().enumerate().filter(named);
    let (place, member) = match (all.next(), all.next()) {
        (Some(only), None) => only,
        (None, _) => return Err(Unfit::Nobody(Names(names))),
        (Some(_), Some(_)) => return Err(Unfit::Several(Names(names))),
    };
    let fingerprint = Fingerprint::of_der(certificate);
    if member.accepted.as_ref().is_some_and(|list| !list.contains(&fingerprint)) {
        return Err(Unfit::NotAccepted(fingerprint, member.id.clone()));
    }
    // A list has at most 64 members.
    u8::try_from(place).map(Peer::new).map_err(|_| Unfit::Unreadable)
}

/// The URIs that a certificate names, whoever signed it.
pub(super) fn names(certificate: &CertificateDer<'_>) -> Option<Vec<String>> {
    let (_, parsed) = X509Certificate::from_der(certificate.as_ref()).ok()?;
    let alternative = parsed.subject_alternative_name().ok()?;
    let all = alternative.map(|names| {
        let uris = names.value.general_names.iter().filter_map(|name| match name {
            GeneralName::URI(uri) => Some((*uri).to_owned()),
            _ => None,
        });
        uris.collect()
    });
    Some(all.unwrap_or_default())
}

fn unfit(why: Unfit) -> Error {
    CertificateError::Other(OtherError(Arc::new(why))).into()
}

fn only_tls13() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::General("only TLS 1.3 is supported".to_owned()))
}

/// Whether whoever presents a certificate has its key.
fn is_signed(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let algorithms = provider().signature_verification_algorithms;
    verify_tls13_signature(message, certificate, signed, &algorithms)
}

/// Judges whoever connects.
#[derive(Debug)]
pub(super) struct OfClients(pub(super) Arc<Judge>);

impl ClientCertVerifier for OfClients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.0.chains.verify_client_cert(own, between, now)?;
        self.0.member(own).map_err(unfit)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        only_tls13()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        is_signed(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Judges whoever has accepted a connection to this member.
#[derive(Debug)]
pub(super) struct OfServer(pub(super) Arc<Judge>, pub(super) Peer);

impl ServerCertVerifier for OfServer {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain: Vec<_> = std::iter::once(own).chain(between).cloned().collect();
        self.0.server(&chain, self.1, now)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        only_tls13()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        is_signed(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
