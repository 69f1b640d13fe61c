//! Whoever is no member and tries to pass for one. Each is refused for the right reason, and the leader
//! goes on.

use crate::{cluster::Nodes, role};
use election_driver::{
    conformance::certificates::{Authority, Pair, client, shakes_hands},
    tls::certificate_name,
};
use rcgen::date_time_ymd;
use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// A leader's heartbeat under an epoch that nobody has reached, in n1's name.
const USURPS: &[u8] = b"*5\r\n$2\r\nHB\r\n$3\r\n999\r\n$2\r\nn1\r\n$7\r\nprimary\r\n$1\r\n0\r\n";

/// A greeting of TLS 1.2, whose only offer that is.
fn of_tls_1_2() -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]); // what should be random
    body.extend([0, 0, 4, 0xC0, 0x2B, 0xC0, 0x2F, 1, 0]); // no session, two suites, no compression
    let extensions: [&[u8]; 3] = [
        &[0, 10, 0, 4, 0, 2, 0, 23],            // a group: secp256r1
        &[0, 11, 0, 2, 1, 0],                   // uncompressed points
        &[0, 13, 0, 8, 0, 6, 4, 3, 8, 4, 4, 1], // ways to sign
    ];
    let extensions = extensions.concat();
    body.extend([0, u8::try_from(extensions.len()).expect("a short list")]);
    body.extend(extensions);
    let length = u8::try_from(body.len()).expect("a short greeting");
    [&[0x16, 3, 1, 0, length + 4, 1, 0, 0, length], &*body].concat()
}

/// The first flight of a client with this certificate.
fn first_flight(pair: Option<&Pair>) -> Vec<u8> {
    let mut bytes = Vec::new();
    client(pair).write_tls(&mut bytes).expect("memory");
    bytes
}

/// Sends bytes and waits until the other end hangs up. Returns from where.
fn says(to: &str, bytes: &[u8]) -> SocketAddr {
    let mut stream = TcpStream::connect(to).expect("a port");
    let own = stream.local_addr().expect("an address");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("our own socket");
    let _ = stream.write_all(bytes); // the other end may have hung up
    let _ = stream.read_to_end(&mut Vec::new());
    own
}

/// Shakes hands with this certificate, says this, and waits for the end.
fn proves(to: &str, pair: Option<&Pair>, bytes: &[u8]) -> SocketAddr {
    let stream = TcpStream::connect(to).expect("a port");
    let own = stream.local_addr().expect("an address");
    if let Ok(mut session) = shakes_hands(stream, pair) {
        let _ = session.write_all(bytes).and_then(|()| session.flush());
        let _ = session.read_to_end(&mut Vec::new());
    }
    own
}

type Attack<'a> = Box<dyn Fn(&str) -> SocketAddr + 'a>;

/// What is tried, and the reason and the cause with which it has to be refused.
fn attacks<'a>(
    authority: &'a Authority,
    foreign: &'a Authority,
) -> Vec<(Attack<'a>, [&'a str; 2])> {
    let name = certificate_name("quorum", "n2");
    let presents =
        |pair: Pair| -> Attack<'a> { Box::new(move |to| proves(to, Some(&pair), USURPS)) };
    let sends = |bytes: Vec<u8>| -> Attack<'a> { Box::new(move |to| says(to, &bytes)) };
    let expired = authority.signs(&name, |params| params.not_after = date_time_ymd(2020, 1, 1));
    let early = authority.signs(&name, |params| params.not_before = date_time_ymd(2999, 1, 1));
    let elsewhere = authority.signs(&certificate_name("other", "n2"), |_| ());
    let unknown = authority.signs(&certificate_name("quorum", "n9"), |_| ());
    let too_large = [&[0x16, 3, 1, 0xFF, 0xFF][..], &[0; 70_000]].concat();
    let mut endless = Vec::new();
    for part in 0..8 {
        // One message of sixteen megabytes, in records that TLS permits.
        endless.extend([0x16, 3, 1, 0x40, 0]);
        endless.extend(if part == 0 { [1, 0xFF, 0xFF, 0xFF] } else { [0; 4] });
        endless.extend([0; 0x3FFC]);
    }
    vec![
        (
            Box::new(|to| proves(to, None, USURPS)),
            ["no_certificate", "it presents no certificate; only members are let in"],
        ),
        (
            presents(foreign.member(1)),
            ["certificate", "its certificate is not signed by this cluster's authority"],
        ),
        (presents(expired), ["certificate", "its certificate has expired; renew it"]),
        (presents(early), ["certificate", "its certificate is not valid yet"]),
        (presents(elsewhere), ["certificate", "it names election://other/n2"]),
        (presents(unknown), ["impostor", "it holds the certificate of n9 but claims to be n1"]),
        (
            presents(authority.member(2)),
            ["impostor", "it holds the certificate of n3 but claims to be n1"],
        ),
        (sends(USURPS.to_vec()), ["not_tls", "it does not speak TLS"]),
        (
            sends([USURPS, &first_flight(Some(&authority.member(1)))].concat()),
            ["not_tls", "it does not speak TLS"],
        ),
        (sends(of_tls_1_2()), ["tls", "it does not speak TLS 1.3 as members do"]),
        (sends(too_large), ["not_tls", "larger than TLS allows"]),
        (sends(endless), ["not_tls", "let only members reach the port"]),
    ]
}

#[test]
fn an_unproven_member_is_refused_for_the_right_reason() {
    let (authority, foreign) = (Authority::new(), Authority::new());
    let (mut nodes, _folders) = Nodes::certified(4, &authority);
    nodes.environment(role::EVERY_REFUSAL, "1");
    (0..4).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    for (attack, [reason, cause]) in attacks(&authority, &foreign) {
        println!("{reason}: {cause}");
        // On each runtime. The first member would not be told its own name.
        for node in 1..4 {
            let from = attack(nodes.address(node));
            let (from, reason) = (format!("from={from} "), format!("reason=\"{reason}\""));
            nodes.logged(node, "refused", &[&from, &reason, cause]);
        }
        nodes.still_leads(&leader);
    }
}

/// Who has recorded a member's handshake can neither repeat it nor any part of it.
#[test]
fn a_recorded_handshake_opens_nothing() {
    let authority = Authority::new();
    let (mut nodes, _folders) = Nodes::certified(3, &authority);
    nodes.environment(role::EVERY_REFUSAL, "1");
    (0..3).for_each(|node| nodes.start(node));
    let leader = nodes.leader_after(0);
    nodes.all_follow(&leader);
    for node in 0..3 {
        let member = authority.member((node + 1) % 3);
        let stream = TcpStream::connect(nodes.address(node)).expect("a port");
        let genuine = shakes_hands(stream, Some(&member)).expect("a member's handshake");
        let recorded = genuine.sock.sent.clone();
        let hello = first_flight(Some(&member)).len();
        assert!(recorded.len() > hello, "both of its flights");
        let from = says(nodes.address(node), &recorded);
        nodes.logged(node, "refused", &[&format!("from={from} "), "reason=\"tls\"", "decrypt"]);
        // Cut short, and closed: as after a probe, nobody is told.
        for length in (0..recorded.len()).step_by(recorded.len() / 20) {
            let mut stream = TcpStream::connect(nodes.address(node)).expect("a port");
            let _ = stream.write_all(&recorded[..length]);
        }
        drop(genuine);
        nodes.still_leads(&leader);
    }
}
