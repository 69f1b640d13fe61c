//! The connections that this node accepts. It reads there and writes nothing.

use crate::host::now;
use election_core::{
    Input,
    quorum::{
        Config, Connection, Event, Message, Peer,
        wire::{Decoder, Dialect, Incoming},
    },
};
use std::{
    error::Error,
    io::Read as _,
    net::{TcpListener, TcpStream},
    sync::{Arc, mpsc::SyncSender},
    thread,
    time::Duration,
};

/// What comes into the loop's inbox.
pub(crate) enum News {
    Input(Input<Event>),
    /// A frame, or a greeting, which has no message for the node.
    Heard {
        from: Peer,
        connection: Connection,
        dialect: Dialect,
        message: Option<Message>,
    },
    Ended {
        from: Peer,
        connection: Connection,
    },
}

/// The thread that accepts. A greater number is a newer connection, for as long as the process
/// lives. A newer one does not end an older one: anybody could connect in a peer's name.
pub(crate) fn accept(listener: &TcpListener, config: &Config, inbox: &SyncSender<News>) {
    // Enough for each peer's old connection beside its new one, and a few strangers. Those who say
    // nothing lose theirs after `down_after`.
    let most = 3 * config.members().count();
    let open = Arc::new(());
    for (number, stream) in (1..).zip(listener.incoming()) {
        match stream {
            Ok(stream) if Arc::strong_count(&open) <= most => {
                let (inbox, counted) = (inbox.clone(), Arc::clone(&open));
                let decoder = Decoder::new(config.members().clone());
                let patience = config.down_after();
                thread::spawn(move || {
                    let _counted = counted;
                    read(stream, Connection(number), decoder, patience, &inbox);
                });
            }
            Ok(_) => {}
            Err(error) => {
                eprintln!("no connection: {error}");
                // Usually there are too many open files: others have to be closed first.
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// The thread that reads from one connection.
fn read(
    stream: TcpStream,
    connection: Connection,
    mut decoder: Decoder,
    patience: Duration,
    inbox: &SyncSender<News>,
) {
    if let Err(error) = read_on(stream, connection, &mut decoder, patience, inbox) {
        eprintln!("a connection was closed: {error}");
    }
    // Nothing comes from it any more. Nothing is due for one that has not said whose it is.
    if let Some(from) = decoder.peer() {
        let _ = inbox.send(News::Ended { from, connection });
    }
}

fn read_on(
    mut stream: TcpStream,
    connection: Connection,
    decoder: &mut Decoder,
    patience: Duration,
    inbox: &SyncSender<News>,
) -> Result<(), Box<dyn Error>> {
    stream.set_read_timeout(Some(patience))?;
    let mut last_frame = now();
    loop {
        match stream.read(decoder.space())? {
            0 => return Ok(decoder.ended()?),
            count => decoder.filled(count),
        }
        loop {
            let message = match decoder.incoming()? {
                Incoming::Incomplete => break,
                Incoming::Greeting => None,
                Incoming::Message(message) => Some(message),
            };
            last_frame = now();
            let (dialect, Some(from)) = (decoder.dialect(), decoder.peer()) else { break };
            inbox.send(News::Heard { from, connection, dialect, message })?;
        }
        // Half a frame is no sign of life.
        if now().since(last_frame) > patience {
            return Err("no whole frame has come for too long".into());
        }
    }
}
