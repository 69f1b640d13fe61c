//! Who takes part in a world, and in how many elections: five electors in one, or three processes, each
//! of which shares one store among many.

use crate::{actor::Sort, database::Engine, role};
use std::{env, sync::LazyLock, time::Duration};

/// How many elections processes share without options.
const MANY: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cast {
    One,
    Many,
}

impl Cast {
    /// The electors, one on each node.
    pub(crate) fn sorts(self) -> &'static [Sort] {
        use Sort::{Command, Library};
        match self {
            Self::One => &[Command, Library, Command, Library, Command],
            Self::Many => &[Library, Library, Library],
        }
    }

    pub(crate) fn elections(self) -> usize {
        match self {
            Self::One => 1,
            Self::Many => {
                number(role::ELECTIONS).map_or(MANY, |many| usize::try_from(many).unwrap_or(MANY))
            }
        }
    }

    /// How long a run takes without options.
    pub(crate) fn time(self, engine: Engine) -> Duration {
        match (self, engine) {
            (Self::One, Engine::Galera) => Duration::from_secs(24), // it starts and heals slowly
            (Self::One, _) => Duration::from_secs(36),
            (Self::Many, _) => Duration::from_secs(7),
        }
    }
}

/// How long a lease lasts.
pub(crate) fn ttl() -> Duration {
    static TTL: LazyLock<u64> = LazyLock::new(|| number(role::TTL).unwrap_or(1000));
    Duration::from_millis(*TTL)
}

/// How far apart the clocks may be that an elector reads: those of several SQL servers.
pub(crate) fn clock_step(url: &str) -> Duration {
    match url.starts_with("mysql:") && url.contains(',') {
        true => Duration::from_secs(3600),
        false => Duration::ZERO,
    }
}

/// What an election is called.
pub(crate) fn name(election: usize) -> String {
    match election {
        0 => "chaos".to_owned(),
        _ => format!("chaos-{election}"),
    }
}

/// The one whose row is locked, of so many. It has neighbours on both sides.
pub(crate) fn locked(elections: usize) -> usize {
    elections / 2
}

/// An option from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}
