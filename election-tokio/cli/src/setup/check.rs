//! What a start would refuse or warn of, without one: nobody is connected to.

use crate::{
    arguments::CheckOptions,
    cluster::File,
    exit::{Failed, print},
};
use election_tokio::{
    Tokio,
    tls::{Credentials, Expiry, certificate_name},
};
use std::time::SystemTime;

const DAY: u64 = 24 * 3_600;
/// How many days before its end a certificate is worth a warning.
const AHEAD: u64 = 30;

/// Checks a cluster's file.
pub(super) fn check(options: &CheckOptions) -> Result<(), Failed> {
    let file = File::named("the cluster", &options.file)?;
    let paths = file.certificates()?;
    let node = match (&options.node, &paths) {
        (Some(node), _) => node.clone(),
        (None, Some(paths)) => {
            let read = Credentials::from_files(&paths.authority, &paths.certificate, &paths.key);
            let read = read.map_err(|error| Failed::of(file.what(), &error))?;
            let names = read.names();
            let own = |id: &&str| names.contains(&certificate_name(&file.election, id));
            let found = file.members().map(|(id, _)| id).find(own);
            found.map(str::to_owned).ok_or_else(|| {
                Failed::new(format!(
                    "{}: the certificate {} names no member of this cluster; it names {}. Use one \
                     that names a member, as `election cluster add-key` makes it, or correct \
                     `election` and the ids in the file",
                    file.what(),
                    paths.certificate.display(),
                    if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
                ))
            })?
        }
        // Without certificates the file is the same for all.
        (None, None) => file.members().next().map(|(id, _)| id.to_owned()).unwrap_or_default(),
    };
    file.is_witness(Some(&node))?;
    let cluster = file.builder(Tokio, &*node)?.without_data().ballot("ballot").build();
    let cluster = cluster.map_err(|error| Failed::new(error.to_string()))?;
    let expiry = cluster.check_certificates();
    let expiry = expiry.map_err(|error| Failed::of(file.what(), &error))?;

    members(&file, &node, paths.is_some())?;
    let mut warnings: Vec<_> = cluster.warnings().map(|warning| warning.to_string()).collect();
    if let (Some(expiry), Some(paths)) = (expiry, &paths) {
        let read = Credentials::from_files(&paths.authority, &paths.certificate, &paths.key);
        let fingerprint = read.ok().and_then(|read| read.fingerprint());
        let fingerprint = fingerprint.map(|it| it.to_string()).unwrap_or_default();
        print(format!("certificate: {}, {fingerprint}", end(expiry.certificate)))?;
        print(format!("authority: {}", end(expiry.authority)))?;
        warnings.extend(ending(expiry));
    }
    warnings.extend(file.warnings());
    for warning in warnings {
        print(format!("warning: {warning}"))?;
    }
    Ok(())
}

/// Who they are, and which certificates are accepted of those that have a list.
fn members(file: &File, node: &str, certified: bool) -> Result<(), Failed> {
    let count = file.members().count();
    print(format!(
        "{:?}: {count} {}",
        file.election,
        if count == 1 { "member" } else { "members" }
    ))?;
    let lists = file.accepted()?;
    for (id, address) in file.members() {
        let own = if certified && id == node { ", whose certificate is here" } else { "" };
        print(format!("  {id} at {address}{own}"))?;
        let list = lists.iter().filter(|(member, _)| member == id).flat_map(|(_, list)| list);
        for fingerprint in list {
            print(format!("    accepted: {fingerprint}"))?;
        }
    }
    Ok(())
}

/// How long until then, in whole days; `None` if it is past.
fn left(end: SystemTime) -> Option<u64> {
    end.duration_since(SystemTime::now()).ok().map(|left| left.as_secs() / DAY)
}

fn end(end: SystemTime) -> String {
    left(end).map_or_else(|| "has expired".to_owned(), |days| format!("expires in {days} days"))
}

fn ending(expiry: Expiry) -> impl Iterator<Item = String> {
    let ends = [
        (
            "this member's certificate",
            expiry.certificate,
            "renew it with `election cluster add-key`",
        ),
        ("the authority's certificate", expiry.authority, "replace the authority (SECURITY.md)"),
    ];
    let soon = |(_, end, _): &(&str, SystemTime, &str)| left(*end).is_none_or(|days| days < AHEAD);
    ends.into_iter()
        .filter(soon)
        .map(|(whose, ends, remedy)| format!("{whose} {}: {remedy}", end(ends)))
}
