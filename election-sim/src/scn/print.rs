//! Prints a schedule as text. A setting that has its calm value is left out.

use super::{Scn, engines::ENGINES};
use crate::{
    schedule::{Cluster, Schedule, Software, Timing},
    span::DurationRange,
    text::{node_name, span, word_of},
};
use std::fmt;

impl fmt::Display for Scn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.head {
            writeln!(f, "{}", format!("# {line}").trim_end())?;
        }
        if self.full {
            writeln!(f, "show statements")?;
        }
        write!(f, "{}", self.schedule)?;
        match &self.transcript {
            Some(transcript) => write!(f, "----\n{transcript}"),
            None => Ok(()),
        }
    }
}

/// Written as a `.scn` file has it.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calm = Self::calm(1, self.timing.ttl);
        if self.seed != calm.seed {
            writeln!(f, "seed {:#x}", self.seed)?;
        }
        if self.engine != calm.engine {
            writeln!(f, "engine {}", word_of(ENGINES, &self.engine))?;
        }
        match &self.cluster {
            Some(one) => cluster(f, one, &self.timing)?,
            None => timing(f, &self.timing)?,
        }
        if self.elections != 1 {
            writeln!(f, "elections {}", self.elections)?;
        }
        for (n, node) in self.nodes.iter().enumerate() {
            write!(f, "node {}", node_name(n))?;
            if node.name != node_name(n) {
                write!(f, " named {:?}", node.name)?;
            }
            if node.offset != calm.nodes[0].offset {
                write!(f, " offset {}", span(node.offset))?;
            }
            if node.ppm != 0 {
                write!(f, " clock {:+}ppm", node.ppm)?;
            }
            if node.data != (0, 0) {
                write!(f, " data {}/{}", node.data.0, node.data.1)?;
            }
            if let Some(ttl) = node.ttl {
                write!(f, " ttl {}", span(ttl))?;
            }
            write!(f, "{}", if node.observer { " observer" } else { "" })?;
            write!(f, "{}", if node.witness { " witness" } else { "" })?;
            write!(f, "{}", if node.spare { " spare" } else { "" })?;
            writeln!(f, "{}", software(node.software))?;
        }
        if let Some(preferred) = self.cluster.as_ref().and_then(|cluster| cluster.preferred) {
            writeln!(f, "preferred {}", node_name(preferred))?;
        }
        between(f, "latency", self.latency, Some(calm.latency))?;
        between(f, "commit", self.commit, Some(calm.commit))?;
        between(f, "stop", self.stop, Some(calm.stop))?;
        between(f, "act", self.act, Some(calm.act))?;
        if let Some(timeout) = self.lock_timeout {
            writeln!(f, "lock-timeout {}", span(timeout))?;
        }
        for one in &self.faults {
            write!(f, "at {} ", span(one.at))?;
            if one.kind.lasts() {
                write!(f, "for {} ", span(one.lasts))?;
            }
            writeln!(f, "{}", one.kind)?;
        }
        if let Some(heal) = &self.heal {
            let core: Vec<String> = heal.core.iter().map(|node| node_name(*node)).collect();
            let (at, within) = (span(heal.at), span(heal.within));
            writeln!(f, "heal {at} core {} within {within}", core.join(","))?;
        }
        writeln!(f, "run {}", span(self.horizon))
    }
}

fn software(software: Software) -> &'static str {
    match software {
        Software::Own => "",
        Software::Legacy => " legacy",
        Software::Downgraded => " downgraded",
        Software::Upgraded => " upgraded",
    }
}

fn cluster(f: &mut fmt::Formatter<'_>, cluster: &Cluster, timing: &Timing) -> fmt::Result {
    let calm = Cluster::of(cluster.down_after);
    writeln!(f, "quorum {}", span(cluster.down_after))?;
    for (word, value) in [
        ("heartbeat", cluster.heartbeat),
        ("grace", cluster.grace),
        ("election-timeout", cluster.election_timeout),
        ("stagger", cluster.stagger),
        ("fail-back", cluster.fail_back),
        ("margin", cluster.margin),
        ("growth", Some(cluster.growth).filter(|growth| *growth != calm.growth)),
    ] {
        if let Some(value) = value {
            writeln!(f, "{word} {}", span(value))?;
        }
    }
    if let Some(backoff) = cluster.backoff {
        between(f, "backoff", backoff, None)?;
    }
    between(f, "save", cluster.save, Some(calm.save))?;
    between(f, "load", cluster.load, Some(calm.load))?;
    if cluster.buffer != calm.buffer {
        writeln!(f, "buffer {}", cluster.buffer)?;
    }
    if !cluster.history {
        writeln!(f, "history off")?;
    }
    drift(f, timing, &Timing::of_quorum(cluster.down_after))
}

fn timing(f: &mut fmt::Formatter<'_>, timing: &Timing) -> fmt::Result {
    writeln!(f, "ttl {}", span(timing.ttl))?;
    for (word, value) in [
        ("interval", timing.interval),
        ("jitter", timing.jitter),
        ("wake-jitter", timing.wake_jitter),
        ("attempt-timeout", timing.attempt_timeout),
        ("grace", timing.grace),
        ("margin", timing.margin),
        ("at-least-for", timing.at_least_for),
        ("clock-step", timing.clock_step),
    ] {
        if let Some(value) = value {
            writeln!(f, "{word} {}", span(value))?;
        }
    }
    drift(f, timing, &Timing::of(timing.ttl))
}

fn drift(f: &mut fmt::Formatter<'_>, timing: &Timing, calm: &Timing) -> fmt::Result {
    if timing.drift_ppm != calm.drift_ppm {
        writeln!(f, "drift {}ppm", timing.drift_ppm)?;
    }
    Ok(())
}

fn between(
    f: &mut fmt::Formatter<'_>,
    word: &str,
    value: DurationRange,
    calm: Option<DurationRange>,
) -> fmt::Result {
    if Some(value) == calm {
        return Ok(());
    }
    if value.low == value.high {
        return writeln!(f, "{word} {}", span(value.low));
    }
    writeln!(f, "{word} {}..{}", span(value.low), span(value.high))
}
