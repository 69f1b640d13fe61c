//! A ballot has one keeper.

use crate::on::OnNothing;
use election_core::quorum::Position;
use election_driver::{StartError, conformance::Place};
use election_testing::process::eventually;
use election_tokio::Tokio;
use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

/// A ballot has one keeper: a node of this process, or another process.
async fn a_ballot_that_is_kept_is_refused(_: OnNothing) {
    let place = Place::new(3);
    let refused = async || match place.cluster::<Tokio>(0, Position::default()).open().await {
        Err(StartError::Ballot { reason, path }) => {
            assert_eq!(path, place.ballot(0));
            for word in ["another process", "another node in this process", "give every node"] {
                assert!(reason.contains(word), "no {word:?} in {reason}");
            }
            assert!(reason.contains(&*path.to_string_lossy()), "{reason}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("two keep a ballot"),
    };
    let member = place.cluster::<Tokio>(0, Position::default()).start().await.expect("a node");
    refused().await;
    member.handle().shutdown().await;

    let lock = place.ballot(0).with_extension("lock");
    let mut holder = Command::new("flock"); // of the package util-linux
    holder.arg(lock).args(["sh", "-c", "echo locked; exec cat"]);
    let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("flock");
    let mut said = String::new();
    let out = holder.stdout.take().expect("a pipe");
    BufReader::new(out).read_line(&mut said).expect("a line");
    assert_eq!(said, "locked\n");
    refused().await;
    drop(holder.stdin.take());
    eventually("the end of the other process", || holder.try_wait().expect("our child"));
    let member = place.cluster::<Tokio>(0, Position::default()).start().await;
    member.expect("the ballot is free").handle().shutdown().await;
}

tests! {
    a_ballot_that_is_kept_is_refused: by_itself;
}
