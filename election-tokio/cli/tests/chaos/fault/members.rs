//! Faults of the members of a cluster: of all, or all but one. On etcd also of one: in three of four cases, of the
//! one that leads the others.

use super::{
    Wound,
    database::{forgets_since, forgot, is_up},
    disk::fill_up,
};
use crate::{database::Database, plan::Hit, world::World};
use election_testing::{Etcd, Server};
use election_tokio::now;
use std::fs;

fn chosen(world: &mut World, hit: &Hit) -> Option<usize> {
    let cluster = world.database.members()?;
    let next = usize::try_from(hit.degree).unwrap_or(0) % cluster.size();
    Some(cluster.leader().filter(|_| !hit.degree.is_multiple_of(4)).unwrap_or(next))
}

/// More than the others can do without: all, in every second case, or all but one.
fn several(world: &mut World, hit: &Hit) -> Vec<usize> {
    let size = world.database.ports().len();
    let spared = usize::try_from(hit.degree).unwrap_or(0) % (2 * size);
    (0..size).filter(|at| *at != spared).collect()
}

/// Starts what has ended, and looks whether the members have a leader.
fn are_up(world: &mut World) -> bool {
    let Some(cluster) = world.database.members() else { return is_up(world) };
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

/// How many times a commit was lost.
fn losses(world: &World) -> usize {
    match &world.database {
        Database::Galera(cluster, _) => cluster.losses(),
        _ => 0,
    }
}

pub(super) fn kill_several(world: &mut World, hit: &Hit) -> Option<Wound> {
    let (from, before) = (now().as_nanos(), losses(world));
    for member in several(world, hit) {
        world.database.do_to(member, Etcd::kill, Server::kill);
    }
    Wound::until_done(move |world| {
        let up = are_up(world);
        if up && losses(world) > before {
            forgets_since(world, from);
            forgot(world, from);
        }
        up
    })
}

pub(super) fn freeze(world: &mut World, hit: &Hit) -> Option<Wound> {
    let member = chosen(world, hit)?;
    freeze_these(world, vec![member])
}

pub(super) fn freeze_several(world: &mut World, hit: &Hit) -> Option<Wound> {
    let members = several(world, hit);
    freeze_these(world, members)
}

fn freeze_these(world: &mut World, members: Vec<usize>) -> Option<Wound> {
    for member in &members {
        world.database.do_to(*member, |etcd, at| etcd.freeze(at), |server| server.freeze());
    }
    let mut frozen = Some(members);
    Wound::until_done(move |world| {
        for member in frozen.take().into_iter().flatten() {
            world.database.do_to(member, |etcd, at| etcd.thaw(at), |server| server.thaw());
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
