//! Faults of the members of etcd: of the one that leads the others, in three of four cases, or of all.

use super::{Wound, disk::fill_up};
use crate::{plan::Hit, world::World};
use std::fs;

fn chosen(world: &mut World, hit: &Hit) -> Option<usize> {
    let cluster = world.database.members()?;
    let next = usize::try_from(hit.degree).unwrap_or(0) % cluster.size();
    Some(cluster.leader().filter(|_| !hit.degree.is_multiple_of(4)).unwrap_or(next))
}

/// Starts what has ended, and looks whether the members have a leader.
fn are_up(world: &mut World) -> bool {
    let Some(cluster) = world.database.members() else { return true };
    for at in 0..cluster.size() {
        if !cluster.runs(at) {
            cluster.restart(at);
        }
    }
    cluster.leader().is_some()
}

pub(super) fn kill(world: &mut World, hit: &Hit) -> Option<Wound> {
    let member = chosen(world, hit)?;
    world.database.members()?.kill(member);
    Wound::until_done(are_up)
}

pub(super) fn kill_all(world: &mut World, _: &Hit) -> Option<Wound> {
    let cluster = world.database.members()?;
    (0..cluster.size()).for_each(|member| cluster.kill(member));
    Wound::until_done(are_up)
}

pub(super) fn freeze(world: &mut World, hit: &Hit) -> Option<Wound> {
    let member = chosen(world, hit)?;
    freeze_these(world, vec![member])
}

pub(super) fn freeze_all(world: &mut World, _: &Hit) -> Option<Wound> {
    let all = (0..world.database.members()?.size()).collect();
    freeze_these(world, all)
}

fn freeze_these(world: &mut World, members: Vec<usize>) -> Option<Wound> {
    let cluster = world.database.members()?;
    members.iter().for_each(|member| cluster.freeze(*member));
    let mut frozen = Some(members);
    Wound::until_done(move |world| {
        if let (Some(cluster), Some(members)) = (world.database.members(), frozen.take()) {
            members.iter().for_each(|member| cluster.thaw(*member));
        }
        are_up(world)
    })
}

/// Members that cannot write end by themselves.
pub(super) fn fill(world: &mut World, _: &Hit) -> Option<Wound> {
    let ballast = world.home().disk().join("ballast");
    fill_up(&ballast);
    Wound::until_done(move |world| {
        let _ = fs::remove_file(&ballast); // it may already be gone
        are_up(world)
    })
}
