//! How often things may happen in a small world.

/// Defines the events of a protocol that are counted.
macro_rules! often {
    ($($(#[$about:meta])* $event:ident,)*) => {
        /// How often each thing happens, in total over all nodes.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct Often {
            $($(#[$about])* pub $event: u8,)*
        }

        impl Often {
            /// All the counts, in order.
            pub(super) fn counts(self) -> impl Iterator<Item = u8> {
                [$(self.$event),*].into_iter()
            }
        }
    };
}
pub(super) use often;
