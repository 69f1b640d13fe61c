//! Where the URL of the database comes from: the command line, then the environment, then the
//! configuration file. Each of them gives the URL itself, or names a file that contains it.

use crate::{
    arguments::Database,
    exit::Failed,
    reading,
    secret::{Address, STORE, STORE_FILE},
};
use std::{
    env,
    fs::Metadata,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// No URL is longer. A larger file is something else.
const LONGEST: u64 = 64 * 1024;

/// How a SQLite database begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// One of the places that may name the database, and what its two ways are called there.
struct Place {
    url: Option<Address>,
    file: Option<PathBuf>,
    names: [String; 2],
}

/// A URL, and where it is from.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) address: Address,
    /// The place that named it.
    pub(crate) what: String,
    /// The file that holds it.
    pub(crate) file: Option<PathBuf>,
}

/// The URL, and the place that named it; none if none does. `url` and `file` are the contents of
/// the configuration file.
///
/// # Errors
/// If the first place that names a database names two, or its file cannot be read.
pub(crate) fn address(
    database: &Database,
    url: Option<Address>,
    file: Option<PathBuf>,
) -> Result<Option<Source>, Failed> {
    let config = database.config.as_deref().unwrap_or(Path::new("")).display();
    let variable = env::var_os(STORE).map(|url| {
        let text = url.into_string().map_err(|_| Failed::new(format!("{STORE} is not UTF-8")));
        text.map(|text| Address::new(&text))
    });
    let places = [
        Place {
            url: database.store.clone(),
            file: database.store_file.clone(),
            names: ["--store".to_owned(), "--store-file".to_owned()],
        },
        Place {
            url: variable.transpose()?,
            file: env::var_os(STORE_FILE).map(PathBuf::from),
            names: [STORE.to_owned(), STORE_FILE.to_owned()],
        },
        Place {
            url,
            file,
            names: ["store", "store-file"].map(|key| format!("`{key}` in --config {config}")),
        },
    ];
    for Place { url, file, names: [by_url, by_file] } in places {
        return match (url, file) {
            (None, None) => continue,
            (Some(url), None) => Ok(Some(Source { address: url, what: by_url, file: None })),
            (None, Some(file)) => {
                let what = format!("{by_file} {}", file.display());
                let address = read(&file, &what)?;
                Ok(Some(Source { address, what, file: Some(file) }))
            }
            (Some(_), Some(_)) => {
                Err(Failed::new(format!("both {by_url} and {by_file} name a database; keep one")))
            }
        };
    }
    Ok(None)
}

/// The only line of a file.
fn read(path: &Path, what: &str) -> Result<Address, Failed> {
    let failed = |error| Failed::of(what, &error);
    let wrong = |why: &str| Err(Failed::new(format!("{what}: {why}")));
    let file = reading::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.starts_with(SQLITE) {
        let path = path.display();
        return wrong(&format!(
            "this is a SQLite database; --store-file takes a file that holds the database's URL: name \
             the database itself with --store sqlite:{path}"
        ));
    }
    if bytes.len() as u64 > LONGEST {
        return wrong(
            "the file is larger than any URL; keep the URL of the database, and nothing else",
        );
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return wrong(
            "this is no text; write a file that holds the database's URL on its only line, in UTF-8",
        );
    };
    // Some editors begin a text with a mark of its encoding.
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines();
    let url = match (lines.next().map(str::trim), lines.all(|line| line.trim().is_empty())) {
        (None | Some(""), _) => {
            return wrong("the file is empty; write the URL of the database into its first line");
        }
        (_, false) => return wrong("there is more than one line; keep only the URL"),
        (Some(url), true) => Address::new(url),
    };
    if url.is_secret() && is_open(&metadata) {
        tracing::warn!(
            event = "warning",
            "{what}: the file holds a password, and everybody on this machine can read it; chmod \
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
