//! Another list of members: the file is edited, and running members take it up. The list in force is
//! what they have agreed on, so nothing here can harm them; it only saves an operator from waiting in
//! vain.

use super::{
    folder::{Folder, Readers},
    init::{CLUSTER, counts, fit, make_key},
};
use crate::{
    arguments::{AddOptions, MemberAt, MoveOptions, RemoveOptions},
    cluster::{Client, File},
    exit::{Exit, Failed, print},
};
use election_driver::file::{ClusterFile, ClusterFileError};
use election_tokio::{Tokio, core::quorum::Warning};
use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
};

/// Adds a member.
pub(crate) async fn add(options: &AddOptions) -> Result<Exit, Failed> {
    let AddOptions { member: MemberAt { id, address }, witness, cluster, key } = options;
    let file = File::read(cluster)?;
    if file.members().any(|(known, _)| known == id) {
        let why = "is a member already; choose another id, or use `election cluster move`";
        return Err(Failed::new(format!("{}: {id} {why}", file.what())));
    }
    fit(id, address)?;
    let edited = file.with_member(id, address, *witness);
    let (edited, warnings) = checked(edited)?;
    completed(&file).await?;
    let has_keys = file.certificates()?.is_some();
    let out = key.out.clone().unwrap_or_else(|| PathBuf::from(id));
    if has_keys {
        make_key(&file, id, key, false)?;
        Folder::made(out.clone())?.write(CLUSTER, edited.text(), Readers::Anybody)?;
    }
    replace(cluster, edited.text())?;
    let what = if has_keys { out.display() } else { cluster.display() };
    print(format!(
        "{id} is listed, under generation {}. Copy {what} to its machine and start it there; copy {} to \
         every other member. Within seconds the leader proposes {id}. It is a member once `election \
         status` names it",
        edited.generation,
        cluster.display()
    ))?;
    warnings.iter().try_for_each(|warning| print(format!("warning: {warning}")))?;
    Ok(Exit::OK)
}

/// Removes a member.
pub(crate) async fn remove(options: &RemoveOptions) -> Result<Exit, Failed> {
    let RemoveOptions { member: id, cluster } = options;
    let file = File::read(cluster)?;
    let edited = file.without_member(id).ok_or_else(|| file.unknown(id))?;
    if file.members().count() == 1 {
        let why = "is the only member, and a cluster needs one; add another first";
        return Err(Failed::new(format!("{}: {id} {why}", file.what())));
    }
    let (edited, warnings) = checked(edited)?;
    completed(&file).await?;
    replace(cluster, edited.text())?;
    print(format!(
        "{id} is no longer listed, from generation {} on. Copy {} to every member, {id} included: within \
         seconds the leader proposes the new list. Stop {id} once `election status` says that a majority \
         has recorded it; if {id} leads, another member is elected then",
        edited.generation,
        cluster.display()
    ))?;
    warnings.iter().try_for_each(|warning| print(format!("warning: {warning}")))?;
    Ok(Exit::OK)
}

/// Gives a member another address.
pub(crate) fn relocate(options: &MoveOptions) -> Result<Exit, Failed> {
    let MoveOptions { member: MemberAt { id, address }, cluster } = options;
    let file = File::read(cluster)?;
    let edited = file.with_address(id, address).ok_or_else(|| file.unknown(id))?;
    fit(id, address)?;
    let (edited, _) = checked(edited)?;
    replace(cluster, edited.text())?;
    print(format!(
        "{id} is listed at {address}. Copy {} to every member; within seconds they look for {id} there, \
         too. Then restart {id} at the new address",
        cluster.display()
    ))?;
    Ok(Exit::OK)
}

/// What an edit has made of a file, if members could start with it; and what its number of members is no
/// good for.
fn checked(
    edited: Result<ClusterFile, ClusterFileError>,
) -> Result<(ClusterFile, Vec<Warning>), Failed> {
    let unwritten = |why: &dyn Display| Failed::new(format!("{why}; nothing was written"));
    let edited = edited.map_err(|error| unwritten(&error))?;
    let first = edited.members().next().map(|(id, _)| id.to_owned()).unwrap_or_default();
    let builder = edited.builder(Tokio, first).map_err(|error| unwritten(&error))?;
    let built = builder.without_data().ballot("ballot").build();
    let warnings = counts(&built.map_err(|error| unwritten(&error))?);
    Ok((edited, warnings))
}

/// Asks a member that runs here whether the file's list is in force and can change.
async fn completed(file: &File) -> Result<(), Failed> {
    let Some(report) = Client::somebody(file).await? else {
        return print(
            "note: no member of the cluster runs here, so nobody was asked whether the last change is \
             complete; `election status` tells on a member's machine",
        );
    };
    let (what, members) = (file.what(), report.members);
    let why = if file.generation == members.generation + 1 {
        format!(
            "its last change is not in force yet: copy it to every member, and wait until `election \
             status` names generation {}",
            file.generation
        )
    } else if members.generation != file.generation {
        format!(
            "it is of generation {}, but {} has generation {}: take over the file that the members \
             have, or correct its `generation`",
            file.generation, report.node, members.generation
        )
    } else if let Some(proposed) = members.proposed {
        format!(
            "a change to {} is under way: wait until `election status` says that a majority has \
             recorded it",
            proposed.join(", ")
        )
    } else if !members.settled {
        "the last change is not recorded by a majority yet: wait until `election status` says so"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(Failed::new(format!("{what}: {why}; nothing was written")))
}

/// Replaces the file, wherever its path leads.
fn replace(path: &Path, text: &str) -> Result<(), Failed> {
    let path =
        fs::canonicalize(path).map_err(|error| Failed::of(&path.display().to_string(), &error))?;
    let (folder, name) = (path.parent(), path.file_name().and_then(|name| name.to_str()));
    let (Some(folder), Some(name)) = (folder, name) else {
        return Err(Failed::new(format!(
            "{}: this is no file; name the cluster file",
            path.display()
        )));
    };
    Folder::made(folder.to_owned())?.write(name, text, Readers::Anybody)
}
