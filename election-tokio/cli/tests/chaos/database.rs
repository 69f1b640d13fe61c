//! The database of a world, and what its administrator, its disk and its clock can do to it.

use crate::{home::Home, journal::Write};
use election_testing::{Etcd, Galera, Kind, Server, Session};
use rusqlite::Connection;
use std::{fs, path::PathBuf, time::Duration};

/// Which databases a fault can be inflicted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
    MariaDb,
    Etcd,
    Galera,
}

impl Engine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::Etcd => "etcd",
            Self::Galera => "galera",
        }
    }
}

pub(crate) enum Database {
    File(File),
    Served(Box<Server>),
    Members(Box<Etcd>),
    /// And the server whose turn it is: to it is done what can be done to one.
    Galera(Box<Galera>, usize),
}

/// A SQLite file on a disk of its own.
pub(crate) struct File {
    disk: PathBuf,
    clock: PathBuf,
}

/// What holds a lock until it is dropped.
pub(crate) enum Lock {
    File { _connection: Connection },
    Session { _session: Session },
    None,
}

/// What the tests write into beside the election.
const WORK: [&str; 3] = [
    "CREATE TABLE work (id INTEGER PRIMARY KEY AUTOINCREMENT, election INTEGER NOT NULL, epoch BIGINT NOT NULL, \
     seen BIGINT NOT NULL)",
    "CREATE TABLE work (id BIGSERIAL PRIMARY KEY, election INTEGER NOT NULL, epoch BIGINT NOT NULL, \
     seen BIGINT NOT NULL)",
    "CREATE TABLE work (id BIGINT AUTO_INCREMENT PRIMARY KEY, election INTEGER NOT NULL, epoch BIGINT NOT NULL, \
     seen BIGINT NOT NULL)",
];
const RESOURCE: &str = "CREATE TABLE resource (id INTEGER PRIMARY KEY, epoch BIGINT NOT NULL, \
                        writes BIGINT NOT NULL); INSERT INTO resource VALUES (1, 0, 0)";
/// An empty password answers every challenge, so that what was said can be repeated.
const BARE: &str =
    "CREATE USER bare@'127.0.0.1' IDENTIFIED BY ''; GRANT ALL ON election.* TO bare@'127.0.0.1'";
/// The administrator does not wait for what others hold for long.
const IMPATIENT_POSTGRES: &str = "SET lock_timeout = '400ms'; SET statement_timeout = '5s'";
const IMPATIENT_MARIADB: &str = "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1";

impl Database {
    /// Starts it on the disk of a home, without the tables of the election.
    pub(crate) fn start(engine: Engine, home: &Home) -> Self {
        match engine {
            Engine::Sqlite => {
                let file = File { disk: home.disk(), clock: home.clock() };
                fs::create_dir_all(file.directory()).expect("a disk of our own");
                Self::File(file)
            }
            Engine::Postgres => {
                Self::Served(Box::new(Server::start_with_clock_in(Kind::Postgres, home.path())))
            }
            Engine::MariaDb => {
                let server = Server::start_with_clock_in(Kind::MariaDb, home.path());
                server.administer("mysql", BARE);
                Self::Served(Box::new(server))
            }
            Engine::Etcd => Self::Members(Box::new(Etcd::start())), // where temporary files are
            Engine::Galera => {
                let cluster = Galera::start_with_clocks();
                cluster.node(0).administer("mysql", BARE);
                Self::Galera(Box::new(cluster), 0)
            }
        }
    }

    /// Makes the tables of the tests, and lets few connections in, so that they can be exhausted.
    pub(crate) fn prepare(&mut self) {
        match self {
            Self::File(file) => {
                let connection = file.open();
                for sql in [WORK[0], RESOURCE] {
                    connection.execute_batch(sql).expect("a database of our own");
                }
            }
            Self::Served(server) if server.kind() == Kind::Postgres => {
                server.administer("postgres", "ALTER SYSTEM SET max_connections = 40");
                server.administer("election", &format!("{}; {RESOURCE}", WORK[1]));
                server
                    .administer("election", "GRANT ALL ON ALL TABLES IN SCHEMA public TO election");
                server.administer("election", "GRANT ALL ON SEQUENCE work_id_seq TO election");
                server.terminate();
                server.restart();
            }
            Self::Served(server) => {
                server.administer("election", &format!("{}; {RESOURCE}", WORK[2]));
                server.administer("mysql", "SET GLOBAL max_connections = 40");
            }
            Self::Members(_) => {}
            Self::Galera(cluster, _) => {
                let tables = format!("{}; ALTER TABLE work ADD turn BIGINT; {RESOURCE}", WORK[2]);
                cluster.node(0).administer("election", &tables);
            }
        }
    }

    /// Where its servers listen; nowhere if it is a file.
    pub(crate) fn ports(&self) -> Vec<u16> {
        match self {
            Self::File(_) => Vec::new(),
            Self::Served(server) => vec![server.port()],
            Self::Members(cluster) => (0..cluster.size()).map(|at| cluster.port(at)).collect(),
            Self::Galera(cluster, _) => [0, 1, 2].map(|at| cluster.node(at).port()).to_vec(),
        }
    }

    /// How it is reached at these ports.
    pub(crate) fn url(&self, ports: &[u16]) -> String {
        let hosts: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let hosts = hosts.join(",");
        match self {
            Self::File(file) => format!("sqlite:{}", file.path().display()),
            Self::Served(server) if server.kind() == Kind::Postgres => {
                format!("postgres://election@{hosts}/election")
            }
            Self::Served(_) | Self::Galera(..) => format!("mysql://bare@{hosts}/election"),
            Self::Members(_) => format!("etcd://{hosts}"),
        }
    }

    pub(crate) fn server(&mut self) -> Option<&mut Server> {
        match self {
            Self::Served(server) => Some(server),
            Self::Galera(cluster, at) => Some(cluster.node_mut(*at)),
            Self::File(_) | Self::Members(_) => None,
        }
    }

    /// Does something to one of several servers.
    pub(crate) fn do_to(
        &mut self,
        at: usize,
        of_etcd: fn(&mut Etcd, usize),
        of_galera: fn(&mut Server),
    ) {
        match self {
            Self::Members(cluster) => of_etcd(cluster, at),
            Self::Galera(cluster, _) => of_galera(cluster.node_mut(at)),
            Self::File(_) | Self::Served(_) => {}
        }
    }

    pub(crate) fn members(&mut self) -> Option<&mut Etcd> {
        match self {
            Self::Members(cluster) => Some(cluster),
            Self::File(_) | Self::Served(_) | Self::Galera(..) => None,
        }
    }

    pub(crate) fn file(&self) -> Option<&File> {
        match self {
            Self::File(file) => Some(file),
            Self::Served(_) | Self::Members(_) | Self::Galera(..) => None,
        }
    }

    /// A script of the administrator's; `None` if the database does not take it just now.
    pub(crate) fn administer(&mut self, script: &str) -> Option<String> {
        match self {
            Self::File(file) => file.try_open()?.execute_batch(script).ok().map(|()| String::new()),
            _ => {
                let server = self.server()?;
                let script = format!("{}; {script}", impatient(server.kind()));
                server.try_administer("election", &script).ok()
            }
        }
    }

    /// Begins a transaction that takes locks and keeps them.
    pub(crate) fn lock(&mut self, script: &str) -> Lock {
        match self {
            Self::File(file) => {
                let locked = file.try_open().filter(|file| file.execute_batch(script).is_ok());
                locked.map_or(Lock::None, |connection| Lock::File { _connection: connection })
            }
            _ => {
                let Some(server) = self.server() else { return Lock::None };
                let script = format!("{}; {script}", impatient(server.kind()));
                Lock::Session { _session: server.session("election", &script) }
            }
        }
    }

    /// All fenced writes, in the order in which the database took them; `None` if it does not say
    /// so just now.
    pub(crate) fn writes(&mut self) -> Option<Vec<Write>> {
        let select = match self {
            // What a server did not live to number is left out.
            Self::Galera(..) => {
                "SET wsrep_sync_wait = 1; \
                 SELECT election, epoch, seen FROM work WHERE turn IS NOT NULL ORDER BY turn"
            }
            _ => "SELECT election, epoch, seen FROM work ORDER BY id",
        };
        match self {
            Self::File(file) => {
                let connection = file.try_open()?;
                let mut select = connection.prepare(select).ok()?;
                let rows = select.query_map([], |row| {
                    let [election, epoch, seen] = [row.get(0)?, row.get(1)?, row.get(2)?];
                    Ok(write(election, epoch, seen))
                });
                rows.ok()?.map(|row| row.ok()?).collect()
            }
            Self::Served(_) | Self::Galera(..) => {
                let rows = self.server()?.try_administer("election", select).ok()?;
                rows.lines()
                    .map(|row| {
                        let mut numbers = row.split(['|', '\t']).map(|word| word.parse().ok());
                        write(numbers.next()??, numbers.next()??, numbers.next()??)
                    })
                    .collect()
            }
            Self::Members(cluster) => {
                let work = ["get", "work/", "--prefix", "--print-value-only", "--sort-by=CREATE"];
                let rows = cluster.run(&work);
                rows.lines()
                    .map(|row| {
                        let (election, epoch) = row.split_once(' ')?;
                        let epoch = epoch.parse().ok()?;
                        write(election.parse().ok()?, epoch, epoch)
                    })
                    .collect()
            }
        }
    }

    /// Moves the clock that the database reads to this many seconds from the machine's.
    pub(crate) fn set_clock(&self, seconds: i64) {
        match self {
            Self::File(file) => {
                let next = file.clock.with_extension("next");
                fs::write(&next, format!("{seconds:+}")).expect("a disk with room for that");
                fs::rename(next, &file.clock).expect("a disk of our own");
            }
            Self::Served(server) => server.set_clock(seconds),
            Self::Galera(cluster, at) => cluster.node(*at).set_clock(seconds),
            Self::Members(_) => {} // nobody asks it for the time
        }
    }
}

fn write(election: i64, epoch: i64, seen: i64) -> Option<Write> {
    let (election, epoch) = (election.try_into().ok()?, epoch.try_into().ok()?);
    Some(Write { election, epoch, seen: seen.try_into().ok()? })
}

fn impatient(kind: Kind) -> &'static str {
    match kind {
        Kind::Postgres => IMPATIENT_POSTGRES,
        Kind::MariaDb => IMPATIENT_MARIADB,
    }
}

impl File {
    pub(crate) fn directory(&self) -> PathBuf {
        self.disk.join("data")
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory().join("e.db")
    }

    fn open(&self) -> Connection {
        self.try_open().expect("a database of our own")
    }

    pub(crate) fn try_open(&self) -> Option<Connection> {
        let connection = Connection::open(self.path()).ok()?;
        connection.busy_timeout(Duration::from_millis(400)).ok()?;
        Some(connection)
    }

    /// The database and what SQLite keeps beside it.
    pub(crate) fn companions(&self) -> [PathBuf; 2] {
        ["e.db-wal", "e.db-shm"].map(|name| self.directory().join(name))
    }
}
