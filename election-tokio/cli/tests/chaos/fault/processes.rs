//! Faults of electors, their guards and jobs.

use super::Wound;
use crate::{
    actor::Sort,
    cast::ttl,
    plan::Hit,
    world::{Part, World},
};
use election_testing::process::{alive, send, stat, thaw, within};
use rustix::process::Signal;
use std::time::{Duration, Instant};

pub(super) fn kill_elector(world: &mut World, hit: &Hit) -> Option<Wound> {
    let node = world.pick(hit.target);
    kill(world, node);
    Some(Wound::Once)
}

fn kill(world: &mut World, node: usize) {
    world.lose(node, Part::Elector);
    world.actors[node].doomed = true;
    world.actors[node].send(Signal::KILL);
}

pub(super) fn kill_guard(world: &mut World, _: &Hit) -> Option<Wound> {
    let node = world.commander()?;
    let guard = world.actors[node].guard()?;
    world.lose(node, Part::Guard);
    world.actors[node].doomed = true;
    send(guard, Signal::KILL);
    Some(Wound::Once)
}

pub(super) fn kill_job(world: &mut World, _: &Hit) -> Option<Wound> {
    signal_job(world, Signal::KILL)
}

pub(super) fn term_job(world: &mut World, _: &Hit) -> Option<Wound> {
    signal_job(world, Signal::TERM)
}

fn signal_job(world: &mut World, signal: Signal) -> Option<Wound> {
    let node = world.commander()?;
    world.actors[node].doomed = true;
    send(world.job(node)?, signal);
    Some(Wound::Once)
}

pub(super) fn kill_both(world: &mut World, _: &Hit) -> Option<Wound> {
    let node = world.commander()?;
    let guard = world.actors[node].guard()?;
    world.lose(node, Part::Guard);
    kill(world, node);
    send(guard, Signal::KILL);
    Some(Wound::Once)
}

pub(super) fn kill_all(world: &mut World, _: &Hit) -> Option<Wound> {
    (0..world.actors.len()).for_each(|node| kill(world, node));
    Some(Wound::Once)
}

/// Stops processes of a node for as long as the fault lasts, some of which guard a job.
fn stopped(
    world: &mut World,
    node: usize,
    parts: &'static [Part],
    pids: Vec<i32>,
) -> Option<Wound> {
    let life = world.actors[node].life;
    parts.iter().for_each(|part| world.touch(node, *part));
    pids.iter().for_each(|pid| send(*pid, Signal::STOP));
    // One that ends meanwhile stands still as well.
    let moves = |pid: &i32| {
        alive(*pid) && stat(*pid).is_some_and(|stat| stat.first().is_some_and(|state| state != "T"))
    };
    within(ttl(), || !pids.iter().any(moves));
    Wound::until(move |world| {
        pids.into_iter().for_each(thaw);
        parts.iter().for_each(|part| world.let_go(life, *part));
    })
}

/// A command, whose guard then has to end the job; the library, whose writes then come late and
/// are fenced; or any.
pub(super) fn stop_elector(world: &mut World, hit: &Hit) -> Option<Wound> {
    let node = match hit.degree % 3 {
        0 => world.pick(hit.target),
        _ if world.elections > 1 => world.pick(hit.target), // all are of the library
        1 => world.commander()?,
        _ => world.leading(Sort::Library)?,
    };
    let pid = world.actors[node].pid();
    stopped(world, node, &[Part::Elector], vec![pid])
}

pub(super) fn stop_guard(world: &mut World, _: &Hit) -> Option<Wound> {
    let node = world.commander()?;
    let guard = world.actors[node].guard()?;
    stopped(world, node, &[Part::Guard], vec![guard])
}

pub(super) fn stop_job(world: &mut World, _: &Hit) -> Option<Wound> {
    let node = world.commander()?;
    let job = world.job(node)?;
    stopped(world, node, &[], vec![job])
}

pub(super) fn stop_both(world: &mut World, _: &Hit) -> Option<Wound> {
    let node = world.commander()?;
    let (pid, guard) = (world.actors[node].pid(), world.actors[node].guard()?);
    stopped(world, node, &[Part::Guard, Part::Elector], vec![pid, guard])
}

/// As a virtual machine is stopped: everything of a node at once.
pub(super) fn stop_tree(world: &mut World, hit: &Hit) -> Option<Wound> {
    let node = world.pick(hit.target);
    let family = world.actors[node].family();
    stopped(world, node, &[Part::Guard, Part::Elector], family)
}

/// Told to end, and gone within its time, with all that it has started.
///
/// One that another fault has stopped cannot hear it.
pub(super) fn term_elector(world: &mut World, hit: &Hit) -> Option<Wound> {
    let node = world.pick(hit.target);
    if world.is_touched(node) {
        return None;
    }
    world.stop(node);
    Some(Wound::Once)
}

/// It hears no signal that is meant for its job.
pub(super) fn term_guard(world: &mut World, _: &Hit) -> Option<Wound> {
    let node = world.commander()?;
    send(world.actors[node].guard()?, Signal::TERM);
    Some(Wound::Once)
}

/// The current leader is asked to give up, again and again.
pub(super) fn resign_storm(world: &mut World, hit: &Hit) -> Option<Wound> {
    const PAUSE: Duration = Duration::from_millis(60);
    let until = Instant::now() + hit.lasts;
    while Instant::now() < until {
        if let Some(leader) = world.leader() {
            world.ask_to_resign(leader);
        }
        world.wait(PAUSE);
    }
    Some(Wound::Once)
}
