//! What a frame may be at most and which of the two dialects it is in.

/// The most bytes of one frame, and so of what a connection keeps: 1 KiB. The longest that this
/// version writes has 440.
pub const MAX_FRAME: usize = 1024;

/// The most fields of one frame. An extended heartbeat has 15.
pub const MAX_FIELDS: usize = 16;

/// The most bytes of a member's id (seed 003).
pub const MAX_ID: usize = 32;

/// The most bytes of an address; a [`Label`](crate::Label) holds no more either.
pub const MAX_ADDRESS: usize = 255;

/// What the other end of a connection understands, as far as it has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// Exactly the frames of seed 003: its peers drop a connection on a wrong number of fields.
    #[default]
    Legacy,
    /// The seed's fields and then those of an extension, see [the module](super).
    Extended,
}
