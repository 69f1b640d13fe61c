//! Reads a schedule from text. Errors carry the line and column of the unreadable part.

use super::{Scn, engines::ENGINES};
use crate::{
    fault::{Fault, FaultKind},
    schedule::{Cluster, Heal, Member, Schedule, ScheduleError, Software, Timing},
    text::{ScnError, Words, node_name},
};
use std::time::Duration;

/// The separator between schedule and transcript.
pub(super) const RULE: &str = "----";

impl std::str::FromStr for Scn {
    type Err = ScnError;

    fn from_str(text: &str) -> Result<Self, ScnError> {
        let mut reader = Reader {
            scn: Self::new(Schedule::calm(0, Duration::from_secs(15))),
            run: None,
            said: Vec::new(),
            faults_at: Vec::new(),
        };
        let mut rest = text;
        let mut number = 0;
        while !rest.is_empty() {
            number += 1;
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            rest = after;
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line == RULE {
                reader.scn.transcript = Some(rest.to_owned());
                break;
            }
            reader.line(number, line)?;
        }
        reader.finish(number)
    }
}

struct Reader {
    scn: Scn,
    run: Option<usize>,
    /// The settings read so far: a repeated setting is a contradiction.
    said: Vec<(String, usize)>,
    /// The line of each fault.
    faults_at: Vec<usize>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ScnError> {
        if let Some(comment) = line.strip_prefix('#') {
            if self.said.is_empty() {
                self.scn.head.push(comment.trim().to_owned());
            }
            return Ok(());
        }
        let mut words = Words::new(line, number, self.scn.schedule.nodes.len());
        let Some((column, word)) = words.next() else { return Ok(()) };
        if !matches!(word, "node" | "at") {
            if let Some((_, first)) = self.said.iter().find(|(said, _)| said == word) {
                let what = format!("`{word}` was already said in line {first}");
                return Err(words.error(column, what));
            }
        }
        self.said.push((word.to_owned(), number));
        self.statement(word, column, &mut words)?;
        match words.next() {
            None => Ok(()),
            Some((column, word)) => Err(words.error(column, format!("unexpected `{word}`"))),
        }
    }

    fn statement(
        &mut self,
        word: &str,
        column: usize,
        words: &mut Words<'_>,
    ) -> Result<(), ScnError> {
        let schedule = &mut self.scn.schedule;
        match word {
            "seed" => schedule.seed = words.seed()?,
            "engine" => schedule.engine = words.one_of(ENGINES)?,
            "show" => self.scn.full = words.one_of(&[("statements", true)])?,
            "ttl" => {
                schedule.timing.ttl = words.span()?;
            }
            "quorum" => {
                let down_after = words.span()?;
                schedule.cluster = Some(Cluster::of(down_after));
                let timing = Timing::of_quorum(down_after);
                schedule.timing.ttl = timing.ttl;
                if !self.said.iter().any(|(said, _)| said == "drift") {
                    schedule.timing.drift_ppm = timing.drift_ppm;
                }
            }
            "elections" => {
                let count = words.number("a number of elections")?;
                schedule.elections = usize::try_from(count).unwrap_or(usize::MAX);
            }
            "interval" => schedule.timing.interval = Some(words.span()?),
            "jitter" => schedule.timing.jitter = Some(words.span()?),
            "wake-jitter" => schedule.timing.wake_jitter = Some(words.span()?),
            "attempt-timeout" => schedule.timing.attempt_timeout = Some(words.span()?),
            "grace" => {
                let grace = Some(words.span()?);
                match &mut schedule.cluster {
                    Some(cluster) => cluster.grace = grace,
                    None => schedule.timing.grace = grace,
                }
            }
            "margin" => {
                let margin = Some(words.span()?);
                match &mut schedule.cluster {
                    Some(cluster) => cluster.margin = margin,
                    None => schedule.timing.margin = margin,
                }
            }
            "at-least-for" => schedule.timing.at_least_for = Some(words.span()?),
            "clock-step" => schedule.timing.clock_step = Some(words.span()?),
            "heartbeat" | "election-timeout" | "backoff" | "stagger" | "preferred"
            | "fail-back" | "save" | "load" | "growth" | "buffer" | "history" => {
                self.cluster(word, column, words)?;
            }
            "drift" => schedule.timing.drift_ppm = words.ppm()?.unsigned_abs(),
            "node" => self.node(words)?,
            "latency" => schedule.latency = words.between()?,
            "commit" => schedule.commit = words.between()?,
            "stop" => schedule.stop = words.between()?,
            "act" => schedule.act = words.between()?,
            "lock-timeout" => schedule.lock_timeout = Some(words.span()?),
            "at" => self.fault(words)?,
            "heal" => self.heal(words)?,
            "run" => {
                schedule.horizon = words.span()?;
                self.run = Some(words.line_number());
            }
            _ => return Err(words.error(column, format!("`{word}` begins no statement"))),
        }
        Ok(())
    }

    /// The statements that only a quorum has.
    fn cluster(
        &mut self,
        word: &str,
        column: usize,
        words: &mut Words<'_>,
    ) -> Result<(), ScnError> {
        if word == "preferred" {
            let node = words.node()?;
            if let Some(cluster) = &mut self.scn.schedule.cluster {
                cluster.preferred = Some(node);
                return Ok(());
            }
        }
        let Some(cluster) = &mut self.scn.schedule.cluster else {
            let what = format!("`{word}` is about a quorum: say `quorum 5s` before it");
            return Err(words.error(column, what));
        };
        match word {
            "heartbeat" => cluster.heartbeat = Some(words.span()?),
            "election-timeout" => cluster.election_timeout = Some(words.span()?),
            "backoff" => cluster.backoff = Some(words.between()?),
            "stagger" => cluster.stagger = Some(words.span()?),
            "fail-back" => cluster.fail_back = Some(words.span()?),
            "save" => cluster.save = words.between()?,
            "load" => cluster.load = words.between()?,
            "growth" => cluster.growth = words.span()?,
            "buffer" => {
                let frames = words.number("a number of frames")?;
                cluster.buffer = usize::try_from(frames).unwrap_or(usize::MAX);
            }
            _ => cluster.history = words.one_of(&[("on", true), ("off", false)])?,
        }
        Ok(())
    }

    fn node(&mut self, words: &mut Words<'_>) -> Result<(), ScnError> {
        let expected = node_name(self.scn.schedule.nodes.len());
        let (column, handle) = words.expect("a node")?;
        if handle != expected {
            let what = format!("nodes come in order: expected `{expected}`, found `{handle}`");
            return Err(words.error(column, what));
        }
        let mut member = Member::new(handle);
        while let Some((column, word)) = words.next() {
            match word {
                "named" => member.name = words.quoted()?,
                "offset" => member.offset = words.span()?,
                "clock" => member.ppm = words.ppm()?,
                "ttl" => member.ttl = Some(words.span()?),
                "observer" => member.observer = true,
                "witness" => member.witness = true,
                "spare" => member.spare = true,
                "legacy" => member.software = Software::Legacy,
                "downgraded" => member.software = Software::Downgraded,
                "upgraded" => member.software = Software::Upgraded,
                "data" => member.data = words.position()?,
                _ => {
                    let what = format!(
                        "expected `named`, `offset`, `clock`, `ttl`, `data`, `observer`, `witness`, \
                         `spare`, `legacy`, `downgraded` or `upgraded`, found `{word}`"
                    );
                    return Err(words.error(column, what));
                }
            }
        }
        self.scn.schedule.nodes.push(member);
        Ok(())
    }

    fn heal(&mut self, words: &mut Words<'_>) -> Result<(), ScnError> {
        let at = words.span()?;
        words.keyword("core")?;
        let core = words.nodes()?;
        words.keyword("within")?;
        let within = words.span()?;
        self.scn.schedule.heal = Some(Heal { at, core, within });
        Ok(())
    }

    fn fault(&mut self, words: &mut Words<'_>) -> Result<(), ScnError> {
        let at = words.span()?;
        let (mut column, mut word) = words.expect("a fault")?;
        let mut lasts = None;
        if word == "for" {
            let span = words.span()?;
            lasts = Some((column, span));
            (column, word) = words.expect("a fault")?;
        }
        let kind = FaultKind::read(word, column, words)?;
        let lasts = match (lasts, kind.lasts()) {
            (Some((column, _)), false) => {
                return Err(words.error(column, format!("`{word}` happens at one instant")));
            }
            (None, true) => {
                return Err(words.error(column, format!("say how long: `for 5s {word}`")));
            }
            (Some((_, span)), true) => span,
            (None, false) => Duration::ZERO,
        };
        self.faults_at.push(words.line_number());
        self.scn.schedule.faults.push(Fault { at, lasts, kind });
        Ok(())
    }

    fn finish(self, lines: usize) -> Result<Scn, ScnError> {
        let Self { scn, run, said, faults_at } = self;
        let last = lines.max(1);
        let at = |line, what: String| Err(ScnError { line, column: 1, what });
        if run.is_none() {
            return at(last, "say how long it runs, as in `run 60s`".into());
        }
        let line_of =
            |word: &str| said.iter().find(|(said, _)| said == word).map(|(_, line)| *line);
        match scn.schedule.check() {
            Ok(()) => Ok(scn),
            Err(why) => {
                let line = match &why {
                    ScheduleError::FaultAfterHeal(fault) | ScheduleError::Elsewhere(fault) => {
                        faults_at.get(*fault).copied()
                    }
                    ScheduleError::Elections(_) => line_of("elections"),
                    ScheduleError::NoHorizon | ScheduleError::TooLong(_) => run,
                    ScheduleError::NoCandidate | ScheduleError::NoSuchNode(_) => line_of("heal"),
                    ScheduleError::Timing(_) => line_of("ttl"),
                    ScheduleError::Cluster(_) => line_of("quorum"),
                    ScheduleError::Drift(_) => line_of("drift"),
                    ScheduleError::Inverted(what) => line_of(what.trim_start_matches("the ")),
                    _ => line_of("node"),
                };
                at(line.unwrap_or(last), why.to_string())
            }
        }
    }
}
