//! Nodes in processes of their own: the binary of a test, started again in the role of a node on one of
//! the runtimes.

use election_async_std::{AsyncStd, smol::Smol};
use election_driver::Network;
use election_tokio::Tokio;
use std::{
    env,
    process::{Child, Command, exit},
};

/// Names a node's runtime to its process.
pub(crate) const RUNTIME: &str = "NODE_RUNTIME";
/// What it can name.
pub(crate) const RUNTIMES: [&str; 3] = ["tokio", "async-std", "smol"];

/// What a node does.
pub(crate) trait Role {
    async fn play<R: Network + Default>();
}

/// In a role, the role, and the end of the process; otherwise nothing.
pub(crate) fn play<P: Role>() {
    let Ok(runtime) = env::var(RUNTIME) else { return };
    match runtime.as_str() {
        "tokio" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(P::play::<Tokio>());
        }
        "async-std" => async_std::task::block_on(P::play::<AsyncStd>()),
        "smol" => smol::block_on(P::play::<Smol>()),
        other => panic!("no runtime {other:?}"),
    }
    exit(0);
}

/// What starts the test `role::a_role` of this binary on a runtime. It dies with the thread that starts
/// it.
pub(crate) fn again(runtime: &str, wrapper: &[String]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).args(wrapper);
    command.arg(env::current_exe().expect("this binary"));
    command.args(["role::a_role", "--exact", "--nocapture", "--test-threads=1", "--quiet"]);
    command.env(RUNTIME, runtime);
    command
}

/// A process that is killed with the test.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
