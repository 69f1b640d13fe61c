//! The certificates that a cluster's file names, and those that it accepts.

use super::{contents::ClusterFile, error::ClusterFileError};
use crate::quorum::tls::{Credentials, CredentialsError, Fingerprint, Tls};
use toml::Spanned;

impl ClusterFile {
    /// Which certificates count of the members that have a list.
    ///
    /// # Errors
    /// If something in a list is no fingerprint.
    pub fn accepted(&self) -> Result<Vec<(String, Vec<Fingerprint>)>, ClusterFileError> {
        let mut all = Vec::new();
        for (entry, (id, _)) in self.contents.member.iter().zip(self.members()) {
            let Some(list) = &entry.get_ref().accepted else { continue };
            let parsed = list.iter().map(|text: &Spanned<String>| {
                let wrong = |why| self.document.wrong(text.span().start, &format!("{why}"));
                text.get_ref().parse().map_err(wrong)
            });
            all.push((id.to_owned(), parsed.collect::<Result<_, _>>()?));
        }
        Ok(all)
    }

    /// Where this member's credentials come from. What the file accepts is read again with them.
    ///
    /// # Errors
    /// If the file names some of them only, or a list is wrong.
    pub(super) fn proof(&self) -> Result<Tls, ClusterFileError> {
        self.accepted()?;
        self.certificates()?;
        let file = self.clone();
        Ok(Tls::source(move || {
            let unfit = |error: ClusterFileError| CredentialsError::ClusterFile(error.to_string());
            // A list that is cut short or misspelt must not let anybody in.
            let again = file.again().map_err(unfit)?;
            let paths = again.certificates().map_err(unfit)?;
            let paths = paths.ok_or_else(|| unfit(again.of_others()))?;
            let read = Credentials::from_files(&paths.authority, &paths.certificate, &paths.key)?;
            let accepted = again.accepted().map_err(unfit)?;
            Ok(accepted.into_iter().fold(read, |read, (id, list)| read.accept(id, list)))
        }))
    }
}
