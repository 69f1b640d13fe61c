//! How large the futures are that a user awaits. The user's own future holds them, and an
//! unoptimised executor moves that from frame to frame before it runs: async-std's `block_on` takes
//! about sixty times its size from the stack of a thread.

use crate::on::OnNothing;
use election_core::{
    Epoch, Namespace, NodeId,
    lease::{Candidacy, Query, Registration},
};
use election_driver::{Changes, Fenced, OnConnection, SqlStore, Status, Store as _};
use election_tokio::{Cluster, Election, Handle, Lease, Member, Watch};
use std::{
    convert::Infallible,
    future::{Future, Ready},
    time::Duration,
};

/// What no future takes more of, on any runtime and any database, optimised or not.
const BOUND: usize = 4 << 10;

type Ref<T> = &'static T;
type Mut<T> = &'static mut T;
type Sizes = Vec<(&'static str, usize)>;
type Work = fn(Lease) -> Ready<Result<(), Infallible>>;
type On<T> = OnConnection<'static, <T as Fenced>::Client>;
type Store<T> = SqlStore<<T as Fenced>::Client>;

/// Nothing runs here: the sizes are known when this is compiled.
async fn no_future_is_large(_: OnNothing) {
    let mut all = [common(), database::<sqlx::Transaction<'_, sqlx::Sqlite>>()].concat();
    #[cfg(feature = "mysql")]
    all.extend(database::<sqlx::Transaction<'_, sqlx::MySql>>());
    #[cfg(feature = "postgres")]
    all.extend(database::<sqlx::Transaction<'_, sqlx::Postgres>>());
    all.retain(|(_, size)| *size > BOUND);
    assert!(all.is_empty(), "futures of more than {BOUND} bytes; box a part: {all:?}");
}

/// How large the future of a call is that takes such arguments. None is made.
fn size<A, F: Future>(_: fn(A) -> F) -> usize {
    size_of::<F>()
}

macro_rules! sizes {
    ($($kind:ident { $($call:ident($($name:ident: $type:ty),*);)+ })+) => {
        vec![$($((
            concat!(stringify!($kind), "::", stringify!($call)),
            size(|($($name,)*): ($($type,)*)| sizes!(@ $call $($name)*)),
        ),)+)+]
    };
    (@ $call:ident $on:ident $($name:ident)*) => { $on.$call($($name),*) };
}

fn common() -> Sizes {
    sizes! {
        Handle {
            elected(on: Ref<Handle>);
            resign(on: Ref<Handle>);
            shutdown(on: Ref<Handle>);
            run_while_leader(on: Ref<Handle>, work: Work);
        }
        Lease {
            lost(on: Ref<Lease>);
            ended(on: Ref<Lease>);
            hard_stop(on: Ref<Lease>);
            until_lost(on: Ref<Lease>, work: Ready<()>);
        }
        Watch {
            changed(on: Mut<Watch>);
            until(on: Mut<Watch>, is: fn(&Status) -> bool);
        }
        Changes {
            next(on: Mut<Changes>);
        }
        Cluster {
            start(on: Cluster);
            open(on: Cluster);
        }
        Member {
            hand_over(on: Ref<Member>, to: Ref<NodeId>);
            pause(on: Ref<Member>, lasts: Option<Duration>);
            resume(on: Ref<Member>);
            followed(on: Ref<Member>);
            while_following(on: Ref<Member>, epoch: Epoch, work: Ready<()>);
        }
    }
}

fn database<T: Fenced + 'static>() -> Sizes {
    sizes! {
        Election {
            run_while_leader(on: Election<Store<T>>, work: Work);
        }
        Lease {
            fence(on: Ref<Lease>, transaction: Mut<T>);
        }
        SqlStore {
            ensure_schema(on: Mut<Store<T>>);
            leader(on: Mut<Store<T>>, of: Ref<Namespace>);
            list_candidates(on: Mut<Store<T>>, of: Ref<Namespace>);
            list_elections(on: Mut<Store<T>>);
            register_candidate(on: Mut<Store<T>>, who: Ref<Candidacy>);
            heartbeat(on: Mut<Store<T>>, who: Ref<Candidacy>);
            unregister_candidate(on: Mut<Store<T>>, who: Mut<Candidacy>);
            elect(on: Mut<Store<T>>, who: Mut<Candidacy>);
            is_leader(on: Mut<Store<T>>, who: Ref<Candidacy>);
            request_resign(on: Mut<Store<T>>, of: Ref<Namespace>, epoch: Epoch);
            request_resign_of_leader(on: Mut<Store<T>>, of: Ref<Namespace>);
            fence(on: Ref<Store<T>>, transaction: Mut<T>, who: Ref<Candidacy>, epoch: Epoch);
            answer(on: Mut<Store<T>>, who: Ref<Registration>, query: Ref<Query>);
        }
        OnConnection {
            register_candidate(on: Mut<On<T>>, who: Ref<Candidacy>);
            heartbeat(on: Mut<On<T>>, who: Ref<Candidacy>);
            unregister_candidate(on: Mut<On<T>>, who: Mut<Candidacy>);
            elect(on: Mut<On<T>>, who: Mut<Candidacy>);
            is_leader(on: Mut<On<T>>, who: Ref<Candidacy>);
            leader(on: Mut<On<T>>, of: Ref<Namespace>);
            list_candidates(on: Mut<On<T>>, of: Ref<Namespace>);
            list_elections(on: Mut<On<T>>);
            request_resign(on: Mut<On<T>>, of: Ref<Namespace>, epoch: Epoch);
            request_resign_of_leader(on: Mut<On<T>>, of: Ref<Namespace>);
        }
    }
}

tests! {
    no_future_is_large: by_itself;
}
