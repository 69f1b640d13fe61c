//! What must hold: one file per invariant, all of them on in every run.
//!
//! A checker sees what happens (the hooks of [`Check`]) and the true state of the world
//! ([`Scene`]), which no node can see. It keeps its own books: where it recomputes what the core
//! computes, it does so from the rule and not from the core's state.

mod changes;
mod committed;
mod covered;
mod drained;
mod exclusion;
mod fencing;
mod gone;
mod liveness;
mod once;
mod pace;
mod scoped;
mod standing_by;
mod succession;
mod tokens;
mod trust;
mod woken;

use crate::{
    app::Write,
    fault::{Contract, What},
    node::Node,
    schedule::{Heal, Schedule},
    statement::{Done, Statement},
};
use election_core::{
    Change, Epoch, Timestamp,
    lease::{Answer, Config, Failure, Query},
};
use std::{collections::BTreeSet, time::Duration};

/// The world as it truly is.
pub(crate) struct Scene<'a> {
    pub(crate) now: u64,
    pub(crate) nodes: &'a [Node],
    pub(crate) schedule: &'a Schedule,
    /// Which of its faults are in force.
    pub(crate) active: &'a [bool],
    pub(crate) config: &'a Config,
    /// What the database's clock read when true time began, were it to be read back from now.
    pub(crate) begin_ms: i64,
}

/// An answer on its way into the state machine.
pub(crate) struct Answered<'a> {
    pub(crate) node: usize,
    pub(crate) query: &'a Query,
    pub(crate) asked: Timestamp,
    /// Nobody has asked anything since, and the deadline has not come.
    pub(crate) current: bool,
    pub(crate) result: &'a Result<Answer, Failure>,
}

/// What a checker found.
pub(crate) type Verdict = Result<(), String>;

/// One invariant. A hook that a checker does not need does nothing.
#[allow(unused_variables)]
pub(crate) trait Check {
    /// Its name, in transcripts and reports.
    const NAME: &'static str;
    /// It holds as long as the run stays within this.
    const HOLDS: Contract;

    /// A process has started.
    fn born(&mut self, scene: &Scene<'_>, node: usize) {}
    /// A process is gone: killed, or finished.
    fn died(&mut self, scene: &Scene<'_>, node: usize) {}
    /// A process goes on as two: everything that is known of `from` is now true of `onto`.
    fn cloned(&mut self, scene: &Scene<'_>, from: usize, onto: usize) {}
    /// A fault has begun or ended.
    fn struck(&mut self, scene: &Scene<'_>, what: &What) {}
    /// The operator let the node resign, or leave.
    fn told(&mut self, scene: &Scene<'_>, node: usize, told: Told) {}
    /// An answer is about to be handed in.
    fn answered(&mut self, scene: &Scene<'_>, answered: &Answered<'_>) {}
    /// Leader work has ended and this is about to be reported.
    fn stopped(&mut self, scene: &Scene<'_>, node: usize, epoch: Epoch) {}
    /// A step has reported a change.
    fn changed(&mut self, scene: &Scene<'_>, node: usize, change: &Change) -> Verdict {
        Ok(())
    }
    /// A step has asked the database something.
    fn asked(&mut self, scene: &Scene<'_>, node: usize, query: &Query) -> Verdict {
        Ok(())
    }
    /// A step is over.
    fn stepped(&mut self, scene: &Scene<'_>, node: usize) -> Verdict {
        Ok(())
    }
    /// A statement has taken effect in the database, or none.
    fn done(&mut self, scene: &Scene<'_>, statement: &Statement, done: &Done) -> Verdict {
        Ok(())
    }
    /// The resource has served a write.
    fn served(&mut self, scene: &Scene<'_>, write: &Write) -> Verdict {
        Ok(())
    }
    /// The healed core has had the time it was promised; again at the end of the run.
    fn due(&mut self, scene: &Scene<'_>, heal: &Heal) -> Verdict {
        Ok(())
    }
}

/// What a node is told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Resign,
    Withdraw,
    Healthy(bool),
    Wake,
}

/// Something that must not happen has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant's name.
    pub check: String,
    /// When, in true time since the start.
    pub at: Duration,
    /// What was seen.
    pub what: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} violated at {:?}: {}", self.check, self.at, self.what)
    }
}

macro_rules! all {
    ($($field:ident: $module:ident::$checker:ident),* $(,)?) => {
        /// Every checker.
        #[derive(Debug)]
        pub(crate) struct Checks {
            contract: Contract,
            /// What did not hold, in a run in which it need not.
            pub(crate) broken: BTreeSet<&'static str>,
            $($field: $module::$checker,)*
        }

        /// The names of the invariants.
        pub const NAMES: &[&str] = &[$($module::$checker::NAME),*];

        impl Checks {
            pub(crate) fn new(nodes: usize, contract: Contract) -> Self {
                Self {
                    contract,
                    broken: BTreeSet::new(),
                    $($field: $module::$checker::new(nodes),)*
                }
            }

            pub(crate) fn born(&mut self, scene: &Scene<'_>, node: usize) {
                $(self.$field.born(scene, node);)*
            }

            pub(crate) fn died(&mut self, scene: &Scene<'_>, node: usize) {
                $(self.$field.died(scene, node);)*
            }

            pub(crate) fn cloned(&mut self, scene: &Scene<'_>, from: usize, onto: usize) {
                $(self.$field.cloned(scene, from, onto);)*
            }

            pub(crate) fn struck(&mut self, scene: &Scene<'_>, what: &What) {
                $(self.$field.struck(scene, what);)*
            }

            pub(crate) fn told(&mut self, scene: &Scene<'_>, node: usize, told: Told) {
                $(self.$field.told(scene, node, told);)*
            }

            pub(crate) fn answered(&mut self, scene: &Scene<'_>, answered: &Answered<'_>) {
                $(self.$field.answered(scene, answered);)*
            }

            pub(crate) fn stopped(&mut self, scene: &Scene<'_>, node: usize, epoch: Epoch) {
                $(self.$field.stopped(scene, node, epoch);)*
            }

            pub(crate) fn changed(
                &mut self, scene: &Scene<'_>, node: usize, change: &Change,
            ) -> Result<(), Violation> {
                $(self.judge::<$module::$checker>(scene, |all| {
                    all.$field.changed(scene, node, change)
                })?;)*
                Ok(())
            }

            pub(crate) fn asked(
                &mut self, scene: &Scene<'_>, node: usize, query: &Query,
            ) -> Result<(), Violation> {
                $(self.judge::<$module::$checker>(scene, |all| {
                    all.$field.asked(scene, node, query)
                })?;)*
                Ok(())
            }

            pub(crate) fn stepped(
                &mut self, scene: &Scene<'_>, node: usize,
            ) -> Result<(), Violation> {
                $(self.judge::<$module::$checker>(scene, |all| {
                    all.$field.stepped(scene, node)
                })?;)*
                Ok(())
            }

            pub(crate) fn done(
                &mut self, scene: &Scene<'_>, statement: &Statement, done: &Done,
            ) -> Result<(), Violation> {
                $(self.judge::<$module::$checker>(scene, |all| {
                    all.$field.done(scene, statement, done)
                })?;)*
                Ok(())
            }

            pub(crate) fn served(
                &mut self, scene: &Scene<'_>, write: &Write,
            ) -> Result<(), Violation> {
                $(self.judge::<$module::$checker>(scene, |all| {
                    all.$field.served(scene, write)
                })?;)*
                Ok(())
            }

            pub(crate) fn due(
                &mut self, scene: &Scene<'_>, heal: &Heal,
            ) -> Result<(), Violation> {
                $(self.judge::<$module::$checker>(scene, |all| {
                    all.$field.due(scene, heal)
                })?;)*
                Ok(())
            }
        }
    };
}

all! {
    exclusion: exclusion::Exclusion,
    fencing: fencing::Fencing,
    tokens: tokens::Tokens,
    scoped: scoped::Scoped,
    trust: trust::Trust,
    gone: gone::Gone,
    committed: committed::Committed,
    changes: changes::Changes,
    drained: drained::Drained,
    once: once::Once,
    covered: covered::Covered,
    standing_by: standing_by::StandingBy,
    pace: pace::Pace,
    woken: woken::Woken,
    succession: succession::Succession,
    liveness: liveness::Liveness,
}

impl Checks {
    #[inline]
    fn judge<C: Check>(
        &mut self,
        scene: &Scene<'_>,
        hook: impl FnOnce(&mut Self) -> Verdict,
    ) -> Result<(), Violation> {
        match hook(self) {
            Err(what) if self.contract <= C::HOLDS => Err(Violation {
                check: C::NAME.to_owned(),
                at: Duration::from_nanos(scene.now),
                what,
            }),
            Err(_) => {
                self.broken.insert(C::NAME);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// The parts of the world that checkers may see, borrowed apart from the checkers themselves.
macro_rules! scene {
    ($world:ident) => {
        Scene {
            now: $world.now,
            nodes: &$world.nodes,
            schedule: &$world.schedule,
            active: &$world.active,
            config: &$world.config,
            begin_ms: $world.database.step_ms,
        }
    };
}
pub(crate) use scene;
