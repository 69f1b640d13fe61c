//! What reading and writing a frame costs, in nanoseconds.
//!
//! Every member hears every other five times a second, which costs nothing. But a simulator that
//! sends real bytes reads and writes millions of frames a second, and a stranger needs only a frame
//! to make this node work.

#![allow(clippy::unwrap_used, missing_docs)] // the macros of criterion document nothing

use core::hint::black_box;
use criterion::{Criterion, criterion_group, criterion_main};
use election_core::{
    Epoch, Incarnation, Label, NodeId, Timestamp,
    quorum::{
        Attestation, Availability, Extension, Heartbeat, Held, Members, Message, PeerSet, Position,
        Role, Stamp,
        wire::{Decoder, Dialect, Encoder, Frame},
    },
};
use uuid::Uuid;

const IDS: [&str; 3] = ["primary-east", "replica-1", "replica-2"];

fn members(me: &str) -> Members {
    let ids = IDS.iter().map(|id| NodeId::new(id).unwrap()).collect();
    Members::new(ids, &NodeId::new(me).unwrap()).unwrap()
}

/// A machine that has been up for a day, and its random incarnation.
fn stamp(incarnation: u128) -> Stamp {
    let incarnation = Incarnation::new(Uuid::from_u128(incarnation));
    Stamp { incarnation, at: Timestamp::from_nanos(86_400_123_456_789) }
}

fn heartbeat() -> Message {
    Message::Heartbeat(Heartbeat {
        epoch: Epoch::new(42),
        role: Role::Replica,
        position: Position { history: 41, offset: 123_456_789_012 },
        extension: Some(Extension {
            stamp: stamp(0x0123_4567_89ab_4def_bedc_ba98_7654_3210),
            attestation: Attestation::Echo(stamp(0xfedc_ba98_7654_4210_8123_4567_89ab_cdef)),
            availability: Availability::Busy,
            nominee: None,
            fingerprint: members("replica-1").fingerprint(),
            hears: PeerSet::from_bits(0b101),
            holds: Held::default(),
        }),
    })
}

fn announce() -> Message {
    let address = Label::new("10.0.0.42:6004").unwrap();
    let epoch = Epoch::new(42);
    Message::Announce { epoch, address, token: epoch, stamp: Some(stamp(7)) }
}

fn wire(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wire");
    let encoder = Encoder::new(members("replica-1")).unwrap();
    let cases = [
        ("heartbeat", heartbeat(), Dialect::Extended),
        ("legacy heartbeat", heartbeat(), Dialect::Legacy),
        ("announce", announce(), Dialect::Extended),
    ];
    for (name, message, dialect) in cases {
        let mut frame = Frame::new();
        group.bench_function(format!("encode {name}"), |bencher| {
            bencher.iter(|| encoder.encode(black_box(&message), dialect, &mut frame).len());
        });

        // Like a driver. The copy stands for the kernel's copy in a read.
        let bytes = encoder.encode(&message, dialect, &mut frame);
        let mut decoder = Decoder::new(members("replica-2"));
        group.bench_function(format!("decode {name}"), |bencher| {
            bencher.iter(|| {
                decoder.space()[..bytes.len()].copy_from_slice(black_box(bytes));
                decoder.filled(bytes.len());
                let message = decoder.message();
                assert!(matches!(black_box(message), Ok(Some(_))));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, wire);
criterion_main!(benches);
