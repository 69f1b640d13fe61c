//! What becomes of the connections around a node.

use super::*;

#[test]
fn what_becomes_of_a_connection_is_told() {
    let mut around = Around::new();
    let told = capture::told(|| {
        around.takes(None);
        let (connected, error) = around.link_to_b();
        assert!(!connected && error.is_some_and(|error| error.contains("refused")));
        around.network.set_now(at(6_000));
        around.takes(None);
        around.network.set_now(at(7_000));
        let b = around.network.accepts();
        around.takes(None);
        let (connected, error) = around.link_to_b();
        assert!(connected && error.is_some(), "it has said nothing yet");
        let call = around.calls(&greeting("b"));
        around.takes(None);
        assert!(around.link_to_b().1.is_some(), "it does not hear this node yet");
        call.says(&spoken("b"));
        assert_eq!(around.takes(None).len(), 1);
        assert_eq!(around.link_to_b(), (true, None));
        b.hangs_up();
        around.takes(None);
        assert_eq!(around.link_to_b(), (false, Some("it closed the connection".into())));
    });
    assert_eq!(told, ["unreachable", "unreachable", "reachable"]);
}

/// A member has been out of reach since somebody accepted in its place, and not since that one left.
#[test]
fn a_connection_of_no_use_counts_as_none() {
    let mut around = Around::new();
    around.network.hangs();
    let b = around.network.accepts();
    // The first of the two links has the attempt that hangs.
    around.takes(None);
    around.network.set_now(at(4_000));
    b.hangs_up();
    let told = capture::told(|| {
        around.takes(None);
        around.network.set_now(at(5_000));
        around.takes(None);
    });
    assert_eq!(told, ["unreachable"]);
}

/// A member that is cut off is not connected to, whatever the kernel says.
#[test]
fn a_connection_that_is_given_up_is_told() {
    let mut around = Around::new();
    let _b = around.network.accepts();
    around.takes(None);
    assert_eq!(around.link_to_b(), (true, None));
    around.network.set_now(at(5_000));
    around.takes(None);
    let (connected, error) = around.link_to_b();
    assert!(!connected && error.is_some_and(|error| error.contains("nothing has arrived from it")));
}

/// Each is about one peer, and the others go their own way.
#[test]
fn what_a_peer_says_counts_for_its_own_outbox() {
    let dialects = |around: &Around| [0, 1].map(|at| around.host.links[at].outbox.dialect());
    let mut around = Around::told_the_time();
    assert_eq!(dialects(&around), [Legacy; 2]);
    let c = around.calls(&spoken("c"));
    assert_eq!(around.takes(None).len(), 1);
    assert_eq!(dialects(&around), [Legacy, Extended]);
    c.hangs_up();
    let ended = around.takes(None);
    assert!(matches!(ended[..], [Input::Event(Event::Disconnected { .. })]), "{ended:?}");
    assert_eq!(dialects(&around), [Legacy; 2]);
}

/// An election may wait for a member that has just come back.
#[test]
fn whoever_calls_is_called_back_at_once() {
    let mut around = Around::told_the_time();
    let due = |around: &Around| around.host.links[0].deadline().expect("another attempt");
    for _ in 0..12 {
        around.network.set_now(due(&around));
        around.takes(None);
    }
    let now = around.network.now();
    assert!(due(&around) > now + Duration::from_millis(20));
    let _b = around.calls(&greeting("b"));
    around.takes(None);
    assert_eq!(due(&around), now + Duration::from_millis(10));
}

/// A peer that greets waits for an answer.
#[test]
fn a_greeting_is_answered_in_the_same_turn() {
    let mut around = Around::new();
    let b = around.network.accepts();
    around.takes(None);
    let (epoch, role, position) = (Epoch::new(4), Role::Replica, Position::default());
    let heartbeat = Heartbeat { epoch, role, position, extension: None };
    let to = Audience::One(around.host.links[0].peer);
    around.host.perform(Action::Send { to, message: Message::Heartbeat(heartbeat) });
    around.takes(None);
    let unheard = b.taken().len();
    let call = around.calls(&spoken("b"));
    around.takes(None);
    let heard = b.taken().len();
    assert!(heard > unheard && unheard > 0, "what was a greeting leaves again");
    call.says(&spoken("b"));
    around.takes(None);
    assert_eq!(b.taken().len(), heard, "it knows that it is heard");
    call.says(&greeting("b"));
    assert_eq!(around.takes(None), []);
    assert!(b.taken().len() > heard);
}

/// A vote that others heard of would count twice.
#[test]
fn a_frame_goes_to_whom_it_is_for() {
    let mut around = Around::new();
    let lines = [around.network.accepts(), around.network.accepts()];
    let _calls = ["b", "c"].map(|of| around.calls(&spoken(of)));
    around.takes(None);
    let sizes = || lines.each_ref().map(|line| line.taken().len());
    let message = || accept(Stamp { incarnation: life(1), at: at(1) });
    let before = sizes();
    let to = Audience::One(around.host.links[1].peer);
    around.host.perform(Action::Send { to, message: message() });
    around.takes(None);
    assert!(sizes()[0] == before[0] && sizes()[1] > before[1]);
    around.host.perform(Action::Send { to: Audience::All, message: message() });
    around.takes(None);
    assert!(sizes()[0] > before[0]);
}

#[test]
fn what_is_wrong_with_who_connects_is_logged() {
    let mut around = Around::told_the_time();
    let told = capture::told(|| {
        let _probe = around.calls(b"GET / HTTP/1.1\r\n\r\n");
        around.network.fails_to_accept(around.here, io::ErrorKind::Other);
        around.takes(None);
    });
    assert_eq!(told, ["accept_failed", "refused"]);
}

#[test]
fn a_twin_is_logged() {
    let mut around = Around::told_the_time();
    let (speaks, greets) = (around.calls(&spoken("b")), around.calls(&greeting("b")));
    for seconds in 0..=5 {
        around.network.set_now(at(1_000 * seconds));
        speaks.says(&spoken("b"));
        around.takes(None);
        greets.says(&greeting("b"));
        let told = capture::told(|| drop(around.takes(None)));
        assert_eq!(told.contains(&"duplicate_id".to_owned()), seconds == 5, "{told:?}");
    }
}

/// A peer that takes nothing is waited for until its connection is cut, and not with all the
/// processor's time.
#[test]
fn a_farewell_that_nobody_takes_ends_in_time() {
    let mut around = Around::new();
    let b = around.network.accepts();
    b.takes(0);
    around.network.refuses();
    around.takes(None);
    let _calls = around.calls(&spoken("b"));
    let to = Audience::One(around.host.links[0].peer);
    around
        .host
        .perform(Action::Send { to, message: accept(Stamp { incarnation: life(1), at: at(1) }) });
    around.takes(None);
    let cut_at = around.host.links[0].deadline().unwrap();
    around.rings();
    let bell = around.bell.clone();
    let waker = Waker::from(bell.clone());
    let mut cx = Context::from_waker(&waker);
    let network = around.network.clone();
    let mut farewell = pin!(around.host.say_farewell());
    assert!(farewell.as_mut().poll(&mut cx).is_pending());
    assert_eq!(bell.0.swap(0, SeqCst), 0, "it sleeps");
    // The moment comes between two looks at the clock.
    network.goes_on_between_readings(cut_at);
    assert!(farewell.as_mut().poll(&mut cx).is_pending());
    assert!(bell.0.swap(0, SeqCst) > 0, "it goes on by itself");
    assert!(farewell.as_mut().poll(&mut cx).is_ready());
}
