//! What shells and `man` know of this command. Both follow from its own help.

use crate::{
    arguments::{Arguments, Completions, Man},
    exit::{Exit, Failed, print, write_out},
};
use clap::CommandFactory as _;
use std::fs;

/// `election completions`.
pub(crate) fn completions(completions: &Completions) -> Result<Exit, Failed> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut whole(), "election", &mut script);
    write_out(&script).map(|()| Exit::OK)
}

/// `election man`.
pub(crate) fn man(man: &Man) -> Result<Exit, Failed> {
    let directory = &man.directory;
    let shown_as = directory.display();
    let failed = |error| Failed::of(&shown_as.to_string(), &error);
    fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(whole(), directory).map_err(failed)?;
    print(format_args!("the pages are in {shown_as}; read one with man {shown_as}/election.1"))?;
    Ok(Exit::OK)
}

fn whole() -> clap::Command {
    shown(&Arguments::command())
}

/// The command without what it says only to itself, of which the generators would tell.
fn shown(command: &clap::Command) -> clap::Command {
    let arguments = command.get_arguments().filter(|each| !each.is_hide_set()).cloned();
    let subcommands = command.get_subcommands().filter(|each| !each.is_hide_set());
    let copy = clap::Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .subcommand_required(command.is_subcommand_required_set())
        .args(arguments)
        .subcommands(subcommands.map(shown));
    let copy = match command.get_after_help() {
        Some(help) => copy.after_help(help.clone()),
        None => copy,
    };
    match command.get_version() {
        Some(version) => copy.version(version.to_owned()),
        None => copy,
    }
}
