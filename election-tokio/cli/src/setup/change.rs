//! Another list of members: the file is edited, and running members take it up. The list in force is
//! what they have agreed on, so nothing here can harm them; it only saves an operator from waiting in
//! vain.

use super::{
    folder::{Folder, Readers},
    init::{CLUSTER, checked, make_key},
};
use crate::{
    arguments::{AddOptions, MemberAt, MoveOptions, RemoveOptions},
    cluster::{Client, File},
    exit::{Exit, Failed, print},
};
use std::{
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
    let warnings = checked(&file.election, &all(&file, Some((id, address)), None))?;
    completed(&file).await?;
    let text = file.with_member(id, address, *witness);
    let has_keys = file.certificates()?.is_some();
    if has_keys {
        make_key(&file, id, key, false)?;
        let out = key.out.clone().unwrap_or_else(|| PathBuf::from(id));
        Folder::made(out)?.write(CLUSTER, &text, Readers::Anybody)?;
    }
    replace(cluster, &text)?;
    let how = match has_keys {
        true => "its directory to its machine",
        false => "it to the new member",
    };
    print(format!(
        "{id} is listed, under generation {}. Copy {how}, start it there, and copy {} to every other \
         member: within seconds the leader proposes {id}. It is a member once `election status` names it",
        file.generation + 1,
        cluster.display()
    ))?;
    warnings.iter().try_for_each(|warning| print(format!("warning: {warning}")))?;
    Ok(Exit::OK)
}

/// Removes a member.
pub(crate) async fn remove(options: &RemoveOptions) -> Result<Exit, Failed> {
    let RemoveOptions { member: id, cluster } = options;
    let file = File::read(cluster)?;
    let text = file.without_member(id).ok_or_else(|| file.unknown(id))?;
    let warnings = checked(&file.election, &all(&file, None, Some(id)))?;
    completed(&file).await?;
    replace(cluster, &text)?;
    print(format!(
        "{id} is no longer listed, from generation {} on. Copy {} to every member, {id} included: within \
         seconds the leader proposes the new list. Stop {id} once `election status` says that a majority \
         has recorded it; if {id} leads, another member is elected then",
        file.generation + 1,
        cluster.display()
    ))?;
    warnings.iter().try_for_each(|warning| print(format!("warning: {warning}")))?;
    Ok(Exit::OK)
}

/// Gives a member another address.
pub(crate) fn relocate(options: &MoveOptions) -> Result<Exit, Failed> {
    let MoveOptions { member: MemberAt { id, address }, cluster } = options;
    let file = File::read(cluster)?;
    let text = file.with_address(id, address).ok_or_else(|| file.unknown(id))?;
    checked(&file.election, &all(&file, Some((id, address)), Some(id)))?;
    replace(cluster, &text)?;
    print(format!(
        "{id} is listed at {address}. Copy {} to every member; within seconds they look for {id} there, \
         too. Then restart {id} at the new address",
        cluster.display()
    ))?;
    Ok(Exit::OK)
}

/// The members of the file, with one more and one less.
fn all(file: &File, more: Option<(&String, &String)>, less: Option<&String>) -> Vec<MemberAt> {
    let known = file.members().filter(|(id, _)| less.is_none_or(|less| less != id));
    let more = more.map(|(id, address)| (&**id, &**address));
    let at = |(id, address): (&str, &str)| MemberAt { id: id.into(), address: address.into() };
    known.chain(more).map(at).collect()
}

/// Asks a member that runs here whether the file's list is in force and can change.
async fn completed(file: &File) -> Result<(), Failed> {
    let Some(report) = Client::somebody(file).await else {
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
