//! The faults of each layer as patterns, made of the table's column `applied`.
//!
//! Each layer handles its own faults one by one and the faults of the other layers with these
//! patterns: `network_fault!(FaultKind) => {}`. A new row is therefore a compile error exactly
//! where its fault takes effect, and nowhere else.

use super::table::fault_table;

macro_rules! layers {
    (|$drift_ppm:ident| $(
        $(#[doc = $doc:literal])+
        $variant:ident $(( $($field:ident: $type:ty),+ ))?
            = $name:literal [ $($word:ident: $codec:ident),* ]
        { applied: $applied:ident, $($other:tt)* }
    )*) => {
        sort! { [] [] [] [] $($applied $variant)* }
    };
}

/// Sorts the rows by layer.
macro_rules! sort {
    ([$($s:ident)*] [$($n:ident)*] [$($d:ident)*] [$($m:ident)*] simulator $v:ident $($rest:ident)*) => {
        sort! { [$($s)* $v] [$($n)*] [$($d)*] [$($m)*] $($rest)* }
    };
    ([$($s:ident)*] [$($n:ident)*] [$($d:ident)*] [$($m:ident)*] network $v:ident $($rest:ident)*) => {
        sort! { [$($s)*] [$($n)* $v] [$($d)*] [$($m)*] $($rest)* }
    };
    ([$($s:ident)*] [$($n:ident)*] [$($d:ident)*] [$($m:ident)*] database $v:ident $($rest:ident)*) => {
        sort! { [$($s)*] [$($n)*] [$($d)* $v] [$($m)*] $($rest)* }
    };
    ([$($s:ident)*] [$($n:ident)*] [$($d:ident)*] [$($m:ident)*] member $v:ident $($rest:ident)*) => {
        sort! { [$($s)*] [$($n)*] [$($d)*] [$($m)* $v] $($rest)* }
    };
    ([$($s:ident)*] [$($n:ident)*] [$($d:ident)*] [$($m:ident)*]) => {
        pattern! { ($) simulator_fault $($s)* }
        pattern! { ($) network_fault $($n)* }
        pattern! { ($) database_fault $($d)* }
        pattern! { ($) member_fault $($m)* }
    };
}

/// Defines a macro that is the pattern of these variants, for any enum that has them.
macro_rules! pattern {
    (($dollar:tt) $layer:ident $($variant:ident)+) => {
        macro_rules! $layer {
            ($dollar kind:ident) => {
                $($dollar kind::$variant { .. })|+
            };
        }
        pub(crate) use $layer;
    };
}
fault_table!(layers);
