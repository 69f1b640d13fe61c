//! The stream of changes under any order of publishing, subscribing, reading and closing, beside a
//! plain queue for each reader. Every reader gets each change from its subscription on, once and in
//! order. If it leaves too many unread it gets those, then the error, once, and then the end.
#![no_main]

use arbitrary::Arbitrary;
use election_core::{Change, Epoch, NodeId, Term};
use election_driver::{Changes, Lagged, Queue};
use futures_lite::{Stream, future, pin};
use libfuzzer_sys::fuzz_target;
use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, Waker},
};

#[derive(Arbitrary, Debug)]
enum Act {
    Subscribe,
    Publish(u16),
    Read { reader: u8, count: u16, by: By },
    Leave(u8),
    Close,
}

/// The three ways to read.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum By {
    Asking,
    Waiting,
    Streaming,
}

/// A reader, and what it has to get.
struct Reader {
    changes: Changes,
    expected: VecDeque<u64>,
    /// The elector still writes.
    open: bool,
    /// It is still to be told that it was too slow.
    lagged: bool,
}

/// More readers than this show nothing new.
const READERS: usize = 4;
/// The changes of one run, so that a run ends soon.
const MOST: u64 = 60_000;

fuzz_target!(|acts: Vec<Act>| {
    let mut readers: Vec<Reader> = Vec::new();
    // As the elector keeps them: by their own numbers, until one lets go.
    let mut queues: Vec<(usize, Queue)> = Vec::new();
    let mut published = 0;
    for act in acts {
        match act {
            Act::Subscribe if readers.len() < READERS => {
                let (queue, changes) = Queue::new();
                queues.push((readers.len(), queue));
                let expected = VecDeque::new();
                readers.push(Reader { changes, expected, open: true, lagged: false });
            }
            Act::Publish(count) if published + u64::from(count) < MOST => {
                for _ in 0..count {
                    published += 1;
                    publish(published, &mut queues, &mut readers);
                }
            }
            Act::Read { reader, count, by } => {
                if let Some(reader) = readers.get_mut(usize::from(reader)) {
                    (0..count).for_each(|_| reader.read(by));
                }
            }
            Act::Leave(number) => {
                if let Some(reader) = readers.get_mut(usize::from(number)) {
                    // Its place is kept, so that the numbers of the others stay.
                    reader.changes = Queue::new().1;
                    (reader.open, reader.lagged) = (false, false);
                    reader.expected.clear();
                }
            }
            Act::Close => {
                queues.clear();
                readers.iter_mut().for_each(|reader| reader.open = false);
            }
            Act::Subscribe | Act::Publish(_) => {}
        }
    }
    drop(queues);
    for reader in &mut readers {
        reader.open = false;
        for by in [By::Asking, By::Waiting, By::Streaming].into_iter().cycle() {
            let is_over = reader.expected.is_empty() && !reader.lagged;
            reader.read(by);
            if is_over {
                break;
            }
        }
    }
});

fn publish(number: u64, queues: &mut Vec<(usize, Queue)>, readers: &mut [Reader]) {
    let change = change(number);
    queues.retain(|(at, queue)| {
        let reader = &mut readers[*at];
        let fits = reader.expected.len() < Queue::UNREAD;
        let told = queue.tell(&change);
        assert_eq!(told, reader.open && fits, "reader {at}, change {number}");
        if told {
            reader.expected.push_back(number);
        } else if reader.open {
            (reader.open, reader.lagged) = (false, true);
        }
        told
    });
}

impl Reader {
    fn read(&mut self, by: By) {
        let next = self.expected.pop_front().map(change);
        let expected = match next {
            Some(next) => Poll::Ready(Ok(Some(next))),
            None if self.open => Poll::Pending,
            None if std::mem::take(&mut self.lagged) => Poll::Ready(Err(Lagged)),
            None => Poll::Ready(Ok(None)),
        };
        let mut cx = Context::from_waker(Waker::noop());
        let found = match by {
            // This one does not say whether more may come.
            By::Asking => {
                let found = self.changes.try_next();
                let same = if expected.is_pending() { Poll::Ready(Ok(None)) } else { expected };
                assert_eq!(Poll::Ready(found), same);
                return;
            }
            By::Waiting => {
                let next = self.changes.next();
                pin!(next);
                future::Future::poll(next, &mut cx)
            }
            By::Streaming => {
                let next = Pin::new(&mut self.changes).poll_next(&mut cx);
                next.map(Option::transpose)
            }
        };
        assert_eq!(found, expected, "{by:?}");
    }
}

fn change(number: u64) -> Change {
    let leader = NodeId::new("n").expect("a name");
    Change::Followed {
        term: Term { epoch: Epoch::new(number), leader },
        label: None,
        elected_ms: None,
    }
}
