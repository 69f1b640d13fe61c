//! The interface of a checker.

use crate::{
    fault::Contract,
    simulator::{Environment, WorldState, hooks},
};

/// The finding of a checker.
pub(crate) type Verdict = Result<(), String>;

macro_rules! checker_trait {
    (
        $env:ident
        notices: [$($(#[$told:meta])* $notice:ident($($arg:ident: $type:ty),*);)*]
        verdicts: [$($(#[$asked:meta])* $verdict:ident($($with:ident: $of:ty),*);)*]
    ) => {
        /// One invariant. A checker overrides the hooks that it needs; the others do nothing.
        #[allow(unused_variables)]
        pub(crate) trait Checker<$env: Environment>: Default {
            /// Its name, in transcripts and reports.
            const NAME: &'static str;
            /// The worst contract of a run in which the invariant must hold.
            const HOLDS: Contract;
            /// Whether it must also hold where members of a quorum run kevy-elect. The head of the
            /// checker says what is promised there.
            const WITH_LEGACY: bool = true;

            /// A checker for this many nodes, its books still empty.
            fn new(nodes: usize) -> Self {
                Self::default()
            }

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

/// The hooks of a checker that keeps books of each process and nothing else: empty ones of a new
/// process, and those of the original of a copy.
macro_rules! books_by_node {
    ($books:ident, $world:ty) => {
        fn new(nodes: usize) -> Self {
            Self { $books: vec![Default::default(); nodes] }
        }

        fn born(&mut self, _: &$world, node: usize) {
            self.$books[node] = Default::default();
        }

        fn cloned(&mut self, _: &$world, from: usize, onto: usize) {
            self.$books[onto] = self.$books[from].clone();
        }
    };
}
pub(super) use books_by_node;
