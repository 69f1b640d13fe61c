//! All checkers of one protocol, called one after the other. There is no list and no virtual call,
//! because some checkers run after every step.

/// Defines the checkers of a protocol from their list: each is in the module whose name its field has.
macro_rules! checker_set {
    ($(#[$doc:meta])* $checker_set:ident of $environment:ident {
        $($module:ident: $checker:ident),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $checker_set {
            contract: $crate::fault::Contract,
            /// Members run kevy-elect.
            mixed: bool,
            broken: std::collections::BTreeSet<&'static str>,
            $($module: $module::$checker,)*
        }

        impl $checker_set {
            pub(crate) const NAMES: &'static [&'static str] =
                &[$(<$module::$checker as $crate::check::Checker<$environment>>::NAME),*];

            #[inline]
            fn judge<C: $crate::check::Checker<$environment>>(
                &mut self,
                world: &$crate::simulator::WorldState<'_, $environment>,
                hook: impl FnOnce(&mut Self) -> $crate::check::Verdict,
            ) -> Result<(), $crate::simulator::Violation> {
                match hook(self) {
                    Err(what) if self.contract <= C::HOLDS && (C::WITH_LEGACY || !self.mixed) => {
                        Err($crate::simulator::Violation {
                            check: C::NAME.to_owned(),
                            at: std::time::Duration::from_nanos(world.now),
                            what: $crate::check::wording::as_transcripts_say(&what),
                        })
                    }
                    Err(_) => {
                        self.broken.insert(C::NAME);
                        Ok(())
                    }
                    Ok(()) => Ok(()),
                }
            }
        }

        impl $crate::simulator::Watched for $environment {
            type Checkers = $checker_set;
        }

        $crate::simulator::hooks!(checker_set_hooks! {
            $environment $checker_set [$($module: $module::$checker),*]
        });
    };
}
pub(super) use checker_set;

/// Passes every hook on to all checkers, one after the other.
macro_rules! checker_set_hooks {
    (
        $environment:ident $checker_set:ident $all:tt
        notices: [$($(#[$told:meta])* $notice:ident($($arg:ident: $type:ty),*);)*]
        verdicts: [$($(#[$asked:meta])* $verdict:ident($($with:ident: $of:ty),*);)*]
    ) => {
        impl $crate::simulator::CheckerSet<$environment> for $checker_set {
            fn new(schedule: &$crate::schedule::Schedule) -> Self {
                $crate::check::checker_set::each!(new self $environment $all schedule)
            }

            fn broken(&self) -> &std::collections::BTreeSet<&'static str> {
                &self.broken
            }

            $(fn $notice(
                &mut self,
                world: &$crate::simulator::WorldState<'_, $environment>,
                $($arg: $type),*
            ) {
                $crate::check::checker_set::each!(tell self $environment $all $notice world ($($arg),*));
            })*

            $(fn $verdict(
                &mut self,
                world: &$crate::simulator::WorldState<'_, $environment>,
                $($with: $of),*
            ) -> Result<(), $crate::simulator::Violation> {
                $crate::check::checker_set::each!(judge self $environment $all $verdict world ($($with),*));
                Ok(())
            })*
        }
    };
}
pub(super) use checker_set_hooks;

macro_rules! each {
    (new $set:ident $environment:ident [$($module:ident: $checker:ty),*] $schedule:ident) => {
        Self {
            contract: $schedule.contract_of_faults(),
            mixed: $schedule.has_legacy(),
            broken: std::collections::BTreeSet::new(),
            $($module: $crate::check::Checker::<$environment>::new($schedule.nodes.len()),)*
        }
    };
    (tell $set:ident $environment:ident [$($module:ident: $checker:ty),*] $hook:ident $world:ident $arguments:tt) => {
        $($crate::check::checker_set::call!($environment $hook $set.$module $world $arguments);)*
    };
    (judge $set:ident $environment:ident [$($module:ident: $checker:ty),*] $hook:ident $world:ident $arguments:tt) => {
        $($set.judge::<$checker>($world, |all| {
            $crate::check::checker_set::call!($environment $hook all.$module $world $arguments)
        })?;)*
    };
}
pub(super) use each;

macro_rules! call {
    ($environment:ident $hook:ident $set:ident.$module:ident $world:ident ($($argument:ident),*)) => {
        $crate::check::Checker::<$environment>::$hook(&mut $set.$module, $world, $($argument),*)
    };
}
pub(super) use call;
