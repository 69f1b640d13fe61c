//! What a search asks about a process at every turn, and how a process is renamed.

use super::{
    books::Told,
    names::{Named, place},
    parts::Part,
    process::{Life, Process},
};
use crate::explore::books::NOW;
use election_core::{
    Epoch,
    lease::{Names, Surroundings},
};
use std::time::Duration;

impl Named for Process {
    fn rename(&mut self, names: &mut impl Names) {
        self.who = names.candidate(&self.who);
        let Some(life) = &mut self.life else { return };
        life.lease.rename(names);
        if let Some(work) = &mut life.work {
            work.epoch = names.epoch(work.epoch);
        }
        life.given_up = names.bound(life.given_up);
        match &mut life.told {
            Told::Leads(epoch) | Told::Lost(Some(epoch)) | Told::Follows(epoch) => {
                *epoch = names.epoch(*epoch);
            }
            Told::Nothing | Told::Lost(None) | Told::Vacant => {}
        }
    }
}

/// What a search asks about a process at every turn, computed once.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessFacts {
    pub(super) runs: bool,
    /// Its leader work may be running.
    pub(super) works: bool,
    /// The rank of the epoch of its work, and the number of units until the hard stop.
    pub(super) work: Option<(u8, u16)>,
    /// It has work that was told to stop and has not been reported stopped.
    pub(super) stops: bool,
    pub(super) follows: bool,
    pub(super) healthy: bool,
    pub(super) leaving: bool,
    /// It would do something if it were called now.
    pub(super) due: bool,
    /// The number of units until something happens by itself; zero for never.
    pub(super) next: u16,
    pub(super) life: u8,
}

impl Part for Process {
    type Facts = ProcessFacts;
    const KIND: u64 = 1;
}

impl Process {
    /// Computes the facts; a unit of time is `unit` of the process's clock.
    pub(super) fn facts(&self, unit: Duration, around: &Surroundings) -> ProcessFacts {
        let units = |span: Duration| {
            u16::try_from(span.as_nanos().div_ceil(unit.as_nanos())).unwrap_or(u16::MAX)
        };
        let work = self.work();
        let wakes_in = self.life.as_ref().and_then(|life| life.wakes_in(around));
        let stops_in = work.map(|work| work.stop_by.since(NOW)).filter(|left| !left.is_zero());
        let next = wakes_in.into_iter().chain(stops_in).min().map_or(0, units);
        ProcessFacts {
            runs: self.life.is_some(),
            works: self.works(),
            work: work.map(|work| {
                let rank = u8::try_from(work.epoch.get()).unwrap_or(u8::MAX);
                (rank, units(work.stop_by.since(NOW)))
            }),
            stops: work.is_some_and(|work| work.told),
            follows: self.follows() != Epoch::NONE,
            healthy: self.life.as_ref().is_none_or(Life::is_healthy),
            leaving: self.life.as_ref().is_some_and(Life::is_leaving),
            due: self.life.is_some() && wakes_in.is_none(),
            next: if next == u16::MAX { 0 } else { next },
            life: u8::try_from(place(&self.who).1).unwrap_or(u8::MAX),
        }
    }
}
