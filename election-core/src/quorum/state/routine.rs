//! Whether the node has anything to conclude before a deadline.

/// The state of a node that has no conclusion to draw before a deadline, unless it hears something
/// new. It follows from the rest of the state; every step on the whole way determines it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Routine {
    /// There is none.
    None,
    /// The node leads, and every other member knows.
    Leads,
    /// The node follows and supports one primary.
    Follows,
    /// The node waits, for the end of the boot grace or of a support.
    Waits,
}
