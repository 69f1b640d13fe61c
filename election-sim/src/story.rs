//! What each node did when, as pictures show it.

use crate::trace::{Line, LineKind};
use std::time::Duration;

/// What a node does for a while. In the order of what must not be overlooked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doing {
    Down,
    Follows,
    Drains,
    Leads,
}

/// A stretch of a node's life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) doing: Doing,
}

/// The life of a node until `end`, without gaps.
pub(crate) fn story(lines: &[Line], node: usize, end: Duration) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let (mut doing, mut from) = (Doing::Down, Duration::ZERO);
    for line in lines.iter().filter(|line| line.node == Some(node)) {
        let next = match line.kind {
            LineKind::Process if line.text == "ends" => Doing::Down,
            LineKind::Stopped if doing == Doing::Drains => Doing::Follows,
            LineKind::Process => Doing::Follows,
            LineKind::Change if line.text.starts_with("elected") => Doing::Leads,
            LineKind::Change if line.text.starts_with("lost") => Doing::Drains,
            LineKind::Change => Doing::Follows,
            _ => continue,
        };
        stretches.push(Stretch { from, to: line.at, doing });
        (doing, from) = (next, line.at);
    }
    stretches.push(Stretch { from, to: end.max(from), doing });
    stretches
}
