//! Fenced transactions at one server, and terms that begin at another.

use crate::support::{Node, candidacy, code, elector, patiently, run};
use election_driver::core::{
    Epoch,
    lease::{Candidacy, Failure},
};
use election_testing::Galera;
use election_tokio::FenceError;
use std::time::Duration;
use tokio::sync::Barrier;

/// What a server answers to a commit that another server's was ahead of.
const REFUSED: u16 = 1213;
const ORDERED: usize = 3;

/// How many rounds race. `GALERA_ROUNDS` says how many more or less than in CI.
fn racing() -> i64 {
    std::env::var("GALERA_ROUNDS").map_or(200, |rounds| rounds.parse().unwrap())
}

/// What a leader writes, and how much of it a new term found. A table that others wait for.
pub(crate) async fn makes_its_table(nodes: &mut [Node; 3]) {
    let node = &nodes[0];
    node.run("CREATE TABLE work (round INT PRIMARY KEY, epoch BIGINT NOT NULL)").await;
    node.run("CREATE TABLE term (round INT PRIMARY KEY, found INT NOT NULL)").await;
    node.run("CREATE TABLE queue (number INT PRIMARY KEY)").await;
}

/// Nothing of the leader row is locked, at either server.
pub(crate) async fn renewals_go_on_beside_a_fence(cluster: &Galera, nodes: &mut [Node; 3]) {
    let leader = elector(cluster.node(0), "renews", Duration::from_secs(8), Duration::ZERO);
    let lease = leader.elected().await.unwrap();
    nodes[1].knows(lease.epoch()).await;
    for at in [0, 1] {
        let mut transaction = nodes[at].begin().await;
        lease.fence(&mut transaction).await.unwrap();
        let before = nodes[0].row().await.renewals;
        while nodes[0].row().await.renewals < before + 2 {
            assert!(lease.is_held(), "a term that is over renews no more");
        }
        run(&mut transaction, &format!("INSERT INTO work VALUES (-{}, 0)", at + 1)).await.unwrap();
        transaction.commit().await.unwrap();
        // Where this was not applied yet, it would undo the next: both write the fence.
        while nodes[1].number("SELECT count(*) FROM work").await <= at as i64 {}
    }
    drop(lease);
    leader.shutdown().await;
}

/// As on a single server, so that who is first there need not be undone.
pub(crate) async fn holds_up_who_is_at_the_same_server(nodes: &mut [Node; 3]) {
    let [mut one, mut two] = [1, 2].map(candidacy);
    let epoch = nodes[0].wins(&mut one).await;
    let mut transaction = nodes[0].begin().await;
    nodes[0].store.fence(&mut transaction, &one, epoch).await.unwrap();
    nodes[0].vacates(&mut one, epoch).await;
    let mut waiting = nodes[0].begin().await;
    run(&mut waiting, "SET SESSION innodb_lock_wait_timeout = 1").await.unwrap();
    let error = nodes[0].store.on(&mut waiting).elect(&mut two).await.unwrap_err();
    assert_eq!(error.kind, Failure::Conflict, "{error}");
    drop(waiting);
    run(&mut transaction, "INSERT INTO work VALUES (-3, 0)").await.unwrap();
    transaction.commit().await.unwrap();
    let next = nodes[0].wins(&mut two).await;
    assert!(next > epoch);
    nodes[0].vacates(&mut two, next).await;
}

/// The old leader's server is behind and knows nothing yet of the term that has begun.
pub(crate) async fn refuses_what_comes_behind_a_new_term(nodes: &mut [Node; 3]) {
    let [mut one, mut two] = [1, 2].map(candidacy);
    for round in 0..ORDERED {
        let epoch = nodes[0].wins(&mut one).await;
        let mut transaction = nodes[0].begin().await;
        nodes[0].store.fence(&mut transaction, &one, epoch).await.unwrap();
        let write = format!("INSERT INTO work VALUES (-{}, {epoch})", 10 + round);
        run(&mut transaction, &write).await.unwrap();
        nodes[1].knows(epoch).await;
        // What others have written has to wait there for this lock, and all that comes behind it.
        let mut brake = nodes[0].pool.acquire().await.unwrap();
        run(&mut brake, "LOCK TABLES queue READ").await.unwrap();
        nodes[1].run(&format!("INSERT INTO queue VALUES ({round})")).await;
        nodes[1].vacates(&mut one.clone(), epoch).await;
        let next = nodes[1].wins(&mut two).await;
        assert_eq!(nodes[0].row().await.epoch, epoch, "it is behind");
        let goes_on = async {
            let commits =
                "SELECT count(*) FROM information_schema.processlist WHERE info = 'COMMIT'";
            while nodes[0].number(commits).await == 0 {}
            run(&mut brake, "UNLOCK TABLES").await.unwrap();
        };
        let (refused, ()) = tokio::join!(transaction.commit(), goes_on);
        let refused = refused.expect_err("a term has begun at another server");
        assert_eq!(code(&refused), REFUSED, "{refused}");
        nodes[0].knows(next).await;
        let left = nodes[0].number("SELECT count(*) FROM work WHERE round <= -10").await;
        assert_eq!(left, 0, "round {round}");
        assert!(is_over(&nodes[0], &one, epoch).await);
        nodes[1].vacates(&mut two, next).await;
    }
}

async fn is_over(node: &Node, who: &Candidacy, epoch: Epoch) -> bool {
    let mut transaction = node.begin().await;
    let fenced = node.store.fence(&mut transaction, who, epoch).await;
    matches!(fenced, Err(FenceError::Over(_)))
}

/// The commit of a fenced transaction at one server races with the next term's at another. That
/// term writes down whether it found the work: what it did not find must never come.
pub(crate) async fn lets_nothing_through_behind_a_new_term(nodes: &mut [Node; 3]) {
    let [mut one, mut two] = [1, 2].map(candidacy);
    let rounds = racing();
    let (mut through, mut lead) = (0, 0_u32);
    for round in 1..=rounds {
        let raced = races(nodes, [&mut one, &mut two], round, lead);
        let committed = patiently("a round", raced).await;
        through += i64::from(committed);
        lead = if committed { lead.saturating_sub(1) } else { lead + 1 };
    }
    let stale = "SELECT count(*) FROM work JOIN term USING (round) WHERE found = 0";
    for node in nodes {
        while node.number("SELECT count(*) FROM term").await < rounds {}
        assert_eq!(node.number(stale).await, 0, "behind a new term");
    }
    println!("of {rounds} rounds {through} went through");
    assert!((1..rounds).contains(&through), "nothing raced: {through} of {rounds} went through");
}

/// Whether the fenced transaction was committed, which had a lead of so many round trips.
async fn races(nodes: &mut [Node; 3], who: [&mut Candidacy; 2], round: i64, lead: u32) -> bool {
    let ([a, b, _], [one, two]) = (nodes, who);
    let epoch = a.wins(one).await;
    let mut transaction = a.begin().await;
    a.store.fence(&mut transaction, one, epoch).await.unwrap();
    run(&mut transaction, &format!("INSERT INTO work VALUES ({round}, {epoch})")).await.unwrap();
    b.vacates(&mut one.clone(), epoch).await;
    let both = Barrier::new(2);
    let commits = async {
        both.wait().await;
        transaction.commit().await
    };
    let (committed, next) = tokio::join!(commits, succeeds(b, two, round, (&both, lead)));
    if let Err(refused) = &committed {
        assert_eq!(code(refused), REFUSED, "{refused}");
    }
    a.knows(next).await;
    b.vacates(two, next).await;
    committed.is_ok()
}

/// Wins in a transaction that also notes what the terms before have left. The first commit waits
/// for the other's, and lets it have that lead.
async fn succeeds(
    node: &mut Node,
    who: &mut Candidacy,
    round: i64,
    other: (&Barrier, u32),
) -> Epoch {
    let note = format!("INSERT INTO term SELECT {round}, count(*) FROM work WHERE round = {round}");
    let mut first = Some(other);
    loop {
        let mut transaction = node.begin().await;
        let won = match node.store.on(&mut transaction).elect(who).await {
            Ok(won) => won,
            Err(error) if error.kind == Failure::Conflict => continue,
            Err(error) => panic!("{error}"),
        };
        if !who.leads(won.peek()) {
            continue;
        }
        let epoch = won.peek().epoch;
        let mut noted = run(&mut transaction, &note).await;
        if let Some((both, lead)) = first.take() {
            both.wait().await;
            for _ in 0..lead {
                if noted.is_ok() {
                    noted = run(&mut transaction, "DO 0").await;
                }
            }
        }
        let ended = match noted {
            Ok(()) => transaction.commit().await,
            refused => refused,
        };
        match ended {
            Ok(()) => return epoch,
            Err(refused) => assert_eq!(code(&refused), REFUSED, "{refused}"),
        }
    }
}
