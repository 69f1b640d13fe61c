//! What happens next: one heap for single events, one slot per node for its timer.
//!
//! A node has exactly one timer and moves it at almost every step. In a heap each move would leave
//! a dead entry behind; in a tournament tree it is a store and a few comparisons.

use std::{cmp::Ordering, collections::BinaryHeap};

/// An event that happens once. Slots and indices are the simulator's; `E` holds the events that
/// only one protocol has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<E> {
    Begin(usize),
    End(usize),
    Heal,
    Deadline,
    Stop { node: usize, life: u32, epoch: u64 },
    App { node: usize, life: u32, turn: u64 },
    Restart { node: usize, life: u32 },
    Resign { node: usize, life: u32 },
    Health { node: usize, life: u32, healthy: bool },
    Write(usize),
    Frame(usize),
    Own(E),
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: u64,
    order: u64,
    event: Event<E>,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Reversed: the heap gives the greatest entry, and the queue needs the earliest.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// The next item of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next<E> {
    Event(Event<E>),
    /// The timer of this node.
    Timer(usize),
}

/// All future events and timers.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Entry<E>>,
    pushed: u64,
    /// A tree of minima over the nodes' timers; the leaves begin at `leaves`.
    timers: Vec<u64>,
    leaves: usize,
}

impl<E: Copy> Queue<E> {
    pub(crate) fn new(nodes: usize) -> Self {
        let leaves = nodes.next_power_of_two();
        Self {
            heap: BinaryHeap::with_capacity(64),
            pushed: 0,
            timers: vec![u64::MAX; 2 * leaves],
            leaves,
        }
    }

    pub(crate) fn push(&mut self, at: u64, event: Event<E>) {
        self.pushed += 1;
        self.heap.push(Entry { at, order: self.pushed, event });
    }

    /// Moves the timer of a node; `u64::MAX` removes it.
    pub(crate) fn set_timer(&mut self, node: usize, at: u64) {
        let mut place = self.leaves + node;
        if self.timers[place] == at {
            return;
        }
        self.timers[place] = at;
        while place > 1 {
            place /= 2;
            let least = self.timers[2 * place].min(self.timers[2 * place + 1]);
            if self.timers[place] == least {
                break;
            }
            self.timers[place] = least;
        }
    }

    /// When the earliest item is due; `u64::MAX` if there is none.
    pub(crate) fn due(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |entry| entry.at).min(self.timers[1])
    }

    /// Takes the earliest item, with its time. At one instant events go before timers, and events
    /// keep the order in which they were pushed.
    pub(crate) fn pop(&mut self) -> Option<(u64, Next<E>)> {
        let timer = self.timers[1];
        match self.heap.peek() {
            Some(entry) if entry.at <= timer => {
                let entry = self.heap.pop()?;
                Some((entry.at, Next::Event(entry.event)))
            }
            _ if timer == u64::MAX => None,
            _ => {
                let node = self.first_timer();
                self.set_timer(node, u64::MAX);
                Some((timer, Next::Timer(node)))
            }
        }
    }

    fn first_timer(&self) -> usize {
        let mut place = 1;
        while place < self.leaves {
            place *= 2;
            if self.timers[place] != self.timers[place / 2] {
                place += 1;
            }
        }
        place - self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_timers_come_in_order_of_time() {
        for nodes in [1, 2, 3, 5, 8, 100] {
            let mut queue = Queue::new(nodes);
            for node in 0..nodes {
                queue.set_timer(node, 1_000 - node as u64);
                queue.set_timer(node, 1_000 + node as u64);
            }
            queue.push(1_000, Event::Heal);
            queue.push(10, Event::Own(1));
            queue.push(10, Event::Own(2));
            assert_eq!(queue.due(), 10);
            let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            assert_eq!(queue.due(), u64::MAX);
            assert_eq!(order[0], (10, Next::Event(Event::Own(1))));
            assert_eq!(order[1], (10, Next::Event(Event::Own(2))));
            assert_eq!(order[2], (1_000, Next::Event(Event::Heal)));
            for node in 0..nodes {
                assert_eq!(order[3 + node], (1_000 + node as u64, Next::Timer(node)));
            }
            assert_eq!(order.len(), 3 + nodes);
        }
    }
}
