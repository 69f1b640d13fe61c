//! Members of a quorum.

use crate::services::{
    Kind, Outcome, SPAN, drawn, guards_hold_a_leadership, one_story_is_told,
    who_leaves_leads_no_more, work_runs_while_it_leads, writes,
};
use election_driver::{HandOverError, Member, PauseError, Primary, core::NodeId};
use election_sim::{
    Sim, Swarm,
    service::{Node, SimRuntime},
};
use std::time::Duration;

const DOWN_AFTER: Duration = Duration::from_secs(3);

/// `ELECTION_SIM_SEEDS` asks for more.
fn plays(
    name: &str,
    must_write: [&'static str; 2],
    service: impl AsyncFn(Kind, Node) -> Outcome + Copy + Send + Sync + 'static,
) {
    let swarm = Swarm::within_contract().of_quorum();
    let swarm = Swarm { down_after: Some(DOWN_AFTER), length: 60, ..swarm };
    Sim::new(&format!("quorum::{name}"))
        .nodes(3)
        .faults(swarm)
        .seeds(0..100)
        .service(move |node| async move { service(Kind::Quorum, node).await })
        .sometimes("a third leader is elected", |view| view.elections() > 2)
        .sometimes(must_write[0], writes(must_write[0]))
        .sometimes(must_write[1], writes(must_write[1]))
        .run();
}

#[test]
fn work_runs() {
    plays("work_runs", ["works", "clears up"], work_runs_while_it_leads);
}

#[test]
fn guards_hold() {
    plays("guards_hold", ["guarded", "the last"], guards_hold_a_leadership);
}

#[test]
fn one_story() {
    plays("one_story", ["held", "leads"], one_story_is_told);
}

#[test]
fn who_leaves() {
    plays("who_leaves", ["resigned", "left"], who_leaves_leads_no_more);
}

#[test]
fn orders_are_answered() {
    plays("orders_are_answered", ["paused", "handed over"], async |_, node| {
        let member = node.cluster().build()?.start().await?;
        node.spawn(follows(node.clone(), member.clone()));
        while !member.handle().status().closed {
            node.sleep(drawn(&node, SPAN)).await;
            match node.draw(3) {
                0 => pauses(&node, &member).await,
                1 => {
                    let members = member.members();
                    let others: Vec<_> = members.others().collect();
                    let chosen = usize::try_from(node.draw(others.len() as u64 - 1))?;
                    let to = members.id(others[chosen]).expect("a member");
                    hands_over(&node, &member, to).await;
                }
                _ => {
                    let lease = member.handle().elected().await?;
                    node.write(lease.epoch(), "leads");
                }
            }
        }
        Ok(())
    });
}

/// Orders a pause, and takes it back.
async fn pauses(node: &Node, member: &Member<SimRuntime>) {
    let lasts = (node.draw(1) == 0).then_some(DOWN_AFTER);
    match member.pause(lasts).await {
        Ok(()) => {
            node.write_without_leading(None, "paused");
            node.sleep(drawn(node, DOWN_AFTER)).await;
        }
        Err(PauseError::Refused(_)) => {}
        Err(_) => return,
    }
    while let Err(PauseError::Refused(_)) = member.resume().await {
        node.sleep(DOWN_AFTER).await;
    }
}

/// Hands leadership over, if it has it.
async fn hands_over(node: &Node, member: &Member<SimRuntime>, to: &NodeId) {
    let before = member.handle().lease().map(|lease| lease.epoch());
    match member.hand_over(to).await {
        Ok(()) => {
            assert!(member.handle().lease().is_none_or(|lease| Some(lease.epoch()) > before));
            node.write_without_leading(None, "handed over");
        }
        Err(HandOverError::NotAMember(_)) => panic!("it is a member"),
        Err(_) => {}
    }
}

/// Follows one primary after the other.
async fn follows(node: Node, member: Member<SimRuntime>) {
    while let Ok(Primary { term, .. }) = member.followed().await {
        let epoch = term.epoch;
        let over = member.while_following(epoch, node.sleep(drawn(&node, SPAN))).await;
        if over.is_none() {
            assert!(member.handle().leader().is_none_or(|now| now.epoch > epoch));
        }
    }
}
