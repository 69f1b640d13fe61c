//! How a protocol keeps its deadlines: one table, a row for each.

/// Makes a table of timers: `Timer`, a variant a row with a documented "When to …" and one more
/// column, and `Timers`, which holds when each of them is due. Who adds a row is told by the compiler
/// where to say what happens then; that it is woken for, and moved with all the others for a model
/// checker, follows from the row.
macro_rules! timers {
    ($column:ident: $Column:ident; $($(#[$when:meta])* $timer:ident: $value:ident,)*) => {
        /// What is waited for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Timer {
            $($(#[$when])* $timer,)*
        }

        impl Timer {
            /// Calls for each of them, in order. (Every call knows its timer while compiling, and
            /// so only what there is to do about it remains.)
            #[inline(always)]
            pub(super) fn each(mut act: impl FnMut(Self)) {
                $(act(Self::$timer);)*
            }

            pub(super) const fn $column(self) -> $Column {
                match self {
                    $(Self::$timer => $Column::$value,)*
                }
            }
        }

        /// When each of them is due.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub(super) struct Timers([$crate::Timestamp; [$(Timer::$timer),*].len()]);

        impl Timers {
            /// Nothing is waited for.
            const fn stopped() -> Self {
                Self([$crate::Timestamp::MAX; [$(Timer::$timer),*].len()])
            }

            /// When a timer is due; [`Timestamp::MAX`]($crate::Timestamp::MAX) if it is stopped.
            #[inline]
            pub(super) const fn at(&self, timer: Timer) -> $crate::Timestamp {
                self.0[timer as usize]
            }

            #[inline]
            pub(super) const fn set(&mut self, timer: Timer, at: $crate::Timestamp) {
                self.0[timer as usize] = at;
            }

            #[inline]
            pub(super) const fn stop(&mut self, timer: Timer) {
                self.set(timer, $crate::Timestamp::MAX);
            }

            /// Whether a timer is due, or has been since it was set.
            #[inline]
            pub(super) fn has_passed(&self, timer: Timer, now: $crate::Timestamp) -> bool {
                self.at(timer) <= now
            }

            /// Every instant that is waited for.
            #[cfg(feature = "model-checking")]
            pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut $crate::Timestamp> {
                self.0.iter_mut()
            }
        }
    };
}

pub(crate) use timers;
