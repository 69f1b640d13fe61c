//! What an elector logs while its database is away: little, and no more the longer it lasts.

use super::{
    process::{eventually, gone},
    server::apply_schema,
    world::{Candidate, World, block_on},
};
use election_testing::{Kind, Server};
use sqlx::{Connection as _, Executor as _, PgConnection};

/// What was said since a mark, in whole lines.
struct Since<'a>(&'a Candidate, usize);

impl<'a> Since<'a> {
    fn now(candidate: &'a Candidate) -> Self {
        Self(candidate, candidate.messages().lines().count())
    }

    fn lines(&self) -> Vec<String> {
        self.0.messages().lines().skip(self.1).map(str::to_owned).collect()
    }

    #[track_caller]
    fn says(&self, words: &str) {
        eventually(&format!("{words:?} since the outage"), || {
            self.lines().iter().any(|line| line.contains(words)).then_some(())
        });
    }

    #[track_caller]
    fn is_terse(&self, what: &str) {
        let lines = self.lines();
        let shown = lines.join("\n");
        println!("{what}: {} lines\n{shown}", lines.len());
        assert!(lines.len() <= 5, "{what}: {} lines:\n{shown}", lines.len());
        for sign in ["{", "Some(", "kind=", "query="] {
            assert!(!shown.contains(sign), "{what}: {sign:?} in\n{shown}");
        }
        let outages = lines.iter().filter(|line| line.contains("event=outage ")).count();
        assert!(outages <= 1, "{what}:\n{shown}");
    }
}

/// A leader and a follower, and an outage that costs the leadership and lasts for a while.
fn go_through(
    what: &str,
    world: &World,
    electors: &[Candidate],
    begin: impl FnOnce(),
    end: impl FnOnce(),
) {
    let job = world.notes("start").pop().expect("a job");
    let (leading, following): (Vec<_>, Vec<_>) =
        electors.iter().partition(|each| each.pid() == job.elector);
    let since: Vec<Since<'_>> = electors.iter().map(Since::now).collect();
    begin();
    gone("the job", job.pid);
    for each in &following {
        // Both know of it, and have known for some time.
        let at = electors.iter().position(|it| it.pid() == each.pid()).expect("one of them");
        since[at].says("event=outage ");
    }
    let _ = leading;
    end();
    let next = world.start_after(job.epoch);
    for (each, since) in electors.iter().zip(&since) {
        since.says("event=outage_over");
        since.says(if each.pid() == next.elector { " elected " } else { " following " });
        since.is_terse(&format!("{what}, pid {}", each.pid()));
    }
}

#[test]
fn an_outage_is_told_in_five_lines() {
    let world = World::new();
    let server = std::cell::RefCell::new(Server::start(Kind::Postgres));
    let url = server.borrow().url();
    apply_schema(&url);
    let start = |node: &str| {
        let options = ["--ttl", "3s", "--node", node];
        world.start(world.run_on(&url, &options, ""))
    };
    let first = start("first");
    world.start_after(0);
    let second = start("second");
    second.says("following");
    let electors = [first, second];
    let (kill, restart) = (|| server.borrow_mut().kill(), || server.borrow_mut().restart());
    go_through("killed", &world, &electors, kill, restart);
    let (freeze, thaw) = (|| server.borrow().freeze(), || server.borrow().thaw());
    go_through("frozen", &world, &electors, freeze, thaw);
    let lock = std::cell::RefCell::new(None);
    let begin = || *lock.borrow_mut() = Some(block_on(locked(&url)));
    go_through("locked", &world, &electors, begin, || drop(lock.borrow_mut().take()));
    world.assert_exclusive();
}

/// A transaction that nobody can read the leader beside.
async fn locked(url: &str) -> PgConnection {
    let mut connection = PgConnection::connect(url).await.expect("a connection");
    connection.execute("BEGIN").await.expect("a transaction");
    connection.execute("LOCK TABLE election_leader").await.expect("the lock");
    connection
}
