//! What a failed handshake means, and what to do about it.

use futures_rustls::rustls::{AlertDescription, CertificateError, Error, InvalidMessage};
use std::io;
use thiserror::Error as ThisError;

/// That the two ends of a connection do not come to terms, and why, in words. Trying again is of little
/// use before something has been replaced.
#[derive(Debug, ThisError)]
#[error("{0}")]
struct Refused(String);

/// Whether an error that was explained is one, or has one as its cause.
pub(in crate::quorum) fn is_refusal(error: &io::Error) -> bool {
    let Some(inner) = error.get_ref() else { return false };
    let cause = || inner.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    inner.is::<Refused>() || cause().is_some_and(is_refusal)
}

/// Returns an error as it is unless it is TLS that has failed, and then why, in words, as an error.
pub(in crate::quorum) fn explained(error: io::Error) -> Result<io::Error, io::Error> {
    let known = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match known {
        Some(known) => Err(io::Error::new(error.kind(), Refused(plain(known)))),
        None => Ok(error),
    }
}

/// A stable lower-case name for logs and metrics.
pub(in crate::quorum) fn reason(error: &io::Error) -> &'static str {
    let known = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match known {
        Some(Error::InvalidMessage(_)) => "not_tls",
        Some(Error::NoCertificatesPresented) => "no_certificate",
        Some(Error::InvalidCertificate(_)) => "certificate",
        Some(Error::AlertReceived(_)) => "tls_alert",
        _ if error.kind() == io::ErrorKind::TimedOut => "tls_slow",
        _ => "tls",
    }
}

const CLOCK: &str = "renew it, or correct this machine's clock";

pub(super) fn plain(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(certificate) => certificates(certificate),
        Error::NoCertificatesPresented => {
            "it presents no certificate; only members are let in".to_owned()
        }
        Error::InvalidMessage(InvalidMessage::MessageTooLarge) => {
            "it sends a record larger than TLS allows; let only members reach the port".to_owned()
        }
        Error::InvalidMessage(_) => {
            "it does not speak TLS; give it a certificate and key, or let only members reach the \
             port"
                .to_owned()
        }
        Error::PeerIncompatible(_) => {
            format!(
                "it does not speak TLS 1.3 as members do ({error}); let only members reach the port"
            )
        }
        Error::AlertReceived(alert) => alerts(*alert),
        error => error.to_string(),
    }
}

fn certificates(error: &CertificateError) -> String {
    match error {
        CertificateError::Other(why) => other(&why.to_string()),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("its certificate has expired; {CLOCK}")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("its certificate is not valid yet; {CLOCK}")
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate is not signed by this cluster's authority; give both the same authority, \
             and certificates that it has signed"
                .to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate is not valid for both ends of a connection; its extended key usage \
             must include serverAuth and clientAuth, or be absent"
                .to_owned()
        }
        CertificateError::BadEncoding => {
            "its certificate cannot be read; make another with `election cluster add-key`".to_owned()
        }
        error => format!(
            "its certificate cannot be used: {error}; make another with `election cluster add-key`"
        ),
    }
}

/// What the recheck of certificates say besides. Those of the library beneath are known by their names
/// only: it does not pass their type on.
fn other(why: &str) -> String {
    match why {
        "CaUsedAsEndEntity" => {
            "its certificate is an authority's own; give it one signed by the authority, as \
             `election cluster add-key` does"
                .to_owned()
        }
        "UnsupportedCriticalExtension" => {
            "its certificate has an unknown critical extension; issue one without it, or mark it \
             as not critical"
                .to_owned()
        }
        why => why.to_owned(),
    }
}

/// What the other side has said of this one.
fn alerts(alert: AlertDescription) -> String {
    let why = match alert {
        AlertDescription::CertificateExpired => "it rejects our certificate as expired",
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "it does not trust our certificate, which its authority has not signed"
        }
        AlertDescription::CertificateRequired => "it demands a certificate",
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateRevoked
        | AlertDescription::AccessDenied => "it does not accept our certificate",
        alert => return format!("it refused the connection ({alert:?}); see its log"),
    };
    format!("{why}; see its log")
}
