//! Commands on a server of the test's own, and servers that say nothing.

use super::{job, world::World};
use election_tokio::PgStore;
use std::{
    net::{TcpListener, TcpStream},
    process::Command,
    sync::mpsc,
};

impl World {
    /// `election COMMAND --store URL ARGUMENTS`, in the default election.
    pub(crate) fn on(&self, url: &str, command: &str, arguments: &[&str]) -> Command {
        let mut process = self.bare(&[command, "--store", url]);
        process.args(arguments).env("ELECTION_NAME", "default");
        process
    }

    /// `election run --store URL OPTIONS -- JOB`.
    pub(crate) fn run_on(&self, url: &str, options: &[&str], words: &str) -> Command {
        let mut process = self.on(url, "run", options);
        process.arg("--").args(job::command_line()).env(job::WORDS, words);
        process
    }
}

/// Makes the tables in a server's database.
pub(crate) fn apply_schema(url: &str) {
    super::world::block_on(async {
        let mut store = PgStore::connect(url).expect("a URL");
        store.ensure_schema().await.expect("tables");
    });
}

/// Accepts connections and never says a word.
pub(crate) struct Mute {
    port: u16,
    _accepted: mpsc::Receiver<TcpStream>,
}

impl Mute {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port of our own");
        let port = listener.local_addr().expect("an address").port();
        let (keep, accepted) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if keep.send(client).is_err() {
                    return;
                }
            }
        });
        Self { port, _accepted: accepted }
    }

    pub(crate) fn urls(&self) -> [String; 2] {
        ["postgres", "mysql"].map(|scheme| format!("{scheme}://me@127.0.0.1:{}/x", self.port))
    }
}
