//! Faults in words: the reader and the printer of `.scn` files, generated from the table.

use super::{
    kind::FaultKind,
    parameters::{CutDirection, DiskFault, FrameFault, SaveFault, StatementFault},
    table::fault_table,
};
use crate::text::{ScnError, Words, node_name, signed, span, word_of};
use std::{fmt, time::Duration};

/// How a parameter of a fault is written.
trait Word {
    type Value: ?Sized + ToOwned;
    fn read(words: &mut Words<'_>) -> Result<<Self::Value as ToOwned>::Owned, ScnError>;
    fn write(value: &Self::Value, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

macro_rules! text {
    (|$drift_ppm:ident| $(
        $(#[doc = $doc:literal])+
        $variant:ident $(( $($field:ident: $type:ty),+ ))?
            = $name:literal [ $($word:ident: $codec:ident),* ]
        { $($other:tt)* }
    )*) => {
        impl FaultKind {
            /// Reads the fault of this name; its parameters are the next words.
            pub(crate) fn read(
                name: &str,
                column: usize,
                words: &mut Words<'_>,
            ) -> Result<Self, ScnError> {
                Ok(match name {
                    $($name => {
                        $(let $word = $codec::read(words)?;)*
                        Self::$variant $(($($field),+))?
                    })*
                    _ => return Err(words.error(column, format!("`{name}` is no fault"))),
                })
            }
        }

        /// In the words of a `.scn` file.
        impl fmt::Display for FaultKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())?;
                match self {
                    $(Self::$variant $(($($field),+))? => {
                        $(f.write_str(" ")?; $codec::write($word, f)?;)*
                    })*
                }
                Ok(())
            }
        }
    };
}
fault_table!(text);

macro_rules! words {
    ($($(#[$doc:meta])* $codec:ident: $value:ty {
        read: |$words:ident| $read:expr,
        write: |$it:ident, $f:ident| $write:expr,
    })*) => {
        $(
            $(#[$doc])*
            struct $codec;

            impl Word for $codec {
                type Value = $value;

                fn read(
                    $words: &mut Words<'_>,
                ) -> Result<<$value as ToOwned>::Owned, ScnError> {
                    $read
                }

                fn write($it: &$value, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    $write
                }
            }
        )*
    };
}

words! {
    Node: usize {
        read: |words| words.node(),
        write: |node, f| f.write_str(&node_name(*node)),
    }
    Nodes: [usize] {
        read: |words| words.nodes(),
        write: |group, f| {
            let names: Vec<String> = group.iter().map(|node| node_name(*node)).collect();
            f.write_str(&names.join(","))
        },
    }
    /// The gain of a clock.
    Gain: i32 {
        read: |words| words.ppm(),
        write: |ppm, f| write!(f, "{ppm:+}ppm"),
    }
    /// How many of a million.
    PerMillion: u32 {
        read: |words| words.ppm().map(i32::unsigned_abs),
        write: |ppm, f| write!(f, "{ppm}ppm"),
    }
    Span: Duration {
        read: |words| words.span(),
        write: |by, f| f.write_str(&span(*by)),
    }
    SignedNanos: i64 {
        read: |words| words.signed(),
        write: |by, f| f.write_str(&signed(*by)),
    }
    SignedMillis: i64 {
        read: |words| words.signed().map(|nanos| nanos / 1_000_000),
        write: |by, f| f.write_str(&signed(by.saturating_mul(1_000_000))),
    }
    NthFrame: u64 {
        read: |words| words.number("which frame, counted from one"),
        write: |nth, f| write!(f, "{nth}"),
    }
    NthStatement: u64 {
        read: |words| words.number("which statement, counted from one"),
        write: |nth, f| write!(f, "{nth}"),
    }
    NthAction: u64 {
        read: |words| words.number("which thing it asks for, counted from one"),
        write: |nth, f| write!(f, "{nth}"),
    }
    Direction: CutDirection {
        read: |words| words.one_of(DIRECTIONS),
        write: |direction, f| f.write_str(word_of(DIRECTIONS, direction)),
    }
}

const DIRECTIONS: &[(&str, CutDirection)] = &[
    ("both", CutDirection::Both),
    ("requests", CutDirection::Requests),
    ("replies", CutDirection::Replies),
];

/// The example of a span in messages that say what was expected.
macro_rules! example {
    ($by:ident) => {
        " 3s"
    };
}

/// One word for each variant, followed by a span where the variant has one.
macro_rules! variants {
    ($($codec:ident: $fault:ident { $($name:literal = $variant:ident $(($by:ident))?,)* })*) => {
        $(
            struct $codec;

            impl $codec {
                const KNOWN: &[&str] = &[$(concat!($name, $(example!($by))?)),*];
            }

            impl Word for $codec {
                type Value = $fault;

                fn read(words: &mut Words<'_>) -> Result<$fault, ScnError> {
                    let known = Self::KNOWN.join("`, `");
                    let (column, word) = words.expect(&format!("one of `{known}`"))?;
                    Ok(match word {
                        $($name => $fault::$variant $(({
                            let $by = words.span()?;
                            $by
                        }))?,)*
                        _ => {
                            let what = format!("expected one of `{known}`, found `{word}`");
                            return Err(words.error(column, what));
                        }
                    })
                }

                fn write(fault: &$fault, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    match fault {
                        $($fault::$variant $(($by))? => {
                            f.write_str($name)?;
                            $(write!(f, " {}", span(*$by))?;)?
                            Ok(())
                        })*
                    }
                }
            }
        )*

        /// Every word that these readers accept.
        #[cfg(test)]
        pub(crate) fn parameter_words() -> impl Iterator<Item = &'static str> {
            [$($codec::KNOWN),*].into_iter().flatten().copied()
        }
    };
}

variants! {
    OfFrame: FrameFault { "lost" = Lost, "twice" = Twice, "late" = Late(by), }
    OfDisk: DiskFault { "lost" = Lost, "torn" = Torn, "stale" = Stale(by), }
    OfSave: SaveFault {
        "slow" = Slow(by), "failing" = Failing, "hanging" = Hanging, "lying" = Lying,
    }
    OfStatement: StatementFault {
        "lost" = Lost, "late" = Late(by), "stalled" = Stalled(by), "unanswered" = Unanswered,
        "slow" = Slow(by), "twice" = Twice, "refused" = Refused, "fatal" = Fatal,
        "locked" = Locked, "unknown" = Unknown, "aborted" = Aborted, "stale" = Stale(by),
        "phantom" = Phantom,
    }
}
