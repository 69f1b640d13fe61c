//! What shells and `man` know of this command. Both follow from its own help.

use crate::{
    arguments::{Arguments, Completions, Man},
    exit::{Exit, Failed, print, write_out},
};
use clap::CommandFactory as _;
use clap_mangen::Man as Page;
use std::{fs, io, path::Path};

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
    let failed = |error| {
        let why = "the pages cannot be written there; name a writable directory";
        Failed::of(&format!("{shown_as}: {why}"), &error)
    };
    if directory.exists() && !directory.is_dir() {
        return Err(Failed::new(format!(
            "{shown_as} is a file, but there are many pages: name a directory"
        )));
    }
    fs::create_dir_all(directory).map_err(failed)?;
    let mut command = whole().disable_help_subcommand(true);
    command.build();
    pages(&command, directory).map_err(failed)?;
    print(format_args!("wrote the pages to {shown_as}; read one with man {shown_as}/election.1"))?;
    Ok(Exit::OK)
}

/// Writes the pages of a command and of its subcommands.
fn pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    command.get_subcommands().try_for_each(|command| pages(command, directory))?;
    let page = Page::new(command.clone());
    // At the foot of each page; only the first command has a version of its own.
    let page = page.source(concat!("election ", env!("CARGO_PKG_VERSION")));
    let page = page.manual("Leader election");
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = headed(&String::from_utf8_lossy(&text));
    fs::write(directory.join(page.get_filename()), text)
}

/// A page with the headings that `man` knows, for what stands behind the options.
fn headed(page: &str) -> String {
    let Some((before, behind)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let (behind, examples) = behind.split_once("Examples:\n").unwrap_or((behind, ""));
    let (codes, notes) = match behind.strip_prefix("Exit codes: ") {
        Some(_) => behind.split_once("\n\n").unwrap_or((behind, "")),
        None => ("", behind),
    };
    let section = |heading: &str, text: &str| match text.trim().is_empty() {
        true => String::new(),
        false => format!(".SH {heading}\n{}\n", text.trim_end()),
    };
    let examples = match examples.trim().is_empty() {
        true => String::new(),
        false => format!(".nf\n{}\n.fi", examples.trim_end()),
    };
    [
        before.to_owned(),
        section("\"EXIT STATUS\"", codes),
        section("NOTES", notes),
        section("EXAMPLES", &examples),
    ]
    .concat()
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
