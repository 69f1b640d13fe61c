//! The certificates that a cluster's file names, and those that it accepts.

use super::{
    file::{Contents, File},
    section::Paths,
};
use crate::{document::Document, exit::Failed};
use election_tokio::{
    ClusterBuilder,
    tls::{Credentials, CredentialsError, Fingerprint, Tls},
};
use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};
use toml::Spanned;

/// The election, the ids of the members in their order, and whether they have certificates.
pub(super) type Identity = (String, Vec<String>, bool);

/// Tells what is hardly meant and was not told at the start or since.
fn warn_anew(told: &Mutex<Vec<String>>, warnings: Vec<String>) {
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    for warning in warnings.iter().filter(|warning| !told.contains(warning)) {
        tracing::warn!(event = "warning", "{warning}");
    }
    *told = warnings;
}

impl File {
    /// The ids of the members, in the file's order, with their addresses.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|member| (&*member.id, &*member.address))
    }

    /// The files of this member's certificate, if members have any.
    ///
    /// # Errors
    /// If one of them is not named.
    pub(crate) fn certificates(&self) -> Result<Option<Paths>, Failed> {
        let Some(tls) = &self.contents.tls else { return Ok(None) };
        tls.get_ref().paths(&self.path).map(Some).map_err(|(key, example)| {
            let why = format!("`{key}` is missing in [tls]; write {key} = {example}");
            self.document.wrong(tls.span().start, &why)
        })
    }

    /// Which certificates count of the members that have a list.
    ///
    /// # Errors
    /// If something in a list is no fingerprint.
    pub(crate) fn accepted(&self) -> Result<Vec<(String, Vec<Fingerprint>)>, Failed> {
        let mut all = Vec::new();
        for (entry, (id, _)) in self.contents.member.iter().zip(self.members()) {
            let Some(list) = &entry.get_ref().accepted else { continue };
            let parsed = list.iter().map(|text: &Spanned<String>| {
                let wrong = |why| self.document.wrong(text.span().start, &format!("{why}"));
                text.get_ref().parse().map_err(wrong)
            });
            all.push((id.to_owned(), parsed.collect::<Result<_, Failed>>()?));
        }
        Ok(all)
    }

    /// Whether there is a list of what is accepted of this member.
    pub(crate) fn lists(&self, member: &str) -> bool {
        let entries = self.contents.member.iter().zip(self.members());
        let mut own = entries.filter(|(_, (id, _))| *id == member);
        own.any(|(entry, _)| entry.get_ref().accepted.is_some())
    }

    /// Gives a member its certificates, if the file names them.
    ///
    /// # Errors
    /// If the file names some of them only, or a list is wrong.
    pub(super) fn prove(&self, builder: ClusterBuilder) -> Result<ClusterBuilder, Failed> {
        Ok(match self.proof()? {
            Some(tls) => builder.tls(tls),
            None => builder,
        })
    }

    /// Where this member's credentials come from. What the file accepts is read again with them.
    fn proof(&self) -> Result<Option<Tls>, Failed> {
        let accepted = self.accepted()?;
        let Some(paths) = self.certificates()? else {
            let listed =
                self.contents.member.iter().find(|entry| entry.get_ref().accepted.is_some());
            return match listed {
                None => Ok(None),
                Some(entry) => Err(self.document.wrong(
                    entry.span().start,
                    "`accepted` needs certificates; add a section [tls], or remove it",
                )),
            };
        };
        drop(accepted); // they can be read
        drop(paths); // they are named
        let (file, known) = (self.path.clone(), self.identity());
        let told = Mutex::new(self.warnings());
        Ok(Some(Tls::source(move || {
            let unfit = |failed: Failed| CredentialsError::Unfit(failed.to_string());
            let again = Self::quietly(&file).map_err(unfit)?;
            let paths = again.certificates().map_err(unfit)?;
            // A list that is cut short or misspelt must not let anybody in.
            let Some(paths) = paths.filter(|_| again.describes(&known)) else {
                return Err(unfit(again.of_others()));
            };
            let read = Credentials::from_files(&paths.authority, &paths.certificate, &paths.key)?;
            let accepted = again.accepted().map_err(unfit)?;
            warn_anew(&told, again.warnings());
            Ok(accepted.into_iter().fold(read, |read, (id, list)| read.accept(id, list)))
        })))
    }

    /// Which cluster it is about.
    pub(super) fn identity(&self) -> Identity {
        let mut ids: Vec<_> = self.members().map(|(id, _)| id.to_owned()).collect();
        ids.sort();
        (self.election.clone(), ids, self.contents.tls.is_some())
    }

    /// Whether it is still about this cluster.
    pub(super) fn describes(&self, known: &Identity) -> bool {
        self.identity() == *known
    }

    /// It was written for another cluster than the running one.
    pub(super) fn of_others(&self) -> Failed {
        Failed::new(format!(
            "{}: it no longer describes the running cluster: another election, other members, or no \
             section [tls]; correct it, or restart with it if that is intended",
            self.what()
        ))
    }

    /// Reads the file again while it is in use.
    pub(super) fn quietly(path: &Path) -> Result<Self, Failed> {
        let (document, contents) = Document::read::<Contents>("--cluster", path)?;
        Self::of(path, document, contents)
    }
}
