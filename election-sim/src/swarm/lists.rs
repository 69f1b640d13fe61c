//! Changes of the list of members, beside whatever else happens in a run.
//!
//! Most are such as an operator would order: a node that is no member joins, or a member leaves. Some
//! are wrong, repeated, or take the last one back. The draws are apart from all others, so that the
//! other runs stay what they are.

use super::probabilities as odds;
use crate::{
    draw::Dice,
    fault::{Fault, FaultKind},
    schedule::Schedule,
    text::node_name,
};
use std::{collections::BTreeSet, time::Duration};

const LISTS: u64 = 0x6C69_7374_7300_0000;
const SPARES: u64 = 0x7370_6172_6573_0000;

/// How many nodes there are beside the first members.
fn spares(seed: u64) -> usize {
    Dice::new(seed ^ SPARES).pick(odds::SPARES)
}

/// The number of nodes of a run whose first list has so many members.
pub(super) fn nodes(seed: u64, members: usize) -> usize {
    members + spares(seed).min(odds::MOST_NODES.saturating_sub(members))
}

/// Makes some of the nodes spare, and draws what operators order.
pub(super) fn lists(schedule: &mut Schedule, down_after: Duration, members: usize) {
    if schedule.has_legacy() || members == 0 {
        return;
    }
    let mut dice = Dice::new(schedule.seed ^ LISTS);
    let last = schedule.nodes.len() as u64 - 1;
    let node = |dice: &mut Dice| usize::try_from(dice.between(0, last)).unwrap_or(0);
    for (n, member) in schedule.nodes.iter_mut().enumerate() {
        member.name = node_name(n);
        member.witness &= n > 0;
    }
    while schedule.nodes.iter().filter(|node| !node.spare).count() > members {
        let leads = |n: usize| !schedule.nodes[n].spare && !schedule.nodes[n].witness;
        let chosen = node(&mut dice);
        let others = (0..schedule.nodes.len()).filter(|n| *n != chosen && leads(*n));
        let is_left = others.count() > 0;
        schedule.nodes[chosen].spare |= is_left;
    }
    let mut expected = (0..schedule.nodes.len()).filter(|n| !schedule.nodes[*n].spare).collect();
    let horizon = u64::try_from(schedule.horizon.as_nanos()).unwrap_or(u64::MAX);
    let count = dice.pick(odds::CHANGES);
    let mut times: Vec<_> = (0..count).map(|_| dice.between(0, horizon)).collect();
    times.sort_unstable();
    let mut before = None;
    for at in times.into_iter().map(Duration::from_nanos) {
        let chosen = match before {
            Some(before) if dice.happens(odds::REVERTED) => before,
            _ => node(&mut dice),
        };
        let is_wrong = dice.happens(odds::WRONG_CHANGE);
        let kind = change(&mut expected, chosen, is_wrong);
        before = Some(chosen);
        for nth in 0..dice.pick(odds::ORDERED) {
            let fault =
                Fault { at: at + down_after * nth, lasts: Duration::ZERO, kind: kind.clone() };
            push(schedule, fault);
        }
    }
    schedule.faults.sort_by_key(|fault| fault.at);
}

/// The change of one node, as an operator who expects these members would order it.
fn change(expected: &mut BTreeSet<usize>, node: usize, is_wrong: bool) -> FaultKind {
    if expected.contains(&node) == is_wrong {
        if !is_wrong {
            expected.insert(node);
        }
        return FaultKind::AddMember(node);
    }
    if !is_wrong {
        expected.remove(&node);
    }
    FaultKind::RemoveMember(node)
}

/// Orders a change, unless that takes the run out of its contract: a disk is lost, and who is added
/// again has lost one, too.
fn push(schedule: &mut Schedule, fault: Fault) {
    let before = schedule.contract();
    schedule.faults.push(fault);
    if schedule.contract() > before {
        schedule.faults.pop();
    }
}
