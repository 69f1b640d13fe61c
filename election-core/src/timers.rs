//! How a protocol keeps its deadlines: one table with one row per timer.

/// Makes a table of timers: `Timer`, an enum with one variant per row, a documented "When to …" and
/// one more column, and `Timers`, which holds when each timer is due. If somebody adds a row, the
/// compiler says where its consequence is missing. The wake-up for it, and its move in time for a
/// model checker, follow from the row.
macro_rules! timers {
    ($column:ident: $Column:ident; $($(#[$when:meta])* $timer:ident: $value:ident,)*) => {
        /// A deadline.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Timer {
            $($(#[$when])* $timer,)*
        }

        impl Timer {
            /// Calls `act` for each timer, in order. (Each call knows its timer at compile time, so
            /// that only the code for that timer remains.)
            #[inline(always)]
            pub(crate) fn each(mut act: impl FnMut(Self)) {
                $(act(Self::$timer);)*
            }

            pub(crate) const fn $column(self) -> $Column {
                match self {
                    $(Self::$timer => $Column::$value,)*
                }
            }
        }

        /// When each timer is due.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub(crate) struct Timers([$crate::Timestamp; [$(Timer::$timer),*].len()]);

        impl Timers {
            /// All timers are stopped.
            const fn stopped() -> Self {
                Self([$crate::Timestamp::MAX; [$(Timer::$timer),*].len()])
            }

            /// When a timer is due; [`Timestamp::MAX`]($crate::Timestamp::MAX) if it is stopped.
            #[inline]
            pub(crate) const fn at(&self, timer: Timer) -> $crate::Timestamp {
                self.0[timer as usize]
            }

            #[inline]
            pub(crate) const fn set(&mut self, timer: Timer, at: $crate::Timestamp) {
                self.0[timer as usize] = at;
            }

            #[inline]
            pub(crate) const fn stop(&mut self, timer: Timer) {
                self.set(timer, $crate::Timestamp::MAX);
            }

            /// Whether a timer is due or overdue.
            #[inline]
            pub(crate) fn has_passed(&self, timer: Timer, now: $crate::Timestamp) -> bool {
                self.at(timer) <= now
            }

            /// The instants of all timers.
            #[cfg(feature = "model-checking")]
            pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut $crate::Timestamp> {
                self.0.iter_mut()
            }
        }
    };
}

pub(crate) use timers;
