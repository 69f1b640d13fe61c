//! The section `[tls]` of a cluster's file.

use serde::{Deserialize, Deserializer, de::Error as _};
use std::path::{Path, PathBuf};

/// What it says. The paths are relative to the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section [tls] with authority, certificate and key")]
pub(super) struct Certificates {
    #[serde(default, deserialize_with = "path")]
    authority: Option<PathBuf>,
    #[serde(default, deserialize_with = "path")]
    certificate: Option<PathBuf>,
    #[serde(default, deserialize_with = "path")]
    key: Option<PathBuf>,
}

fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    const WHY: &str = "write one path in double quotes; one file can contain several certificates";
    PathBuf::deserialize(deserializer).map(Some).map_err(|_| D::Error::custom(WHY))
}

/// The files of a member's certificate.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The certificates of the cluster's authority.
    pub authority: PathBuf,
    /// The member's own.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Certificates {
    pub(super) fn paths(&self, beside: &Path) -> Result<Paths, (&'static str, &'static str)> {
        let beside = beside.parent().unwrap_or(Path::new(""));
        let path = |path: &Option<PathBuf>, key, example| {
            path.as_ref().map(|path| beside.join(path)).ok_or((key, example))
        };
        Ok(Paths {
            authority: path(&self.authority, "authority", "\"authority.pem\"")?,
            certificate: path(&self.certificate, "certificate", "\"certificate.pem\"")?,
            key: path(&self.key, "key", "\"key.pem\"")?,
        })
    }
}
