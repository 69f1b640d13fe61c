//! Where each option was said. Of options that contradict each other the nearest place counts: the
//! command line, then the environment, then the file.

use clap::{ArgMatches, builder::Resettable, parser::ValueSource};
use std::ffi::OsString;

/// A place where options are said, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    CommandLine,
    Environment,
    File,
}

/// What a file says: the values of options, by their ids.
#[derive(Default)]
pub(super) struct Filed {
    /// The flag that named the file, and its path.
    pub(super) what: String,
    pub(super) values: Vec<(String, OsString)>,
}

impl Filed {
    pub(super) fn value(&self, id: &str) -> Option<&OsString> {
        self.values.iter().find(|(each, _)| each == id).map(|(_, value)| value)
    }
}

/// An option that was said.
#[derive(Clone, Debug)]
struct Said {
    id: String,
    place: Place,
    /// What it is called there.
    name: String,
}

/// The options that were said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(Vec<Said>);

/// Options of which one at most counts, and what all of them say.
const RIVALS: [(&[&str], &str); 2] = [
    (&["cluster", "store", "store_file"], "say where the election is held; keep one"),
    (&["once", "wait"], "say how long to wait; keep one: `try` does not wait"),
];

impl Given {
    /// What was said to this command.
    pub(super) fn of(command: &clap::Command, matches: &ArgMatches, filed: &Filed) -> Self {
        let said = command.get_arguments().filter_map(|option| {
            let (id, long) = (option.get_id().as_str(), option.get_long()?);
            let (place, name) = match matches.value_source(id) {
                Some(ValueSource::CommandLine) => (Place::CommandLine, format!("--{long}")),
                Some(ValueSource::EnvVariable) => {
                    (Place::Environment, option.get_env()?.to_string_lossy().into_owned())
                }
                _ if filed.value(id).is_some() => {
                    (Place::File, format!("`{long}` in {}", filed.what))
                }
                _ => return None,
            };
            Some(Said { id: id.to_owned(), place, name })
        });
        Self(said.collect())
    }

    /// Settles which rivals count, and tells the parser what counts and is not for it to find.
    ///
    /// # Errors
    /// If two rivals were said in the same place.
    pub(super) fn settle(
        &mut self,
        filed: &Filed,
        mut command: clap::Command,
    ) -> Result<clap::Command, String> {
        for (rivals, say) in RIVALS {
            let said = |rival: &&str| self.0.iter().find(|said| said.id == **rival);
            let mut said: Vec<_> = rivals.iter().filter_map(said).cloned().collect();
            said.sort_by_key(|said| said.place);
            if let [first, second, ..] = &*said
                && first.place == second.place
            {
                return Err(format!("both {} and {} {say}", first.name, second.name));
            }
            for beaten in said.iter().skip(1) {
                self.0.retain(|said| said.id != beaten.id);
                command = command.mut_arg(&beaten.id, |option| option.env(Resettable::Reset));
            }
        }
        for said in self.0.iter().filter(|said| said.place == Place::File) {
            if let Some(value) = filed.value(&said.id) {
                command = command.mut_arg(&said.id, |option| option.default_value(value));
            }
        }
        Ok(command)
    }

    /// Where an option was said.
    pub(crate) fn place(&self, flag: &str) -> Option<Place> {
        Some(self.said(flag)?.place)
    }

    /// Whether it stood on the command line.
    pub(crate) fn wrote(&self, flag: &str) -> bool {
        self.place(flag) == Some(Place::CommandLine)
    }

    /// What it is called where it was said.
    pub(crate) fn name(&self, flag: &str) -> String {
        self.said(flag).map_or_else(|| format!("--{flag}"), |said| said.name.clone())
    }

    fn said(&self, flag: &str) -> Option<&Said> {
        let id = flag.replace('-', "_");
        self.0.iter().find(|said| said.id == id)
    }
}
