//! The part of RESP2 that election frames use: one array of bulk strings.
//!
//! The parser looks at a frame from its beginning whenever bytes have come in, and remembers
//! nothing between two looks. So a frame in a thousand pieces means the same as in one piece, and
//! the cost stays bounded because the frame is (20 fields at most).

use super::{
    error::WireError,
    limits::{MAX_FIELDS, MAX_FRAME},
};

/// The fields of a frame.
pub(super) type Fields<'a> = [&'a [u8]; MAX_FIELDS];

/// The size of a frame.
pub(super) struct Extent {
    pub(super) fields: usize,
    pub(super) bytes: usize,
}

/// Why there is no frame.
enum Stop {
    /// The frame is not complete yet.
    Short,
    Wrong(WireError),
}

impl From<WireError> for Stop {
    fn from(wrong: WireError) -> Self {
        Self::Wrong(wrong)
    }
}

/// Finds the frame at the beginning of the received bytes; `None` if it is not complete yet.
///
/// # Errors
/// As soon as no continuation could make a frame of it.
pub(super) fn frame<'a>(
    received: &'a [u8],
    fields: &mut Fields<'a>,
) -> Result<Option<Extent>, WireError> {
    let seen = &received[..received.len().min(MAX_FRAME)];
    match array(seen, fields) {
        Ok(extent) => Ok(Some(extent)),
        Err(Stop::Short) if seen.len() < MAX_FRAME => Ok(None),
        Err(Stop::Short) => Err(WireError::TooLong),
        Err(Stop::Wrong(wrong)) => Err(wrong),
    }
}

fn array<'a>(seen: &'a [u8], fields: &mut Fields<'a>) -> Result<Extent, Stop> {
    let (count, mut rest) = line(seen, b'*')?;
    let fields = match fields.get_mut(..count) {
        Some([]) => return Err(WireError::NoFields.into()),
        Some(fields) => fields,
        None => return Err(WireError::TooManyFields.into()),
    };
    for field in fields {
        let (length, behind) = line(rest, b'$')?;
        (*field, rest) = text(seen, behind, length)?;
    }
    Ok(Extent { fields: count, bytes: seen.len() - rest.len() })
}

/// A field of this length, and the bytes behind it.
fn text<'a>(seen: &[u8], rest: &'a [u8], length: usize) -> Result<(&'a [u8], &'a [u8]), Stop> {
    match rest.split_at_checked(length + LINE_END.len()) {
        Some(([text @ .., b'\r', b'\n'], behind)) => Ok((text, behind)),
        Some(_) => Err(WireError::NoLineEnd.into()),
        None if rest.len() + MAX_FRAME < seen.len() + length + LINE_END.len() => {
            Err(WireError::TooLong.into())
        }
        None => Err(Stop::Short),
    }
}

const LINE_END: &[u8] = b"\r\n";

/// The number on a line that begins with `kind`, and the bytes behind the line.
#[inline]
fn line(rest: &[u8], kind: u8) -> Result<(usize, &[u8]), Stop> {
    let digit = |digit: u8| usize::from(digit - b'0');
    match *rest {
        [first, a @ b'0'..=b'9', b'\r', b'\n', ref behind @ ..] if first == kind => {
            Ok((digit(a), behind))
        }
        [first, a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', b'\n', ref behind @ ..]
            if first == kind =>
        {
            Ok((digit(a) * 10 + digit(b), behind))
        }
        _ => any_line(rest, kind),
    }
}

/// The same for lines of any form: longer, unfinished or wrong.
///
/// It accepts three digits at most: no valid frame has room for a field of a thousand bytes.
#[cold]
fn any_line(rest: &[u8], kind: u8) -> Result<(usize, &[u8]), Stop> {
    let line = match rest {
        [] => return Err(Stop::Short),
        [first, line @ ..] if *first == kind => line,
        [first, ..] if kind == b'*' => return Err(WireError::NotAnArray(*first).into()),
        [b'*', ..] => return Err(WireError::Nested.into()),
        [first, ..] => return Err(WireError::NotABulkString(*first).into()),
    };
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, end) = line.split_at(digits);
    Err(match (number, end) {
        ([], [b'-', ..]) => WireError::Null.into(),
        ([b'0', _, ..], _) => WireError::NotALength.into(),
        ([_, _, _, _, ..], _) if kind == b'*' => WireError::TooManyFields.into(),
        ([_, _, _, _, ..], _) => WireError::TooLong.into(),
        (_, []) => Stop::Short,
        ([], _) => WireError::NotALength.into(),
        (number, [b'\r', b'\n', behind @ ..]) => {
            let value =
                number.iter().fold(0, |value, digit| value * 10 + usize::from(digit - b'0'));
            return Ok((value, behind));
        }
        (_, [b'\r']) => Stop::Short,
        (_, [b'\r', ..]) => WireError::NoLineEnd.into(),
        _ => WireError::NotALength.into(),
    })
}
