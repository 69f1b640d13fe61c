//! Single values of the command line, and their errors.

use election_sim::{Engine, Scn, Seed};
use std::{fmt, ops::Range, path::PathBuf, time::Duration};

/// The reason why the command did nothing.
#[derive(Debug)]
pub(crate) struct InputError(pub(crate) String);

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn range(text: &str) -> Result<Range<u64>, String> {
    let wrong = || "expected a range, as in 0..10000".to_owned();
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<Seed>().map(|Seed(seed)| seed).map_err(|_| wrong());
    Ok(number(from)?..number(to)?)
}

/// Reads seconds, with or without a fraction.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let span = seconds.filter(|span| !span.is_zero());
    span.ok_or_else(|| "expected seconds, more than none".to_owned())
}

pub(crate) fn engine(name: &str) -> Result<Engine, String> {
    match name {
        "postgres" => Ok(Engine::Postgres),
        "mysql" => Ok(Engine::MySql),
        "sqlite" => Ok(Engine::Sqlite),
        "register" => Ok(Engine::Register),
        _ => Err("expected postgres, mysql, sqlite or register".to_owned()),
    }
}

/// Reads a `.scn` file; errors carry file, line and column.
pub(crate) fn read(path: &PathBuf) -> Result<Scn, InputError> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|why| InputError(format!("{shown}: {why}")))?;
    let text = String::from_utf8(bytes).map_err(|why| {
        let (good, _) = why.as_bytes().split_at(why.utf8_error().valid_up_to());
        let good = String::from_utf8_lossy(good);
        let (line, column) = (good.matches('\n').count() + 1, good.lines().next_back());
        let column =
            column.filter(|_| !good.ends_with('\n')).map_or(0, |line| line.chars().count());
        InputError(format!("{shown}:{line}:{}: this is not UTF-8", column + 1))
    })?;
    text.parse().map_err(|why| InputError(format!("{shown}:{why}")))
}
