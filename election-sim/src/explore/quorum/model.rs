//! The quorum as a model: real machines, and everything that can happen between them.

use super::{
    frames::{Frame, Kind, Link},
    host::World,
    node::Node,
    process::{GRAIN, Told},
    scope::{Scope, ScopeError},
    state::{LINKS, State, ends},
    votes::{Said, close, hear},
};
use crate::explore::{
    books::{NOW, step},
    interner::Interner,
    memo::Memo,
    model::Broken,
};
use election_core::{
    Epoch, Input, Random,
    quorum::{Event, Peer, Surroundings},
};
use std::time::Duration;

/// The quorum in one scope.
pub struct Quorum {
    pub(super) scope: Scope,
    pub(super) world: World,
    /// By combination of rates: how much of its own time passes for each node in one unit.
    pub(super) steps: Vec<Vec<Duration>>,
    pub(super) nodes: Interner<Node>,
    facts: Vec<NodeFacts>,
    pub(super) frames: Interner<Frame>,
    links: Interner<Link>,
    /// What the nodes do on what they are told.
    pub(super) did: Memo<Did>,
    sends: Vec<Sent>,
    said: Vec<Said>,
    put: Memo,
    pub(super) aged: [Memo; 2],
    pub(super) broken: Vec<Broken>,
    majority: u32,
}

/// What a search asks about a node at every turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFacts {
    pub(super) runs: bool,
    pub(super) life: u8,
    pub(super) due: bool,
    pub(super) saving: bool,
    /// Its leader work may run.
    pub(super) works: bool,
    /// It has been told to stop its work and has not reported that it has.
    pub(super) stops: bool,
    pub(super) leads: bool,
    /// The highest epoch it has bound itself to.
    pub(super) bound: u8,
    /// It neither votes nor leads below this epoch any more.
    least: u8,
}

/// The result of an input to a node. Millions are remembered, so it is small.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Did {
    node: u32,
    /// Its sent frames and its statements: where they begin, and how many there are.
    sends: (u32, u16),
    said: (u32, u16),
    /// One more than the index of the invariant that it breaks; zero for none.
    broken: u32,
}

/// Why there is no result.
pub(super) enum Stop {
    Broken(Broken),
    /// The model does not remember this.
    Unknown(Question),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// What a model works out once and remembers, by the numbers of the parts.
#[derive(Clone, Copy)]
pub(super) enum Question {
    /// What a node does when it gets an input: a frame, or one of [`told`].
    Did(u32, u32),
    /// A link after one more frame; or without its first, if the frame is none.
    With(u32, u32),
    /// A part after a unit of time, under this combination of rates.
    AgedNode(u32, u8),
    AgedFrame(u32, u8),
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    to: u8,
    link: u8,
    frame: u32,
}

/// Inputs of a node other than frames: numbers that no frame has.
pub(super) mod told {
    pub(crate) const TICK: u32 = u32::MAX;
    pub(crate) const RESIGN: u32 = u32::MAX - 1;
    pub(crate) const STOPPED: u32 = u32::MAX - 2;
    pub(crate) const START: u32 = u32::MAX - 3;
    pub(crate) const SAVED: u32 = u32::MAX - 4;
    /// The save failed; or it failed but is durable all the same.
    pub(crate) const FAILED: [u32; 2] = [u32::MAX - 5, u32::MAX - 6];
    /// A crash without the save under way, or with it; two more if the disk is lost.
    pub(crate) const CRASH: u32 = u32::MAX - 10;
    /// An order to pause automatic failover, or to resume it.
    pub(crate) const PAUSE: u32 = u32::MAX - 11;
    pub(crate) const RESUME: u32 = u32::MAX - 12;
    /// An order to hand over to a node; its place is added.
    pub(crate) const HAND_OVER: u32 = u32::MAX - 16;
    /// Combined with a node and its life: their connection has ended.
    pub(crate) const ENDED: u32 = 1 << 31;
}

/// The room on a link.
const LINK: usize = size_of::<Link>() / size_of::<u32>();
/// The number of nothing.
pub(super) const GONE: u32 = 0;
/// Numbers from here on stand for a broken invariant and not for a state.
pub(super) const FAILED: u32 = 1 << 31;

impl Quorum {
    /// The model of this scope.
    ///
    /// # Errors
    /// If the world is impossible, or the model cannot hold it.
    pub fn new(scope: Scope) -> Result<Self, ScopeError> {
        let configs = scope.configs()?;
        let unit = |ppm| step(scope.unit, ppm);
        let mut steps = vec![Vec::new()];
        for _ in 0..scope.nodes {
            let with = |rates: &Vec<Duration>| {
                let rates = rates.clone();
                scope.rates.iter().map(move |ppm| [rates.clone(), vec![unit(*ppm)]].concat())
            };
            steps = steps.iter().flat_map(with).collect();
        }
        let fastest = scope.rates.iter().max().map_or(scope.unit, |ppm| unit(*ppm));
        let offset = |node: usize| scope.offsets.get(node).copied().unwrap_or(0);
        let world = World {
            configs,
            around: Surroundings {
                draws: Random::constant(0),
                lateness: fastest * u32::from(scope.lateness),
                grain: GRAIN,
                reports: false,
                history: false,
            },
            offsets: (0..scope.nodes).map(offset).collect(),
        };
        Ok(Self {
            majority: u32::try_from(scope.nodes / 2 + 1).unwrap_or(u32::MAX),
            world,
            steps,
            nodes: Interner::new(),
            facts: Vec::new(),
            frames: Interner::new(),
            links: Interner::new(),
            did: Memo::default(),
            sends: Vec::new(),
            said: Vec::new(),
            put: Memo::default(),
            aged: Default::default(),
            broken: Vec::new(),
            scope,
        })
    }

    /// How many different nodes, frames and contents of links the search has met, and how often it
    /// has called the real machine.
    #[must_use]
    pub fn parts(&self) -> [usize; 4] {
        [self.nodes.len(), self.frames.len(), self.links.len(), self.did.len()]
    }

    pub(super) fn node(&mut self, node: Node) -> u32 {
        let facts = NodeFacts {
            runs: node.process.is_some(),
            life: node.host.life,
            due: node.process.as_ref().is_some_and(|process| process.wake_at <= NOW),
            saving: node.process.as_ref().is_some_and(|process| process.pending.is_some()),
            works: node.works(),
            stops: node.work().is_some_and(|work| work.told),
            leads: node.work().is_some_and(|work| !work.told),
            bound: node.bound(),
            least: node.least(),
        };
        let (number, new) = self.nodes.number(node);
        if new {
            self.facts.push(facts);
        }
        number
    }

    pub(super) fn facts(&self, state: &State, node: u8) -> NodeFacts {
        self.facts[state.nodes[usize::from(node)] as usize - 1]
    }

    /// The frames sent over a link in this instant.
    pub(super) fn on_link(&self, number: u32) -> Link {
        if number == GONE { [GONE; LINK] } else { *self.links.get(number) }
    }

    fn link_number(&mut self, link: Link) -> u32 {
        if link == [GONE; LINK] { GONE } else { self.links.number(link).0 }
    }

    /// The link after one more frame.
    fn with(&self, number: u32, frame: u32) -> Result<u32, Stop> {
        self.put.get(number, frame).ok_or(Stop::Unknown(Question::With(number, frame)))
    }

    fn put(&mut self, number: u32, frame: u32) -> u32 {
        let sent = self.frames.get(frame);
        let there = self.on_link(number);
        let there = there.iter().filter(|earlier| **earlier != GONE);
        let stays = there.filter(|earlier| !sent.replaces(self.frames.get(**earlier)));
        let mut stays: Vec<u32> = stays.copied().collect();
        // An announcement adds nothing to an earlier heartbeat as primary.
        let said = |earlier: &u32| self.frames.get(*earlier).claims() == sent.claims();
        if sent.kind() != Kind::Announce || !stays.iter().any(said) {
            stays.push(frame);
        }
        let mut link = [GONE; LINK];
        link.iter_mut().zip(stays).for_each(|(place, frame)| *place = frame);
        self.link_number(link)
    }

    /// The link without its first frame.
    pub(super) fn without_first(&self, number: u32) -> Result<u32, Stop> {
        self.put.get(number, GONE).ok_or(Stop::Unknown(Question::With(number, GONE)))
    }

    fn shortened(&mut self, number: u32) -> u32 {
        let [_, rest @ ..] = self.on_link(number);
        let mut link = [GONE; LINK];
        link.iter_mut().zip(rest).for_each(|(place, frame)| *place = frame);
        self.link_number(link)
    }

    /// Works out what the model does not remember, and remembers it.
    pub(super) fn learn(&mut self, question: Question) {
        match question {
            Question::Did(node, told) => {
                let did = self.work_out(node, told);
                self.did.set(node, told, did);
            }
            Question::With(link, frame) => {
                let to = if frame == GONE { self.shortened(link) } else { self.put(link, frame) };
                self.put.set(link, frame, to);
            }
            Question::AgedNode(node, clocks) => self.learn_aged_node(node, clocks),
            Question::AgedFrame(frame, clocks) => self.learn_aged_frame(frame, clocks),
        }
    }

    /// The result, with whatever has to be worked out for it.
    pub(super) fn learned<T>(
        &mut self,
        result: impl Fn(&Self) -> Result<T, Stop>,
    ) -> Result<T, Broken> {
        loop {
            match result(self) {
                Ok(result) => return Ok(result),
                Err(Stop::Broken(broken)) => return Err(broken),
                Err(Stop::Unknown(question)) => self.learn(question),
            }
        }
    }

    fn work_out(&mut self, number: u32, told: u32) -> Did {
        let mut node = self.nodes.get(number).clone();
        let world = &self.world;
        let Told { frames, said, broken } = match told {
            told::TICK => node.tell(Input::Tick, world),
            told::RESIGN => node.tell(Input::Resign, world),
            told::STOPPED => {
                let epoch = node.work().map_or(Epoch::NONE, |work| work.epoch);
                node.tell(Input::Stopped(epoch), world)
            }
            told::PAUSE => node.tell(Input::Event(Event::Pause(None)), world),
            told::RESUME => node.tell(Input::Event(Event::Resume), world),
            order if (told::HAND_OVER..told::HAND_OVER + 3).contains(&order) => {
                let [.., to] = (order - told::HAND_OVER).to_be_bytes();
                node.tell(Input::Event(Event::HandOver(Peer::new(to))), world)
            }
            told::START => node.start(world),
            told::SAVED => node.save_ends(false, true, world),
            failed if told::FAILED.contains(&failed) => {
                node.save_ends(true, failed == told::FAILED[1], world)
            }
            crash if (told::CRASH..told::CRASH + 4).contains(&crash) => {
                let how = crash - told::CRASH;
                node.crash(how & 1 == 1, how & 2 == 2);
                Told::default()
            }
            ended if ended & told::ENDED != 0 => {
                let [.., from, life] = ended.to_be_bytes();
                node.disconnected(from, life, world)
            }
            frame => {
                let frame = self.frames.get(frame);
                node.hear(frame.from, &frame.message, world)
            }
        };
        let place = node.host.place;
        let (sends, said_from) = (self.sends.len(), self.said.len());
        for (to, message) in &frames {
            for frame in Frame::sent(place, self.scope.nodes, *to, message) {
                let (to, link) = (frame.to, frame.link());
                self.sends.push(Sent { to, link, frame: self.frames.number(frame).0 });
            }
        }
        self.said.extend(said);
        self.broken.extend(broken.iter().cloned());
        let short = |count: usize| u16::try_from(count).expect("a step does less");
        let long = |count: usize| u32::try_from(count).expect("memory ends before");
        Did {
            node: self.node(node),
            sends: (long(sends), short(self.sends.len() - sends)),
            said: (long(said_from), short(self.said.len() - said_from)),
            broken: broken.map_or(0, |_| long(self.broken.len())),
        }
    }

    /// Gives an input to a node, with everything that follows at the same instant.
    pub(super) fn tell(&self, next: &mut State, node: u8, told: u32) -> Result<(), Stop> {
        let here = usize::from(node);
        let there = next.nodes[here];
        let unknown = || Stop::Unknown(Question::Did(there, told));
        let did = self.did.get(there, told).ok_or_else(unknown)?;
        next.nodes[here] = did.node;
        for said in &self.said[range(did.said)] {
            hear(next, node, self.majority, *said)?;
        }
        if let Some(broken) = did.broken.checked_sub(1) {
            return Err(self.broken[broken as usize].clone().into());
        }
        for nth in range(did.sends) {
            let sent = self.sends[nth];
            if self.facts(next, sent.to).runs && next.cut >> sent.link & 1 == 0 {
                let place = usize::from(sent.link);
                next.links[place] = self.with(next.links[place], sent.frame)?;
            }
        }
        let least = (0..self.count()).map(|node| self.facts(next, node).least).min();
        close(next, least.unwrap_or(0));
        self.exclusion(next).map_err(Stop::from)
    }

    /// A process is gone, with the frames under way to it. If its peers notice, the frames under
    /// way from it are gone, too.
    pub(super) fn cut(&self, next: &mut State, node: u8, abrupt: bool) -> Result<(), Stop> {
        let gone = |from: u8, to: u8| to == node || (from == node && !abrupt);
        for place in 0..LINKS {
            let (from, to) = ends(u8::try_from(place).unwrap_or(0));
            if gone(from, to) {
                next.links[place] = GONE;
            }
        }
        for slot in &mut next.late {
            if *slot != GONE {
                let frame = self.frames.get(*slot);
                if gone(frame.from, frame.to) {
                    *slot = GONE;
                }
            }
        }
        next.late.sort_unstable();
        if abrupt {
            return Ok(());
        }
        let ended = told::ENDED | u32::from(node) << 8 | u32::from(self.facts(next, node).life);
        for other in 0..self.count() {
            if other != node && self.facts(next, other).runs {
                self.tell(next, other, ended)?;
            }
        }
        Ok(())
    }

    pub(super) fn count(&self) -> u8 {
        u8::try_from(self.scope.nodes).unwrap_or(u8::MAX)
    }

    /// At most one process may work.
    pub(super) fn exclusion(&self, state: &State) -> Result<(), Broken> {
        let nodes = &state.nodes[..self.scope.nodes];
        let works = |number: &&u32| self.facts[**number as usize - 1].works;
        if nodes.iter().filter(works).count() <= 1 {
            return Ok(());
        }
        let epoch = |number: &u32| self.nodes.get(*number).work().map(|work| work.epoch.get());
        let epochs: Vec<_> = nodes.iter().map(epoch).collect();
        Err(Broken::new("exclusion", format_args!("two may act; by node, on {epochs:?}")))
    }
}

/// The indices of so many things from the first on.
fn range((first, count): (u32, u16)) -> std::ops::Range<usize> {
    let first = first as usize;
    first..first + usize::from(count)
}
