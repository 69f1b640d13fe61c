//! All checkers of one side, called one after the other: no list and no virtual call, since some
//! are asked after every step.

use super::{Scene, Told, Violation};
use crate::{
    app::Write,
    fault::What,
    schedule::{Heal, Schedule},
    stage::Side,
};
use election_core::{Change, Epoch};
use std::collections::BTreeSet;

/// The hooks of [`Check`](super::Check), for all checkers of a side at once.
pub(crate) trait Audit<S: Side>: std::fmt::Debug {
    fn new(schedule: &Schedule) -> Self;
    /// What did not hold, in a run in which it need not.
    fn broken(&self) -> &BTreeSet<&'static str>;
    fn born(&mut self, scene: &Scene<'_, S>, node: usize);
    fn died(&mut self, scene: &Scene<'_, S>, node: usize);
    fn cloned(&mut self, scene: &Scene<'_, S>, from: usize, onto: usize);
    fn struck(&mut self, scene: &Scene<'_, S>, what: &What);
    fn told(&mut self, scene: &Scene<'_, S>, node: usize, told: Told);
    fn heard(&mut self, scene: &Scene<'_, S>, heard: &S::Heard<'_>);
    fn stopped(&mut self, scene: &Scene<'_, S>, node: usize, epoch: Epoch);
    fn changed(
        &mut self,
        scene: &Scene<'_, S>,
        node: usize,
        change: &Change,
    ) -> Result<(), Violation>;
    fn asked(
        &mut self,
        scene: &Scene<'_, S>,
        node: usize,
        asked: &S::Asked,
    ) -> Result<(), Violation>;
    fn stepped(&mut self, scene: &Scene<'_, S>, node: usize) -> Result<(), Violation>;
    fn done(&mut self, scene: &Scene<'_, S>, done: &S::Done<'_>) -> Result<(), Violation>;
    fn served(&mut self, scene: &Scene<'_, S>, write: &Write) -> Result<(), Violation>;
    fn due(&mut self, scene: &Scene<'_, S>, heal: &Heal) -> Result<(), Violation>;
}

/// Makes the audit of a side from the list of its checkers.
macro_rules! audit {
    ($(#[$doc:meta])* $audit:ident of $side:ty {
        $($field:ident: $checker:ty),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $audit {
            contract: Contract,
            broken: BTreeSet<&'static str>,
            $($field: $checker,)*
        }

        impl $audit {
            pub(crate) const NAMES: &'static [&'static str] =
                &[$(<$checker as Check<$side>>::NAME),*];

            #[inline]
            fn judge<C: Check<$side>>(
                &mut self,
                scene: &Scene<'_, $side>,
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

        impl Audit<$side> for $audit {
            fn new(schedule: &Schedule) -> Self {
                let nodes = schedule.nodes.len();
                Self {
                    contract: schedule.contract(),
                    broken: BTreeSet::new(),
                    $($field: <$checker as Check<$side>>::new(nodes),)*
                }
            }

            fn broken(&self) -> &BTreeSet<&'static str> {
                &self.broken
            }

            fn born(&mut self, scene: &Scene<'_, $side>, node: usize) {
                $(Check::<$side>::born(&mut self.$field, scene, node);)*
            }

            fn died(&mut self, scene: &Scene<'_, $side>, node: usize) {
                $(Check::<$side>::died(&mut self.$field, scene, node);)*
            }

            fn cloned(&mut self, scene: &Scene<'_, $side>, from: usize, onto: usize) {
                $(Check::<$side>::cloned(&mut self.$field, scene, from, onto);)*
            }

            fn struck(&mut self, scene: &Scene<'_, $side>, what: &What) {
                $(Check::<$side>::struck(&mut self.$field, scene, what);)*
            }

            fn told(&mut self, scene: &Scene<'_, $side>, node: usize, told: Told) {
                $(Check::<$side>::told(&mut self.$field, scene, node, told);)*
            }

            fn heard(&mut self, scene: &Scene<'_, $side>, heard: &<$side as Side>::Heard<'_>) {
                $(Check::<$side>::heard(&mut self.$field, scene, heard);)*
            }

            fn stopped(&mut self, scene: &Scene<'_, $side>, node: usize, epoch: Epoch) {
                $(Check::<$side>::stopped(&mut self.$field, scene, node, epoch);)*
            }

            fn changed(
                &mut self, scene: &Scene<'_, $side>, node: usize, change: &Change,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(scene, |all| {
                    Check::<$side>::changed(&mut all.$field, scene, node, change)
                })?;)*
                Ok(())
            }

            fn asked(
                &mut self, scene: &Scene<'_, $side>, node: usize, asked: &<$side as Side>::Asked,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(scene, |all| {
                    Check::<$side>::asked(&mut all.$field, scene, node, asked)
                })?;)*
                Ok(())
            }

            fn stepped(
                &mut self, scene: &Scene<'_, $side>, node: usize,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(scene, |all| {
                    Check::<$side>::stepped(&mut all.$field, scene, node)
                })?;)*
                Ok(())
            }

            fn done(
                &mut self, scene: &Scene<'_, $side>, done: &<$side as Side>::Done<'_>,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(scene, |all| {
                    Check::<$side>::done(&mut all.$field, scene, done)
                })?;)*
                Ok(())
            }

            fn served(
                &mut self, scene: &Scene<'_, $side>, write: &Write,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(scene, |all| {
                    Check::<$side>::served(&mut all.$field, scene, write)
                })?;)*
                Ok(())
            }

            fn due(
                &mut self, scene: &Scene<'_, $side>, heal: &Heal,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(scene, |all| {
                    Check::<$side>::due(&mut all.$field, scene, heal)
                })?;)*
                Ok(())
            }
        }
    };
}
pub(super) use audit;
