use super::*;
use crate::Runtime;
use election_core::{
    Epoch, Incarnation, NodeId,
    quorum::{
        Heartbeat, Position, Role, Stamp,
        wire::{Encoder, Frame, Outbox},
    },
};
use futures_lite::io::AsyncWrite;
use std::{
    collections::VecDeque,
    future::{Future, Pending, pending},
    net::TcpListener,
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Wake, Waker},
};
use uuid::Uuid;

const DOWN_AFTER: Duration = Duration::from_secs(5);

fn at(millis: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_millis(millis)
}

/// What somebody has written into a connection, and whether it has ended.
type Written = Arc<Mutex<(VecDeque<u8>, bool)>>;

/// A connection whose other end the test holds. The options are those of a socket.
struct Line(Written, Arc<TcpListener>);

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let (bytes, ended) = &mut *self.0.lock().unwrap();
        if bytes.is_empty() && !*ended {
            return Poll::Pending;
        }
        let count = bytes.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(bytes.drain(..count)) {
            *to = from;
        }
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        unreachable!("nobody writes to a caller");
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A network in which the test makes the connections.
#[derive(Clone, Default)]
struct Exchange(Arc<Mutex<VecDeque<io::Result<Line>>>>);

impl Runtime for Exchange {
    type Sleep = Pending<()>;

    fn now(&self) -> Timestamp {
        unreachable!("the test says what time it is");
    }

    fn sleep(&self, _: Duration) -> Self::Sleep {
        pending()
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, _: F) {
        unreachable!("nothing is spawned");
    }
}

impl Network for Exchange {
    type Stream = Line;
    type Listener = ();

    fn listener(&self, _: TcpListener) -> io::Result<()> {
        Ok(())
    }

    fn poll_accept(
        &self,
        (): &mut (),
        _: &mut Context<'_>,
    ) -> Poll<io::Result<(Line, SocketAddr)>> {
        let Some(next) = self.0.lock().unwrap().pop_front() else { return Poll::Pending };
        Poll::Ready(next.map(|line| (line, SocketAddr::from(([127, 0, 0, 1], 9)))))
    }

    async fn connect(&self, _: SocketAddr) -> io::Result<Line> {
        unreachable!("nobody is called");
    }

    fn descriptor(line: &Line) -> BorrowedFd<'_> {
        line.1.as_fd()
    }
}

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn members(me: &str) -> Members {
    let ids = ["a", "b", "c"].map(|id| NodeId::new(id).unwrap());
    Members::new(ids.to_vec(), &NodeId::new(me).unwrap()).unwrap()
}

/// The node a, its callers, and what they hold.
struct Desk {
    exchange: Exchange,
    socket: Arc<TcpListener>,
    callers: Callers<Exchange>,
    bell: Arc<Bell>,
}

/// What `of` sends before it has heard the node.
fn greeting(of: &str) -> Vec<u8> {
    let mut outbox = Outbox::new(Encoder::new(members(of)).unwrap(), DOWN_AFTER);
    outbox.opened(at(0));
    let (epoch, role, position) = (Epoch::new(3), Role::Replica, Position::default());
    let heartbeat = Heartbeat { epoch, role, position, extension: None };
    outbox.push(&Message::Heartbeat(heartbeat), at(0));
    outbox.bytes().to_vec()
}

/// A frame that `of` sends.
fn frame(of: &str) -> Vec<u8> {
    let stamp = Some(Stamp { incarnation: Incarnation::new(Uuid::from_u128(7)), at: at(1) });
    let message = Message::Accept { epoch: Epoch::new(3), stamp };
    let mut frame = Frame::default();
    let encoder = Encoder::new(members(of)).unwrap();
    encoder.encode(&message, Dialect::Extended, &mut frame).to_vec()
}

impl Desk {
    fn new() -> Self {
        let exchange = Exchange::default();
        let (security, members) = (Security::Plain, members("a"));
        let callers = Callers::new(exchange.clone(), security, members, DOWN_AFTER, vec![()]);
        let socket = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        Self { exchange, socket, callers, bell: Arc::default() }
    }

    /// Somebody connects and writes this.
    fn calls(&self, bytes: &[u8]) -> Written {
        let written: Written = Arc::new(Mutex::new((bytes.iter().copied().collect(), false)));
        let line = Line(written.clone(), self.socket.clone());
        self.exchange.0.lock().unwrap().push_back(Ok(line));
        written
    }

    /// A member has proved who it is, and writes this.
    fn proves(&mut self, who: &str, bytes: &[u8]) -> Written {
        let written: Written = Arc::new(Mutex::new((bytes.iter().copied().collect(), false)));
        let line = Line(written.clone(), self.socket.clone());
        let address = self.socket.local_addr().unwrap();
        let proved = members("a").find(who);
        let transport = Transport::Plain(line);
        self.callers.add(Entered { transport, address, proved }, at(0));
        written
    }

    /// The system gives no connection out.
    fn fails(&self, kind: io::ErrorKind) {
        self.exchange.0.lock().unwrap().push_back(Err(kind.into()));
    }

    /// All that has come in.
    fn poll(&mut self, millis: u64) -> Vec<String> {
        let waker = Waker::from(self.bell.clone());
        let mut cx = Context::from_waker(&waker);
        let mut told = Vec::new();
        while let Poll::Ready(call) = self.callers.poll(&mut cx, at(millis)) {
            told.push(match call {
                Call::Heard { connection, message, .. } => {
                    let what = if message.is_some() { "speaks" } else { "greets" };
                    format!("{} {what}", connection.0)
                }
                Call::Ended { connection, .. } => format!("{} ended", connection.0),
                Call::Refused { .. } => "refused".to_owned(),
                Call::Twin { .. } => "twin".to_owned(),
                Call::Starved(_) => "starved".to_owned(),
            });
        }
        told
    }
}

/// Whether the node still has this connection.
fn is_open(written: &Written) -> bool {
    Arc::strong_count(written) > 1
}

fn write(written: &Written, bytes: &[u8]) {
    written.lock().unwrap().0.extend(bytes);
}

#[test]
fn the_stranger_that_came_first_makes_room() {
    let mut desk = Desk::new();
    let strangers: Vec<_> = (0..UNKNOWN).map(|_| desk.calls(b"")).collect();
    assert_eq!(desk.poll(0), [""; 0]);
    assert_eq!(desk.poll(0), [""; 0]);
    assert!(strangers.iter().all(is_open));
    let member = desk.calls(&frame("b"));
    let last = desk.calls(b"");
    assert!(desk.poll(1).iter().any(|told| told.ends_with("speaks")));
    assert!(is_open(&member) && is_open(&last), "a member is no stranger");
    assert!(!is_open(&strangers[0]) && strangers[2..].iter().all(is_open));
}

#[test]
fn no_number_of_strangers_pushes_a_member_out() {
    let mut desk = Desk::new();
    let member = desk.calls(&frame("b"));
    desk.poll(0);
    let strangers: Vec<_> = (0..=UNKNOWN).map(|_| desk.calls(b"")).collect();
    for millis in 1..4 {
        desk.poll(millis);
    }
    assert!(is_open(&member) && !is_open(&strangers[0]));
}

#[test]
fn whoever_is_silent_in_a_members_name_makes_room_for_the_others() {
    let mut desk = Desk::new();
    let silent = desk.calls(&frame("c"));
    desk.poll(0);
    let lines: Vec<_> = (0..OF_ONE).map(|_| desk.calls(&frame("b"))).collect();
    desk.poll(0);
    for (line, millis) in [0, 2, 3].into_iter().zip(1..) {
        write(&lines[line], &frame("b"));
        desk.poll(millis);
    }
    assert!(lines.iter().all(is_open), "{OF_ONE} are not too many");
    let other = desk.calls(&frame("c"));
    desk.poll(10);
    assert!(lines.iter().all(is_open) && is_open(&other), "nor are those of another");
    let fifth = desk.calls(&frame("b"));
    assert!(desk.poll(20).contains(&"3 ended".to_owned()), "it was silent for longest");
    desk.poll(20);
    assert!(is_open(&silent), "another member is not in the way");
    assert!(!is_open(&lines[1]));
    assert!([0, 2, 3].iter().all(|line| is_open(&lines[*line])) && is_open(&fifth));
}

#[test]
fn a_connection_is_left_that_was_silent_for_long() {
    let mut desk = Desk::new();
    let (member, stranger) = (desk.calls(&frame("b")), desk.calls(b""));
    desk.poll(0);
    assert_eq!(desk.callers.deadline(), Some(at(5_000)));
    desk.poll(4_999);
    assert!(is_open(&stranger));
    write(&member, &frame("b"));
    desk.poll(4_999);
    assert_eq!(desk.poll(5_000), [""; 0]);
    assert!(!is_open(&stranger) && is_open(&member));
    assert_eq!(desk.callers.deadline(), Some(at(9_999)), "since it spoke");
    assert_eq!(desk.poll(9_999), ["1 ended"]);
    desk.poll(9_999);
    assert!(!is_open(&member));
    assert_eq!(desk.callers.deadline(), None);
}

#[test]
fn a_system_that_gives_nothing_out_is_asked_again_after_a_pause() {
    let mut desk = Desk::new();
    desk.fails(io::ErrorKind::Other);
    assert_eq!(desk.poll(0), ["starved"]);
    let line = desk.calls(&frame("b"));
    assert_eq!(desk.callers.deadline(), Some(at(100)));
    assert_eq!(desk.poll(99), [""; 0]);
    assert_eq!(desk.poll(100), ["1 speaks"]);
    assert!(is_open(&line));
    assert_eq!(desk.callers.deadline(), Some(at(5_100)));
}

#[test]
fn who_hangs_up_before_it_is_accepted_says_nothing_about_the_system() {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    let mut desk = Desk::new();
    [ConnectionAborted, ConnectionReset, Interrupted].into_iter().for_each(|kind| desk.fails(kind));
    desk.calls(&frame("b"));
    assert_eq!(desk.poll(0), ["1 speaks"]);
}

#[test]
fn whoever_connects_without_end_keeps_nobody_from_being_heard() {
    let mut desk = Desk::new();
    let lines: Vec<_> = (0..=AT_ONCE).map(|_| desk.calls(b"")).collect();
    write(&lines[0], &frame("b"));
    let waker = Waker::from(desk.bell.clone());
    let mut cx = Context::from_waker(&waker);
    let first = desk.callers.poll(&mut cx, at(0));
    assert!(matches!(first, Poll::Ready(Call::Heard { connection: Connection(1), .. })));
    assert_eq!(desk.exchange.0.lock().unwrap().len(), 1, "the others wait");
    assert_eq!(desk.bell.0.load(SeqCst), 1, "for a turn that comes");
}

#[test]
fn what_nobody_understands_is_refused_and_ends() {
    let mut desk = Desk::new();
    let (stranger, member) = (desk.calls(b"GET / HTTP/1.1\r\n\r\n"), desk.calls(&frame("b")));
    let told = desk.poll(0);
    assert_eq!(told.iter().filter(|told| *told == "refused").count(), 1, "{told:?}");
    desk.poll(0);
    assert!(!is_open(&stranger) && is_open(&member));
    write(&member, b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(desk.poll(1), ["refused", "2 ended"]);
    // The end of a connection, too, and of one in the middle of a frame.
    let (whole, torn) = (desk.calls(&frame("b")), desk.calls(&frame("c")[..9]));
    desk.poll(2);
    whole.lock().unwrap().1 = true;
    torn.lock().unwrap().1 = true;
    let told = desk.poll(3);
    assert!(
        told.contains(&"3 ended".to_owned()) && told.contains(&"refused".to_owned()),
        "{told:?}"
    );
}

/// At once, and not only for its silence: the other end may be a stranger who keeps it open.
#[test]
fn who_speaks_in_the_name_of_another_is_refused_and_ends() {
    let mut desk = Desk::new();
    let own = desk.proves("c", &frame("c"));
    let impostor = desk.proves("c", &frame("b"));
    assert_eq!(desk.poll(0), ["1 speaks", "refused", "2 ended"]);
    desk.poll(0);
    assert!(is_open(&own) && !is_open(&impostor));
}

#[test]
fn whoever_only_greets_beside_one_that_speaks_is_a_twin() {
    let mut desk = Desk::new();
    let (speaks, greets) = (desk.calls(&frame("b")), desk.calls(&greeting("b")));
    let told = desk.poll(0);
    assert!(told.contains(&"2 greets".to_owned()), "{told:?}");
    for (millis, told) in [(2_500, "2 greets"), (4_999, "2 greets"), (5_000, "twin")] {
        write(&speaks, &frame("b"));
        desk.poll(millis);
        write(&greets, &greeting("b"));
        assert_eq!(desk.poll(millis), [told], "{millis} ms");
    }
    // One that speaks at last is none, and where nobody else speaks, nobody is.
    write(&greets, &frame("b"));
    assert!(desk.poll(5_001).contains(&"2 speaks".to_owned()));
    write(&greets, &greeting("b"));
    assert_eq!(desk.poll(5_002), ["2 greets"], "it begins anew");
    let mut desk = Desk::new();
    let greets = desk.calls(&greeting("b"));
    let other = desk.calls(&frame("c"));
    desk.poll(0);
    for millis in [2_500, 5_000, 7_500] {
        write(&greets, &greeting("b"));
        write(&other, &frame("c"));
        assert!(desk.poll(millis).contains(&"1 greets".to_owned()));
    }
    // Two that only greet are both told, and neither counts for less.
    let mut desk = Desk::new();
    let both = [desk.calls(&greeting("b")), desk.calls(&greeting("b"))];
    desk.poll(0);
    for millis in [2_500, 5_000, 7_500] {
        both.iter().for_each(|greets| write(greets, &greeting("b")));
        let mut told = desk.poll(millis);
        told.sort();
        assert_eq!(told, ["1 greets", "2 greets"], "{millis} ms");
    }
}

/// Of all options, the one that is the same everywhere.
#[test]
fn the_options_of_a_connection_are_set_before_it_is_read() {
    use rustix::net::sockopt;
    let mut desk = Desk::new();
    assert!(!sockopt::tcp_nodelay(&*desk.socket).unwrap());
    desk.calls(b"");
    desk.poll(0);
    assert!(sockopt::tcp_nodelay(&*desk.socket).unwrap());
}
