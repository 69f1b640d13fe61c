//! Numbers as text: decimal for what people compare, hexadecimal for what they only copy.

use crate::Incarnation;
use uuid::Uuid;

/// Why a text is not a number.
pub(super) enum Invalid {
    /// Not digits alone, or with a leading zero.
    Form,
    /// More than 64 bits.
    Size,
}

/// The most digits of a `u64`.
pub(super) const MAX_DIGITS: usize = 20;

/// Decimal without sign or leading zeros.
pub(super) fn from_decimal(text: &[u8]) -> Result<u64, Invalid> {
    let is_number = !matches!(text, [] | [b'0', _, ..]) && text.iter().all(u8::is_ascii_digit);
    if !is_number {
        return Err(Invalid::Form);
    }
    let mut digits = text.iter().map(|digit| u64::from(digit - b'0'));
    let value = digits.try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(digit));
    value.ok_or(Invalid::Size)
}

/// The digits of a number, written at the end of `room`.
pub(super) fn to_decimal(mut value: u64, room: &mut [u8; MAX_DIGITS]) -> &[u8] {
    let mut first = MAX_DIGITS;
    loop {
        first -= 1;
        room[first] = b"0123456789"[(value % 10) as usize];
        value /= 10;
        if value == 0 {
            return &room[first..];
        }
    }
}

/// 32 lower-case hexadecimal digits.
pub(super) fn incarnation(text: &[u8]) -> Option<Incarnation> {
    let is_lower = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if !text.iter().all(is_lower) {
        return None;
    }
    Uuid::try_parse_ascii(text).ok().map(Incarnation::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{string::ToString, vec::Vec};

    #[test]
    fn decimals_of_every_length_go_there_and_back() {
        let mut values = (0..64).map(|shift| u64::MAX >> shift).collect::<Vec<_>>();
        values.extend((0..20).flat_map(|log| {
            let power = 10_u64.pow(log);
            [power - 1, power, power + 1]
        }));
        for value in values {
            let text = value.to_string();
            assert_eq!(to_decimal(value, &mut [b'?'; MAX_DIGITS]), text.as_bytes());
            assert_eq!(from_decimal(text.as_bytes()).ok(), Some(value));
        }
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        let long = "1000000000000000000000a";
        for text in
            ["", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "0x1", "1e3", "١", "1:", "1/", long]
        {
            assert!(matches!(from_decimal(text.as_bytes()), Err(Invalid::Form)), "{text:?}");
        }
        for text in ["18446744073709551616", "99999999999999999999", "1000000000000000000000000"] {
            assert!(matches!(from_decimal(text.as_bytes()), Err(Invalid::Size)), "{text:?}");
        }
    }

    #[test]
    fn an_incarnation_is_32_lower_case_hexadecimal_digits() {
        for place in 0..32 {
            for byte in 0..=u8::MAX {
                let mut text = [b'7'; 32];
                text[place] = byte;
                let lower = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                assert_eq!(incarnation(&text).is_some(), lower, "{byte} at {place}");
            }
        }
        let life = Uuid::from_u128(0x9d);
        assert_eq!(incarnation(life.simple().to_string().as_bytes()), Some(Incarnation::new(life)));
        assert_eq!(incarnation(life.hyphenated().to_string().as_bytes()), None);
    }
}
