//! What each node did when, for the pictures.

use crate::trace::{Line, LineKind};
use std::time::Duration;

/// What a node does for a while, ordered by importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Activity {
    Down,
    Follows,
    Drains,
    Leads,
}

/// An interval of a node's life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) doing: Activity,
}

/// The life of a node until `end`, without gaps.
pub(crate) fn activity(lines: &[Line], node: usize, end: Duration) -> Vec<Interval> {
    let mut stretches = Vec::new();
    let (mut doing, mut from) = (Activity::Down, Duration::ZERO);
    for line in lines.iter().filter(|line| line.node == Some(node)) {
        let next = match line.kind {
            LineKind::Process if line.text == "ends" => Activity::Down,
            LineKind::Stopped if doing == Activity::Drains => Activity::Follows,
            LineKind::Process => Activity::Follows,
            LineKind::Change if line.text.starts_with("elected") => Activity::Leads,
            LineKind::Change if line.text.starts_with("lost") => Activity::Drains,
            LineKind::Change => Activity::Follows,
            _ => continue,
        };
        stretches.push(Interval { from, to: line.at, doing });
        (doing, from) = (next, line.at);
    }
    stretches.push(Interval { from, to: end.max(from), doing });
    stretches
}
