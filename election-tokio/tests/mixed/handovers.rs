//! Leaders that are killed, on every database: each runtime leads, and is succeeded by another.

use crate::{
    checker::Tenure,
    database::{Backend, OnMariaDb, OnPostgres, OnSqlite},
    journal::Reader,
    role,
    runtimes::{Process, RUNTIMES, again},
};
use election_driver::conformance::Fixture as _;
use election_testing::process::eventually;
use std::{
    cell::{RefCell, RefMut},
    path::PathBuf,
    process::Stdio,
};
use tempfile::TempDir;

/// One elector for each runtime, which is its node's name.
struct Electors {
    /// First, so that they end before their files do.
    running: Vec<Option<Process>>,
    place: TempDir,
    url: String,
    lives: u32,
    journal: RefCell<Reader>,
}

impl Electors {
    fn started(url: String) -> Self {
        let place = TempDir::with_prefix("mixed-").expect("a temporary directory");
        let running = RUNTIMES.map(|_| None).into();
        let mut this = Self { running, place, url, lives: 0, journal: RefCell::default() };
        (0..RUNTIMES.len()).for_each(|node| this.start(node));
        this
    }

    fn start(&mut self, node: usize) {
        self.lives += 1;
        let mut command = again(RUNTIMES[node], &[]);
        command
            .env(role::NODE, RUNTIMES[node])
            .env(role::LIFE, self.lives.to_string())
            .env(role::JOURNAL, self.path())
            .env(role::URL, &self.url)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        self.running[node] = Some(Process(command.spawn().expect("this binary once more")));
    }

    /// Kills an elector (SIGKILL) and waits for its end.
    fn kill(&mut self, node: usize) {
        drop(self.running[node].take().expect("a running elector"));
    }

    fn path(&self) -> PathBuf {
        self.place.path().join("journal")
    }

    fn journal(&self) -> RefMut<'_, Reader> {
        let mut journal = self.journal.borrow_mut();
        journal.catch_up(&self.path());
        journal
    }

    fn tenures(&self) -> Vec<Tenure> {
        self.journal().checker.tenures()
    }

    /// Waits until somebody leads and has written under an epoch after this one.
    fn leader_after(&self, epoch: u64) -> Tenure {
        eventually("a leader that writes", || {
            let journal = self.journal();
            let latest = journal.checker.tenures().pop().filter(|it| it.epoch > epoch)?;
            (journal.checker.served() >= latest.epoch).then_some(latest)
        })
    }
}

fn place_of(tenure: &Tenure) -> usize {
    RUNTIMES.iter().position(|runtime| *runtime == tenure.node).expect("one of ours")
}

/// Kills leaders until each runtime has led and was succeeded by another.
async fn hands_over<B: Backend>(database: B) {
    database.execute(B::WORK).await;
    let mut electors = Electors::started(database.url());
    let (mut led, mut killed) = (vec![0], Vec::new());
    for _ in RUNTIMES {
        let leader = electors.leader_after(led[led.len() - 1]);
        println!("{leader:?}");
        if killed.len() == RUNTIMES.len() - 1 {
            electors.start(killed[0]); // or nobody could succeed the last
        }
        electors.kill(place_of(&leader));
        killed.push(place_of(&leader));
        led.push(leader.epoch);
    }
    let last = electors.leader_after(led[led.len() - 1]);
    assert_eq!(place_of(&last), killed[0], "nobody else is left");
    electors.kill(place_of(&last));

    let violations = electors.journal().checker.violations();
    assert!(violations.is_empty(), "{violations:#?}");
    let tenures = electors.tenures();
    for runtime in RUNTIMES {
        let handed_over = |pair: &[Tenure]| pair[0].node == runtime && pair[1].node != runtime;
        assert!(tenures.windows(2).any(handed_over), "{runtime} in {tenures:#?}");
    }
    let number = async |sql: &str| {
        let mut transaction = database.begin(B::ISOLATIONS[0]).await;
        B::number(&mut transaction, sql).await.expect("a table of our own")
    };
    let stale = "SELECT count(*) FROM work AS old JOIN work AS new \
                 ON old.id < new.id AND old.epoch > new.epoch";
    assert_eq!(number(stale).await, 0, "a row under an epoch that was over");
    for epoch in &led[1..] {
        let rows = format!("SELECT count(*) FROM work WHERE epoch = {epoch}");
        assert!(number(&rows).await > 0, "no row under {epoch}");
    }
}

#[tokio::test]
async fn on_sqlite() {
    hands_over(OnSqlite::start().await).await;
}

#[tokio::test]
async fn on_postgres() {
    hands_over(OnPostgres::start().await).await;
}

#[tokio::test]
async fn on_mariadb() {
    hands_over(OnMariaDb::start().await).await;
}
