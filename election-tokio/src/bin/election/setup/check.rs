//! What a start would refuse or warn of, without one: nobody is connected to.

use crate::{
    arguments::CheckOptions,
    cluster::File,
    exit::{Failed, print},
};
use election_tokio::tls::{Credentials, Expiry, certificate_name};
use std::{
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, SystemTime},
};

const DAY: u64 = 24 * 3_600;
/// How long before its end a certificate is worth a warning.
const AHEAD: Duration = Duration::from_secs(30 * DAY);

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
                    "{}: the certificate {} names no member of this cluster; it names {}",
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
    let cluster = file.builder(&node)?.ballot("ballot").build();
    let cluster = cluster.map_err(|error| file.refused(&node, &error))?;
    let expiry = cluster.check_certificates();
    let expiry = expiry.map_err(|error| Failed::of(file.what(), &error))?;

    let count = file.members().count();
    print(format!("{:?}: {count} members", file.election))?;
    for (id, address) in file.members() {
        let own = if paths.is_some() && id == node { ", whose certificate is here" } else { "" };
        print(format!("  {id} at {address}{own}"))?;
    }
    let mut warnings: Vec<_> = cluster.warnings().map(|warning| warning.to_string()).collect();
    if let (Some(expiry), Some(paths)) = (expiry, &paths) {
        let read = Credentials::from_files(&paths.authority, &paths.certificate, &paths.key);
        let fingerprint = read.ok().and_then(|read| read.fingerprint());
        print(format!(
            "certificate: ends in {} days, {}",
            days(expiry.certificate),
            fingerprint.map(|it| it.to_string()).unwrap_or_default()
        ))?;
        print(format!("authority: ends in {} days", days(expiry.authority)))?;
        warnings.extend(ending(expiry));
        warnings.extend(readable(&paths.key));
    }
    for warning in warnings {
        print(format!("warning: {warning}"))?;
    }
    Ok(())
}

fn left(end: SystemTime) -> Duration {
    end.duration_since(SystemTime::now()).unwrap_or_default()
}

fn days(end: SystemTime) -> u64 {
    left(end).as_secs() / DAY
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
    let soon = |(_, end, _): &(&str, SystemTime, &str)| left(*end) <= AHEAD;
    ends.into_iter()
        .filter(soon)
        .map(|(whose, end, remedy)| format!("{whose} ends in {} days: {remedy}", days(end)))
}

/// A key that others can read.
fn readable(key: &Path) -> Option<String> {
    let mode = std::fs::metadata(key).ok()?.permissions().mode() & 0o077;
    (mode != 0).then(|| {
        let key = key.display();
        format!(
            "others can read or write the key {key}: chmod 600 {key}, and renew it if one may have"
        )
    })
}
