//! All checkers of one protocol, called one after the other. There is no list and no virtual call,
//! because some checkers run after every step.

/// Defines the checkers of a protocol from their list.
macro_rules! checker_set {
    ($(#[$doc:meta])* $checker_set:ident of $environment:ident {
        $($field:ident: $checker:ty),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $checker_set {
            contract: Contract,
            /// Members run kevy-elect.
            mixed: bool,
            broken: BTreeSet<&'static str>,
            $($field: $checker,)*
        }

        impl $checker_set {
            pub(crate) const NAMES: &'static [&'static str] =
                &[$(<$checker as Checker<$environment>>::NAME),*];

            fn of(schedule: &Schedule) -> Self {
                let nodes = schedule.nodes.len();
                Self {
                    contract: schedule.contract_of_faults(),
                    mixed: schedule.has_legacy(),
                    broken: BTreeSet::new(),
                    $($field: <$checker as Checker<$environment>>::new(nodes),)*
                }
            }

            #[inline]
            fn judge<C: Checker<$environment>>(
                &mut self,
                world: &WorldState<'_, $environment>,
                hook: impl FnOnce(&mut Self) -> Verdict,
            ) -> Result<(), Violation> {
                match hook(self) {
                    Err(what) if self.contract <= C::HOLDS && (C::WITH_LEGACY || !self.mixed) => Err(Violation {
                        check: C::NAME.to_owned(),
                        at: Duration::from_nanos(world.now),
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

        impl Watched for $environment {
            type Checkers = $checker_set;
        }

        $crate::simulator::hooks!(checker_set_hooks! { $environment $checker_set [$($field: $checker),*] });
    };
}
pub(super) use checker_set;

/// Passes every hook on to all checkers.
macro_rules! checker_set_hooks {
    (
        $environment:ident $checker_set:ident $all:tt
        notices: [$($(#[$told:meta])* $notice:ident($($arg:ident: $type:ty),*);)*]
        verdicts: [$($(#[$asked:meta])* $verdict:ident($($with:ident: $of:ty),*);)*]
    ) => {
        impl CheckerSet<$environment> for $checker_set {
            fn new(schedule: &Schedule) -> Self {
                Self::of(schedule)
            }

            fn broken(&self) -> &BTreeSet<&'static str> {
                &self.broken
            }

            $(fn $notice(&mut self, world: &WorldState<'_, $environment>, $($arg: $type),*) {
                $crate::check::checker_set::tell_all!(self $environment $all $notice world ($($arg),*));
            })*

            $(fn $verdict(
                &mut self, world: &WorldState<'_, $environment>, $($with: $of),*
            ) -> Result<(), Violation> {
                $crate::check::checker_set::judge_all!(self $environment $all $verdict world ($($with),*));
                Ok(())
            })*
        }
    };
}
pub(super) use checker_set_hooks;

macro_rules! tell_all {
    (
        $set:ident $environment:ident [$($field:ident: $checker:ty),*]
        $hook:ident $world:ident $arguments:tt
    ) => {
        $($crate::check::checker_set::call!(Checker::<$environment>::$hook, &mut $set.$field, $world, $arguments);)*
    };
}
pub(super) use tell_all;

macro_rules! judge_all {
    (
        $set:ident $environment:ident [$($field:ident: $checker:ty),*]
        $hook:ident $world:ident $arguments:tt
    ) => {
        $($set.judge::<$checker>($world, |all| {
            $crate::check::checker_set::call!(Checker::<$environment>::$hook, &mut all.$field, $world, $arguments)
        })?;)*
    };
}
pub(super) use judge_all;

macro_rules! call {
    ($hook:expr, $checker:expr, $world:expr, ($($argument:ident),*)) => {
        $hook($checker, $world, $($argument),*)
    };
}
pub(super) use call;
