//! What a register has to promise, as far as it can be tried from outside. What cannot: that no write is
//! repeated behind the caller's back, and that an acknowledged write survives.

use super::tasks::spawn;
use crate::{Register, RegisterStore, Runtime};
use election_core::{
    Candidate, Incarnation, Namespace, NodeId,
    lease::{Candidacy, Registration},
};
use futures_lite::future::{poll_once, yield_now};
use std::pin::pin;
use uuid::Uuid;

/// Tries a register under keys that begin with `prefix`, which must be unused.
///
/// # Panics
/// If it breaks a promise, or a call fails.
pub async fn keeps_its_promises<R: Runtime + Default, T: Register + Clone>(
    register: T,
    prefix: &str,
) {
    a_value_is_created_once(register.clone(), &format!("{prefix}created")).await;
    no_version_comes_twice(register.clone(), &format!("{prefix}versions")).await;
    keys_and_values_are_kept(register.clone(), prefix).await;
    no_write_is_lost::<R, T>(&register, &format!("{prefix}counter")).await;
    a_dropped_call_leaves_the_old_or_the_new(register.clone(), &format!("{prefix}dropped")).await;
    one_of_two_is_elected(&register, &format!("{prefix}election")).await;
}

async fn value<T: Register>(register: &mut T, key: &str) -> Option<String> {
    register.read(key).await.expect("a read").map(|(value, _)| value)
}

/// Writes, and says whether the register has taken it.
async fn takes<T: Register>(
    register: &mut T,
    key: &str,
    value: &str,
    expected: Option<&T::Version>,
) -> Option<T::Version> {
    register.write(key, value, expected).await.expect("a write")
}

async fn a_value_is_created_once<T: Register>(mut register: T, key: &str) {
    assert_eq!(value(&mut register, key).await, None, "{key} is in use");
    let first = takes(&mut register, key, "a", None).await.expect("there was no value");
    assert!(takes(&mut register, key, "b", None).await.is_none(), "created over a value");
    assert_eq!(value(&mut register, key).await.as_deref(), Some("a"));
    takes(&mut register, key, "c", Some(&first)).await.expect("the version was right");
}

/// Not even if the value is written again.
async fn no_version_comes_twice<T: Register>(mut register: T, key: &str) {
    let mut versions = vec![takes(&mut register, key, "a", None).await.expect("no value before")];
    for text in ["a", "b", "a", "a"] {
        let newest = versions.last();
        let next = takes(&mut register, key, text, newest).await.expect("the version was right");
        for old in &versions {
            let written = takes(&mut register, key, "old", Some(old)).await;
            assert!(written.is_none(), "a write on an earlier version was taken");
        }
        versions.push(next);
        let (read, version) = register.read(key).await.expect("a read").expect("a value");
        assert_eq!(read, text);
        let written = takes(&mut register, key, text, Some(&version)).await;
        versions.push(written.expect("a version that was read is as good as one from a write"));
    }
}

async fn keys_and_values_are_kept<T: Register>(mut register: T, prefix: &str) {
    let long = "é".repeat(127);
    let names = ["plain", "Plain", "plain/", "a//b", "a/b", "o'brien \"x\" %s", "🦀", "..", &long];
    for (number, name) in names.iter().enumerate() {
        let (key, text) = (format!("{prefix}{name}/leader"), format!("{number}\nline é\n"));
        takes(&mut register, &key, &text, None).await.expect("another key is another value");
    }
    for (number, name) in names.iter().enumerate() {
        let key = format!("{prefix}{name}/leader");
        let text = format!("{number}\nline é\n");
        assert_eq!(value(&mut register, &key).await, Some(text), "{key}");
    }
    let (key, large) = (format!("{prefix}large"), "x".repeat(16_384));
    takes(&mut register, &key, &large, None).await.expect("a value of 16 KiB");
    assert_eq!(value(&mut register, &key).await, Some(large));
}

const TASKS: u32 = 8;
const ROUNDS: u32 = 25;

async fn no_write_is_lost<R: Runtime + Default, T: Register + Clone>(register: &T, key: &str) {
    let counting = (0..TASKS).map(|_| {
        let (mut register, key) = (register.clone(), key.to_owned());
        spawn::<R, _>(async move {
            for _ in 0..ROUNDS {
                while !counts_up(&mut register, &key).await {
                    yield_now().await;
                }
            }
        })
    });
    for task in counting.collect::<Vec<_>>() {
        task.await;
    }
    let counted = value(&mut register.clone(), key).await;
    assert_eq!(counted, Some((TASKS * ROUNDS).to_string()), "writes were lost");
}

async fn counts_up<T: Register>(register: &mut T, key: &str) -> bool {
    let found = register.read(key).await.expect("a read");
    let (count, version) = found.unzip();
    let next = count.map_or(0, |count| count.parse::<u32>().expect("a number")) + 1;
    takes(register, key, &next.to_string(), version.as_ref()).await.is_some()
}

async fn a_dropped_call_leaves_the_old_or_the_new<T: Register>(mut register: T, key: &str) {
    let mut version = takes(&mut register, key, "0", None).await.expect("no value before");
    for round in 1..20 {
        let text = round.to_string();
        {
            let mut call = pin!(register.write(key, &text, Some(&version)));
            for _ in 0..round {
                if poll_once(call.as_mut()).await.is_some() {
                    break;
                }
                yield_now().await;
            }
        }
        // It may take effect even now: whatever was written meanwhile, the next write finds out.
        version = loop {
            let (_, read) = register.read(key).await.expect("a read").expect("a value");
            if let Some(next) = takes(&mut register, key, &text, Some(&read)).await {
                break next;
            }
        };
        assert_eq!(value(&mut register, key).await, Some(text), "after a dropped write");
    }
}

async fn one_of_two_is_elected<T: Register + Clone>(register: &T, name: &str) {
    let candidacy = |id: &str| {
        let id = NodeId::new(id).expect("a name");
        let candidate = Candidate { id, incarnation: Incarnation::new(Uuid::new_v4()) };
        let namespace = Namespace::new(name).expect("a name");
        Candidacy::new(Registration { namespace, candidate, label: None })
    };
    let (mut one, mut two) = (candidacy("one"), candidacy("two"));
    let mut first = RegisterStore::new(register.clone());
    let mut second = first.clone();
    let won = first.elect(&mut one).await.expect("a vote");
    assert!(one.leads(&won) && first.is_leader(&one).await.expect("an answer"));
    let lost = second.elect(&mut two).await.expect("a vote");
    assert!(one.leads(&lost) && !second.is_leader(&two).await.expect("an answer"));
    let renewed = first.elect(&mut one).await.expect("a vote");
    assert_eq!((renewed.epoch, renewed.renewals), (won.epoch, 1));
    let listed = second.list_candidates(&one.registration().namespace).await.expect("a list");
    assert_eq!(listed.len(), 2);
    first.unregister_candidate(&mut one).await.expect("a farewell");
    assert!(!first.is_leader(&one).await.expect("an answer"));
    let next = second.elect(&mut two).await.expect("a vote");
    assert!(two.leads(&next) && next.epoch > won.epoch);
}
