//! One process: the real machine, its leader work, and the checkers' books about them.
//!
//! The books hold the minimum from which the invariants can be judged at the very step that breaks
//! them. Most of it repeats what the machine itself must know, and so adds no states as long as the
//! machine is right.

use super::{
    host::{Host, World, incarnation},
    votes::Said,
};
use crate::explore::{
    books::{NOW, Verdict, Work, broken},
    model::Broken,
};
use election_core::{
    Change, Epoch, Input, Loss, Protocol, Timestamp,
    quorum::{
        Action, Audience, Ballot, Config, Connection, Event, Heartbeat, Message, Peer, Quorum,
        Role, Surroundings,
    },
};
use std::time::Duration;

/// A running process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) quorum: Quorum,
    /// When it must be called.
    pub(super) wake_at: Timestamp,
    pub(super) pending: Option<Ballot>,
    pub(super) work: Option<Work>,
    /// Its newest election, and when it first asked for votes in it.
    offered: Option<(Epoch, Timestamp)>,
    /// By member: the newest instant that it has vouched for.
    vouched: [Timestamp; 3],
    /// The newest epoch that it sent.
    said: Epoch,
    /// A primary has named its successor to it, or it has.
    ordered: bool,
    /// Since when it hears the life and connection of the preferred primary that it hears now.
    stays: Option<(Connection, Timestamp)>,
}

/// The result of an input to a process, apart from its new state.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) frames: Vec<(Audience, Message)>,
    pub(super) said: Vec<Said>,
    /// The invariant that it broke, after all of that.
    pub(super) broken: Option<Broken>,
}

pub(super) fn small(epoch: Epoch) -> u8 {
    u8::try_from(epoch.get()).unwrap_or(u8::MAX)
}

impl Process {
    pub(super) fn new(quorum: Quorum) -> Self {
        Self {
            quorum,
            wake_at: NOW,
            pending: None,
            work: None,
            offered: None,
            vouched: [Timestamp::ZERO; 3],
            said: Epoch::NONE,
            ordered: false,
            stays: None,
        }
    }

    /// One step of the machine, and what must hold of it.
    pub(super) fn step(
        &mut self,
        host: &Host,
        input: Input<Event>,
        world: &World,
        told: &mut Told,
    ) -> Verdict<()> {
        let here = usize::from(host.place);
        let config = &world.configs[here];
        self.listen(&input, config);
        let told_to = matches!(input, Input::Resign | Input::Event(Event::HandOver(_)));
        let bound = self.quorum.promised();
        let step = self.quorum.step(NOW, input);
        self.wake_at = step.wake_at.unwrap_or(Timestamp::MAX);
        match &step.change {
            Some(change) => {
                self.changed(host, change, told);
                self.returns_in_time(here, change, told_to, config)?;
            }
            None => {
                let tenure = self.quorum.tenure(NOW);
                if let (Some(work), Some(tenure)) = (&mut self.work, tenure) {
                    if !work.told {
                        work.stop_by = tenure.stop_by;
                    }
                }
            }
        }
        if let Some(action) = step.action {
            self.asks(host, action, world, told)?;
        }
        let now = self.quorum.promised();
        if now < bound {
            return broken(
                "epochs-never-fall",
                format!("node {here} was bound to epoch {bound}, is to {now}"),
            );
        }
        self.trusts_enough(here, config)?;
        self.believes_in_time(here, config)
    }

    /// Lets this much of each node's time pass; the process's own node is `here`.
    pub(super) fn age(
        &mut self,
        by: &[Duration],
        here: usize,
        config: &Config,
        around: &Surroundings,
    ) {
        let longest = config.down_after() * 4 + around.lateness;
        let moved = &mut |peer: Peer, at: Timestamp| (at - by[peer.index()]).max(NOW - longest);
        self.quorum.rebase(NOW + by[here], NOW, around, moved);
        if self.wake_at != Timestamp::MAX {
            self.wake_at = (self.wake_at - by[here]).max(NOW);
        }
        if let Some(work) = &mut self.work {
            work.stop_by = (work.stop_by - by[here]).max(NOW);
        }
        if let Some((_, at)) = &mut self.stays {
            let oldest = NOW - config.fail_back().unwrap_or_default();
            *at = (*at - by[here]).max(oldest);
        }
        for at in self.vouched.iter_mut().chain(self.offered.iter_mut().map(|(_, at)| at)) {
            if *at != Timestamp::ZERO {
                *at = *at - by[here];
            }
        }
    }

    /// Records the input of the process.
    fn listen(&mut self, input: &Input<Event>, config: &Config) {
        if config.fail_back().is_some() {
            self.watch_the_preferred(input, config.preferred_primary());
        }
        if let Input::Event(Event::Received { message: Message::Heartbeat(said), .. }) = input {
            self.ordered |= said.extension.is_some_and(|said| said.nominee.is_some());
        }
        match input {
            Input::Stopped(epoch) => {
                self.work.take_if(|work| work.epoch == *epoch);
            }
            Input::Event(Event::Received { from, message, .. }) => match message {
                Message::Heartbeat(heartbeat) => {
                    let echo = heartbeat
                        .extension
                        .and_then(|extension| extension.attestation.echo().copied());
                    let own = self.quorum.incarnation();
                    if let Some(echo) = echo.filter(|echo| echo.incarnation == own) {
                        self.vouch(*from, echo.at);
                    }
                }
                Message::Accept { epoch, .. } => {
                    if let Some((_, at)) = self.offered.filter(|(offered, _)| offered == epoch) {
                        self.vouch(*from, at);
                    }
                }
                Message::Offer { .. }
                | Message::Maintenance { .. }
                | Message::Lists { .. }
                | Message::Announce { .. } => {}
            },
            _ => {}
        }
    }

    /// Records since when the preferred primary is there.
    fn watch_the_preferred(&mut self, input: &Input<Event>, preferred: Option<Peer>) {
        match input {
            Input::Event(Event::Received { from, connection, .. }) if Some(*from) == preferred => {
                self.stays.take_if(|(known, _)| known != connection);
                self.stays.get_or_insert((*connection, NOW));
            }
            Input::Event(Event::Disconnected { from, .. }) if Some(*from) == preferred => {
                self.stays = None;
            }
            _ => {}
        }
    }

    /// A primary gives leadership back to the preferred one only when that one has stayed.
    fn returns_in_time(
        &self,
        here: usize,
        change: &Change,
        told_to: bool,
        config: &Config,
    ) -> Verdict<()> {
        let Change::Lost { reason: Loss::Resigned, .. } = change else { return Ok(()) };
        let Some(after) = config.fail_back().filter(|_| !told_to) else { return Ok(()) };
        match self.stays {
            Some((_, since)) if NOW.since(since) >= after => Ok(()),
            _ => broken(
                "healthy-primary-undisturbed",
                format!("node {here} hands over to the preferred one, which has not stayed"),
            ),
        }
    }

    fn vouch(&mut self, by: Peer, at: Timestamp) {
        if let Some(vouched) = self.vouched.get_mut(by.index()) {
            *vouched = at.max(*vouched);
        }
    }

    fn changed(&mut self, host: &Host, change: &Change, told: &mut Told) {
        match change {
            Change::Elected(tenure) => {
                let epoch = tenure.term.epoch;
                self.work = Some(Work { epoch, stop_by: tenure.stop_by, told: false });
                told.said.push(Said::Leads { epoch: small(epoch), life: host.life, elected: true });
            }
            Change::Lost { stop_by, .. } => {
                if let Some(work) = &mut self.work {
                    *work = Work { stop_by: (*stop_by).max(NOW), told: true, ..*work };
                }
            }
            Change::Followed { .. } | Change::Vacant | Change::Alert(_) => {}
        }
    }

    /// What must hold of an action.
    fn asks(&mut self, host: &Host, action: Action, world: &World, told: &mut Told) -> Verdict<()> {
        let place = host.place;
        match action {
            Action::Save(mut ballot) => {
                // No process reads the incarnation; it would only tell lives apart.
                ballot.incarnation = incarnation(place, 0);
                let known = host.disk.as_ref().map_or(0, |ballot| ballot.maintenance.number);
                if ballot.maintenance.number < known {
                    return broken(
                        "no-failover-while-paused",
                        format!("node {place} forgets record {known} of maintenance"),
                    );
                }
                self.pending = Some(ballot);
                return Ok(());
            }
            Action::Send { to, message } => {
                match (&message, to) {
                    (Message::Heartbeat(heartbeat), _) => {
                        let (epoch, role) = (heartbeat.epoch, heartbeat.role);
                        self.beats(host, epoch, role, told)?;
                        self.states(host, heartbeat, world, told)?;
                    }
                    (Message::Offer { epoch, .. }, _) => {
                        if self.offered.is_none_or(|(offered, _)| offered != *epoch) {
                            self.offered = Some((*epoch, NOW));
                            self.keeps_to_a_pause(host, place)?;
                        }
                        if is_witness(host, world) {
                            return broken(
                                "witness-keeps-its-word",
                                format!("node {place} is a witness and asks for votes"),
                            );
                        }
                        self.votes(host, *epoch, place, world, told)?;
                    }
                    (Message::Accept { epoch, .. }, Audience::One(whom)) => {
                        let whom = u8::try_from(whom.index()).unwrap_or(u8::MAX);
                        self.keeps_to_a_pause(host, whom)?;
                        self.votes(host, *epoch, whom, world, told)?;
                    }
                    (Message::Announce { epoch, .. }, _) => {
                        let (epoch, life) = (small(*epoch), host.life);
                        told.said.push(Said::Leads { epoch, life, elected: true });
                    }
                    (Message::Accept { .. }, Audience::All)
                    | (Message::Maintenance { .. } | Message::Lists { .. }, _) => {}
                }
                told.frames.push((to, message));
            }
        }
        Ok(())
    }

    fn beats(&mut self, host: &Host, epoch: Epoch, role: Role, told: &mut Told) -> Verdict<()> {
        let place = host.place;
        let before = std::mem::replace(&mut self.said, epoch);
        if epoch < before {
            return broken(
                "epochs-never-fall",
                format!("node {place} says epoch {epoch} after {before}"),
            );
        }
        if role == Role::Primary {
            let (epoch, life) = (small(epoch), host.life);
            told.said.push(Said::Leads { epoch, life, elected: false });
        }
        if role == Role::Replica && self.work.is_some_and(|work| NOW < work.stop_by) {
            return broken(
                "work-stops-before-release",
                format!("node {place} lets others lead while its work runs"),
            );
        }
        Ok(())
    }

    /// What it says that it has recorded, and which record of maintenance it holds.
    fn states(
        &mut self,
        host: &Host,
        heartbeat: &Heartbeat,
        world: &World,
        told: &mut Told,
    ) -> Verdict<()> {
        let place = host.place;
        if is_witness(host, world) && heartbeat.position.offset > host.recorded() {
            return broken(
                "witness-keeps-its-word",
                format!("node {place} states {} and has not recorded it", heartbeat.position),
            );
        }
        let Some(said) = heartbeat.extension else { return Ok(()) };
        self.ordered |= said.nominee.is_some();
        let (number, issuer, agreed) =
            (said.holds.get() >> 7, said.holds.get() >> 1 & 63, said.holds.get() & 1 == 1);
        if let (1..=3, Ok(issuer)) = (number, u8::try_from(issuer)) {
            let nth = u8::try_from(number - 1).unwrap_or(0);
            told.said.push(Said::Holds { place: nth * 3 + issuer.min(2), agreed });
        }
        Ok(())
    }

    /// While automatic failover is paused, only the last primary gets a new vote. (What was offered
    /// before is offered again.)
    fn keeps_to_a_pause(&self, host: &Host, whom: u8) -> Verdict<()> {
        let pause = host.disk.as_ref().map(|ballot| ballot.maintenance).filter(|it| it.paused);
        let forbids = pause.is_some_and(|pause| pause.primary != Some(Peer::new(whom)));
        let (followed, place) = (self.quorum.followed(), Peer::new(whom));
        let leads = followed.is_some_and(|(term, _)| {
            self.quorum.config().members().id(place) == Some(&term.leader)
        });
        if !forbids || leads || self.work.is_some() || self.ordered {
            return Ok(());
        }
        broken("no-failover-while-paused", format!("node {} votes for member {whom}", host.place))
    }

    /// The process gives its vote, or asks for votes and so votes for itself.
    fn votes(
        &mut self,
        host: &Host,
        epoch: Epoch,
        whom: u8,
        world: &World,
        told: &mut Told,
    ) -> Verdict<()> {
        let place = host.place;
        let members = world.configs[usize::from(place)].members();
        let durable = host.disk.as_ref().is_some_and(|ballot| {
            let voted = ballot.voted_for.as_ref();
            ballot.promised == epoch && voted == members.id(Peer::new(whom))
        });
        if !durable {
            let left = host.disk.as_ref().map(|ballot| ballot.promised);
            return broken(
                "vote-is-durable",
                format!("node {place} votes in epoch {epoch}; a crash now would leave {left:?}"),
            );
        }
        told.said.push(Said::Votes { epoch: small(epoch), whom });
        let works = self.work.is_some_and(|work| NOW < work.stop_by);
        if works && (whom != place || self.work.is_some_and(|work| work.told)) {
            return broken(
                "work-stops-before-release",
                format!("node {place} votes while its work runs"),
            );
        }
        let data = |node: u8| world.offsets.get(usize::from(node)).copied().unwrap_or(0);
        let id = members.id(Peer::new(whom));
        let followed = self.quorum.followed();
        let follows = followed.is_some_and(|(term, _)| Some(&term.leader) == id);
        let own = if is_witness(host, world) { host.recorded() } else { host.offset };
        if whom != place && data(whom) < own && !follows {
            return broken(
                "votes-for-newest-data",
                format!("node {place} votes for older data, node {whom}'s"),
            );
        }
        Ok(())
    }

    /// Trust lasts no longer than a majority has vouched for.
    fn trusts_enough(&self, here: usize, config: &Config) -> Verdict<()> {
        let Some(work) = self.work.filter(|work| !work.told) else { return Ok(()) };
        let Some(bound) = self.vouched_until(config) else { return Ok(()) };
        if work.stop_by <= bound + GRAIN {
            return Ok(());
        }
        let late = work.stop_by.since(bound);
        broken(
            "trust-within-support",
            format!("node {here} may work on {} for {late:?} too long", work.epoch),
        )
    }

    /// Belief ends a grace before trust.
    pub(super) fn believes_in_time(&self, here: usize, config: &Config) -> Verdict<()> {
        let Some(work) = self.work else { return Ok(()) };
        let Some(bound) = self.vouched_until(config) else { return Ok(()) };
        if NOW >= bound - config.grace() + GRAIN && self.quorum.is_leader(NOW) {
            return broken(
                "trust-within-support",
                format!("node {here} believes in {} after its time", work.epoch),
            );
        }
        Ok(())
    }

    /// Until when a majority vouches for it; `None` if it is a majority by itself.
    fn vouched_until(&self, config: &Config) -> Option<Timestamp> {
        let needed = config.members().count() / 2;
        let mut vouched = self.vouched;
        vouched.sort_unstable();
        let majority = vouched.iter().rev().nth(needed.checked_sub(1)?)?;
        Some(*majority + window(config))
    }

    /// Removes from the books what cannot matter any more.
    pub(super) fn forget(&mut self, config: &Config) {
        let campaigned = self.quorum.campaigned();
        self.offered.take_if(|(epoch, _)| campaigned != Some(*epoch));
        if self.work.is_none() && campaigned.is_none() {
            self.vouched = [Timestamp::ZERO; 3];
        }
        let least = self.work.map_or(self.quorum.promised(), |work| work.epoch);
        if self.said <= least.min(self.quorum.promised()) {
            self.said = Epoch::NONE; // it sends nothing lower unless its bound is lower
        }
        if let Some(work) = &mut self.work {
            work.stop_by = floor(work.stop_by);
        }
        let oldest = NOW - window(config);
        if let Some((_, at)) = &mut self.offered {
            *at = floor(*at).max(oldest);
        }
        for at in &mut self.vouched {
            *at = if *at <= oldest { Timestamp::ZERO } else { floor(*at) };
        }
    }
}

fn is_witness(host: &Host, world: &World) -> bool {
    world.configs[usize::from(host.place)].members().is_witness(Peer::new(host.place))
}

/// The stamps of frames sent in one instant differ by less than this.
pub(super) const GRAIN: Duration = Duration::from_nanos(GRAIN_NANOS);
const GRAIN_NANOS: u64 = 1_000;

fn floor(at: Timestamp) -> Timestamp {
    at - Duration::from_nanos(at.as_nanos() % GRAIN_NANOS)
}

/// The window, computed from the rule and not by the configuration.
fn window(config: &Config) -> Duration {
    let drift = u128::from(config.drift().ppm());
    let window = config.down_after().as_nanos() * (1_000_000 - drift) / (1_000_000 + drift);
    Duration::from_nanos(u64::try_from(window).unwrap_or(u64::MAX)).saturating_sub(config.margin())
}
