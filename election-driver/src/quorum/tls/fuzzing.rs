//! What a stranger's certificate is read by, by itself: for the fuzz target of this repository.

use super::judge;
use futures_rustls::pki_types::CertificateDer;

/// The id of the member of this cluster whose certificate this is, whoever signed it, or why it is nobody's.
///
/// # Errors
/// If it cannot be read, or names no member or several.
pub fn whose(cluster: &str, certificate: &[u8]) -> Result<String, String> {
    let found = judge::whose(cluster, &CertificateDer::from(certificate));
    found.map(|id| id.to_string()).map_err(|why| why.to_string())
}
