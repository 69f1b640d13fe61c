//! The part of RESP2 that election frames use: one array of bulk strings.
//!
//! A frame is looked at from its beginning whenever bytes have come in, and nothing of it is
//! remembered between two looks. A frame in a thousand pieces therefore means what it means in
//! one, and the cost of that stays bounded because the frame is (16 fields at most).

use super::{
    error::WireError,
    limits::{MAX_FIELDS, MAX_FRAME},
};

/// Room for the fields of a frame.
pub(super) type Fields<'a> = [&'a [u8]; MAX_FIELDS];

/// How much a frame is.
pub(super) struct Extent {
    pub(super) fields: usize,
    pub(super) bytes: usize,
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

/// Finds the frame at the beginning of what has come in; `None` if it goes on behind.
///
/// # Errors
/// As soon as no continuation could make a frame of it.
pub(super) fn frame<'a>(
    received: &'a [u8],
    fields: &mut Fields<'a>,
    layout: &mut Layout,
) -> Result<Option<Extent>, WireError> {
    let seen = &received[..received.len().min(MAX_FRAME)];
    match array(seen, fields, layout) {
        Ok(extent) => Ok(Some(extent)),
        Err(Stop::Short) if seen.len() < MAX_FRAME => Ok(None),
        Err(Stop::Short) => Err(WireError::TooLong),
        Err(Stop::Wrong(wrong)) => Err(wrong),
    }
}

#[inline]
fn array<'a>(seen: &'a [u8], fields: &mut Fields<'a>, layout: &mut Layout) -> Result<Extent, Stop> {
    let (count, rest) = line(seen, b'*')?;
    let (last, others) = match fields.get_mut(..count) {
        Some([others @ .., last]) => (last, others),
        Some([]) => return Err(WireError::NoFields.into()),
        None => return Err(WireError::TooManyFields.into()),
    };
    let (mut length, mut rest) = line(rest, b'$')?;
    for (field, known) in others.iter_mut().zip(&mut layout.0) {
        match known.divide(rest, length) {
            Some((text, behind)) => {
                (*field, rest, length) = (text, behind, usize::from(known.length));
            }
            None => {
                (*field, rest) = text(seen, rest, length)?;
                (length, rest) = line(rest, b'$')?;
            }
        }
    }
    (*last, rest) = text(seen, rest, length)?;
    Ok(Extent { fields: count, bytes: seen.len() - rest.len() })
}

/// What stands between two fields: the end of one and the line before the next, which says how
/// long that is.
#[derive(Clone, Copy)]
struct Joint {
    /// The bytes as one word, and which of its bits are theirs.
    form: u64,
    mask: u64,
    /// How many bytes they are, and how many the next field has.
    size: u8,
    length: u8,
}

impl Joint {
    /// A field of this length, and what stands behind the joint that follows it, which is this one
    /// afterwards. `None` if none follows that a word can hold.
    #[inline]
    fn divide<'a>(&mut self, rest: &'a [u8], length: usize) -> Option<(&'a [u8], &'a [u8])> {
        let (text, end) = rest.split_at_checked(length)?;
        let bytes = *end.first_chunk()?;
        if u64::from_le_bytes(bytes) & self.mask != self.form {
            *self = Self::read(bytes)?;
        }
        Some((text, end.get(usize::from(self.size)..)?))
    }

    /// `None` if it is no joint, or the next field is a long one.
    fn read(bytes: [u8; 8]) -> Option<Self> {
        let digit = |digit: u8| digit - b'0';
        let (size, length) = match bytes {
            [b'\r', b'\n', b'$', a @ b'0'..=b'9', b'\r', b'\n', ..] => (6, digit(a)),
            [b'\r', b'\n', b'$', a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', b'\n', _] => {
                (7, digit(a) * 10 + digit(b))
            }
            _ => return None,
        };
        let mask = u64::MAX >> (64 - u32::from(size) * 8);
        Some(Self { form: u64::from_le_bytes(bytes) & mask, mask, size, length })
    }
}

/// How the last frame of a connection was divided.
///
/// The frames of a peer look alike, and a joint that is the same again need not be read: what is
/// remembered here is what reading it would give, so it can be stale but never wrong. A processor
/// then looks for the next field before it has read this one's length, and does not wait for
/// fifteen lengths one after the other.
pub(super) struct Layout([Joint; MAX_FIELDS]);

impl Layout {
    /// No word has a bit outside an empty mask.
    pub(super) const UNKNOWN: Self =
        Self([Joint { form: 1, mask: 0, size: 0, length: 0 }; MAX_FIELDS]);
}

/// A field of this length, and what stands behind its end.
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

/// The number on a line that begins with `kind`, and what stands behind the line.
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
/// Three digits at most: no frame that means anything has room for a field of a thousand bytes.
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
