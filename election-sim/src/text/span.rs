//! Spans of time in words.

use std::time::Duration;

/// A span in the largest unit that expresses it exactly.
pub(crate) fn span(span: Duration) -> String {
    let nanos = span.as_nanos();
    for (unit, size) in UNITS {
        if nanos % size == 0 && (nanos > 0 || *unit == "s") {
            return format!("{}{unit}", nanos / size);
        }
    }
    format!("{nanos}ns")
}

const UNITS: &[(&str, u128)] = &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];

/// Reads the output of [`span`], and `1.5s`, `2m`, `1h`, `1d`.
pub(crate) fn read_span(text: &str) -> Option<Duration> {
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
pub(crate) fn signed(nanos: i64) -> String {
    let sign = if nanos < 0 { '-' } else { '+' };
    format!("{sign}{}", span(Duration::from_nanos(nanos.unsigned_abs())))
}

pub(crate) fn read_signed(text: &str) -> Option<i64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let nanos = i64::try_from(read_span(rest)?.as_nanos()).ok()?;
    Some(if negative { -nanos } else { nanos })
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
