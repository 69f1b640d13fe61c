//! The part of RESP2 that election frames use: one array of bulk strings.
//!
//! A frame is looked at from its beginning whenever bytes have come in, and nothing is remembered
//! between two looks. A frame in a thousand pieces therefore means what it means in one, and the
//! cost of that stays bounded because the frame is (16 fields at most).

use super::{
    error::WireError,
    limits::{MAX_FIELDS, MAX_FRAME},
};

/// The fields of one whole frame, of any content.
pub(super) struct Fields<'a> {
    fields: [&'a [u8]; MAX_FIELDS],
    count: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn as_slice(&self) -> &[&'a [u8]] {
        &self.fields[..self.count]
    }
}

/// Why there is no frame.
enum Stop {
    /// It goes on behind what has come in.
    Short,
    Wrong(WireError),
}

impl From<WireError> for Stop {
    fn from(wrong: WireError) -> Self {
        Self::Wrong(wrong)
    }
}

/// The frame at the beginning of what has come in, and how many bytes it has; `None` if it goes on
/// behind.
///
/// # Errors
/// As soon as no continuation could make a frame of it.
pub(super) fn frame(received: &[u8]) -> Result<Option<(Fields<'_>, usize)>, WireError> {
    let seen = &received[..received.len().min(MAX_FRAME)];
    match fields(seen) {
        Ok((fields, rest)) => Ok(Some((fields, seen.len() - rest.len()))),
        Err(Stop::Short) if seen.len() < MAX_FRAME => Ok(None),
        Err(Stop::Short) => Err(WireError::TooLong),
        Err(Stop::Wrong(wrong)) => Err(wrong),
    }
}

fn fields(seen: &[u8]) -> Result<(Fields<'_>, &[u8]), Stop> {
    let (count, mut rest) = match seen {
        [b'*', rest @ ..] => number(rest, WireError::TooManyFields)?,
        [other, ..] => return Err(WireError::NotAnArray(*other).into()),
        [] => return Err(Stop::Short),
    };
    if count == 0 {
        return Err(WireError::NoFields.into());
    }
    let mut fields: [&[u8]; MAX_FIELDS] = [&[]; MAX_FIELDS];
    let Some(wanted) = fields.get_mut(..count) else {
        return Err(WireError::TooManyFields.into());
    };
    for field in wanted {
        let (length, text) = match rest {
            [b'$', rest @ ..] => number(rest, WireError::TooLong)?,
            [b'*', ..] => return Err(WireError::Nested.into()),
            [other, ..] => return Err(WireError::NotABulkString(*other).into()),
            [] => return Err(Stop::Short),
        };
        let Some((text, end)) = text.split_at_checked(length) else {
            return Err(unfinished(seen.len() - text.len(), length));
        };
        *field = text;
        rest = match end {
            [b'\r', b'\n', rest @ ..] => rest,
            [] | [_] => return Err(unfinished(seen.len() - end.len(), 0)),
            _ => return Err(WireError::NoLineEnd.into()),
        };
    }
    Ok((Fields { fields, count }, rest))
}

/// A field of which `missing` bytes and its end are to come, at this place of the frame.
#[cold]
fn unfinished(at: usize, missing: usize) -> Stop {
    let fits = at + missing + b"\r\n".len() <= MAX_FRAME;
    if fits { Stop::Short } else { WireError::TooLong.into() }
}

/// The number on the rest of a line, and what stands behind the line.
///
/// Three digits at most: no frame that means anything has room for a field of a thousand bytes.
fn number(line: &[u8], over: WireError) -> Result<(usize, &[u8]), Stop> {
    let digit = |digit: u8| usize::from(digit - b'0');
    match *line {
        [a @ b'0'..=b'9', b'\r', b'\n', ref rest @ ..] => Ok((digit(a), rest)),
        [a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', b'\n', ref rest @ ..] => {
            Ok((digit(a) * 10 + digit(b), rest))
        }
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', b'\r', b'\n', ref rest @ ..] => {
            Ok((digit(a) * 100 + digit(b) * 10 + digit(c), rest))
        }
        _ => Err(no_number(line, over)),
    }
}

#[cold]
fn no_number(line: &[u8], over: WireError) -> Stop {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match (&line[..digits], &line[digits..]) {
        ([], [b'-', ..]) => WireError::Null.into(),
        ([b'0', _, ..], _) => WireError::NotALength.into(),
        (digits, _) if digits.len() > 3 => over.into(),
        (_, []) => Stop::Short,
        ([], _) => WireError::NotALength.into(),
        (_, [b'\r']) => Stop::Short,
        (_, [b'\r', ..]) => WireError::NoLineEnd.into(),
        _ => WireError::NotALength.into(),
    }
}
