//! How nodes start and end: what they hold is theirs alone, is free afterwards, and is remembered.

use super::{
    super::tasks::{Task, spawn},
    IDS, OnNothing, Place, first, followed, mortals, shut_down,
};
use crate::{Member, Network, StartError};
use election_core::{Epoch, quorum::Position};
use futures_lite::io::{AsyncReadExt as _, AsyncWriteExt as _};
use std::{
    io::ErrorKind,
    net::{TcpListener, TcpStream},
    time::Duration,
};

/// The ballot and the port are free as soon as a shutdown has returned.
pub async fn what_has_shut_down_can_start_again_at_once<R: Network + Default>(_: OnNothing<R>) {
    let place = Place::new(3);
    for round in 0..200 {
        let started = place.cluster::<R>(0, Position::default()).start().await;
        let member = started.unwrap_or_else(|error| panic!("round {round}: {error}"));
        member.handle().shutdown().await;
    }
}

/// Nobody listens any more at the port of a node that has shut down, and its connections are closed.
pub async fn a_shutdown_closes_all_sockets<R: Network + Default>(_: OnNothing<R>) {
    let place = Place::new(3);
    let (members, _tasks) = mortals::<R>(&place).await;
    let (leads, epoch) = first(&members).await;
    followed(members[(leads + 1) % 3].handle(), Epoch::NONE).await;
    let address = place.address(leads).parse().expect("an address");
    let mut caller = R::default().connect(address).await.expect("a port");
    caller.write_all(b"*5\r\n").await.expect("a connection");
    members[leads].handle().shutdown().await;
    let refused = TcpStream::connect(address).expect_err("nobody listens");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    let said = caller.read_to_end(&mut Vec::new()).await;
    assert!(matches!(said, Ok(0) | Err(_)), "a caller is told nothing: {said:?}");
    let others: Vec<_> = (0..3).filter(|nth| *nth != leads).map(|it| members[it].clone()).collect();
    for other in &others {
        assert!(followed(other.handle(), epoch).await.1 > epoch);
        while other.peers().iter().any(|peer| peer.id.as_str() == IDS[leads] && peer.connected) {
            R::default().sleep(Duration::from_millis(5)).await;
        }
    }
    shut_down(&others).await;
}

/// Of a port that somebody else has, the error says whose it is and what to do; the ballot is free
/// afterwards.
pub async fn a_port_that_is_taken_is_refused<R: Network + Default>(_: OnNothing<R>) {
    let place = Place::new(3);
    let taken = TcpListener::bind(place.address(0)).expect("a free port");
    let Err(error) = place.cluster::<R>(0, Position::default()).open().await else {
        panic!("two listen at a port")
    };
    assert!(matches!(error, StartError::Listen { .. }), "{error:?}");
    let said = error.to_string();
    for word in [place.address(0), "another process uses the port", "stop it, or use another port"]
    {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
    drop(taken);
    let member = place.cluster::<R>(0, Position::default()).start().await;
    member.expect("ballot and port are free").handle().shutdown().await;
}

/// A node whose predecessor was killed a moment ago.
async fn again<R: Network + Default>(place: &Place, nth: usize) -> (Member<R>, Task<()>) {
    loop {
        match place.cluster(nth, Position::default()).open().await {
            Ok((member, node)) => return (member, spawn::<R, _>(node)),
            Err(StartError::Ballot { .. } | StartError::Listen { .. }) => {
                R::default().sleep(Duration::from_millis(5)).await;
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// All that a killed node still knows is its ballot. So nobody is elected twice under one epoch, even
/// if all are killed at once.
pub async fn who_was_killed_does_not_vote_twice<R: Network + Default>(_: OnNothing<R>) {
    let place = Place::new(3);
    let (mut members, mut tasks) = mortals::<R>(&place).await;
    let mut last = Epoch::NONE;
    for round in 0..3 {
        let (leads, epoch) = first(&members).await;
        assert!(epoch > last, "round {round}: {} led under {epoch}, after {last}", IDS[leads]);
        last = epoch;
        for task in tasks.drain(..) {
            task.abort();
            task.outcome().await.expect_err("it was killed");
        }
        members.clear();
        for nth in 0..3 {
            let (member, task) = again::<R>(&place, nth).await;
            members.push(member);
            tasks.push(task);
        }
    }
    assert!(first(&members).await.1 > last);
    shut_down(&members).await;
}
