//! Whose certificate is this, and does it count?
//!
//! A certificate names a member by a URI, `election://CLUSTER/MEMBER`, among its alternative names. A host's
//! name would not do. Authorities sign those for other purposes, and they say nothing of the cluster.
//!
//! Whoever the authority names is who it says; whether it is a member now is for the protocol to know,
//! whose list may change.

use super::{
    fingerprint::Fingerprint,
    name::{MemberName, named},
    provider,
};
use election_core::NodeId;
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
use std::{collections::BTreeMap, fmt, sync::Arc};
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
    Another(Names, NodeId),
    #[error(
        "its certificate, {0}, is not on the list of accepted certificates of {1}; unless it was \
         removed on purpose, add it"
    )]
    NotAccepted(Fingerprint, NodeId),
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

/// Judges certificates.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) roots: Arc<RootCertStore>,
    pub(super) own: MemberName,
    /// Of the members with a list, by their ids: the only certificates that count.
    pub(super) accepted: BTreeMap<String, Vec<Fingerprint>>,
    /// Judges where a certificate of a client comes from.
    pub(super) chains: Arc<dyn ClientCertVerifier>,
}

impl Judge {
    /// The member whose certificate this is. Where the certificate comes from has been judged.
    pub(super) fn member(&self, certificate: &CertificateDer<'_>) -> Result<NodeId, Unfit> {
        let id = whose(self.own.cluster.as_str(), certificate)?;
        let fingerprint = Fingerprint::of_der(certificate);
        match self.accepted.get(id.as_str()) {
            Some(list) if !list.contains(&fingerprint) => Err(Unfit::NotAccepted(fingerprint, id)),
            _ => Ok(id),
        }
    }

    /// Whether this is the certificate of that member.
    pub(super) fn is(&self, certificate: &CertificateDer<'_>, id: &NodeId) -> Result<(), Unfit> {
        if self.member(certificate)? == *id {
            return Ok(());
        }
        Err(Unfit::Another(Names(names(certificate).unwrap_or_default()), id.clone()))
    }

    /// What to say of a certificate that is another member's, though it should be this one's own.
    pub(super) fn another(&self, certificate: &CertificateDer<'_>) -> Option<String> {
        let own = self.is(certificate, &self.own.id);
        let Err(Unfit::Another(names, id)) = own else { return None };
        Some(format!(
            "the certificate names {names}, but this member is {id}; name the files of {id}"
        ))
    }

    /// Whether a connection of somebody who connects may be.
    pub(super) fn client(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<NodeId, Error> {
        let (own, between) = chain.split_first().ok_or(Error::NoCertificatesPresented)?;
        self.chains.verify_client_cert(own, between, now)?;
        self.member(own).map_err(unfit)
    }

    /// Whether whoever was connected to may be that member.
    pub(super) fn server(
        &self,
        chain: &[CertificateDer<'_>],
        id: &NodeId,
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
        self.is(own, id).map_err(unfit)
    }
}

/// The member of this cluster that a certificate names, whoever signed it.
pub(super) fn whose(cluster: &str, certificate: &CertificateDer<'_>) -> Result<NodeId, Unfit> {
    let names = names(certificate).ok_or(Unfit::Unreadable)?;
    let mut all = names.iter().filter_map(|uri| named(cluster, uri));
    match (all.next(), all.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(Unfit::Nobody(Names(names))),
        (Some(_), Some(_)) => Err(Unfit::Several(Names(names))),
    }
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
pub(super) struct OfServer(pub(super) Arc<Judge>, pub(super) NodeId);

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
        self.0.server(&chain, &self.1, now)?;
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
