//! The words of the format, once for both directions.

use crate::{
    fault::{Damage, Fate, FrameFate, Saving, Way, What},
    schedule::{Engine, name},
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

pub(super) const WAYS: &[(&str, Way)] =
    &[("both", Way::Both), ("requests", Way::Requests), ("replies", Way::Replies)];

/// The word that stands for a value.
pub(super) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("?", |(word, _)| word)
}

/// A fault in words.
pub(super) fn fault(what: &What) -> String {
    match what {
        What::Crash(node) => format!("crash {}", name(*node)),
        What::Pause(node) => format!("pause {}", name(*node)),
        What::Suspend(node) => format!("suspend {}", name(*node)),
        What::Stuck(node) => format!("stuck {}", name(*node)),
        What::Resign(node) => format!("resign {}", name(*node)),
        What::Unhealthy(node) => format!("unhealthy {}", name(*node)),
        What::Withdraw(node) => format!("withdraw {}", name(*node)),
        What::Rate(node, ppm) => format!("rate {} {ppm:+}ppm", name(*node)),
        What::Jump(node, by) => format!("jump {} {}", name(*node), signed(*by)),
        What::Cut(node, way) => format!("cut {} {}", name(*node), word_of(WAYS, way)),
        What::Storm(node) => format!("storm {}", name(*node)),
        What::Sever(from, to) => format!("sever {} {}", name(*from), name(*to)),
        What::Clog(from, to) => format!("clog {} {}", name(*from), name(*to)),
        What::Clone(from, onto) => format!("clone {} {}", name(*from), name(*onto)),
        What::HandOver(from, to) => format!("hand-over {} {}", name(*from), name(*to)),
        What::Reset(from, to) => format!("reset {} {}", name(*from), name(*to)),
        What::Pass(from, to) => format!("pass {} {}", name(*from), name(*to)),
        What::Frame(from, to, nth, fate) => {
            format!("frame {} {} {nth} {}", name(*from), name(*to), frame_fate(fate))
        }
        What::Disk(node, damage) => format!("disk {} {}", name(*node), damage_words(damage)),
        What::Saves(node, saving) => format!("saves {} {}", name(*node), saving_words(saving)),
        What::Lag(node) => format!("lag {}", name(*node)),
        What::CrashAfter(node, nth, down) => {
            format!("crash-after {} {nth} {}", name(*node), span(*down))
        }
        What::Part(group) => {
            let group: Vec<String> = group.iter().map(|node| name(*node)).collect();
            format!("part {}", group.join(","))
        }
        What::Frames(fate, ppm) => format!("frames {ppm}ppm {}", frame_fate(fate)),
        What::Deaf => "deaf".into(),
        What::AskResign => "ask-resign".into(),
        What::Refuse => "refuse".into(),
        What::Hang => "hang".into(),
        What::Slow(by) => format!("slow {}", span(*by)),
        What::Lock => "lock".into(),
        What::Fence => "fence".into(),
        What::Restart => "restart".into(),
        What::Step(by) => format!("step {}", signed(by.saturating_mul(1_000_000))),
        What::Failover(behind) => format!("failover {}", span(*behind)),
        What::Wipe => "wipe".into(),
        What::Odds(fate, ppm) => format!("odds {ppm}ppm {}", fate_words(fate)),
        What::Statement(node, nth, fate) => {
            format!("statement {} {nth} {}", name(*node), fate_words(fate))
        }
    }
}

fn frame_fate(fate: &FrameFate) -> String {
    match fate {
        FrameFate::Lost => "lost".into(),
        FrameFate::Twice => "twice".into(),
        FrameFate::Late(by) => format!("late {}", span(*by)),
    }
}

fn damage_words(damage: &Damage) -> String {
    match damage {
        Damage::Lost => "lost".into(),
        Damage::Torn => "torn".into(),
        Damage::Stale(by) => format!("stale {}", span(*by)),
    }
}

fn saving_words(saving: &Saving) -> String {
    match saving {
        Saving::Slow(by) => format!("slow {}", span(*by)),
        Saving::Failing => "failing".into(),
        Saving::Hanging => "hanging".into(),
        Saving::Lying => "lying".into(),
    }
}

pub(super) fn fate_words(fate: &Fate) -> String {
    match fate {
        Fate::Lost => "lost".into(),
        Fate::Late(by) => format!("late {}", span(*by)),
        Fate::Stalled(by) => format!("stalled {}", span(*by)),
        Fate::Unanswered => "unanswered".into(),
        Fate::Slow(by) => format!("slow {}", span(*by)),
        Fate::Twice => "twice".into(),
        Fate::Refused => "refused".into(),
        Fate::Fatal => "fatal".into(),
        Fate::Locked => "locked".into(),
        Fate::Unknown => "unknown".into(),
        Fate::Aborted => "aborted".into(),
        Fate::Stale(by) => format!("stale {}", span(*by)),
        Fate::Phantom => "phantom".into(),
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
