//! Whom a certificate names: no bytes panic the reader, a certificate is a member's if and only if it
//! has the URI of that member and of no other, and damage makes it nobody's or leaves it whose it was.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use election_driver::{
    core::NodeId,
    tls::{certificate_name, whose},
};
use libfuzzer_sys::fuzz_target;

const CLUSTER: &str = "orders 1/2";
/// Some of them look alike, and so do their names.
const IDS: [&str; 6] = ["a", "aa", "A", "a/b", "a%2Fb", "n-1"];

#[derive(Debug)]
struct Names(Vec<Name>);

/// One of a certificate's alternative names: its tag, and its bytes.
#[derive(Debug)]
struct Name(u8, Vec<u8>);

const URI: u8 = 0x86;

impl<'a> Arbitrary<'a> for Name {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let id = *u.choose(&IDS)?;
        let own = certificate_name(CLUSTER, id);
        let bytes = match u.int_in_range(0..=7)? {
            0..=3 => own.into_bytes(),
            4 => certificate_name("orders", id).into_bytes(),
            5 => own.as_bytes()[..u.choose_index(own.len())?].to_vec(),
            6 => [own.as_bytes(), u.arbitrary::<&[u8]>()?].concat(),
            _ => u.arbitrary()?,
        };
        // A host's name, a mail address and so on name nobody, whatever they hold.
        Ok(Self(if u.ratio(5, 6)? { URI } else { *u.choose(&[0x81, 0x82, 0x87, 0x88])? }, bytes))
    }
}

impl<'a> Arbitrary<'a> for Names {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let count = u.int_in_range(0..=4)?;
        (0..count).map(|_| u.arbitrary()).collect::<Result<_, _>>().map(Self)
    }
}

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    noise: &'a [u8],
    names: Names,
    damage: (u16, u8),
    cut: u16,
}

/// A value in DER.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let [.., high, low] = content.len().to_be_bytes();
    [&[tag, 0x82, high, low], &*content].concat()
}

/// A value whose length fits into one byte.
fn short(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    [&[tag, u8::try_from(content.len()).expect("a short value")], &*content].concat()
}

/// A length as DER has it.
fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    match parts.iter().map(|part| part.len()).sum() {
        0..=127 => short(tag, parts),
        128..=255 => {
            let content = parts.concat();
            let length = u8::try_from(content.len()).expect("a byte");
            [&[tag, 0x81, length], &*content].concat()
        }
        _ => der(tag, parts),
    }
}

/// A certificate with these alternative names. Nobody has signed it.
fn certificate(names: &Names) -> Vec<u8> {
    const SEQUENCE: u8 = 0x30;
    let signed_by = value(SEQUENCE, &[&[6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2]]);
    let validity = [value(0x17, &[b"200101000000Z"]), value(0x17, &[b"400101000000Z"])].concat();
    let curve = [
        value(6, &[&[0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1]]),
        value(6, &[&[0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]]),
    ];
    let key = [value(SEQUENCE, &[&curve.concat()]), value(3, &[&[0, 4], &[7; 64]])].concat();
    let all: Vec<_> = names.0.iter().map(|Name(tag, bytes)| value(*tag, &[bytes])).collect();
    let extension =
        [value(6, &[&[0x55, 0x1D, 0x11]]), value(4, &[&value(SEQUENCE, &[&all.concat()])])];
    let extensions = value(SEQUENCE, &[&value(SEQUENCE, &[&extension.concat()])]);
    let body = [
        value(0xA0, &[&[2, 1, 2]]),
        value(2, &[&[1]]),
        signed_by.clone(),
        value(SEQUENCE, &[]),
        value(SEQUENCE, &[&validity]),
        value(SEQUENCE, &[]),
        value(SEQUENCE, &[&key]),
        value(0xA3, &[&extensions]),
    ];
    value(SEQUENCE, &[&value(SEQUENCE, &[&body.concat()]), &signed_by, &value(3, &[&[0, 1]])])
}

/// Whose it may be: the bytes have to hold its name.
fn plausible(bytes: &[u8]) -> Result<String, String> {
    let found = whose(CLUSTER, bytes);
    match &found {
        Ok(id) => {
            let name = certificate_name(CLUSTER, id);
            assert!(bytes.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
        }
        Err(why) => assert!(!why.is_empty() && why.len() < 4_096, "{why}"),
    }
    found
}

/// Whom a name means, read back by trying what it may be written from.
fn meant(name: &[u8]) -> Option<String> {
    let last = std::str::from_utf8(name).ok()?.rsplit('/').next()?;
    let hex = |at: usize| u8::from_str_radix(last.get(at + 1..at + 3)?, 16).ok();
    let (mut bytes, mut at) = (Vec::new(), 0);
    while let Some(byte) = last.as_bytes().get(at) {
        let escaped = (*byte == b'%').then(|| hex(at)).flatten();
        bytes.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    let id = String::from_utf8(bytes).ok()?;
    let is_id = NodeId::new(&id).is_ok();
    (is_id && certificate_name(CLUSTER, &id).as_bytes() == name).then_some(id)
}

fuzz_target!(|input: Input<'_>| {
    let _ = plausible(input.noise);
    let whole = certificate(&input.names);
    let uris = input.names.0.iter().filter(|Name(tag, _)| *tag == URI);
    let named: Vec<_> = uris.filter_map(|Name(_, bytes)| meant(bytes)).collect();
    let found = plausible(&whole);
    match (named.as_slice(), &found) {
        ([id], Ok(found)) => assert_eq!(id, found),
        ([id], Err(why)) => {
            // Only if another of its names cannot be read.
            let is_text = |name: &Name| name.1.is_ascii() && name.0 != 0x87 && name.0 != 0x88;
            assert!(!input.names.0.iter().all(is_text), "{id}: {why}");
        }
        (_, Ok(found)) => panic!("{found} was not named alone"),
        (_, Err(_)) => {}
    }
    let mut damaged = whole.clone();
    let (place, change) = input.damage;
    damaged[usize::from(place) % whole.len()] ^= change;
    let _ = plausible(&damaged);
    assert!(whose(CLUSTER, &whole[..usize::from(input.cut) % whole.len()]).is_err());
});
