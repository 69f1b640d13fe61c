//! The words of the format, once for both directions.

use crate::{
    fault::{CutDirection, DiskFault, FaultKind, FrameFault, SaveFault, StatementFault},
    schedule::Engine,
    text::node_name,
};
use std::time::Duration;

/// A span in the largest unit that says it exactly.
pub(super) fn span(span: Duration) -> String {
    let nanos = span.as_nanos();
    for (unit, size) in UNITS {
        if nanos % size == 0 && (nanos > 0 || *unit == "s") {
            return format!("{}{unit}", nanos / size);
        }
    }
    format!("{nanos}ns")
}

const UNITS: &[(&str, u128)] = &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];

/// Reads what [`span`] writes, and `1.5s`, `2m`, `1h`, `1d`.
pub(super) fn read_span(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let size: u128 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || part.len() > 9 || (number.contains('.') && part.is_empty()) {
        return None;
    }
    let scale = 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let value = whole.parse::<u128>().ok()?.checked_mul(scale)?;
    let value = value.checked_add(if part.is_empty() { 0 } else { part.parse().ok()? })?;
    let nanos = value.checked_mul(size)?;
    if nanos % scale != 0 {
        return None;
    }
    u64::try_from(nanos / scale).ok().map(Duration::from_nanos)
}

/// A span with a sign, in nanoseconds.
pub(super) fn signed(nanos: i64) -> String {
    let sign = if nanos < 0 { '-' } else { '+' };
    format!("{sign}{}", span(Duration::from_nanos(nanos.unsigned_abs())))
}

pub(super) fn read_signed(text: &str) -> Option<i64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let nanos = i64::try_from(read_span(rest)?.as_nanos()).ok()?;
    Some(if negative { -nanos } else { nanos })
}

pub(super) const ENGINES: &[(&str, Engine)] =
    &[("postgres", Engine::Postgres), ("mysql", Engine::MySql), ("sqlite", Engine::Sqlite)];

pub(super) const WAYS: &[(&str, CutDirection)] = &[
    ("both", CutDirection::Both),
    ("requests", CutDirection::Requests),
    ("replies", CutDirection::Replies),
];

/// The word that stands for a value.
pub(super) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("?", |(word, _)| word)
}

/// A fault in words.
pub(super) fn fault(what: &FaultKind) -> String {
    match what {
        FaultKind::Crash(node) => format!("crash {}", node_name(*node)),
        FaultKind::Pause(node) => format!("pause {}", node_name(*node)),
        FaultKind::Suspend(node) => format!("suspend {}", node_name(*node)),
        FaultKind::Stuck(node) => format!("stuck {}", node_name(*node)),
        FaultKind::Resign(node) => format!("resign {}", node_name(*node)),
        FaultKind::Unhealthy(node) => format!("unhealthy {}", node_name(*node)),
        FaultKind::Withdraw(node) => format!("withdraw {}", node_name(*node)),
        FaultKind::Rate(node, ppm) => format!("rate {} {ppm:+}ppm", node_name(*node)),
        FaultKind::Jump(node, by) => format!("jump {} {}", node_name(*node), signed(*by)),
        FaultKind::Cut(node, way) => format!("cut {} {}", node_name(*node), word_of(WAYS, way)),
        FaultKind::Storm(node) => format!("storm {}", node_name(*node)),
        FaultKind::Sever(from, to) => format!("sever {} {}", node_name(*from), node_name(*to)),
        FaultKind::Clog(from, to) => format!("clog {} {}", node_name(*from), node_name(*to)),
        FaultKind::Clone(from, onto) => format!("clone {} {}", node_name(*from), node_name(*onto)),
        FaultKind::HandOver(from, to) => {
            format!("hand-over {} {}", node_name(*from), node_name(*to))
        }
        FaultKind::Reset(from, to) => format!("reset {} {}", node_name(*from), node_name(*to)),
        FaultKind::Pass(from, to) => format!("pass {} {}", node_name(*from), node_name(*to)),
        FaultKind::Frame(from, to, nth, fate) => {
            format!("frame {} {} {nth} {}", node_name(*from), node_name(*to), frame_fate(fate))
        }
        FaultKind::Disk(node, damage) => {
            format!("disk {} {}", node_name(*node), damage_words(damage))
        }
        FaultKind::Saves(node, saving) => {
            format!("saves {} {}", node_name(*node), saving_words(saving))
        }
        FaultKind::Lag(node) => format!("lag {}", node_name(*node)),
        FaultKind::CrashAfter(node, nth, down) => {
            format!("crash-after {} {nth} {}", node_name(*node), span(*down))
        }
        FaultKind::Part(group) => {
            let group: Vec<String> = group.iter().map(|node| node_name(*node)).collect();
            format!("part {}", group.join(","))
        }
        FaultKind::Frames(fate, ppm) => format!("frames {ppm}ppm {}", frame_fate(fate)),
        FaultKind::Deaf => "deaf".into(),
        FaultKind::AskResign => "ask-resign".into(),
        FaultKind::Refuse => "refuse".into(),
        FaultKind::Hang => "hang".into(),
        FaultKind::Slow(by) => format!("slow {}", span(*by)),
        FaultKind::Lock => "lock".into(),
        FaultKind::Fence => "fence".into(),
        FaultKind::Restart => "restart".into(),
        FaultKind::Step(by) => format!("step {}", signed(by.saturating_mul(1_000_000))),
        FaultKind::Failover(behind) => format!("failover {}", span(*behind)),
        FaultKind::Wipe => "wipe".into(),
        FaultKind::Odds(fate, ppm) => format!("odds {ppm}ppm {}", fate_words(fate)),
        FaultKind::Statement(node, nth, fate) => {
            format!("statement {} {nth} {}", node_name(*node), fate_words(fate))
        }
    }
}

fn frame_fate(fate: &FrameFault) -> String {
    match fate {
        FrameFault::Lost => "lost".into(),
        FrameFault::Twice => "twice".into(),
        FrameFault::Late(by) => format!("late {}", span(*by)),
    }
}

fn damage_words(damage: &DiskFault) -> String {
    match damage {
        DiskFault::Lost => "lost".into(),
        DiskFault::Torn => "torn".into(),
        DiskFault::Stale(by) => format!("stale {}", span(*by)),
    }
}

fn saving_words(saving: &SaveFault) -> String {
    match saving {
        SaveFault::Slow(by) => format!("slow {}", span(*by)),
        SaveFault::Failing => "failing".into(),
        SaveFault::Hanging => "hanging".into(),
        SaveFault::Lying => "lying".into(),
    }
}

pub(super) fn fate_words(fate: &StatementFault) -> String {
    match fate {
        StatementFault::Lost => "lost".into(),
        StatementFault::Late(by) => format!("late {}", span(*by)),
        StatementFault::Stalled(by) => format!("stalled {}", span(*by)),
        StatementFault::Unanswered => "unanswered".into(),
        StatementFault::Slow(by) => format!("slow {}", span(*by)),
        StatementFault::Twice => "twice".into(),
        StatementFault::Refused => "refused".into(),
        StatementFault::Fatal => "fatal".into(),
        StatementFault::Locked => "locked".into(),
        StatementFault::Unknown => "unknown".into(),
        StatementFault::Aborted => "aborted".into(),
        StatementFault::Stale(by) => format!("stale {}", span(*by)),
        StatementFault::Phantom => "phantom".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_they_are_written() {
        for nanos in [0, 1, 999, 1_000, 1_500_000, 2_000_000_000, 90_000_000_001, u64::MAX] {
            let text = span(Duration::from_nanos(nanos));
            assert_eq!(read_span(&text), Some(Duration::from_nanos(nanos)), "{text}");
        }
        assert_eq!(read_span("1.5s"), Some(Duration::from_millis(1_500)));
        assert_eq!(read_span("2h"), Some(Duration::from_secs(7_200)));
        for odd in ["", "5", "s", ".5s", "5.s", "1.5ns", "-1s", "1x", "99999999999999999999s"] {
            assert_eq!(read_span(odd), None, "{odd}");
        }
        assert_eq!(read_signed("-3ms"), Some(-3_000_000));
        assert_eq!(read_signed(&signed(5_000)), Some(5_000));
    }
}
