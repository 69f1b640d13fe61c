//! Nodes that stand still while the rest of their process goes on, as behind work that blocks their
//! thread.

use super::{
    super::tasks::{News, spawn},
    IDS, OnNothing, Place, first, opened, shut_down,
};
use crate::{HandOverError, Member, Network, Node};
use election_core::{Loss, NodeId};
use futures_lite::future::{or, poll_once};
use std::{sync::Arc, time::Duration};

/// What a node is told, and whether it stands still.
#[derive(Clone, Default)]
struct Brake(Arc<News<Motion>>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Motion {
    #[default]
    Goes,
    Told,
    Halted,
}

impl Brake {
    async fn until(&self, motion: Motion) {
        self.0.until(|now| (*now == motion).then_some(())).await;
    }

    /// Returns once the node stands still.
    async fn pull(&self) {
        self.0.change(|now| *now = Motion::Told);
        self.until(Motion::Halted).await;
    }

    fn release(&self) {
        self.0.change(|now| *now = Motion::Goes);
    }

    /// Drives a node, except while it is told to stand still.
    async fn drives(self, mut node: Node) {
        let told = async || {
            self.until(Motion::Told).await;
            false
        };
        let ends = async |node: &mut Node| {
            node.await;
            true
        };
        while !or(told(), ends(&mut node)).await {
            self.0.change(|now| *now = Motion::Halted);
            self.until(Motion::Goes).await;
        }
    }
}

async fn trio<R: Network + Default>(place: &Place) -> (Vec<Member<R>>, Vec<Brake>) {
    let (mut members, mut brakes) = (Vec::new(), Vec::new());
    for (member, node) in opened(place).await {
        let brake = Brake::default();
        drop(spawn::<R, _>(brake.clone().drives(node)));
        members.push(member);
        brakes.push(brake);
    }
    (members, brakes)
}

/// A handover of which the node hears only when its leadership has run out.
pub async fn a_handover_that_comes_too_late_says_why<R: Network + Default>(_: OnNothing<R>) {
    let place = Place::new(3);
    let (members, brakes) = trio::<R>(&place).await;
    let leads = first(&members).await.0;
    let heir = NodeId::new(IDS[(leads + 1) % 3]).expect("a short id");
    let ended = members[leads].handle().lease().expect("a leader").ended();
    brakes[leads].pull().await;
    let mut ordered = std::pin::pin!(members[leads].hand_over(&heir));
    assert_eq!(poll_once(&mut ordered).await, None, "the node stands still");
    ended.await;
    brakes[leads].release();
    assert_eq!(ordered.await, Err(HandOverError::Lost(Loss::Expired)));
    shut_down(&members).await;
}

/// What a probe for liveness asks. Nobody but the node itself can take its steps.
pub async fn a_blocked_node_is_overdue<R: Network + Default>(_: OnNothing<R>) {
    let place = Place::new(3);
    let (members, brakes) = trio::<R>(&place).await;
    let handle = members[0].handle();
    let until = async |holds: fn(Duration) -> bool| {
        while !holds(handle.overdue()) {
            R::default().sleep(Duration::from_millis(5)).await;
        }
    };
    handle.watch().until(|status| status.leader.is_some()).await;
    until(|late| late.is_zero()).await;
    brakes[0].pull().await;
    until(|late| late > Duration::from_millis(500)).await;
    brakes[0].release();
    until(|late| late.is_zero()).await;
    shut_down(&members).await;
    assert!(handle.overdue().is_zero(), "nothing is due any more");
}
