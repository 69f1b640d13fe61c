//! All checkers of one protocol, called one after the other: no list and no virtual call, since some
//! are asked after every step.

/// Makes the checkers of a protocol from their list.
macro_rules! checker_set {
    ($(#[$doc:meta])* $checker_set:ident of $environment:ty {
        $($field:ident: $checker:ty),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $checker_set {
            contract: Contract,
            broken: BTreeSet<&'static str>,
            $($field: $checker,)*
        }

        impl $checker_set {
            pub(crate) const NAMES: &'static [&'static str] =
                &[$(<$checker as Checker<$environment>>::NAME),*];

            #[inline]
            fn judge<C: Checker<$environment>>(
                &mut self,
                world: &WorldState<'_, $environment>,
                hook: impl FnOnce(&mut Self) -> Verdict,
            ) -> Result<(), Violation> {
                match hook(self) {
                    Err(what) if self.contract <= C::HOLDS => Err(Violation {
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

        impl CheckerSet<$environment> for $checker_set {
            fn new(schedule: &Schedule) -> Self {
                let nodes = schedule.nodes.len();
                Self {
                    contract: schedule.contract(),
                    broken: BTreeSet::new(),
                    $($field: <$checker as Checker<$environment>>::new(nodes),)*
                }
            }

            fn broken(&self) -> &BTreeSet<&'static str> {
                &self.broken
            }

            fn born(&mut self, world: &WorldState<'_, $environment>, node: usize) {
                $(Checker::<$environment>::born(&mut self.$field, world, node);)*
            }

            fn died(&mut self, world: &WorldState<'_, $environment>, node: usize) {
                $(Checker::<$environment>::died(&mut self.$field, world, node);)*
            }

            fn cloned(&mut self, world: &WorldState<'_, $environment>, from: usize, onto: usize) {
                $(Checker::<$environment>::cloned(&mut self.$field, world, from, onto);)*
            }

            fn fault_changed(&mut self, world: &WorldState<'_, $environment>, kind: &FaultKind) {
                $(Checker::<$environment>::fault_changed(&mut self.$field, world, kind);)*
            }

            fn told(&mut self, world: &WorldState<'_, $environment>, node: usize, told: Told) {
                $(Checker::<$environment>::told(&mut self.$field, world, node, told);)*
            }

            fn heard(&mut self, world: &WorldState<'_, $environment>, heard: &<$environment as Environment>::Heard<'_>) {
                $(Checker::<$environment>::heard(&mut self.$field, world, heard);)*
            }

            fn stopped(&mut self, world: &WorldState<'_, $environment>, node: usize, epoch: Epoch) {
                $(Checker::<$environment>::stopped(&mut self.$field, world, node, epoch);)*
            }

            fn changed(
                &mut self, world: &WorldState<'_, $environment>, node: usize, change: &Change,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(world, |all| {
                    Checker::<$environment>::changed(&mut all.$field, world, node, change)
                })?;)*
                Ok(())
            }

            fn asked(
                &mut self, world: &WorldState<'_, $environment>, node: usize, asked: &<$environment as Environment>::Asked,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(world, |all| {
                    Checker::<$environment>::asked(&mut all.$field, world, node, asked)
                })?;)*
                Ok(())
            }

            fn stepped(
                &mut self, world: &WorldState<'_, $environment>, node: usize,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(world, |all| {
                    Checker::<$environment>::stepped(&mut all.$field, world, node)
                })?;)*
                Ok(())
            }

            fn done(
                &mut self, world: &WorldState<'_, $environment>, done: &<$environment as Environment>::Done<'_>,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(world, |all| {
                    Checker::<$environment>::done(&mut all.$field, world, done)
                })?;)*
                Ok(())
            }

            fn served(
                &mut self, world: &WorldState<'_, $environment>, write: &Write,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(world, |all| {
                    Checker::<$environment>::served(&mut all.$field, world, write)
                })?;)*
                Ok(())
            }

            fn due(
                &mut self, world: &WorldState<'_, $environment>, heal: &Heal,
            ) -> Result<(), Violation> {
                $(self.judge::<$checker>(world, |all| {
                    Checker::<$environment>::due(&mut all.$field, world, heal)
                })?;)*
                Ok(())
            }
        }
    };
}
pub(super) use checker_set;
