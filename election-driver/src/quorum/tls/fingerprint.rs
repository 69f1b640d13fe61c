//! Which certificate exactly: the hash of its bytes.

use super::provider;
use futures_rustls::{
    pki_types::CertificateDer,
    rustls::{CipherSuite, SupportedCipherSuite},
};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// The SHA-256 hash of a certificate, as `openssl x509 -fingerprint -sha256` prints it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

/// Text that is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a fingerprint is the SHA-256 hash of a certificate: 64 hexadecimal digits, with colons between \
     the bytes or without, as `openssl x509 -noout -fingerprint -sha256 -in FILE` prints it"
)]
pub struct InvalidFingerprint;

impl Fingerprint {
    /// The fingerprint of a certificate in DER.
    #[must_use]
    pub fn of(certificate: &[u8]) -> Self {
        let is_ours =
            |suite: &&SupportedCipherSuite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256;
        let provider = provider();
        let suite =
            provider.cipher_suites.iter().find(is_ours).and_then(SupportedCipherSuite::tls13);
        let hash = suite.map(|suite| suite.common.hash_provider.hash(certificate));
        let bytes = hash.and_then(|hash| hash.as_ref().try_into().ok());
        // This provider has that suite, and SHA-256 has 32 bytes.
        Self(bytes.unwrap_or_default())
    }

    pub(super) fn of_der(certificate: &CertificateDer<'_>) -> Self {
        Self::of(certificate.as_ref())
    }
}

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let text = text.split_once('=').map_or(text, |(_, digits)| digits);
        let text = text.strip_prefix("sha256:").unwrap_or(text);
        let mut digits = Vec::with_capacity(64);
        for (place, part) in text.split(':').enumerate() {
            if text.contains(':') && part.len() != 2 || part.is_empty() && place > 0 {
                return Err(InvalidFingerprint);
            }
            digits.extend(part.chars().map(|digit| digit.to_digit(16)));
        }
        let digits: Vec<u32> =
            digits.into_iter().collect::<Option<_>>().ok_or(InvalidFingerprint)?;
        let bytes = digits.chunks(2).map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        });
        let bytes: Vec<u8> = bytes.collect::<Option<_>>().ok_or(InvalidFingerprint)?;
        bytes.try_into().map(Self).map_err(|_| InvalidFingerprint)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            let colon = if place == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_in_the_forms_that_tools_print() {
        // The hash of no bytes at all, by sha256sum.
        let plain = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let known = Fingerprint::of(b"");
        let shown = known.to_string();
        assert!(shown.starts_with("E3:B0:C4:42:98"), "{shown}");
        let tool = format!("sha256 Fingerprint={shown}");
        for text in [plain, &plain.to_uppercase(), &format!("sha256:{plain}"), &shown, &tool] {
            assert_eq!(text.parse(), Ok(known), "{text}");
        }
        let long = format!("{plain}00");
        for text in ["", ":", "e3", &plain[1..], &plain.replace('e', "g"), &long, &plain[..62]] {
            assert_eq!(text.parse::<Fingerprint>(), Err(InvalidFingerprint), "{text}");
        }
        assert!(shown.replacen(':', "", 1).parse::<Fingerprint>().is_err(), "uneven bytes");
    }
}
