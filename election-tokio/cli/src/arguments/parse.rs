//! From words, variables and a file to arguments.

use super::{
    Arguments, filed,
    given::{Filed, Given},
};
use crate::exit::Failed;
use clap::{
    CommandFactory as _, FromArgMatches as _,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::{
    env,
    ffi::{OsStr, OsString},
};

impl Arguments {
    /// Parses the arguments of this process, but for those in a file.
    ///
    /// # Errors
    /// If they are invalid, or a variable that would be read is empty.
    pub(crate) fn told() -> Result<Self, clap::Error> {
        let told = Self::parsed(&Filed::default());
        if told.as_ref().is_err_and(|error| !error.use_stderr()) {
            return told; // the user has asked for help
        }
        match empty_variable() {
            Some(variable) => {
                let variable = variable.to_string_lossy();
                let why = format!("{variable} is set, but empty; give it a value or unset it");
                Err(Self::command().error(ErrorKind::InvalidValue, why))
            }
            None => told.map_err(|error| {
                let known = elsewhere(&error).or_else(|| naming_the_variable(&error));
                known.unwrap_or_else(|| suggesting(error))
            }),
        }
    }

    /// Reads the file that they name, if they do. What it says counts from now on, unless it was said
    /// elsewhere, too.
    ///
    /// # Errors
    /// If it cannot be read, or says something else.
    pub(crate) fn read_file(&mut self) -> Result<(), Failed> {
        let config = self.command.form().and_then(|form| form.config.map(ToOwned::to_owned));
        let Some(path) = config else { return Ok(()) };
        *self = Self::parsed(&filed::read(&path)?).map_err(|error| {
            let said = error.to_string();
            Failed::new(said.trim_end().strip_prefix("error: ").unwrap_or(&said))
        })?;
        Ok(())
    }

    fn parsed(filed: &Filed) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let mut matches = command.clone().try_get_matches()?;
        let mut given = Given::default();
        if let Some((name, told)) = matches.subcommand()
            && let Some(asked) = command.find_subcommand_mut(name)
        {
            given = Given::of(asked, told, filed);
            let contradiction = |why| clap::Error::raw(ErrorKind::ArgumentConflict, why);
            *asked = given.settle(filed, asked.clone()).map_err(contradiction)?;
            matches = command.try_get_matches()?;
        }
        let mut arguments = Self::from_arg_matches(&matches)?;
        if let Some(place) = arguments.command.form().and_then(|form| form.given) {
            *place = given;
        }
        Ok(arguments)
    }
}

/// The same error with the command that was meant, if two letters of its name changed places or one
/// is wrong: by the parser's measure, three letters are too few to be alike then.
fn suggesting(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        let command = Arguments::command();
        let mut names = command.get_subcommands().filter(|it| !it.is_hide_set());
        let near = names.find(|it| strsim::damerau_levenshtein(asked, it.get_name()) == 1);
        if let Some(near) = near.map(|it| it.get_name().to_owned()) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
        }
    }
    error
}

/// The error for what only another command can do. The parser knows no more than that it is unknown.
fn elsewhere(error: &clap::Error) -> Option<clap::Error> {
    let command = env::args_os().nth(1)?.into_string().ok()?;
    if let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidSubcommand) {
        return (command == "cluster").then(|| of_members(asked)).flatten();
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let why = match (&*command, &**unknown) {
        _ if error.kind() != ErrorKind::UnknownArgument => return None,
        ("hold" | "serve", word) if !word.starts_with('-') => format!(
            "unexpected argument {word:?}: `election {command}` runs no job; to run one, write: \
             election run [OPTIONS] -- CMD"
        ),
        ("pause" | "resume", "--store" | "--store-file" | "--name") => {
            "only a cluster's failover can be paused: use --cluster FILE; with a database, ask the \
             leader to resign (election resign)"
                .to_owned()
        }
        _ => return None,
    };
    Some(clap::Error::raw(ErrorKind::UnknownArgument, why))
}

/// The error for a subcommand that is none of `cluster`, if members are asked by it.
fn of_members(asked: &str) -> Option<clap::Error> {
    let command = Arguments::command();
    command.find_subcommand(asked).filter(|found| {
        !found.is_hide_set() && found.get_arguments().any(|each| each.get_id() == "cluster")
    })?;
    let why = format!(
        "`election cluster` only writes and checks files; for a running cluster, write: election \
         {asked} --cluster FILE"
    );
    Some(clap::Error::raw(ErrorKind::InvalidSubcommand, why))
}

/// The same error with the name of the variable that holds the wrong value. The parser knows only
/// the flag, which the user has not written.
fn naming_the_variable(error: &clap::Error) -> Option<clap::Error> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    let mut command = Arguments::command();
    command.build();
    let subcommand = command.find_subcommand(env::args_os().nth(1)?)?;
    let argument = subcommand.get_arguments().find(|argument| argument.to_string() == *wrong)?;
    let variable = argument.get_env()?.to_string_lossy();
    let flag = format!("--{}", argument.get_long()?);
    let is_flag = |word: OsString| {
        let word = word.to_string_lossy();
        word == flag || word.starts_with(&format!("{flag}="))
    };
    if own_words().any(is_flag) {
        return None;
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let named = text.replace(&format!("'{wrong}'"), &format!("{variable} ({flag})"));
    Some(clap::Error::raw(error.kind(), named))
}

/// The arguments for this program, without those for the job.
pub(crate) fn own_words() -> impl Iterator<Item = OsString> {
    env::args_os().skip(1).take_while(|word| word != "--")
}

/// A variable that the current subcommand would read and that is set to an empty value.
fn empty_variable() -> Option<OsString> {
    let command = Arguments::command();
    let subcommand = command.find_subcommand(env::args_os().nth(1)?)?;
    let mut variables = subcommand.get_arguments().filter_map(clap::Arg::get_env);
    let empty = |variable: &&OsStr| env::var_os(variable).is_some_and(|it| it.is_empty());
    variables.find(empty).map(OsStr::to_owned)
}
