//! The value that says who leads in an election.

use super::text::{VERSION, ValueError, kept, lines, parsed};
use crate::{
    Candidate, Epoch, Incarnation, Label, NodeId,
    lease::{Holder, Registration, Row, Server},
    time::millis,
};
use alloc::{
    format,
    string::{String, ToString as _},
};
use core::{fmt, str::FromStr, time::Duration};

/// Who leads in an election, as its register holds it. The default is that of an election in which
/// nobody ever led, whose key has no value.
///
/// ```text
/// election-leader 1
/// epoch 1764450000123
/// holder host-7
/// incarnation 5f0e6a52-3f33-4c0e-9d0a-0c5f0c2b1c1d
/// elected_ms 1764450000119
/// label 10.0.0.7:8080
/// ttl_ms 15000
/// renewals 42
/// resign_requested yes
/// ```
///
/// While nobody leads, there are only `epoch` and `elected_ms` below the header. `label` is missing if the
/// leader publishes none, and `resign_requested` unless somebody has asked the leader to resign.
///
/// What [`beginning`](Self::beginning) returns stands at the beginning of the value for as long as one term
/// is held: where a transaction can compare values, it can be fenced by that.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Leader {
    /// The newest epoch, held or not; [`Epoch::NONE`] if nobody ever led.
    pub epoch: Epoch,
    /// When it was won, in milliseconds since 1970 by the winner's clock. Nothing depends on it.
    pub elected_ms: i64,
    /// Who holds it; `None` if vacant.
    pub holder: Option<Holder>,
    /// The length of the lease that the holder asked for.
    pub ttl: Duration,
    /// The newest renewal's number within the epoch.
    pub renewals: u64,
    /// Somebody has asked the holder to resign.
    pub resign_requested: bool,
}

impl Leader {
    /// Asks the holder to resign: of this epoch, or whoever it is. Returns the epoch that was asked;
    /// none if that is not held.
    pub fn ask_to_resign(&mut self, epoch: Option<Epoch>) -> Option<Epoch> {
        let meant = epoch.is_none_or(|epoch| epoch == self.epoch);
        let asked = meant && self.holder.is_some();
        self.resign_requested |= asked;
        asked.then_some(self.epoch)
    }

    /// How the value begins for as long as this candidate holds this epoch, and neither before nor after.
    #[must_use]
    pub fn beginning(epoch: Epoch, holder: &Candidate) -> String {
        let Candidate { id, incarnation } = holder;
        let id = id.as_str();
        format!(
            "election-leader {VERSION}\nepoch {epoch}\nholder {id}\nincarnation {incarnation}\n"
        )
    }

    /// The row that this value stands for, for a process that knows how long nobody else may take over.
    pub(super) fn row(&self, remaining: Duration) -> Row {
        Row {
            epoch: self.epoch,
            holder: self.holder.clone(),
            // Whoever takes over waits longer, for the drift.
            remaining: remaining.min(self.ttl),
            ttl: self.ttl,
            renewals: self.renewals,
            resign_requested: self.resign_requested,
            elected_ms: (self.epoch > Epoch::NONE).then_some(self.elected_ms),
            server: Server::FIRST,
        }
    }

    pub(super) fn is_held_by(&self, candidate: &Candidate) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.candidate == *candidate)
    }

    /// The next epoch, held by this candidate.
    pub(super) fn taken(
        &self,
        by: &Registration,
        seen: Epoch,
        ttl: Duration,
        wall_ms: i64,
    ) -> Self {
        let clock = u64::try_from(wall_ms).map_or(Epoch::NONE, Epoch::new).min(Epoch::MAX_MIN);
        let holder = Holder { candidate: by.candidate.clone(), label: by.label.clone() };
        Self {
            epoch: self.epoch.after().max(seen.after()).max(clock),
            elected_ms: wall_ms,
            holder: Some(holder),
            ttl,
            renewals: 0,
            resign_requested: false,
        }
    }

    pub(super) fn renewed(&self, ttl: Duration) -> Self {
        Self { renewals: self.renewals.saturating_add(1), ttl, ..self.clone() }
    }

    pub(super) fn vacated(&self) -> Self {
        Self { epoch: self.epoch, elected_ms: self.elected_ms, ..Self::default() }
    }
}

impl fmt::Display for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (epoch, elected_ms) = (self.epoch, self.elected_ms);
        let Some(Holder { candidate, label }) = &self.holder else {
            return write!(
                f,
                "election-leader {VERSION}\nepoch {epoch}\nelected_ms {elected_ms}\n"
            );
        };
        f.write_str(&Self::beginning(epoch, candidate))?;
        writeln!(f, "elected_ms {elected_ms}")?;
        if let Some(label) = label {
            writeln!(f, "label {}", label.as_str())?;
        }
        writeln!(f, "ttl_ms {}", millis(self.ttl))?;
        writeln!(f, "renewals {}", self.renewals)?;
        if self.resign_requested {
            writeln!(f, "resign_requested yes")?;
        }
        Ok(())
    }
}

/// The first words of the lines of version 1.
const FIELDS: [&str; 9] = [
    "election-leader",
    "epoch",
    "elected_ms",
    "holder",
    "incarnation",
    "label",
    "ttl_ms",
    "renewals",
    "resign_requested",
];

/// Reads what `Display` writes, and skips lines that a later release has added.
impl FromStr for Leader {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let lines = lines(text, "election-leader")?;
        let field =
            |name| lines.clone().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let mut leader = Self {
            epoch: Epoch::new(parsed(field("epoch"))?),
            elected_ms: parsed(field("elected_ms"))?,
            ..Self::default()
        };
        if let Some(id) = field("holder") {
            let incarnation = Incarnation::new(parsed(field("incarnation"))?);
            let candidate = Candidate { id: NodeId::recorded(id)?, incarnation };
            let label = field("label").map(Label::recorded).transpose()?;
            leader.holder = Some(Holder { candidate, label });
            leader.ttl = Duration::from_millis(parsed(field("ttl_ms"))?);
            leader.renewals = parsed(field("renewals"))?;
            leader.resign_requested = field("resign_requested").is_some();
        }
        let known =
            |line: &str| line.split_whitespace().next().is_some_and(|it| FIELDS.contains(&it));
        if kept(text, known) == leader.to_string() {
            Ok(leader)
        } else {
            Err(ValueError::Malformed)
        }
    }
}
