//! Numbers as text: decimal for what people compare, hexadecimal for what they only copy.
//!
//! A heartbeat carries nine numbers. Digit by digit, they would be half the cost of reading it. So
//! eight digits are read at once, as one 64-bit word.

/// Why a text is not a number.
pub(super) enum Invalid {
    /// Not digits alone, or with a leading zero.
    Form,
    /// More than 64 bits.
    Size,
}

/// The most digits of a `u64`. A number with one digit less always fits.
const MAX_DIGITS: usize = 20;

/// Decimal without sign or leading zeros.
pub(super) fn from_decimal(text: &[u8]) -> Result<u64, Invalid> {
    match text {
        // Half of all numbers are this short.
        [digit @ b'0'..=b'9'] => Ok(u64::from(digit - b'0')),
        [] | [b'0', _, ..] => Err(Invalid::Form),
        text if text.len() < MAX_DIGITS => digits(text).ok_or(Invalid::Form),
        text => large(text),
    }
}

/// A text that is too large is read to its end all the same: it may not even be a number.
fn large(text: &[u8]) -> Result<u64, Invalid> {
    let (head, tail) = text.split_at(MAX_DIGITS - 4);
    let head = digits(head).ok_or(Invalid::Form)?;
    if tail.len() > 4 {
        let digits = tail.iter().all(u8::is_ascii_digit);
        return Err(if digits { Invalid::Size } else { Invalid::Form });
    }
    let tail = digits(tail).ok_or(Invalid::Form)?;
    head.checked_mul(10_000).and_then(|head| head.checked_add(tail)).ok_or(Invalid::Size)
}

/// Up to 19 digits.
#[inline]
fn digits(text: &[u8]) -> Option<u64> {
    let Some(first) = text.first_chunk() else { return few_digits(text) };
    // First the digits in front of whole words: moved to the end of a word, behind zeros.
    let front = (text.len() - 1) % 8 + 1;
    let mut value = joined((u64::from_le_bytes(*first) ^ all(b'0')) << (64 - 8 * front))?;
    let mut rest = &text[front..];
    while let Some((eight, behind)) = rest.split_first_chunk() {
        value = value * EIGHT_DIGITS + joined(u64::from_le_bytes(*eight) ^ all(b'0'))?;
        rest = behind;
    }
    Some(value)
}

/// Fewer digits than a word has.
#[inline]
fn few_digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |value, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit <= 9).then(|| value * 10 + u64::from(digit))
    })
}

/// A number that has this many digits already, for callers that need no reason if it has not.
#[inline(always)] // so that the number comes in a register
pub(super) fn known_decimal(text: &[u8]) -> Option<u64> {
    match text {
        [b'0', _, ..] => None,
        text if text.len() < MAX_DIGITS => digits(text),
        text => large(text).ok(),
    }
}

const EIGHT_DIGITS: u64 = 100_000_000;

/// The same byte in all eight places of a word.
const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The number whose eight digits are the bytes of a word, the first in the lowest byte. Neighbours
/// are joined three times: digits to pairs, pairs to fours, fours to eight.
#[inline]
fn joined(digits: u64) -> Option<u64> {
    // The upper half of a digit is empty, and stays so if 6 is added.
    if (digits | digits.wrapping_add(all(6))) & all(0xf0) != 0 {
        return None;
    }
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

/// Room for the digits of any number and for what is stored behind them.
pub(super) const DECIMAL_ROOM: usize = 24;

/// Writes `value` at the beginning of `to` and returns the number of its digits. The bytes behind
/// them may be overwritten.
#[inline]
pub(super) fn to_decimal(value: u64, to: &mut [u8; DECIMAL_ROOM]) -> usize {
    if value < EIGHT_DIGITS {
        return first_digits(value, to);
    }
    let (head, last) = (value / EIGHT_DIGITS, value % EIGHT_DIGITS);
    let count = if head < EIGHT_DIGITS {
        first_digits(head, to)
    } else {
        let count = first_digits(head / EIGHT_DIGITS, to);
        to[count..count + 8].copy_from_slice(&split(head % EIGHT_DIGITS).to_le_bytes());
        count + 8
    };
    to[count..count + 8].copy_from_slice(&split(last).to_le_bytes());
    count + 8
}

/// Writes `value` over a number with as many digits; false if it does not have as many, or if both
/// have fewer than nine. Then the text is not to be used any more.
#[inline]
pub(super) fn rewrite_decimal(value: u64, text: &mut [u8]) -> bool {
    let (head, last) = (value / EIGHT_DIGITS, split(value % EIGHT_DIGITS));
    if head == 0 {
        return false;
    }
    let (first, middle) = match head {
        ..EIGHT_DIGITS => (split(head), None),
        _ => (split(head / EIGHT_DIGITS), Some(split(head % EIGHT_DIGITS))),
    };
    // Each word overwrites what the one before has written behind its digits.
    let (first, count) = without_zeros(first);
    let words = [Some(first), middle, Some(last)];
    let mut at = 0;
    for (word, next) in words.into_iter().zip([count, 8, 8]) {
        let Some(word) = word else { continue };
        let Some(place) = text.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) else {
            return false;
        };
        *place = word.to_le_bytes();
        at += next;
    }
    at == text.len()
}

/// Up to eight digits without the zeros in front of them; one if there is nothing else.
#[inline]
fn first_digits(value: u64, to: &mut [u8; DECIMAL_ROOM]) -> usize {
    let (text, count) = without_zeros(split(value));
    to[..8].copy_from_slice(&text.to_le_bytes());
    count
}

/// Eight digits without the zeros in front, and how many there are: at least one.
#[inline]
const fn without_zeros(text: u64) -> (u64, usize) {
    let zeros = (text ^ all(b'0') | 1 << 56).trailing_zeros() / 8;
    (text >> (zeros * 8), 8 - zeros as usize)
}

/// Eight digits, the first in the lowest byte: [`eight_digits`] backwards. A division by 100 or
/// by 10 is a multiplication here, exact below 10,000 and below 100.
const fn split(eight: u64) -> u64 {
    let fours = (eight / 10_000) | ((eight % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    (tens | ((pairs - tens * 10) << 8)) | all(b'0')
}

/// 32 lower-case hexadecimal digits.
pub(super) fn from_hex(text: &[u8; 32]) -> Option<u128> {
    let mut wrong = false;
    let halves = text.map(|digit| {
        let decimal = digit.wrapping_sub(b'0');
        let letter = digit.wrapping_sub(b'a');
        wrong |= decimal > 9 && letter > 5;
        if decimal <= 9 { decimal } else { letter.wrapping_add(10) & 0xf }
    });
    // All pairs at once; one digit after the other would cost five times as much.
    let bytes = core::array::from_fn(|at| halves[2 * at] << 4 | halves[2 * at + 1]);
    if wrong { None } else { Some(u128::from_be_bytes(bytes)) }
}

/// 32 lower-case hexadecimal digits.
pub(super) fn to_hex(value: u128) -> [u8; 32] {
    let mut text = [0; 32];
    let fours = value.to_be_bytes();
    for (eight, four) in text.chunks_exact_mut(8).zip(fours.chunks_exact(4)) {
        let four = four.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        let pairs = (four | (four << 16)) & 0x0000_ffff_0000_ffff;
        let bytes = (pairs | (pairs << 8)) & 0x00ff_00ff_00ff_00ff;
        let halves = ((bytes >> 4) | (bytes << 8)) & all(0x0f);
        let letters = ((halves + all(6)) >> 4) & all(1);
        let digits = halves + letters * u64::from(b'a' - 10 - b'0') + all(b'0');
        eight.copy_from_slice(&digits.to_le_bytes());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{format, string::ToString, vec::Vec};

    fn read(text: &str) -> Option<u64> {
        from_decimal(text.as_bytes()).ok()
    }

    #[test]
    fn decimals_of_every_length_go_there_and_back() {
        let mut values = (0..64).map(|shift| u64::MAX >> shift).collect::<Vec<_>>();
        values.extend((0..20).flat_map(|log| {
            let power = 10_u64.pow(log);
            [power - 1, power, power + 1]
        }));
        values.extend((0..20_000).map(|n: u64| n.wrapping_mul(987_654_321_987_655)));
        values.extend(0..20_000);
        for value in values {
            let mut to = [b'?'; DECIMAL_ROOM];
            let digits = to_decimal(value, &mut to);
            assert_eq!(to[..digits], *value.to_string().as_bytes());
            assert_eq!(read(&value.to_string()), Some(value));
        }
    }

    #[test]
    fn a_decimal_of_equal_length_above_eight_is_rewritten() {
        let powers = (0..20).map(|log| 10_u64.pow(log));
        let mut values = powers.flat_map(|power| [power, power + 7]).collect::<Vec<_>>();
        values.extend([0, 99_999_999, 123_456_789, 200_000_000, 9_876_543_210_987_654]);
        values.extend([12_345_678_901_234_567, 99_999_999_999_999_999, u64::MAX]);
        for before in &values {
            for after in &values {
                let (mut text, wanted) = (before.to_string().into_bytes(), after.to_string());
                let fits = text.len() == wanted.len() && text.len() > 8;
                assert_eq!(rewrite_decimal(*after, &mut text), fits, "{before} by {after}");
                assert!(!fits || text == wanted.as_bytes(), "{before} by {after}");
            }
        }
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        let long = "1000000000000000000000a";
        for text in
            ["", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "0x1", "1e3", "١", "1:", "1/", long]
        {
            assert!(matches!(from_decimal(text.as_bytes()), Err(Invalid::Form)), "{text:?}");
            assert_eq!(known_decimal(text.as_bytes()).filter(|_| !text.is_empty()), None);
        }
        for text in [
            "18446744073709551616",
            "99999999999999999999",
            "100000000000000000000",
            "1000000000000000000000000",
        ] {
            assert!(matches!(from_decimal(text.as_bytes()), Err(Invalid::Size)), "{text:?}");
            assert_eq!(known_decimal(text.as_bytes()), None);
        }
        assert_eq!(known_decimal(b"18446744073709551615"), Some(u64::MAX));
    }

    #[test]
    fn every_byte_in_every_place_is_a_digit_or_refused() {
        for place in 0..19 {
            for byte in 0..=u8::MAX {
                let mut text = *b"1234567891234567891";
                text[place] = byte;
                let plain = text.iter().all(u8::is_ascii_digit) && text[0] != b'0';
                let right = if plain { std::str::from_utf8(&text).ok() } else { None };
                let right = right.and_then(|text| text.parse().ok());
                assert_eq!(from_decimal(&text).ok(), right, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn hexadecimals_go_there_and_back() {
        for value in (0..128).map(|shift| (u128::MAX / 255 * 0x9d) >> shift) {
            let text = format!("{value:032x}");
            assert_eq!(to_hex(value), *text.as_bytes());
            assert_eq!(from_hex(&to_hex(value)), Some(value));
        }
        for place in 0..32 {
            for byte in 0..=u8::MAX {
                let mut text = [b'7'; 32];
                text[place] = byte;
                let lower = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                assert_eq!(from_hex(&text).is_some(), lower, "{byte} at {place}");
            }
        }
    }
}
