//! The meaning of a frame's fields.

use super::{
    error::{Excerpt, Field, InvalidId, WireError},
    id,
    keywords::{self, Verb},
    limits::Dialect,
    number::{Invalid, from_decimal, from_hex},
};
use crate::{
    Epoch, Incarnation, Label, NodeId, Timestamp,
    quorum::{
        maintenance::{Held, Maintenance, UnixMillis},
        members::Members,
        membership::{Membership, Outline},
        message::{Attestation, Extension, Heartbeat, Message, Role, Stamp},
        places::{Fingerprint, MemberList, Peer, PeerSet},
        position::Position,
    },
};
use alloc::boxed::Box;
use core::time::Duration;
use uuid::Uuid;

/// The form of a frame, once its verb and the number of its fields fit each other.
#[derive(Clone, Copy)]
pub(super) struct Form {
    verb: Verb,
    /// Lower case shows a peer of this protocol, even if it has not appended fields yet.
    pub(super) dialect: Dialect,
    pub(super) extended: bool,
}

impl Form {
    pub(super) fn of(fields: &[&[u8]]) -> Result<Self, WireError> {
        let said = fields.first().copied().unwrap_or_default();
        let Some((verb, lower)) = Verb::named(said) else {
            return Err(WireError::UnknownVerb(Excerpt::of(said)));
        };
        let dialect = if lower { Dialect::Extended } else { Dialect::Legacy };
        let extended = dialect == Dialect::Extended && fields.len() >= verb.extended();
        if fields.len() == verb.plain() || extended {
            return Ok(Self { verb, dialect, extended });
        }
        Err(WireError::WrongArity { verb, fields: fields.len() })
    }
}

/// The sender of a frame: a member other than this node, and the same as before on this connection.
pub(super) fn sender(
    said: &[u8],
    bound: Option<Peer>,
    members: &Members,
) -> Result<Peer, WireError> {
    if let Some(peer) = bound {
        if members.id(peer).is_some_and(|id| id.as_str().as_bytes() == said) {
            return Ok(peer);
        }
    }
    match members.find(id::parse(said)?) {
        _ if bound.is_some() => Err(WireError::OtherId(Excerpt::of(said))),
        None => Err(WireError::NotAMember(Excerpt::of(said))),
        Some(peer) if peer == members.me() => Err(WireError::OwnId),
        Some(peer) => Ok(peer),
    }
}

/// The context that a frame is read in.
pub(super) struct Context<'a> {
    pub(super) members: &'a Members,
    pub(super) fingerprint: Fingerprint,
}

impl Context<'_> {
    pub(super) fn message(&self, form: Form, fields: &[&[u8]]) -> Result<Message, WireError> {
        match (form.verb, fields) {
            (Verb::Heartbeat, [_, epoch, _, role, offset, extension @ ..]) => {
                let mut heartbeat = Heartbeat {
                    epoch: self::epoch(epoch)?,
                    role: self::role(role)?,
                    position: Position { history: 0, offset: number(Field::Offset, offset)? },
                    extension: None,
                };
                if form.extended {
                    self.extend(&mut heartbeat, extension)?;
                }
                Ok(Message::Heartbeat(heartbeat))
            }
            (Verb::Offer, [_, epoch, _, offset, extension @ ..]) => {
                let (epoch, offset) = (self::epoch(epoch)?, number(Field::Offset, offset)?);
                let (stamp, history) = match extension {
                    [at, life, history, ..] => {
                        (Some(own_stamp(at, life)?), number(Field::History, history)?)
                    }
                    _ => (None, 0),
                };
                Ok(Message::Offer { epoch, position: Position { history, offset }, stamp })
            }
            (Verb::Accept, [_, epoch, _, extension @ ..]) => {
                let epoch = self::epoch(epoch)?;
                let (stamp, accepted) = match extension {
                    [at, life, more @ ..] => (Some(own_stamp(at, life)?), accepted(more)?),
                    _ => (None, None),
                };
                Ok(Message::Accept { epoch, stamp, accepted })
            }
            (Verb::Lists, [_, epoch, _, at, life, lists @ ..]) if form.extended => {
                let (epoch, stamp) = (self::epoch(epoch)?, Some(own_stamp(at, life)?));
                Ok(Message::Lists { epoch, lists: Box::new(self::lists(lists)?), stamp })
            }
            (Verb::Maintenance, [_, epoch, _, at, life, record @ ..]) if form.extended => {
                let (epoch, stamp) = (self::epoch(epoch)?, Some(own_stamp(at, life)?));
                let (record, left, agreed) = self.maintenance(record)?;
                Ok(Message::Maintenance { epoch, record, left, agreed, stamp })
            }
            (Verb::Announce, [_, epoch, _, address, extension @ ..]) => {
                let epoch = self::epoch(epoch)?;
                let (stamp, token) = match extension {
                    [at, life, token, ..] => (Some(own_stamp(at, life)?), self::token(token)?),
                    _ => (None, Epoch::NONE),
                };
                Ok(Message::Announce { epoch, address: self::address(address)?, token, stamp })
            }
            (verb, fields) => Err(WireError::WrongArity { verb, fields: fields.len() }),
        }
    }

    fn extend(&self, heartbeat: &mut Heartbeat, fields: &[&[u8]]) -> Result<(), WireError> {
        let [
            at,
            life,
            echoed_at,
            echoed_life,
            available,
            history,
            nominee,
            list,
            hears,
            token,
            more @ ..,
        ] = fields
        else {
            let fields = Verb::Heartbeat.plain() + fields.len();
            return Err(WireError::WrongArity { verb: Verb::Heartbeat, fields });
        };
        let stamp = own_stamp(at, life)?;
        let echo = match (echoed_at.is_empty(), echoed_life.is_empty()) {
            (true, true) => None,
            (false, false) => Some(Stamp {
                at: time(Field::EchoedStamp, echoed_at)?,
                incarnation: incarnation(Field::EchoedIncarnation, echoed_life)?,
            }),
            _ => return Err(WireError::HalfEcho),
        };
        let availability = keywords::availability_named(available)
            .ok_or_else(|| WireError::UnknownAvailability(Excerpt::of(available)))?;
        heartbeat.position.history = number(Field::History, history)?;
        let fingerprint = Fingerprint::new(number(Field::Fingerprint, list)?);
        let nominee = self.nominee(nominee, fingerprint)?;
        let hears = PeerSet::from_bits(number(Field::Hears, hears)?);
        let (holds, more) = match more {
            [held, more @ ..] => (Held::new(number(Field::Held, held)?), more),
            [] => (Held::default(), more),
        };
        let lists = match more {
            [generation, more @ ..] => {
                let generation = number(Field::Generation, generation)?;
                Outline { generation, accepted: accepted(more)? }
            }
            [] => Outline::default(),
        };
        let attestation = match (echo, self::token(token)?) {
            (None, Epoch::NONE) => Attestation::None,
            (None, token) => Attestation::Token(token),
            (Some(echo), Epoch::NONE) => Attestation::Echo(echo),
            (Some(_), _) => return Err(WireError::EchoAndToken),
        };
        heartbeat.extension = Some(Extension {
            stamp,
            attestation,
            availability,
            nominee,
            fingerprint,
            hears,
            holds,
            lists,
        });
        Ok(())
    }

    fn maintenance(
        &self,
        fields: &[&[u8]],
    ) -> Result<(Maintenance, Option<Duration>, bool), WireError> {
        let [nth, issuer, paused, by, since, left, primary, agreed, ..] = fields else {
            let fields = Verb::Maintenance.extended() - 8 + fields.len();
            return Err(WireError::WrongArity { verb: Verb::Maintenance, fields });
        };
        let too_large =
            || WireError::NumberTooLarge { field: Field::Maintenance, said: Excerpt::of(nth) };
        let record = Maintenance {
            number: u32::try_from(number(Field::Maintenance, nth)?).map_err(|_| too_large())?,
            issuer: self.member(issuer)?,
            paused: flag(Field::Paused, paused)?,
            by: self.member(by)?,
            since: nonzero(Field::Since, since)?.map(UnixMillis),
            primary: if primary.is_empty() { None } else { Some(self.member(primary)?) },
        };
        let left = nonzero(Field::Left, left)?.map(Duration::from_millis);
        Ok((record, left, flag(Field::Agreed, agreed)?))
    }

    /// A member, or a place that no list has: the peer may have another list, which the node
    /// reports.
    fn member(&self, said: &[u8]) -> Result<Peer, WireError> {
        Ok(self.members.find(id::parse(said)?).unwrap_or(Peer::NOBODY))
    }

    /// A peer with another list may nominate a member that is not on this list. If the decoder
    /// closed its connection for that, it would hide the difference of the lists, which must be
    /// reported.
    #[inline]
    fn nominee(&self, said: &[u8], list: Fingerprint) -> Result<Option<Peer>, WireError> {
        if said.is_empty() {
            return Ok(None);
        }
        match self.members.find(id::parse(said)?) {
            None if list == self.fingerprint => Err(WireError::UnknownNominee(Excerpt::of(said))),
            nominee => Ok(nominee),
        }
    }
}

fn address(said: &[u8]) -> Result<Label, WireError> {
    let label = core::str::from_utf8(said).ok().and_then(|text| Label::recorded(text).ok());
    label.ok_or_else(|| WireError::InvalidAddress(Excerpt::of(said)))
}

fn role(said: &[u8]) -> Result<Role, WireError> {
    keywords::role_named(said).ok_or_else(|| WireError::UnknownRole(Excerpt::of(said)))
}

#[inline(always)] // so that the number comes in a register; the error would take it into memory
fn number(field: Field, said: &[u8]) -> Result<u64, WireError> {
    from_decimal(said).map_err(|invalid| match invalid {
        Invalid::Form => WireError::NotANumber { field, said: Excerpt::of(said) },
        Invalid::Size => WireError::NumberTooLarge { field, said: Excerpt::of(said) },
    })
}

#[inline]
fn epoch(said: &[u8]) -> Result<Epoch, WireError> {
    number(Field::Epoch, said).map(Epoch::new)
}

fn token(said: &[u8]) -> Result<Epoch, WireError> {
    number(Field::Token, said).map(Epoch::new)
}

fn time(field: Field, said: &[u8]) -> Result<Timestamp, WireError> {
    number(field, said).map(Timestamp::from_nanos)
}

fn flag(field: Field, said: &[u8]) -> Result<bool, WireError> {
    match said {
        b"0" => Ok(false),
        b"1" => Ok(true),
        _ => Err(WireError::NotAFlag { field, said: Excerpt::of(said) }),
    }
}

fn nonzero(field: Field, said: &[u8]) -> Result<Option<u64>, WireError> {
    Ok(Some(number(field, said)?).filter(|number| *number != 0))
}

/// The epoch and the fingerprint of an accepted list.
fn accepted(said: &[&[u8]]) -> Result<Option<(Epoch, Fingerprint)>, WireError> {
    let [epoch, list, ..] = said else { return Ok(None) };
    let list = Fingerprint::new(number(Field::Fingerprint, list)?);
    Ok(Some((self::epoch(epoch)?, list)).filter(|(epoch, _)| *epoch != Epoch::NONE))
}

fn lists(fields: &[&[u8]]) -> Result<Membership, WireError> {
    let [origin, ids, generation, now @ ..] = fields else { return Err(WireError::InvalidLists) };
    let origin = Fingerprint::new(number(Field::Fingerprint, origin)?);
    let generation = number(Field::Generation, generation)?;
    let set = |said: &[u8]| number(Field::Members, said).map(PeerSet::from_bits);
    let list = |generation: Option<u64>, voters, witnesses| -> Result<_, WireError> {
        let (voters, witnesses) = (set(voters)?, set(witnesses)?);
        let generation = generation.filter(|_| voters.count() > 0);
        Ok(generation.map(|generation| MemberList { generation, voters, witnesses }))
    };
    let [voters, witnesses, old_voters, old_witnesses, epoch, new_voters, new_witnesses, ..] = now
    else {
        return Err(WireError::InvalidLists);
    };
    let established = list(Some(generation), voters, witnesses)?.ok_or(WireError::InvalidLists)?;
    let parent = list(generation.checked_sub(1), old_voters, old_witnesses)?;
    let accepted = list(generation.checked_add(1), new_voters, new_witnesses)?;
    let epoch = self::epoch(epoch)?;
    if accepted.is_some() == (epoch == Epoch::NONE) {
        return Err(WireError::InvalidLists);
    }
    let accepted = accepted.map(|list| (epoch, list));
    let mut names = ids.split(|byte| *byte == b' ');
    let first_is_empty = names.next() == Some(&[]);
    let ids = names.map(|name| match name {
        [] => Ok(None),
        name => match NodeId::recorded(id::parse(name)?) {
            Ok(id) => Ok(Some(id)),
            Err(_) => Err(WireError::InvalidId(InvalidId(Excerpt::of(name)))),
        },
    });
    let ids = ids.collect::<Result<_, _>>()?;
    let lists = Membership::new(ids, origin, established, parent, accepted);
    lists.filter(|_| first_is_empty).ok_or(WireError::InvalidLists)
}

fn own_stamp(at: &[u8], life: &[u8]) -> Result<Stamp, WireError> {
    let at = time(Field::Stamp, at)?;
    Ok(Stamp { incarnation: incarnation(Field::Incarnation, life)?, at })
}

fn incarnation(field: Field, said: &[u8]) -> Result<Incarnation, WireError> {
    let number = said.try_into().ok().and_then(from_hex);
    let number =
        number.ok_or_else(|| WireError::NotAnIncarnation { field, said: Excerpt::of(said) });
    Ok(Incarnation::new(Uuid::from_u128(number?)))
}
