//! Bytes from a stranger, in pieces as they like: nothing panics, pieces never matter, no more
//! than a kilobyte is kept, and what is accepted is RESP2 to another implementation and is heard
//! again when it is sent again. What a frame means never depends on those before it.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use election_core::{
    NodeId,
    quorum::{
        Members, Message,
        wire::{Decoder, Dialect, Encoder, Frame, MAX_FRAME, WireError},
    },
};
use libfuzzer_sys::fuzz_target;
use redis_protocol::resp2::decode::decode as oracle;

const IDS: [&str; 3] = ["a", "b", "replica-1"];

#[derive(Debug)]
struct Stream {
    bytes: Vec<u8>,
    pieces: Vec<usize>,
}

/// Frames that are almost right between noise: numbers and names where they belong, or not.
impl<'a> Arbitrary<'a> for Stream {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let mut bytes = Vec::new();
        for _ in 0..u.int_in_range(0..=4)? {
            if u.ratio(1, 8)? {
                let noise: &[u8] = u.arbitrary()?;
                bytes.extend_from_slice(&noise[..noise.len().min(600)]);
            } else {
                let start = bytes.len();
                frame(u, &mut bytes)?;
                // The same again, or almost: that is what a peer says most.
                for _ in 0..u.int_in_range(0..=3)? {
                    let again = bytes.len();
                    bytes.extend_from_within(start..start + (again - start).min(500));
                    let place = u.int_in_range(again..=bytes.len() - 1)?;
                    bytes[place] = if u.arbitrary()? { b'7' } else { u.arbitrary()? };
                }
            }
        }
        if !bytes.is_empty() && u.ratio(1, 4)? {
            let place = u.choose_index(bytes.len())?;
            bytes[place] = u.arbitrary()?;
        }
        let mut pieces = Vec::new();
        for _ in 0..u.int_in_range(1..=6)? {
            pieces.push(u.int_in_range(1..=1100)?);
        }
        Ok(Self { bytes, pieces })
    }
}

fn frame(u: &mut Unstructured<'_>, to: &mut Vec<u8>) -> arbitrary::Result<()> {
    const WORDS: [&str; 14] = [
        "",
        "0",
        "1",
        "42",
        "18446744073709551615",
        "18446744073709551616",
        "00",
        "a",
        "b",
        "replica-1",
        "primary",
        "candidate",
        "00000000000000000000000000000001",
        "x y",
    ];
    // (verb, and what belongs into its fields: a number, an id, a role, a life, a flag)
    let (verb, kinds) = *u.choose(&[
        ("hb", "nirnnlnlfninnz"),
        ("hb", "nirnnl__fninnn"),
        ("HB", "nirn"),
        ("hb", "nirn"),
        ("offer", "ninnln"),
        ("Offer", "nin"),
        ("accept", "ninl"),
        ("ACCEPT", "ni"),
        ("announce", "niwnln"),
        ("ANNOUNCE", "niw"),
    ])?;
    let mut fields = vec![verb.to_owned()];
    for kind in kinds.chars() {
        let right = !u.ratio(1, 24)?;
        fields.push(match kind {
            'n' if right => u.arbitrary::<u64>()?.to_string(),
            'i' if right => "a".to_owned(),
            'r' if right => (*u.choose(&["primary", "replica", "candidate"])?).to_owned(),
            'l' if right => format!("{:032x}", u.arbitrary::<u128>()?),
            'f' if right => u.int_in_range(0..=3)?.to_string(),
            'z' if right => "0".to_owned(),
            '_' if right => String::new(),
            _ => (*u.choose(&WORDS)?).to_owned(),
        });
    }
    for _ in 0..if u.ratio(1, 8)? { u.int_in_range(1..=4)? } else { 0 } {
        fields.push("x".repeat(u.int_in_range(0..=300)?));
    }
    to.extend(format!("*{}\r\n", fields.len()).bytes());
    for field in fields {
        to.extend(format!("${}\r\n{field}\r\n", field.len()).bytes());
    }
    Ok(())
}

fn members(me: &str) -> Members {
    let ids = IDS.iter().map(|id| NodeId::new(id).expect("a name")).collect();
    Members::new(ids, &NodeId::new(me).expect("a name")).expect("a list")
}

/// As a driver does it: into the space there is, a piece at a time.
fn hear(bytes: &[u8], pieces: &[usize]) -> (Vec<Message>, Decoder, Result<(), WireError>) {
    let mut decoder = Decoder::new(members("b"));
    let mut heard = Vec::new();
    let mut rest = bytes;
    let mut sizes = pieces.iter().cycle();
    while !rest.is_empty() {
        let space = decoder.space();
        assert!(!space.is_empty() && space.len() <= MAX_FRAME);
        let size = space.len().min(rest.len()).min(*sizes.next().expect("a size"));
        space[..size].copy_from_slice(&rest[..size]);
        decoder.filled(size);
        rest = &rest[size..];
        loop {
            match decoder.message() {
                Ok(Some(message)) => heard.push(message),
                Ok(None) => break,
                Err(error) => return (heard, decoder, Err(error)),
            }
        }
        assert!(decoder.pending() < MAX_FRAME);
    }
    let end = decoder.ended();
    (heard, decoder, end)
}

/// Each message sent again is heard again.
fn echo(messages: &[Message], from: &str) {
    let encoder = Encoder::new(members(from)).expect("ids that can be sent");
    let mut frame = Frame::new();
    for message in messages {
        let bytes = encoder.encode(message, Dialect::Extended, &mut frame);
        let (heard, _, end) = hear(bytes, &[bytes.len()]);
        // Without its extension it is a greeting from this side, and passed over.
        let extended = message.stamp().is_some();
        let wanted = if extended { std::slice::from_ref(message) } else { &[] };
        assert_eq!((heard.as_slice(), end), (wanted, Ok(())));
    }
}

fuzz_target!(|stream: Stream| {
    let Stream { bytes, pieces } = stream;
    let (heard, decoder, end) = hear(&bytes, &[MAX_FRAME]);
    let (in_pieces, other, same) = hear(&bytes, &pieces);
    assert_eq!((&in_pieces, same), (&heard, end));
    assert_eq!((other.peer(), other.dialect()), (decoder.peer(), decoder.dialect()));
    if let Some(error) = end.err() {
        assert!(!error.to_string().is_empty());
    }
    let mut rest = &bytes[..];
    let mut one_by_one = Vec::new();
    while let Ok(Some((_, used))) = oracle(rest) {
        let (messages, _, Ok(())) = hear(&rest[..used], &[MAX_FRAME]) else { break };
        one_by_one.extend(messages);
        rest = &rest[used..];
    }
    if matches!(end, Err(WireError::OtherId(_))) {
        // Alone, a frame may come from anybody.
        assert_eq!(one_by_one.get(..heard.len()), Some(&heard[..]));
    } else {
        assert_eq!((&one_by_one, hear(rest, &[MAX_FRAME]).2), (&heard, end));
    }
    if end.is_ok() {
        assert!(rest.is_empty());
    }
    if let Some(peer) = decoder.peer() {
        echo(&heard, IDS[peer.index()]);
    }
});
