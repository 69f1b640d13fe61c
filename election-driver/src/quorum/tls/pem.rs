//! Certificates and keys in PEM, and what to do about a text that holds none.

use futures_rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{Error, PemObject as _},
};

/// All certificates of a text, and at least one.
pub(crate) fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(why_not(text, &Error::NoItemsFound)),
        Err(error) => Err(why_not(text, &error)),
    }
}

/// The first private key of a text.
pub(crate) fn key(text: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    if is_locked(text) {
        return Err(
            "it is encrypted with a passphrase; decrypt it with `openssl pkey -in OLD -out NEW`, \
             and let nobody else read it"
                .to_owned(),
        );
    }
    PrivateKeyDer::from_pem_slice(text).map_err(|error| why_not(text, &error))
}

/// Whether its key is encrypted, in the form of today or in that of old.
fn is_locked(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----")
        || text.lines().any(|line| line.starts_with("Proc-Type:") && line.contains("ENCRYPTED"))
}

fn why_not(text: &[u8], error: &Error) -> String {
    match error {
        // Before all else: the mark hides the first line.
        _ if text.starts_with(b"\xef\xbb\xbf") => {
            "it starts with a byte-order mark; save it as plain ASCII".to_owned()
        }
        _ if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") => {
            "it is UTF-16; save it as plain ASCII".to_owned()
        }
        Error::NoItemsFound => absent(text),
        Error::MissingSectionEnd { end_marker } => format!(
            "it is cut short: -----END {}----- is missing; copy the whole file again",
            String::from_utf8_lossy(end_marker).escape_debug()
        ),
        Error::Base64Decode(_) => {
            "the text between -----BEGIN and -----END is not Base64; copy the whole file again"
                .to_owned()
        }
        error => format!("{error}; use a complete PEM file"),
    }
}

/// What to say of a text in which nothing of the kind stands.
fn absent(text: &[u8]) -> String {
    let lines = String::from_utf8_lossy(text);
    let begins = lines.lines().filter_map(|line| line.trim().strip_prefix("-----BEGIN "));
    let found: Vec<_> = begins.filter_map(|rest| rest.strip_suffix("-----")).collect();
    match found.first() {
        Some(other) => {
            format!("it contains {:?} instead; name the right file", other.escape_debug().to_string())
        }
        // A sequence whose length takes two bytes: so begin certificates and most keys.
        None if text.starts_with(&[0x30, 0x82]) => "it is DER; convert it to PEM, as `openssl x509 \
                                                     -inform der` or `openssl pkey -inform der` does"
            .to_owned(),
        None => {
            "it contains no -----BEGIN and -----END; use a PEM file".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    fn made() -> [String; 2] {
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::default().self_signed(&key).unwrap();
        [own.pem(), key.serialize_pem()]
    }

    #[track_caller]
    fn told(text: impl AsRef<[u8]>, words: &str) {
        let text = text.as_ref();
        for said in [certificates(text).map(drop), key(text).map(drop)] {
            let said = said.expect_err(words);
            assert!(said.contains(words) && said.contains("; "), "no {words:?} in {said}");
        }
    }

    #[test]
    fn a_text_that_cannot_be_used_is_told_with_cause_and_remedy() {
        told("", "it contains no -----BEGIN");
        told("\u{feff}", "a byte-order mark");
        told(b"\xff\xfe-\0-\0", "UTF-16");
        told([0x30, 0x82, 1, 2], "it is DER");
        told("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", "contains \"PUBLIC KEY\"");
        let [certificate, own] = made();
        for text in [&certificate, &own] {
            let marked = format!("\u{feff}{text}");
            let broken = text.replacen("\nM", "\n!", 1);
            let half = &text[..text.len() / 2];
            for (text, words) in [
                (&*marked, "a byte-order mark"),
                (half, "it is cut short: -----END "),
                (&broken, "not Base64"),
            ] {
                let said = match text.contains("PRIVATE KEY") {
                    true => key(text.as_bytes()).map(drop),
                    false => certificates(text.as_bytes()).map(drop),
                };
                let said = said.expect_err(words);
                assert!(said.contains(words) && said.contains("; "), "no {words:?} in {said}");
            }
        }
        // One that is whole does not stand for one that is not.
        let second = format!("{certificate}{}", &certificate[..certificate.len() / 2]);
        assert!(certificates(second.as_bytes()).unwrap_err().contains("cut short"));
        assert!(key(certificate.as_bytes()).unwrap_err().contains("contains \"CERTIFICATE\""));
        assert!(certificates(own.as_bytes()).unwrap_err().contains("contains \"PRIVATE KEY\""));
    }

    #[test]
    fn a_passphrase_is_told_in_both_forms() {
        for text in [
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMA==\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,F4\n\n\
             MA==\n-----END EC PRIVATE KEY-----\n",
        ] {
            let said = key(text.as_bytes()).unwrap_err();
            assert!(said.contains("a passphrase") && said.contains("openssl pkey"), "{said}");
        }
    }
}
