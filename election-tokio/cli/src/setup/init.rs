//! A new cluster, and new keys for an old one.

use super::{
    authority::{Authority, Pair, pem},
    folder::{Folder, Readers},
};
use crate::{
    arguments::{InitOptions, KeyOptions, MemberAt, NewKey},
    cluster::File,
    exit::{Failed, print},
};
use election_driver::file::{is_unspecified, quoted};
use election_tokio::{
    Cluster,
    core::{Namespace, quorum::Warning},
    tls::{Credentials, Expiry, Tls},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The name of the file that lists the members.
pub(super) const CLUSTER: &str = "cluster.toml";
const AUTHORITY: &str = "authority.pem";
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";
/// The folder of the authority, and its key in it.
const KEPT: &str = "authority";
/// Where a folder may be on its member's machine.
const ELSEWHERE: &str = "/etc/election";
const AUTHORITY_KEY: &str = "authority.key";

/// Writes a folder for each member.
pub(super) fn init(options: &InitOptions) -> Result<(), Failed> {
    let InitOptions { members, election, out, days, insecure } = options;
    let warnings = checked(election, members)?;
    let folders: Vec<_> = members.iter().map(|member| out.join(&member.id)).collect();
    let kept = out.join(KEPT);
    for folder in folders.iter().chain((!insecure).then_some(&kept)) {
        if folder.exists() {
            return Err(Failed::new(format!(
                "{} already exists, and nothing is overwritten: remove it, or write elsewhere with \
                 --out; for a new key, use `election cluster add-key`",
                folder.display()
            )));
        }
    }
    let text = text(election, members, *insecure);
    // Before anything is written: what cannot be made leaves nothing behind.
    let signed = if *insecure { None } else { Some(Signed::new(election, members, *days)?) };
    let is_new = !out.exists();
    if let Err(error) = write(&folders, &kept, &text, signed.as_ref()) {
        // All of these folders are new. The first error tells more than one of tidying up would.
        folders.iter().chain([&kept]).for_each(|folder| drop(fs::remove_dir_all(folder)));
        if is_new {
            let _ = fs::remove_dir(out);
        }
        return Err(error);
    }
    tell(options, &kept)?;
    warnings.iter().try_for_each(|warning| print(format!("warning: {warning}")))
}

fn write(
    folders: &[PathBuf],
    kept: &Path,
    text: &str,
    signed: Option<&Signed>,
) -> Result<(), Failed> {
    if let Some(Signed { authority, .. }) = signed {
        Folder::made(kept.to_owned())?.write_all(&[
            (AUTHORITY_KEY, &authority.key, Readers::Owner),
            (AUTHORITY, &authority.certificate, Readers::Anybody),
        ])?;
    }
    for (place, folder) in folders.iter().enumerate() {
        let folder = Folder::made(folder.clone())?;
        if let Some(Signed { authority, members }) = signed {
            store(&folder, &members[place], Some(&authority.certificate))?;
        }
        folder.write(CLUSTER, text, Readers::Anybody)?;
    }
    Ok(())
}

/// A new authority and what it has signed, in the order of the members.
struct Signed {
    authority: Pair,
    members: Vec<Pair>,
}

impl Signed {
    fn new(election: &str, members: &[MemberAt], days: u32) -> Result<Self, Failed> {
        let (signs, authority) = Authority::new(election, days)?;
        let pairs = members.iter().map(|member| signs.certify(election, &member.id, days));
        Ok(Self { authority, members: pairs.collect::<Result<_, _>>()? })
    }
}

/// The same checks as at a start, before anything is written. Returns what the number of members is no
/// good for.
fn checked(election: &str, members: &[MemberAt]) -> Result<Vec<Warning>, Failed> {
    Namespace::new(election).map_err(|error| Failed::of("--election", &error))?;
    let first = members.first().map_or("", |member| &*member.id);
    let mut builder = Cluster::builder(election).node(first).without_data().insecure();
    for MemberAt { id, address } in members {
        fit(id, address)?;
        builder = builder.member(id, address);
    }
    let built = builder.ballot("ballot").build();
    let built = built.map_err(|error| Failed::new(error.to_string()))?;
    Ok(counts(&built))
}

/// Checks that a member can have this id and this address.
pub(super) fn fit(id: &str, address: &str) -> Result<(), Failed> {
    if id.contains('/') || id.starts_with('.') || id == KEPT {
        return Err(Failed::new(format!(
            "the member id {id:?} cannot be the name of a directory; choose another id"
        )));
    }
    if is_unspecified(address) {
        return Err(Failed::new(format!(
            "{id}={address}: at this address the others find themselves instead of {id}; write the \
             address at which they reach {id}, and say where {id} listens when you start it (--listen)"
        )));
    }
    Ok(())
}

/// What the number of members is no good for.
pub(super) fn counts(cluster: &Cluster) -> Vec<Warning> {
    let counts =
        |it: &Warning| matches!(it, Warning::Alone | Warning::TwoMembers | Warning::EvenMembers(_));
    cluster.warnings().filter(counts).collect()
}

/// Together: none is of use without the others.
fn store(folder: &Folder, pair: &Pair, authority: Option<&str>) -> Result<(), Failed> {
    let own =
        [(KEY, &*pair.key, Readers::Owner), (CERTIFICATE, &*pair.certificate, Readers::Anybody)];
    let authority = authority.map(|text| (AUTHORITY, text, Readers::Anybody));
    folder.write_all(&own.into_iter().chain(authority).collect::<Vec<_>>())
}

/// The file of a cluster.
fn text(election: &str, members: &[MemberAt], insecure: bool) -> String {
    let mut text = format!("# The same on all members.\nelection = {}\n", quoted(election));
    if insecure {
        text += "# Members are not authenticated: let only members reach the ports.\ninsecure = \
                 true\n";
    } else {
        text += &format!(
            "\n# Paths are relative to this file. Only the member itself may read its \
             key.\n[tls]\nauthority = \"{AUTHORITY}\"\ncertificate = \"{CERTIFICATE}\"\nkey = \
             \"{KEY}\"\n"
        );
    }
    for MemberAt { id, address } in members {
        let (id, address) = (quoted(id), quoted(address));
        text += &format!("\n[[member]]\nid = {id}\naddress = {address}\n");
    }
    text
}

fn tell(options: &InitOptions, kept: &Path) -> Result<(), Failed> {
    let InitOptions { members, election, out, days, insecure } = options;
    let first = members.first().map_or("", |member| &*member.id);
    let file = |id: &str| out.join(id).join(CLUSTER);
    print(format!("the election is called {election} (--election)"))?;
    for MemberAt { id, address } in members {
        print(format!("{id} at {address}: {}", out.join(id).display()))?;
    }
    if !insecure {
        print(format!(
            "\nThe authority's key is in {}. Move it off the members' machines, to where few can \
             read it: whoever has it can become a member. It is needed only for new certificates; \
             if it is lost, replace the authority (SECURITY.md).\nThe members' certificates expire \
             in {days} days; the log warns thirty days ahead. Renew one with: election cluster \
             add-key {first} --cluster {} --authority {} --out new",
            kept.display(),
            file(first).display(),
            kept.display()
        ))?;
    }
    let readers = if *insecure { "" } else { ", readable only by the user that it runs as" };
    print(format!(
        "\nCopy each member's directory to its machine{readers}: {} to that of {first}, for \
         instance as {ELSEWHERE}. Start it there:\n  election run --cluster {ELSEWHERE}/{CLUSTER} \
         --node {first} -- CMD",
        out.join(first).display()
    ))
}

/// Writes a new key and certificate for a member.
pub(super) fn add_key(options: &KeyOptions) -> Result<(), Failed> {
    let KeyOptions { member, cluster, key, force } = options;
    let file = File::read(cluster)?;
    listed(&file, member)?;
    make_key(&file, member, key, *force)
}

/// Writes a key and a certificate for a member that the file may not list yet.
pub(super) fn make_key(
    file: &File,
    member: &str,
    options: &NewKey,
    force: bool,
) -> Result<(), Failed> {
    let NewKey { authority, out, days } = options;
    let out = out.clone().unwrap_or_else(|| PathBuf::from(member));
    let there =
        [KEY, CERTIFICATE].map(|name| out.join(name)).into_iter().find(|path| path.exists());
    if let Some(path) = there.filter(|_| !force) {
        return Err(Failed::new(format!(
            "{} already exists: write elsewhere with --out, or replace it with --force",
            path.display()
        )));
    }
    let (certificate, key) = (authority.join(AUTHORITY), authority.join(AUTHORITY_KEY));
    let signs = Authority::read(&certificate, &key)?;
    let pair = signs.certify(&file.election, member, *days)?;
    let text =
        |path: &Path| pem(path).map_err(|error| Failed::of(&path.display().to_string(), &error));
    let authority = text(&certificate)?;
    let expiry = proved(file, member, &authority, &pair).map_err(|error| {
        let (key, certificate) = (key.display(), certificate.display());
        Failed::new(format!("{key} is not the key of {certificate}: {error}; nothing was written"))
    })?;
    // What the members trust, as far as it is here: that of another cluster is no authority of theirs.
    let filed = file.certificates()?.map(|paths| paths.authority);
    for trusted in [out.join(AUTHORITY)].into_iter().chain(filed).filter(|path| path.exists()) {
        proved(file, member, &text(&trusted)?, &pair).map_err(|error| {
            Failed::new(format!(
                "{} does not trust the authority {}: {error}; name the right one with --authority, or \
                 add its certificate there first; nothing was written",
                trusted.display(),
                certificate.display()
            ))
        })?;
    }
    let folder = Folder::made(out)?;
    // Those that a member trusts already may be more than this one.
    let is_trusted = folder.path(AUTHORITY).exists();
    store(&folder, &pair, (!is_trusted).then_some(&authority))?;
    told(file, (member, *days), &folder, (!is_trusted).then_some(&certificate))?;
    print(format!(
        "Its fingerprint, for lists of accepted certificates: {}",
        fingerprint(&pair, &authority)?
    ))?;
    outlives(expiry)
}

/// Checks that there is a member of this name, which no option gives here.
fn listed(file: &File, member: &str) -> Result<(), Failed> {
    let ids: Vec<_> = file.members().map(|(id, _)| id).collect();
    if ids.contains(&member) {
        return Ok(());
    }
    Err(Failed::new(format!(
        "{}: {member:?} is not a member; write one of {} after add-key, or list it in the file on \
         every member",
        file.what(),
        ids.join(", ")
    )))
}

/// What was written, and what is to be done with it. `copied` is the authority's certificate, if that
/// was not there.
fn told(
    file: &File,
    (member, days): (&str, u32),
    folder: &Folder,
    copied: Option<&PathBuf>,
) -> Result<(), Failed> {
    let copied = copied.map(|from| {
        format!(
            " Beside them is a copy of {}, {}.",
            from.display(),
            folder.path(AUTHORITY).display()
        )
    });
    print(format!(
        "{member} has a new key: {} and {}, for {days} days.{}\nOnce they replace the old ones, a \
         running member picks them up within seconds{}.",
        folder.path(KEY).display(),
        folder.path(CERTIFICATE).display(),
        copied.unwrap_or_default(),
        match file.lists(member) {
            true =>
                ", provided that all lists of accepted certificates include this one: add it there \
                 first",
            false => "",
        }
    ))
}

/// Warns of a certificate that its authority does not live to see the end of.
fn outlives(expiry: Expiry) -> Result<(), Failed> {
    match expiry.certificate > expiry.authority {
        true => print(
            "warning: the authority's own certificate expires before this one: members still \
             accept it then, but other programs do not. Replace the authority in time \
             (SECURITY.md), or use fewer --days",
        ),
        false => Ok(()),
    }
}

/// Checks, as a start does, that members that trust this authority would take this certificate.
fn proved(file: &File, member: &str, authority: &str, pair: &Pair) -> Result<Expiry, Failed> {
    let texts = [authority, &pair.certificate, &pair.key].map(str::to_owned);
    let source = Tls::source(move || {
        let [authority, certificate, key] = texts.each_ref().map(String::as_bytes);
        Credentials::from_pem(authority, certificate, key)
    });
    // Whom else the file lists makes no difference, and it may not list this one yet.
    let alone = Cluster::builder(&*file.election).member(member, "127.0.0.1:1");
    let cluster = alone.node(member).without_data().tls(source).ballot("ballot").build();
    let cluster = cluster.map_err(|error| Failed::new(error.to_string()))?;
    let expiry = cluster.check_certificates().map_err(|error| Failed::new(error.to_string()))?;
    expiry.ok_or_else(|| Failed::new("it has no certificates"))
}

fn fingerprint(pair: &Pair, authority: &str) -> Result<String, Failed> {
    let Pair { certificate, key } = pair;
    let texts = [authority, certificate, key].map(str::as_bytes);
    let credentials = Credentials::from_pem(texts[0], texts[1], texts[2]);
    let credentials = credentials.map_err(|error| Failed::new(error.to_string()))?;
    Ok(credentials.fingerprint().map(|it| it.to_string()).unwrap_or_default())
}
