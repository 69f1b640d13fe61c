//! Members of a quorum.

use crate::services::{DOWN_AFTER, Kind, SPAN, drawn};
use election_driver::{HandOverError, Leader, Member, PauseError, Primary, core::NodeId};
use election_sim::service::{Node, SimRuntime};

crate::services::every_service!(Kind::Quorum);

#[test]
fn orders_are_answered() {
    Kind::Quorum.plays("orders_are_answered", ["paused", "handed over"], async |_, node| {
        let member = node.cluster().build()?.start().await?;
        node.spawn(follows(node.clone(), member.clone()));
        while !member.handle().status().closed {
            node.sleep(drawn(&node, SPAN)).await;
            if let Some(Leader { term, label: Some(label), .. }) = member.handle().status().leader {
                assert_eq!(label.as_str(), format!("{}:6004", term.leader), "everybody's words");
            }
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

/// Follows one primary after the other, and each only as long as nobody replaces it.
async fn follows(node: Node, member: Member<SimRuntime>) {
    while let Ok(Primary { term, .. }) = member.followed().await {
        let epoch = term.epoch;
        let is_replaced = || member.handle().leader().is_some_and(|now| now.epoch > epoch);
        let copies = async {
            for _ in 0..node.draw(100) {
                node.sleep(DOWN_AFTER / 10).await;
                assert!(!is_replaced(), "it copies from who was replaced");
            }
        };
        member.while_following(epoch, copies).await;
    }
}
