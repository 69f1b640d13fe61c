//! Every call of the election inside the caller's own transaction, whatever becomes of that.

use crate::database::{Backend, LONG, Tx, candidacy, namespace};
use election_core::{
    Epoch,
    lease::{Candidacy, Failure, Row},
    sql::{CandidateRow, ElectionRow},
};
use election_driver::{
    FenceError, Fenced, OnConnection, SqlStore, StoreError, conformance::inside::Client,
};

/// What can be called, by a candidate of this number.
#[derive(Clone, Copy, Debug)]
enum Call {
    Register(usize),
    Heartbeat(usize),
    Elect(usize),
    AskHolder,
    AskLeader,
    Unregister(usize),
}

/// A life of the election in which every call changes something.
const LIFE: &[Call] = &[
    Call::Elect(0),
    Call::Register(1),
    Call::AskHolder,
    Call::Elect(0), // a renewal
    Call::Unregister(0),
    Call::Elect(1),
    Call::AskLeader,
    Call::Heartbeat(2),
    Call::Unregister(1),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Rollback,
    /// The connection breaks before the commit.
    Kill,
    Commit,
}

/// What all can see: the newest epoch, its holder, its renewals, whether it was asked to resign, and
/// who is listed.
type Seen = (Epoch, Option<String>, u64, bool, Vec<String>);

async fn every_call_counts_with_the_commit_and_never_without<B: Backend>(database: B) {
    let mut all = [1, 2, 3].map(|number| candidacy(number, LONG));
    let mut store = database.sql();
    for (number, call) in LIFE.iter().enumerate() {
        let mut levels = B::ISOLATIONS.iter().cycle().skip(number);
        for end in [End::Rollback, End::Kill, End::Commit] {
            let isolation = levels.next().unwrap();
            let case = format!("{call:?} under {isolation}, then {end:?}");
            let before = outside(&mut store).await;
            let mut transaction = database.begin(isolation).await;
            let inside = called(&store, &mut transaction, *call, &mut all).await;
            let inside = inside.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_ne!(inside, before, "{case}: it does nothing");
            assert_eq!(outside(&mut store).await, before, "{case}: seen before its end");
            match end {
                End::Rollback => transaction.rollback().await.unwrap(),
                End::Kill => database.kill(transaction).await,
                End::Commit => transaction.commit().await.unwrap(),
            }
            let after = if end == End::Commit { inside } else { before };
            assert_eq!(outside(&mut store).await, after, "{case}");
        }
    }
}

async fn called<C: Client>(
    store: &SqlStore<C>,
    connection: &mut C::Connection,
    call: Call,
    all: &mut [Candidacy],
) -> Result<Seen, StoreError> {
    let mut on = store.on(connection);
    match call {
        Call::Register(who) => on.register_candidate(&all[who]).await?,
        Call::Heartbeat(who) => on.heartbeat(&all[who]).await?,
        Call::Elect(who) => {
            let row = on.elect(&mut all[who]).await?;
            assert!(all[who].leads(row.peek()), "{row:?}");
        }
        Call::AskHolder => {
            let epoch = on.leader(&namespace()).await?.peek().epoch;
            assert!(on.request_resign(&namespace(), epoch).await?.peek());
        }
        Call::AskLeader => {
            let asked = *on.request_resign_of_leader(&namespace()).await?.peek();
            assert_eq!(asked, Some(on.leader(&namespace()).await?.peek().epoch));
        }
        Call::Unregister(who) => {
            let found = on.unregister_candidate(&mut all[who]).await?;
            assert!(all[who].leads(found.peek()), "as it was before: {found:?}");
        }
    }
    inside(&mut on, all).await
}

/// What the transaction sees itself, by every call that reads.
async fn inside<C: Client>(
    on: &mut OnConnection<'_, C>,
    all: &[Candidacy],
) -> Result<Seen, StoreError> {
    let row = on.leader(&namespace()).await?;
    for who in all {
        assert_eq!(on.is_leader(who).await?.peek(), &who.leads(row.peek()));
    }
    let listed = on.list_candidates(&namespace()).await?;
    let elections = on.list_elections().await?;
    let this = on.election(&namespace()).await?;
    assert_eq!(this.peek().as_ref().map(epoch), elections.peek().first().map(epoch));
    Ok(seen(row.peek(), listed.peek(), elections.peek()))
}

async fn outside<C: Client>(store: &mut SqlStore<C>) -> Seen {
    let row = store.leader(&namespace()).await.unwrap();
    let listed = store.list_candidates(&namespace()).await.unwrap();
    let elections = store.list_elections().await.unwrap();
    let this = store.election(&namespace()).await.unwrap();
    assert_eq!(this.as_ref().map(epoch), elections.first().map(epoch));
    seen(&row, &listed, &elections)
}

fn epoch(election: &ElectionRow) -> Epoch {
    election.row.epoch
}

fn seen(row: &Row, listed: &[CandidateRow], elections: &[ElectionRow]) -> Seen {
    let epochs: Vec<Epoch> = elections.iter().map(epoch).collect();
    assert!(epochs == [row.epoch] || epochs.is_empty() && *row == Row::vacant(), "{elections:?}");
    let holder = row.live_holder().map(|holder| holder.candidate.id.to_string());
    let listed = listed.iter().map(|each| each.candidate.id.to_string()).collect();
    (row.epoch, holder, row.renewals, row.resign_requested, listed)
}

/// The epoch of a win that was rolled back may be given to another: whoever used it too early is
/// fenced off. And who elects call by call can fence.
async fn an_epoch_that_was_rolled_back_fences_nothing<B: Backend>(database: B)
where
    Tx<B>: Fenced<Client = B::Client>,
{
    let [mut a, mut b] = [1, 2].map(|number| candidacy(number, LONG));
    let mut store = database.sql();
    store.elect(&mut a).await.unwrap();
    store.unregister_candidate(&mut a).await.unwrap();
    // Ahead of the database's clock, where the next epoch is the next number.
    database.execute("UPDATE election_leader SET epoch = 100000000000000").await;
    for isolation in B::ISOLATIONS {
        let mut transaction = database.begin(isolation).await;
        let won = store.on(&mut transaction).elect(&mut a).await.unwrap();
        let epoch = won.peek().epoch;
        let within = store.fence(&mut transaction, &a, epoch).await;
        within.unwrap_or_else(|error| panic!("{isolation}: its own win: {error}"));
        transaction.rollback().await.unwrap();

        assert_eq!(store.elect(&mut b).await.unwrap().epoch, epoch, "{isolation}: given again");
        let mut transaction = database.begin(isolation).await;
        match store.fence(&mut transaction, &a, epoch).await {
            Err(FenceError::Over(term)) => assert_eq!(term.epoch, epoch),
            other => panic!("{isolation}: {other:?}"),
        }
        transaction.rollback().await.unwrap();

        let mut transaction = database.begin(isolation).await;
        store.fence(&mut transaction, &b, epoch).await.unwrap();
        if *isolation == B::ISOLATIONS[0] {
            database.unregister(&b).await.ok(); // on SQLite it is held up, too
            let held_up = store.elect(&mut a).await.expect_err("a term beside a fence");
            assert_eq!(held_up.kind, Failure::Conflict, "{held_up}");
        }
        transaction.commit().await.unwrap();
        store.unregister_candidate(&mut b).await.unwrap();
        let next = store.elect(&mut a).await.unwrap();
        assert!(next.epoch > epoch, "{isolation}: it remembers what it saw");
        store.unregister_candidate(&mut a).await.unwrap();
    }
}

tests! {
    every_call_counts_with_the_commit_and_never_without: sqlite postgres mariadb;
    an_epoch_that_was_rolled_back_fences_nothing: sqlite postgres mariadb;
}
