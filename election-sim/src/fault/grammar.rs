//! The documentation's table of faults, generated from the table of faults.

/// The rows, as Markdown: how a fault is written, which protocol has it, and what it does.
macro_rules! grammar {
    (|$drift_ppm:ident| $(
        $(#[doc = $doc:literal])+
        $variant:ident $(( $($field:ident: $type:ty),+ ))?
            = $name:literal [ $($word:ident: $codec:ident),* ]
        {
            applied: $applied:ident, target: $target:expr, contract: $contract:expr,
            extent: $extent:ident, $($other:tt)*
        }
    )*) => {
        concat!(
            "| fault | in a run of | what it does |\n| --- | --- | --- |\n",
            $(
                "| `at TIME ", $crate::fault::grammar!(@extent $extent), $name,
                $(" ", $crate::fault::grammar!(@word $codec),)*
                "` | ", $crate::fault::grammar!(@applied $applied), " |", $($doc,)+ " |\n",
            )*
        )
    };
    (@extent Instant) => { "" };
    (@extent Lasting) => { "for SPAN " };
    (@extent Chance) => { "for SPAN " };
    (@applied simulator) => { "both" };
    (@applied network) => { "both" };
    (@applied database) => { "lease" };
    (@applied member) => { "quorum" };
    (@word Node) => { "NODE" };
    (@word Nodes) => { "NODES" };
    (@word Gain) => { "GAIN" };
    (@word PerMillion) => { "ODDS" };
    (@word Span) => { "SPAN" };
    (@word SignedNanos) => { "SHIFT" };
    (@word SignedMillis) => { "SHIFT" };
    (@word NthFrame) => { "NTH" };
    (@word NthStatement) => { "NTH" };
    (@word NthAction) => { "NTH" };
    (@word Direction) => { "DIRECTION" };
    (@word OfFrame) => { "FRAME-FAULT" };
    (@word OfDisk) => { "DISK-FAULT" };
    (@word OfSave) => { "SAVE-FAULT" };
    (@word OfStatement) => { "STATEMENT-FAULT" };
}
pub(crate) use grammar;
