//! The options of a connection between members.

use crate::Network;
use rustix::{io::Errno, net::sockopt};
use std::{io, time::Duration};

/// What the kernel may hold of what was written: enough for some hundred frames. More would only
/// hide from the outbox that the peer takes nothing.
const UNSENT: usize = 32 * 1024;

/// Prepares a connection: frames leave at once, and the kernel gives a peer up that acknowledges
/// nothing for `down_after`.
pub(super) fn prepare<R: Network>(stream: &R::Stream, down_after: Duration) -> io::Result<()> {
    let Some(socket) = R::descriptor(stream) else { return Ok(()) };
    sockopt::set_tcp_nodelay(socket, true)?;
    sockopt::set_socket_send_buffer_size(socket, UNSENT)?;
    #[cfg(target_os = "linux")]
    {
        let millis = u32::try_from(down_after.as_millis()).unwrap_or(u32::MAX);
        match sockopt::set_tcp_user_timeout(socket, millis.max(1)) {
            // A kernel without it finds out later; the outbox does not depend on it.
            Ok(()) | Err(Errno::NOPROTOOPT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _: (Duration, Option<Errno>) = (down_after, None);
    Ok(())
}
