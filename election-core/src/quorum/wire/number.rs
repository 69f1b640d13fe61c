//! Numbers as text: decimal for what people compare, hexadecimal for what they only copy.
//!
//! A heartbeat carries eight of them, which would be half the cost of reading it if they were
//! read digit by digit. So eight digits are read at once, as one 64-bit word.

/// Why a text is no number.
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
    match text {
        [] | [b'0', _, ..] => return Err(Invalid::Form),
        _ => {}
    }
    let mut rest = text;
    let mut value: u64 = 0;
    let mut fits = true;
    while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
        let part = eight_digits(*eight).ok_or(Invalid::Form)?;
        (value, fits) = append(value, 100_000_000, part, fits);
        rest = behind;
    }
    for digit in rest {
        if !digit.is_ascii_digit() {
            return Err(Invalid::Form);
        }
        (value, fits) = append(value, 10, u64::from(digit - b'0'), fits);
    }
    if fits { Ok(value) } else { Err(Invalid::Size) }
}

/// A text that is too large is read to its end all the same: it may not be a number at all.
fn append(value: u64, scale: u64, part: u64, fits: bool) -> (u64, bool) {
    match value.checked_mul(scale).and_then(|value| value.checked_add(part)) {
        Some(value) => (value, fits),
        None => (0, false),
    }
}

/// The same byte in all eight places of a word.
const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Neighbours are joined three times: digits to pairs, pairs to fours, fours to eight.
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(text);
    let digits = word ^ all(b'0');
    // A digit is now 0 to 9: its upper half is empty, and stays so if 6 is added.
    if (digits | digits.wrapping_add(all(6))) & all(0xf0) != 0 {
        return None;
    }
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

/// Writes `value` at the beginning of `to` and says how many digits it has. What stands behind
/// them up to [`MAX_DIGITS`] may be overwritten.
pub(super) fn to_decimal(mut value: u64, to: &mut [u8; MAX_DIGITS]) -> usize {
    let digits = value.checked_ilog10().map_or(1, |log| log as usize + 1);
    let mut end = digits;
    while end >= 2 {
        let pair = PAIRS[(value % 100) as usize];
        value /= 100;
        to[end - 2] = pair[0];
        to[end - 1] = pair[1];
        end -= 2;
    }
    if end == 1 {
        to[0] = b'0' + (value % 10) as u8;
    }
    digits
}

/// `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut tens = 0;
    while tens < 10 {
        let mut ones = 0;
        while ones < 10 {
            pairs[(tens * 10 + ones) as usize] = [b'0' + tens, b'0' + ones];
            ones += 1;
        }
        tens += 1;
    }
    pairs
};

/// Exactly 32 lower-case hexadecimal digits.
pub(super) fn from_hex(text: &[u8]) -> Option<u128> {
    let text: &[u8; 32] = text.try_into().ok()?;
    let mut wrong = false;
    let halves = text.map(|digit| {
        let decimal = digit.wrapping_sub(b'0');
        let letter = digit.wrapping_sub(b'a');
        wrong |= decimal > 9 && letter > 5;
        if decimal <= 9 { decimal } else { letter.wrapping_add(10) }
    });
    let mut bytes = [0; 16];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = (halves[place * 2] << 4) | (halves[place * 2 + 1] & 0xf);
    }
    if wrong { None } else { Some(u128::from_be_bytes(bytes)) }
}

/// 32 lower-case hexadecimal digits.
pub(super) fn to_hex(value: u128) -> [u8; 32] {
    let bytes = value.to_be_bytes();
    let mut text = [0; 32];
    for (place, byte) in bytes.iter().enumerate() {
        text[place * 2] = byte >> 4;
        text[place * 2 + 1] = byte & 0xf;
    }
    text.map(|half| if half < 10 { b'0' + half } else { b'a' - 10 + half })
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
        for value in values {
            let mut to = [b'?'; MAX_DIGITS];
            let digits = to_decimal(value, &mut to);
            assert_eq!(to[..digits], *value.to_string().as_bytes());
            assert_eq!(read(&value.to_string()), Some(value));
        }
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for text in ["", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "0x1", "1e3", "١"] {
            assert!(matches!(from_decimal(text.as_bytes()), Err(Invalid::Form)), "{text:?}");
        }
        for text in ["18446744073709551616", "99999999999999999999", "1000000000000000000000000"] {
            assert!(matches!(from_decimal(text.as_bytes()), Err(Invalid::Size)), "{text:?}");
        }
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
            assert_eq!(from_hex(text.as_bytes()), Some(value));
        }
        assert_eq!(from_hex(&[b'0'; 31]), None);
        assert_eq!(from_hex(&[b'0'; 33]), None);
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
