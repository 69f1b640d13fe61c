//! Checkers call nodes by number and epochs by their full value. A report says what its transcript
//! says: `b` and `#15012`.

use crate::{text::node_name, trace::short};
use election_core::Epoch;

/// Nodes in a sentence of a checker.
pub(super) fn all(nodes: &[usize]) -> String {
    let nodes: Vec<_> = nodes.iter().map(|node| format!("node {node}")).collect();
    nodes.join(", ")
}

/// The sentence with each `node 1` and `epoch 1000015012` in it as transcripts have them.
pub(super) fn as_transcripts_say(sentence: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let (number, rest) = word.split_at(digits);
        let named = |unit: &str, name: fn(u64) -> String| {
            let before = words.last()?.strip_suffix(unit)?;
            Some(format!("{before}{}{rest}", name(number.parse().ok()?)))
        };
        let name = |node: u64| usize::try_from(node).map_or_else(|_| node.to_string(), node_name);
        match named("node", name).or_else(|| named("epoch", |epoch| short(Epoch::new(epoch)))) {
            Some(named) => _ = words.last_mut().map(|last| *last = named),
            None => words.push(word.to_owned()),
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_epochs_are_named_as_in_a_transcript() {
        let said = [
            ("node 1 believes in epoch 1000015012 at 3s", "b believes in #15012 at 3s"),
            ("n2 (epoch 7) leads, after epoch 9", "n2 (#7) leads, after #9"),
            ("node 0, node 27 and the epoch of nobody", "a, n27 and the epoch of nobody"),
        ];
        for (checker, report) in said {
            assert_eq!(as_transcripts_say(checker), report);
        }
    }
}
