//! The limits of a frame, and its two dialects.

/// The largest frame in bytes, and so the buffer of a connection: 1 KiB. The longest frame that
/// this version writes, `lists`, has 993 bytes.
pub const MAX_FRAME: usize = 1024;

/// The largest number of fields in a frame. An extended heartbeat has 15 to 19.
pub const MAX_FIELDS: usize = 20;

/// The longest id of a member in bytes, as in kevy-elect.
pub const MAX_ID: usize = 32;

/// The longest address in bytes; a [`Label`](crate::Label) has the same limit.
pub const MAX_ADDRESS: usize = 255;

/// What the other end of a connection has shown to understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// Exactly kevy-elect's frames: its peers drop a connection on a wrong number of fields.
    #[default]
    Legacy,
    /// kevy-elect's fields and then those of an extension, see [the module](super).
    Extended,
}
