//! What elector and runner tell each other: a line of JSON each.

use serde::{Deserialize, Serialize};

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Lead,
    Lose,
    Change,
}

impl Kind {
    /// `ELECTION_EVENT`.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Lead => "lead",
            Self::Lose => "lose",
            Self::Change => "change",
        }
    }

    /// The option that names the hook.
    pub(super) const fn hook(self) -> &'static str {
        match self {
            Self::Lead => "on-lead",
            Self::Lose => "on-lose",
            Self::Change => "on-change",
        }
    }
}

/// A reason to run a hook. Numbers grow by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Event {
    pub(super) number: u64,
    pub(super) kind: Kind,
    /// Empty if nobody is known to lead.
    pub(super) leader: String,
    pub(super) epoch: Option<u64>,
}

/// What the elector tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Order {
    Run(Event),
    /// The hard stop has moved.
    Look,
    /// Leadership is over: a hook that runs for it has to stop.
    Over,
}

/// What the runner tells: all events up to this one are dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Done(pub(super) u64);

/// The message as a line.
pub(super) fn line(message: &impl Serialize) -> String {
    // Nothing in a message can fail to be written.
    serde_json::to_string(message).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let leader = "a \"b\"\nc".to_owned();
        let event = Event { number: 7, kind: Kind::Lose, leader, epoch: Some(9) };
        for order in [Order::Run(event), Order::Look, Order::Over] {
            let line = line(&order);
            assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
            assert_eq!(serde_json::from_str::<Order>(&line).unwrap(), order);
        }
        assert_eq!(serde_json::from_str::<Done>(&line(&Done(3))).unwrap(), Done(3));
    }
}
