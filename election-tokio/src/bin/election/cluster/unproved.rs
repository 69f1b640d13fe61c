//! What stands for certificates in a build that has none.

use super::file::File;
use crate::exit::Failed;
use election_tokio::ClusterBuilder;
use serde::de::IgnoredAny;

/// The section `[tls]`, whatever is in it.
pub(super) type Certificates = IgnoredAny;

impl File {
    /// Refuses to run without the certificates that the file names.
    ///
    /// # Errors
    /// If it names any.
    pub(super) fn prove(&self, builder: ClusterBuilder) -> Result<ClusterBuilder, Failed> {
        let Some(tls) = &self.contents.tls else { return Ok(builder) };
        let why =
            "this build of the command cannot use certificates; build it with the feature `cli`";
        Err(self.document.wrong(tls.span().start, why))
    }

    /// Nothing that a build without certificates could look at.
    pub(super) fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
