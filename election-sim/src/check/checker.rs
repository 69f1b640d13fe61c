//! What a checker is.

use crate::{
    fault::Contract,
    simulator::{Environment, WorldState, hooks},
};

/// What a checker found.
pub(crate) type Verdict = Result<(), String>;

macro_rules! checker_trait {
    (
        $env:ident
        notices: [$($(#[$told:meta])* $notice:ident($($arg:ident: $type:ty),*);)*]
        verdicts: [$($(#[$asked:meta])* $verdict:ident($($with:ident: $of:ty),*);)*]
    ) => {
        /// One invariant. A hook that a checker does not need does nothing.
        #[allow(unused_variables)]
        pub(crate) trait Checker<$env: Environment> {
            /// Its name, in transcripts and reports.
            const NAME: &'static str;
            /// It holds as long as the run stays within this.
            const HOLDS: Contract;

            /// With the books of so many nodes still empty.
            fn new(nodes: usize) -> Self;

            $($(#[$told])*
            fn $notice(&mut self, world: &WorldState<'_, $env>, $($arg: $type),*) {})*

            $($(#[$asked])*
            fn $verdict(&mut self, world: &WorldState<'_, $env>, $($with: $of),*) -> Verdict {
                Ok(())
            })*
        }
    };
}
hooks!(checker_trait! { S });
