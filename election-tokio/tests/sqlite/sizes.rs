//! How large the futures are that a user awaits. The user's own future holds them, and an
//! unoptimised executor moves that from frame to frame before it runs: async-std's `block_on` takes
//! about sixty times its size from the stack of a thread.

use election_core::{
    Epoch, Namespace, NodeId,
    lease::{Candidacy, Query, Registration},
};
use election_driver::{
    Changes, Cluster, Election, Fenced, Handle, Lease, Member, Network, OnConnection, Runtime,
    SqlStore, Status, Store as _, Watch, conformance::OnNothing,
};
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
type Work<R> = fn(Lease<R>) -> Ready<Result<(), Infallible>>;
type On<T> = OnConnection<'static, <T as Fenced>::Client>;
type Store<T> = SqlStore<<T as Fenced>::Client>;

/// Nothing runs here: the sizes are known when this is compiled.
async fn no_future_is_large<R: Network + Default>(_: OnNothing<R>) {
    let mut all = [common::<R>(), database::<R, sqlx::Transaction<'_, sqlx::Sqlite>>()].concat();
    #[cfg(feature = "mysql")]
    all.extend(database::<R, sqlx::Transaction<'_, sqlx::MySql>>());
    #[cfg(feature = "postgres")]
    all.extend(database::<R, sqlx::Transaction<'_, sqlx::Postgres>>());
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

fn common<R: Network>() -> Sizes {
    sizes! {
        Handle {
            elected(on: Ref<Handle<R>>);
            resign(on: Ref<Handle<R>>);
            shutdown(on: Ref<Handle<R>>);
            run_while_leader(on: Ref<Handle<R>>, work: Work<R>);
        }
        Lease {
            lost(on: Ref<Lease<R>>);
            ended(on: Ref<Lease<R>>);
            hard_stop(on: Ref<Lease<R>>);
            until_lost(on: Ref<Lease<R>>, work: Ready<()>);
        }
        Watch {
            changed(on: Mut<Watch<R>>);
            until(on: Mut<Watch<R>>, is: fn(&Status) -> bool);
        }
        Changes {
            next(on: Mut<Changes>);
        }
        Cluster {
            start(on: Cluster<R>);
            open(on: Cluster<R>);
        }
        Member {
            hand_over(on: Ref<Member<R>>, to: Ref<NodeId>);
            pause(on: Ref<Member<R>>, lasts: Option<Duration>);
            resume(on: Ref<Member<R>>);
            followed(on: Ref<Member<R>>);
            while_following(on: Ref<Member<R>>, epoch: Epoch, work: Ready<()>);
        }
    }
}

fn database<R: Runtime, T: Fenced + 'static>() -> Sizes {
    sizes! {
        Election {
            run_while_leader(on: Election<R, Store<T>>, work: Work<R>);
        }
        Lease {
            fence(on: Ref<Lease<R>>, transaction: Mut<T>);
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
