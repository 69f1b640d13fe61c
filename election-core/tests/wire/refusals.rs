//! Liberal in nothing: one line for every way of not being a frame.
//!
//! The decoder refuses each with its own error, however it is split, and yields no message.

use crate::cluster::{hear, hear_in_pieces, members, members_of};
use WireError as E;
use election_core::quorum::{
    Message,
    wire::{Decoder, Encoder, Field, MAX_FRAME, Verb, WireError},
};

/// A frame with these fields.
pub(crate) fn array(fields: &[&str]) -> Vec<u8> {
    let bytes = fields.iter().map(|field| format!("${}\r\n{field}\r\n", field.len()));
    format!("*{}\r\n{}", fields.len(), bytes.collect::<String>()).into_bytes()
}

/// The fields of an extended heartbeat of `replica-1`, with one of them replaced.
fn heartbeat(place: usize, by: &str) -> Vec<u8> {
    let list = members("replica-2").fingerprint().get().to_string();
    let life = "0123456789abcdeffedcba9876543210";
    let seed = ["hb", "7", "replica-1", "replica", "99"];
    let extension = ["5", life, "6", life, "0", "3", "", &list, "6", "0"];
    let mut fields = [&seed[..], &extension].concat();
    fields[place] = by;
    array(&fields)
}

#[track_caller]
fn refused(bytes: &[u8]) -> WireError {
    let (heard, end) = hear(bytes);
    assert_eq!(heard, [], "{:?}", bytes.escape_ascii().to_string());
    let Err(error) = end else { panic!("{:?} passed", bytes.escape_ascii().to_string()) };
    let in_pieces = hear_in_pieces(bytes.chunks(1));
    let same = (vec![], Err(error));
    assert_eq!(in_pieces, same, "byte by byte, {:?}", bytes.escape_ascii().to_string());
    error
}

#[test]
fn what_is_no_array_of_bulk_strings_is_refused() {
    let long = format!("*3\r\n$6\r\naccept\r\n$1\r\n7\r\n$999\r\n{}", "1".repeat(999));
    let x = "x".repeat(999);
    let brim = format!("*3\r\n$999\r\n{x}\r\n$9\r\n1");
    let over_the_brim = format!("*4\r\n$999\r\n{x}\r\n$0\r\n\r\n$0\r\n\r\n$1\r\n");
    let lines: &[(&str, WireError)] = &[
        ("PING\r\n", E::NotAnArray(b'P')),
        ("hb 7 replica-1 replica 99\r\n", E::NotAnArray(b'h')),
        ("GET / HTTP/1.1\r\n\r\n", E::NotAnArray(b'G')),
        ("\r\n*3\r\n", E::NotAnArray(b'\r')),
        ("\0", E::NotAnArray(0)),
        ("\x16\x03\x01", E::NotAnArray(0x16)),
        ("$2\r\nhb\r\n", E::NotAnArray(b'$')),
        ("*0\r\n", E::NoFields),
        ("*-1\r\n", E::Null),
        ("*21\r\n", E::TooManyFields),
        ("*100\r\n", E::TooManyFields),
        ("*1000", E::TooManyFields),
        ("*99999999999999999999999", E::TooManyFields),
        ("*03\r\n", E::NotALength),
        ("*+3\r\n", E::NotALength),
        ("* 3\r\n", E::NotALength),
        ("*3 \r\n", E::NotALength),
        ("*\r\n", E::NotALength),
        ("*x\r\n", E::NotALength),
        ("*3\n$6\naccept\n", E::NotALength),
        ("*3\r$", E::NoLineEnd),
        ("*1\r\n*0\r\n", E::Nested),
        ("*3\r\n*1\r\n$6\r\naccept\r\n", E::Nested),
        ("*1\r\n:7\r\n", E::NotABulkString(b':')),
        ("*1\r\n:12\r\n", E::NotABulkString(b':')),
        ("+15\r\n", E::NotAnArray(b'+')),
        ("*1\r\n+OK\r\n", E::NotABulkString(b'+')),
        ("*1\r\n-ERR\r\n", E::NotABulkString(b'-')),
        ("*1\r\n\r\n", E::NotABulkString(b'\r')),
        ("*3\r\n$6\r\naccept\r\n$-1\r\n", E::Null),
        ("*1\r\n$-0\r\n", E::Null),
        ("*1\r\n$06\r\naccept\r\n", E::NotALength),
        ("*1\r\n$00\r\n\r\n", E::NotALength),
        ("*1\r\n$6 \r\n", E::NotALength),
        ("*1\r\n$\r\n", E::NotALength),
        ("*1\r\n$6\naccept", E::NotALength),
        ("*1\r\n$6\rx", E::NoLineEnd),
        ("*1\r\n$5\r\naccept\r\n", E::NoLineEnd),
        ("*1\r\n$7\r\naccept\r\n$", E::NoLineEnd),
        ("*1\r\n$6\r\naccept\n\n", E::NoLineEnd),
        ("*1\r\n$1000", E::TooLong),
        ("*1\r\n$18446744073709551615\r\n", E::TooLong),
        ("*1\r\n$99999999999999999999999999", E::TooLong),
        ("*2\r\n$999\r\n$999\r\n", E::HalfFrame(16)),
        (&long, E::TooLong),
        (&brim, E::TooLong),
        (&over_the_brim, E::TooLong),
        ("*", E::HalfFrame(1)),
        ("*3", E::HalfFrame(2)),
        ("*3\r", E::HalfFrame(3)),
        ("*3\r\n", E::HalfFrame(4)),
        ("*3\r\n$", E::HalfFrame(5)),
        ("*3\r\n$6\r\nacc", E::HalfFrame(11)),
        ("*3\r\n$6\r\naccept\r", E::HalfFrame(15)),
        ("*3\r\n$6\r\naccept\r\n$1\r\n7\r\n", E::HalfFrame(23)),
    ];
    for (bytes, error) in lines {
        assert_eq!(refused(bytes.as_bytes()), *error, "{:?}", bytes);
    }
}

#[test]
fn what_no_version_says_is_refused() {
    let arity = |verb, fields| E::WrongArity { verb, fields };
    let lines: &[(&[&str], WireError)] = &[
        (&["hb"], arity(Verb::Heartbeat, 1)),
        (&["hb", "7", "replica-1", "replica"], arity(Verb::Heartbeat, 4)),
        (&["hb", "7", "replica-1", "replica", "9", "5"], arity(Verb::Heartbeat, 6)),
        (&["HB", "7", "replica-1", "replica", "9", "5"], arity(Verb::Heartbeat, 6)),
        (&["hb", "7", "replica-1", "", "", "", "", "", "", "", "", ""], arity(Verb::Heartbeat, 12)),
        (
            &["hb", "7", "a", "b", "", "", "", "", "", "", "", "", "", ""],
            arity(Verb::Heartbeat, 14),
        ),
        (
            &["HB", "7", "replica-1", "", "", "", "", "", "", "", "", "", ""],
            arity(Verb::Heartbeat, 13),
        ),
        (&["offer", "7", "replica-1"], arity(Verb::Offer, 3)),
        (&["offer", "7", "replica-1", "9", "5"], arity(Verb::Offer, 5)),
        (&["OFFER", "7", "replica-1", "9", "5", "", "6"], arity(Verb::Offer, 7)),
        (&["accept", "7"], arity(Verb::Accept, 2)),
        (&["accept", "7", "replica-1", "5"], arity(Verb::Accept, 4)),
        (&["Accept", "7", "replica-1", "5", "6"], arity(Verb::Accept, 5)),
        (&["announce", "7", "replica-1"], arity(Verb::Announce, 3)),
        (&["announce", "7", "replica-1", "a", "5"], arity(Verb::Announce, 5)),
        (&["announce", "7", "replica-1", "a", "5", "6"], arity(Verb::Announce, 6)),
        (&["aNNOUNCE", "7", "replica-1", "a", "5", "6", "7"], arity(Verb::Announce, 7)),
    ];
    for (fields, error) in lines {
        assert_eq!(refused(&array(fields)), *error, "{fields:?}");
    }
}

/// One line per field: its place, its wrong content, and its name in the error.
#[test]
fn a_field_that_says_nothing_plain_is_refused() {
    let too_large = "18446744073709551616";
    let life = "0123456789abcdeffedcba987654321";
    let lines: &[(usize, &str, &str)] = &[
        (0, "ping", "the verb \"ping\" is unknown"),
        (0, "", "the verb \"\" is unknown"),
        (0, "hb ", "the verb \"hb \" is unknown"),
        (0, "h\u{212a}", "the verb \"h\\xe2\\x84\\xaa\" is unknown"),
        (1, "", "the epoch \"\" is not a plain decimal number"),
        (1, "-1", "the epoch \"-1\" is not a plain decimal number"),
        (1, "+1", "the epoch \"+1\" is not a plain decimal number"),
        (1, "01", "the epoch \"01\" is not a plain decimal number"),
        (1, "1e3", "the epoch \"1e3\" is not a plain decimal number"),
        (1, "7 ", "the epoch \"7 \" is not a plain decimal number"),
        (1, too_large, "the epoch \"18446744073709551616\" does not fit into 64 bits"),
        (2, "", "the id \"\" is not 1 to 32 printable"),
        (2, "replica 1", "the id \"replica 1\" is not 1 to 32 printable"),
        (2, "replica-\u{e9}", "the id \"replica-\\xc3\\xa9\" is not 1 to 32 printable"),
        (2, "replica-1\0", "the id \"replica-1\\x00\" is not 1 to 32 printable"),
        (2, "replica-1\x7f", "the id \"replica-1\\x7f\" is not 1 to 32 printable"),
        (2, "a-replica-whose-id-has-33-letters", "letter\"… (33 bytes) is not 1 to 32"),
        (2, "replica-3", "\"replica-3\" is not a member"),
        (2, "REPLICA-1", "\"REPLICA-1\" is not a member"),
        (2, "replica-2", "the peer claims this node's own id"),
        (3, "", "the role \"\" is unknown"),
        (3, "leader", "the role \"leader\" is unknown"),
        (3, "Primary", "the role \"Primary\" is unknown"),
        (3, "primary ", "the role \"primary \" is unknown"),
        (4, "", "the offset \"\" is not a plain decimal number"),
        (4, "0x9", "the offset \"0x9\" is not a plain decimal number"),
        (4, "00", "the offset \"00\" is not a plain decimal number"),
        (4, too_large, "the offset \"18446744073709551616\" does not fit"),
        (5, "", "the stamp \"\" is not a plain decimal number"),
        (5, "-5", "the stamp \"-5\" is not a plain decimal number"),
        (5, too_large, "the stamp \"18446744073709551616\" does not fit"),
        (6, "", "the incarnation \"\" is not 32 lower-case"),
        (6, life, "the incarnation \"0123456789abcdeffedcba987654321\" is not 32"),
        (6, "0123456789ABCDEFFEDCBA9876543210", "BA9876543210\" is not 32 lower-case"),
        (6, "01234567-89ab-cdef-fedc-ba9876543210", "(36 bytes) is not 32 lower-case"),
        (7, "", "half an echo"),
        (7, "six", "the echoed stamp \"six\" is not a plain decimal number"),
        (7, too_large, "the echoed stamp \"18446744073709551616\" does not fit"),
        (8, "", "half an echo"),
        (8, life, "the echoed incarnation \"0123456789abcdeffedcba987654321\" is not 32"),
        (9, "", "the availability is \"\", not 0 to 7"),
        (9, "8", "the availability is \"8\", not 0 to 7"),
        (9, "true", "the availability is \"true\", not 0 to 7"),
        (10, "", "the history \"\" is not a plain decimal number"),
        (10, too_large, "the history \"18446744073709551616\" does not fit"),
        (11, " ", "the id \" \" is not 1 to 32 printable"),
        (11, "replica-3", "the nominee \"replica-3\" is not a member"),
        (12, "", "the fingerprint \"\" is not a plain decimal number"),
        (12, "a", "the fingerprint \"a\" is not a plain decimal number"),
        (12, too_large, "the fingerprint \"18446744073709551616\" does not fit"),
        (13, "", "the set of members heard \"\" is not a plain decimal number"),
        (13, too_large, "the set of members heard \"18446744073709551616\" does not fit"),
        (14, "7", "both leads and echoes another"),
        (14, "", "the fencing token \"\" is not a plain decimal number"),
        (14, too_large, "the fencing token \"18446744073709551616\" does not fit"),
    ];
    let (heard, end) = hear(&heartbeat(0, "hb"));
    assert_eq!((heard.len(), end), (1, Ok(())), "what the lines spoil is whole");
    for (place, said, called) in lines {
        let text = refused(&heartbeat(*place, said)).to_string();
        assert!(text.contains(called), "{said:?} in place {place}: {text}");
    }
}

#[test]
fn an_address_is_text() {
    let long = "a".repeat(256);
    for address in ["", "a\0b", &long] {
        let error = refused(&array(&["announce", "7", "replica-1", address]));
        assert!(matches!(error, E::InvalidAddress(_)), "{address:?}: {error}");
    }
    let error = refused(b"*4\r\n$8\r\nannounce\r\n$1\r\n7\r\n$9\r\nreplica-1\r\n$1\r\n\xff\r\n");
    assert!(matches!(error, E::InvalidAddress(_)), "{error}");
}

#[test]
fn numbers_of_offers_and_stamps_are_checked_too() {
    let life = "0123456789abcdeffedcba9876543210";
    let spoiled = |fields: &[&str]| match refused(&array(fields)) {
        E::NotANumber { field, .. } | E::NotAnIncarnation { field, .. } => field,
        other => panic!("{other}"),
    };
    assert_eq!(spoiled(&["offer", "x", "replica-1", "9"]), Field::Epoch);
    assert_eq!(spoiled(&["offer", "7", "replica-1", "x"]), Field::Offset);
    assert_eq!(spoiled(&["offer", "7", "replica-1", "9", "x", life, "6"]), Field::Stamp);
    assert_eq!(spoiled(&["offer", "7", "replica-1", "9", "5", "x", "6"]), Field::Incarnation);
    assert_eq!(spoiled(&["offer", "7", "replica-1", "9", "5", life, "x"]), Field::History);
    assert_eq!(spoiled(&["accept", "x", "replica-1"]), Field::Epoch);
    assert_eq!(spoiled(&["accept", "7", "replica-1", "x", life]), Field::Stamp);
    assert_eq!(spoiled(&["announce", "x", "replica-1", "a"]), Field::Epoch);
    assert_eq!(spoiled(&["announce", "7", "replica-1", "a", "5", "x", "6"]), Field::Incarnation);
    assert_eq!(spoiled(&["announce", "7", "replica-1", "a", "5", life, "x"]), Field::Token);
}

/// A connection stays bound to the member that it first spoke for.
#[test]
fn a_connection_speaks_for_one_member() {
    let said = |id: &str| array(&["ACCEPT", "7", id]);
    for other in ["primary-east", "replica-2", "stranger"] {
        let (heard, end) = hear(&[said("replica-1"), said(other)].concat());
        assert_eq!(heard.len(), 1);
        assert!(matches!(end, Err(E::OtherId(_))), "{other}: {end:?}");
    }
    // A frame that is refused binds nothing.
    let mut decoder = Decoder::new(members("replica-2"));
    assert!(decoder.read(&mut &*array(&["accept", "x", "replica-1"])).is_err());
    assert_eq!(decoder.peer(), None);
}

/// A peer with another list of members must stay connected: the difference is what must be
/// reported.
#[test]
fn a_nominee_from_another_list_is_nobody() {
    let life = "0123456789abcdeffedcba9876543210";
    let seed = ["hb", "7", "replica-1", "replica", "99"];
    let extension = ["5", life, "", "", "0", "3", "replica-3", "1", "0", "0"];
    let (heard, end) = hear(&array(&[&seed[..], &extension].concat()));
    assert_eq!(end, Ok(()));
    let [Message::Heartbeat(heartbeat)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!(heartbeat.extension.unwrap().nominee, None);
}

#[test]
fn after_an_error_there_is_nothing_but_the_error() {
    let good = array(&["ACCEPT", "7", "replica-1"]);
    let bytes = [good.clone(), b"*0\r\n".to_vec(), good.clone()].concat();
    let mut decoder = Decoder::new(members("replica-2"));
    let mut input = &bytes[..];
    assert!(decoder.read(&mut input).unwrap().is_some());
    assert_eq!(decoder.read(&mut input), Err(E::NoFields));
    assert_eq!(decoder.read(&mut &good[..]), Err(E::NoFields));
    assert_eq!(decoder.message(), Err(E::NoFields));
    assert_eq!(decoder.ended(), Err(E::NoFields));
}

/// The limit is 1 KiB to the byte.
#[test]
fn a_frame_may_have_a_kibibyte() {
    let frame = |last: usize| {
        let life = "0123456789abcdeffedcba9876543210";
        let fill = "x".repeat(350);
        let known = ["announce", "7", "replica-1", "a:1", "5", life, "6"];
        array(&[&known[..], &[&fill, &fill, &"x".repeat(last)]].concat())
    };
    let room = MAX_FRAME - frame(100).len() + 100;
    assert_eq!((frame(room).len(), MAX_FRAME), (1024, 1024));
    assert_eq!(hear(&frame(room)).1, Ok(()));
    assert_eq!(hear_in_pieces(frame(room).chunks(1)).1, Ok(()));
    // That a frame will be too long is clear from the length of its last field.
    let longer = frame(room + 1);
    let announced = longer.len() - format!("{}\r\n", "x".repeat(room + 1)).len();
    assert_eq!(refused(&longer[..announced]), E::TooLong);
    assert_eq!(refused(&frame(room + 1)), E::TooLong);
    assert_eq!(refused(&frame(room + 2)), E::TooLong);
    assert_eq!(refused(&frame(room + 3)), E::TooLong);
}

#[test]
fn an_encoder_needs_ids_that_can_be_sent() {
    let long = "x".repeat(33);
    for id in ["two words", "caf\u{e9}", &long] {
        let error = Encoder::new(members_of(&["a", id], "a")).unwrap_err();
        assert!(error.to_string().contains("rename the node"), "{error}");
        assert!(Encoder::new(members_of(&["a", id], id)).is_err());
    }
}
