//! Where the URL of the database comes from: an option gives the URL itself, or names a file that
//! contains it.

use crate::{arguments::Database, exit::Failed, secret::Address};
use election_driver::file::open;
use std::{
    fs::Metadata,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// No URL is longer. A larger file is something else.
const LONGEST: u64 = 64 * 1024;

/// How a SQLite database begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// A URL, and where it is from.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) address: Address,
    /// The place that named it.
    pub(crate) what: String,
    /// The file that holds it.
    pub(crate) file: Option<PathBuf>,
}

/// The URL, and the place that named it; none if none does.
///
/// # Errors
/// If its file cannot be read.
pub(crate) fn address(database: &Database) -> Result<Option<Source>, Failed> {
    let Database { store, store_file, given, .. } = database;
    if let Some(url) = store {
        let what = given.name("store");
        return Ok(Some(Source { address: url.clone(), what, file: None }));
    }
    let Some(file) = store_file else { return Ok(None) };
    let what = format!("{} {}", given.name("store-file"), file.display());
    let address = read(file, &what)?;
    Ok(Some(Source { address, what, file: Some(file.clone()) }))
}

/// The only line of a file.
fn read(path: &Path, what: &str) -> Result<Address, Failed> {
    let failed = |error| Failed::of(what, &error);
    let wrong = |why: &str| Err(Failed::new(format!("{what}: {why}")));
    let file = open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.starts_with(SQLITE) {
        let path = path.display();
        return wrong(&format!(
            "this is a SQLite database, but --store-file takes a file that contains a database \
             URL: name the database itself with --store sqlite:{path}"
        ));
    }
    if bytes.len() as u64 > LONGEST {
        return wrong("the file is larger than any URL; keep only the URL of the database");
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return wrong("the file is not text; write the database's URL on its only line, in UTF-8");
    };
    // Some editors begin a text with a mark of its encoding.
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines();
    let url = match (lines.next().map(str::trim), lines.all(|line| line.trim().is_empty())) {
        (None | Some(""), _) => {
            return wrong("the file is empty; write the database's URL on its first line");
        }
        (_, false) => return wrong("the file has more than one line; keep only the URL"),
        (Some(url), true) => Address::new(url),
    };
    if url.is_secret() && is_open(&metadata) {
        tracing::warn!(
            event = "warning",
            "{what}: the file contains a password that everybody on this machine can read; chmod \
             o-r it"
        );
    }
    Ok(url)
}

/// Whether users other than the file's owner and group may read it. Such a file is not refused:
/// secrets that are mounted into a container look like this, and nobody else is there to read them.
fn is_open(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.permissions().mode() & 0o004 != 0
}
