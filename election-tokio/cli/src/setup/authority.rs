//! The authority of a cluster: it signs its members' certificates, and nothing else.

use crate::exit::Failed;
use election_driver::file::whole;
use election_tokio::tls::{Fingerprint, certificate_name};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData as _, SanType,
};
use std::{io, path::Path};
use time::{Duration, OffsetDateTime};

/// How long an authority is valid at least, in days: ten years.
const AUTHORITY_DAYS: u32 = 3_650;
/// How long before now certificates begin, for machines whose clocks are behind.
const BEFORE: Duration = Duration::days(1);

/// A certificate and its key, in PEM.
pub(super) struct Pair {
    pub(super) certificate: String,
    pub(super) key: String,
}

pub(super) struct Authority(Issuer<'static, KeyPair>);

fn failed(error: &rcgen::Error) -> Failed {
    Failed::new(format!("a certificate cannot be made: {error}"))
}

/// A certificate that begins a day ago and ends in so many days.
fn valid(days: u32, name: &str) -> Result<CertificateParams, Failed> {
    let now = OffsetDateTime::now_utc();
    let mut params = CertificateParams::default();
    params.not_before = now - BEFORE;
    let end = now.checked_add(Duration::days(days.into())).filter(|end| end.year() < 9_999);
    params.not_after = end.ok_or_else(|| {
        Failed::new(format!("--days {days} is longer than a certificate can be valid; use fewer"))
    })?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

impl Authority {
    /// A new one, for certificates that are valid for so many days.
    pub(super) fn new(cluster: &str, days: u32) -> Result<(Self, Pair), Failed> {
        let key = KeyPair::generate().map_err(|error| failed(&error))?;
        // Two authorities of one cluster have different names: by its name a certificate says which
        // has signed it.
        let number = Fingerprint::of(key.der_bytes()).to_string().replace(':', "");
        let name = format!("election authority of {cluster} ({})", &number[..8]);
        let mut params = valid(days.max(AUTHORITY_DAYS), &name)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(|error| failed(&error))?.pem();
        let pair = Pair { certificate, key: key.serialize_pem() };
        Ok((Self(Issuer::new(params, key)), pair))
    }

    /// The one whose files these are.
    ///
    /// # Errors
    /// If they cannot be read or do not belong together.
    pub(super) fn read(certificate: &Path, key: &Path) -> Result<Self, Failed> {
        let read = |path: &Path| {
            let failed = |error| Failed::of(&path.display().to_string(), &error);
            pem(path).map_err(failed)
        };
        let (certificate_text, key_text) = (read(certificate)?, read(key)?);
        let wrong = |path: &Path, error: &rcgen::Error| {
            Failed::new(format!(
                "{}: {error}; name the directory that `election cluster init` created with \
                 --authority",
                path.display()
            ))
        };
        let pair = KeyPair::from_pem(&key_text).map_err(|error| wrong(key, &error))?;
        let issuer = Issuer::from_ca_cert_pem(&certificate_text, pair);
        issuer.map(Self).map_err(|error| wrong(certificate, &error))
    }

    /// A certificate for a member, with a new key.
    pub(super) fn certify(&self, cluster: &str, member: &str, days: u32) -> Result<Pair, Failed> {
        let key = KeyPair::generate().map_err(|error| failed(&error))?;
        let mut params = valid(days, &format!("{member} of {cluster}"))?;
        let uri = certificate_name(cluster, member);
        let uri = uri.as_str().try_into().map_err(|error| failed(&error))?;
        params.subject_alt_names = vec![SanType::URI(uri)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.0).map_err(|error| failed(&error))?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

/// A text in PEM.
pub(super) fn pem(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(whole(path, "the certificate or the key")?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not PEM text"))
}
