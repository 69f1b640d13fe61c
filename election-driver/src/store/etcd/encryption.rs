//! Encrypted connections: who vouches for the members, and what this process proves itself with.

use std::path::PathBuf;

/// Files in PEM. They are read for each connection, so that they can be replaced at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "tls"), allow(dead_code))]
pub(super) struct Encryption {
    pub(super) authority: PathBuf,
    /// A certificate and its key.
    pub(super) own: Option<(PathBuf, PathBuf)>,
}

#[cfg(feature = "tls")]
mod rustls {
    use super::Encryption;
    use crate::quorum::{
        blocking::blocking,
        tls::{files, pem, provider},
        transport::Transport,
    };
    use futures_lite::io::{AsyncRead, AsyncWrite};
    use futures_rustls::{
        TlsConnector, TlsStream,
        pki_types::ServerName,
        rustls::{ClientConfig, RootCertStore},
    };
    use std::{path::Path, sync::Arc};

    impl Encryption {
        /// What connections are made with.
        ///
        /// # Errors
        /// If a file cannot be used.
        pub(in super::super) async fn connector(&self) -> Result<TlsConnector, String> {
            let files = self.clone();
            let read = blocking("election-etcd-tls", move || files.read()).await;
            let config = read.map_err(|error| error.to_string())??;
            Ok(TlsConnector::from(Arc::new(config)))
        }

        fn read(&self) -> Result<ClientConfig, String> {
            let unfit = |file: &Path, why: String| format!("{}: {why}", file.display());
            let text = |file: &Path| files::read(file).map_err(|why| unfit(file, why));
            let chain =
                |file: &Path| pem::certificates(&text(file)?).map_err(|why| unfit(file, why));
            let mut roots = RootCertStore::empty();
            for certificate in chain(&self.authority)? {
                let added = roots.add(certificate);
                added.map_err(|error| unfit(&self.authority, format!("{error}; replace it")))?;
            }
            let config = ClientConfig::builder_with_provider(provider())
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?
                .with_root_certificates(roots);
            let Some((certificate, key)) = &self.own else {
                return Ok(config.with_no_client_auth());
            };
            let secret = pem::key(&text(key)?).map_err(|why| unfit(key, why))?;
            let config = config.with_client_auth_cert(chain(certificate)?, secret);
            config.map_err(|error| unfit(key, format!("{error}; use the key of the certificate")))
        }
    }

    /// Encrypts a connection to a member, which has to prove that it is this host.
    pub(in super::super) async fn encrypted<S: AsyncRead + AsyncWrite + Unpin>(
        connector: &TlsConnector,
        host: &str,
        stream: S,
    ) -> Result<Transport<S>, String> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| "no certificate can name this host; use its name or number")?;
        let shaken = connector.connect(name, stream).await;
        let stream = shaken.map_err(|error| {
            let remedy = "correct the scheme or ca=FILE in the URL, or the member's certificate";
            format!("no encrypted connection: {error}; {remedy}")
        })?;
        Ok(Transport::Encrypted(Box::new(TlsStream::Client(stream))))
    }
}

#[cfg(feature = "tls")]
pub(super) use rustls::encrypted;
