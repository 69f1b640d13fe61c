//! What a URL names for TLS: the mode, and files. A mode that there is not, or a file that is not there,
//! would show only once a server is reached, long after the start, or in words that name no remedy.

use super::Protection;
use crate::StoreError;
use election_core::lease::Failure;
use std::fs::File;
use url::Url;

#[cfg(feature = "postgres")]
pub(super) const POSTGRES: [&str; 6] =
    ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
#[cfg(feature = "mysql")]
pub(super) const MYSQL: [&str; 5] =
    ["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"];

/// Refuses a mode that sqlx does not know.
pub(super) fn mode(
    url: &Url,
    known: &[&str],
    is_known: impl Fn(&str) -> bool,
) -> Result<(), StoreError> {
    let is_wrong =
        |key: &str, mode: &str| ["sslmode", "ssl-mode"].contains(&key) && !is_known(mode);
    let Some((key, mode)) = url.query_pairs().find(|(key, mode)| is_wrong(key, mode)) else {
        return Ok(());
    };
    let known = known.join(", ");
    let context = format!("the URL says {key}={mode}, which is unknown; use one of {known}");
    Err(StoreError::new(Failure::Fatal, context))
}

/// Refuses a file for TLS that this process cannot open. In clear text nobody would open it.
pub(super) fn files(url: &Url, protection: Protection) -> Result<(), StoreError> {
    const NAMES: [&str; 8] = [
        "sslrootcert",
        "ssl-root-cert",
        "sslca",
        "ssl-ca",
        "sslcert",
        "ssl-cert",
        "sslkey",
        "ssl-key",
    ];
    if protection == Protection::ClearText {
        return Ok(());
    }
    // sqlx also takes the text of a certificate.
    let is_file =
        |key: &str, value: &str| NAMES.contains(&key) && !value.trim().starts_with("-----BEGIN");
    for (key, path) in url.query_pairs().filter(|(key, value)| is_file(key, value)) {
        File::open(&*path).map_err(|error| {
            let context = format!(
                "the URL names {path:?} ({key}), which cannot be read; correct the path, or make \
                 the file readable for this user"
            );
            StoreError::new(Failure::Fatal, context).with_source(error)
        })?;
    }
    Ok(())
}
