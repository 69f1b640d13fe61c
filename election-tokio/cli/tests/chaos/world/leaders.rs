//! Who leads, as far as the journal tells.

use super::World;
use crate::{
    actor::Sort,
    cast::ttl,
    journal::{Kind, Line, signs},
    plan::Target,
    role::PLACE,
};
use election_testing::process::carries;
use election_tokio::now;

/// A node that has been silent for longer, in nanoseconds, leads no more, for a fault that wants a leader.
fn recent() -> u64 {
    u64::try_from(ttl().as_nanos() / 10).unwrap_or(u64::MAX)
}

impl World {
    /// Since when every election has been led without a break and still was a moment after this time.
    pub(crate) fn led_after(&self, at: u64) -> Option<u64> {
        let lines = &self.tail.lines;
        let old = lines.iter().rev().position(|line| line.at + recent() * 100 < at);
        let lines = &lines[lines.len() - old.unwrap_or(lines.len())..];
        let mut led = vec![false; self.elections];
        let later = lines.iter().filter(|line| line.at >= at + recent());
        later.for_each(|line| led[line.election] = true);
        if led.contains(&false) {
            return None; // as it is most of the time, so the rest may be slow
        }
        let mut own = vec![Vec::new(); self.elections];
        lines.iter().for_each(|line| own[line.election].push(*line));
        own.iter().try_fold(at, |last, lines| Some(last.max(self.one_led_after(lines, at)?)))
    }

    fn one_led_after(&self, lines: &[Line], at: u64) -> Option<u64> {
        let signs = signs(lines, &self.history.excuses);
        let steady = signs.iter().position(|sign| *sign >= at + recent())?;
        let breaks = |place: &usize| signs[*place] - signs[place - 1] > recent();
        let began = (1..=steady).rev().find(breaks).unwrap_or(0);
        Some(signs[began].max(at))
    }

    /// The current leader, if one can be seen. The last lines of a node that has ended since are not
    /// the word of the one that was started in its place.
    pub(crate) fn leader(&self) -> Option<usize> {
        let last = self.tail.lines.last()?;
        let lives = last.life == self.actors[last.node].life;
        (lives && last.at + recent() > now().as_nanos()).then_some(last.node)
    }

    /// The first process of the job that runs on this node.
    pub(crate) fn job(&self, node: usize) -> Option<i32> {
        let own = |line: &&Line| line.node == node && line.kind == Kind::Start;
        let start = self.tail.lines.iter().rev().find(own)?;
        let live = carries(start.pid, PLACE, &self.place());
        live.then_some(start.pid)
    }

    pub(crate) fn pick(&mut self, target: Target) -> usize {
        let leader = self.within(ttl(), |world| world.leader());
        match (target, leader) {
            (Target::Leader, Some(leader)) => leader,
            (Target::Leader, None) => 0,
            (Target::Follower(node), Some(leader)) if node == leader => {
                (node + 1) % self.actors.len()
            }
            (Target::Follower(node), _) => node,
        }
    }

    /// A command that leads and has a job; any other leader is asked to resign.
    pub(crate) fn commander(&mut self) -> Option<usize> {
        self.leading(Sort::Command).filter(|node| self.job(*node).is_some())
    }

    /// A leader of this kind; one of the other kind is asked to resign.
    pub(crate) fn leading(&mut self, sort: Sort) -> Option<usize> {
        let mut asked = 0;
        self.within(ttl() * 4, |world| {
            let leader = world.leader()?;
            if world.actors[leader].sort == sort {
                return Some(leader);
            }
            if asked + recent() < now().as_nanos() {
                asked = now().as_nanos();
                world.ask_to_resign(leader);
            }
            None
        })
    }
}
