//! The `election` command end to end: real processes, real signals, real SQLite files.
//!
//! ```text
//!   test ─▶ world      a directory with the database, the jobs' log and every process's messages
//!             ├─▶ election run …   the binary under test: elector, guard
//!             └─▶ job              this very test binary, started again by the elector
//! ```
//!
//! The job itself notices two jobs at once, so every test that starts several candidates ends with
//! the same question to the log: was there ever an overlap, and did the epochs grow? Tests wait for
//! conditions, never for time to pass, and say what they waited for.

mod both;
mod certificates;
mod check;
mod clock;
mod cluster;
mod completions;
mod control;
mod crowd;
mod database;
mod demo;
mod etcd;
mod files;
mod filesystem;
mod first_process;
mod growth;
mod hidden;
mod hold;
mod hooks;
mod hosts;
mod http;
mod input;
mod inspect;
mod job;
mod least;
mod leave;
mod limits;
mod logs;
mod looks;
mod manual;
mod members;
mod moves;
mod names;
mod observe;
mod options;
mod pipes;
mod place;
mod privileges;
mod process;
mod recipes;
mod refused;
mod remedies;
mod resign;
mod rotation;
mod secrets;
mod server;
mod settings;
mod setup;
mod slow;
mod socket;
mod start;
mod stop;
mod successor;
mod systemd;
mod terminal;
mod terminate;
mod tree;
mod warnings;
mod world;
