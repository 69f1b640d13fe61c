//! One of several processes that elect a primary among themselves, over TCP, with threads and
//! channels, and without async.
//!
//! `election-core` makes the decisions and reads and writes the frames. The sockets, the ballot's
//! file, the clock and the loop are the program's own. Start three of them on one machine, each in
//! a terminal and with an empty directory of its own:
//!
//! ```sh
//! ALL='a=127.0.0.1:7001 b=127.0.0.1:7002 c=127.0.0.1:7003'
//! mkdir a; cargo run -p election-core --example tcp_quorum -- a a $ALL
//! mkdir b; cargo run -p election-core --example tcp_quorum -- b b $ALL
//! mkdir c; cargo run -p election-core --example tcp_quorum -- c c $ALL
//! ```
//!
//! The primary acts. Kill it: another one acts after five seconds. Type `resign` or `leave` there:
//! another one acts at once. The numbers in front are `CLOCK_BOOTTIME`, which all processes of a
//! machine share.
//!
//! The loop only decides, so that it is never late. Whatever may take its time has a thread: one for
//! every connection, one for the ballot, one for the work.

mod ballot;
mod from_peers;
#[path = "../host/mod.rs"]
mod host;
mod to_peers;

use ballot::BallotFile;
use election_core::{
    Change, Epoch, Input, Label, NodeId, Protocol as _, Timestamp,
    quorum::{Action, Audience, Ballot, Config, Event, Peer, Position, Quorum},
};
use from_peers::{News, accept};
use host::{Leadership, incarnation, next, now};
use std::{
    env,
    error::Error,
    io,
    net::{SocketAddr, TcpListener},
    process,
    sync::mpsc::{self, Receiver, SyncSender},
    thread,
    time::Duration,
};
use to_peers::Links;

const USAGE: &str = "usage: tcp_quorum DIRECTORY ID ID=ADDRESS...";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let directory = arguments.next().ok_or(USAGE)?;
    let me = NodeId::new(&arguments.next().ok_or(USAGE)?)?;
    let members = arguments.map(|argument| member(&argument)).collect::<Result<Vec<_>, _>>()?;
    let mine = members
        .iter()
        .find(|(id, _)| *id == me)
        .ok_or("add this node itself to the list: its ID is not there")?
        .1;

    let ids = members.iter().map(|(id, _)| id.clone());
    // What the followers are told: usually the address of the data. Here there are none.
    let config = Config::builder(me.clone(), ids, Label::new(&mine.to_string())?)
        .loopback(mine.ip().is_loopback())
        .build()?;
    let addresses: Vec<(Peer, SocketAddr)> = members
        .iter()
        .filter_map(|(id, address)| Some((config.members().find(id.as_str())?, *address)))
        .collect();

    // Before the first frame: what this node has promised in an earlier life.
    let file = BallotFile::open(directory.into(), me.clone())?;
    let restored = file.read();
    println!("{} {me}: begins with {restored:?}", now().as_nanos());

    // Whatever happens comes in through one inbox. It is bounded, so that a peer who floods this
    // node has to wait.
    let (inbox, news) = mpsc::sync_channel(64);
    let (save, ballots) = mpsc::channel();
    let (begin, terms) = mpsc::channel();
    let leadership = Leadership::default();
    spawn(&inbox, move |inbox| keep(&file, &ballots, &inbox));
    spawn(&inbox, {
        let (me, leadership) = (me.clone(), leadership.clone());
        move |inbox| work(&me, &terms, &leadership, &inbox)
    });
    spawn(&inbox, |inbox| obey(&inbox));
    let listener = TcpListener::bind(mine)?;
    spawn(&inbox, {
        let config = config.clone();
        move |inbox| accept(&listener, &config, &inbox)
    });
    let links = Links::dial(&config, &addresses)?;

    let slice = config.timer_slice();
    let mut quorum = Quorum::new(config, incarnation()?, &restored, Some(Position::default()), 0);
    let (mut wake_at, mut stop_by) = (Some(now()), Timestamp::MAX);
    while !quorum.is_finished() {
        let input = match next(&news, wake_at, slice) {
            None => Input::Tick,
            Some(news) => match links.take_in(news) {
                Some(input) => input,
                None => continue,
            },
        };
        let step = quorum.step(now(), input);
        leadership.publish(quorum.tenure(now()));
        if let Some(change) = step.change {
            println!("{} {me}: {change:?}", now().as_nanos());
            match change {
                Change::Elected(tenure) => begin.send(tenure.term.epoch)?,
                Change::Lost { stop_by: at, .. } => stop_by = at,
                Change::Followed { .. } | Change::Vacant | Change::Alert(_) => {}
            }
        }
        match step.action {
            Some(Action::Save(ballot)) => save.send(ballot)?,
            Some(Action::Send { to: Audience::All, message }) => links.send_to_all(&message),
            Some(Action::Send { to: Audience::One(peer), message }) => links.send(peer, &message),
            None => {}
        }
        // A thread cannot be ended from outside, a process can. Whoever has started it starts it
        // again. (The core does not ask to be called for this. The slices are short enough.)
        if quorum.draining().is_some() && now() >= stop_by {
            eprintln!("{me}: the work had to be ended by force");
            process::exit(1);
        }
        wake_at = step.wake_at;
    }
    links.say_farewell();
    Ok(())
}

fn member(argument: &str) -> Result<(NodeId, SocketAddr), Box<dyn Error>> {
    let (id, address) = argument.split_once('=').ok_or(USAGE)?;
    let address = address.parse().map_err(|_| format!("{argument}: ADDRESS is IP:PORT"))?;
    Ok((NodeId::new(id)?, address))
}

fn spawn(inbox: &SyncSender<News>, body: impl FnOnce(SyncSender<News>) + Send + 'static) {
    let inbox = inbox.clone();
    thread::spawn(move || body(inbox));
}

/// The thread that saves: the node goes on while the disk is slow.
fn keep(file: &BallotFile, ballots: &Receiver<Ballot>, inbox: &SyncSender<News>) {
    for ballot in ballots {
        let event = match file.save(&ballot) {
            Ok(()) => Event::Saved(ballot.promised),
            Err(error) => {
                eprintln!("the ballot could not be saved: {error}");
                Event::SaveFailed(ballot.promised)
            }
        };
        let _ = inbox.send(News::Input(Input::Event(event)));
    }
}

/// The thread that works, as a primary does and nobody else.
fn work(me: &NodeId, terms: &Receiver<Epoch>, leadership: &Leadership, inbox: &SyncSender<News>) {
    for epoch in terms {
        while !leadership.is_over(epoch) {
            // Looked at anew before every act. An act takes less than the grace.
            if let Some(at) = leadership.in_force(epoch) {
                println!("{} {me}: acts under epoch {epoch}", at.as_nanos());
            }
            thread::sleep(Duration::from_millis(20));
        }
        // Only this permits the core to let the others in.
        let _ = inbox.send(News::Input(Input::Stopped(epoch)));
    }
}

/// The thread that reads what the operator types.
fn obey(inbox: &SyncSender<News>) {
    for line in io::stdin().lines().map_while(Result::ok) {
        let input = match line.trim() {
            "resign" => Input::Resign,
            "leave" => Input::Withdraw,
            _ => continue,
        };
        let _ = inbox.send(News::Input(input));
    }
}
