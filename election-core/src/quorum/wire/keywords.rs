//! The keywords of the frames, as kevy-elect writes them.

use crate::quorum::message::{Availability, Role};
use core::fmt;

/// The verb of a frame. Displayed as kevy-elect writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named after the verbs
pub enum Verb {
    Heartbeat,
    Offer,
    Accept,
    Announce,
    Maintenance,
    Lists,
}

impl Verb {
    /// All verbs, the most frequent first.
    const ALL: [Self; 6] = [
        Self::Heartbeat,
        Self::Offer,
        Self::Accept,
        Self::Announce,
        Self::Maintenance,
        Self::Lists,
    ];

    /// The verb with this name, in any case, and whether all of it is in lower case.
    pub(super) fn named(said: &[u8]) -> Option<(Self, bool)> {
        let lower = Self::ALL.into_iter().find(|verb| said == verb.name().as_bytes());
        lower.map(|verb| (verb, true)).or_else(|| Some((Self::in_any_case(said)?, false)))
    }

    #[inline(never)] // only kevy-elect's peers write so
    fn in_any_case(said: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| said.eq_ignore_ascii_case(verb.name().as_bytes()))
    }

    /// The name as this side writes it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Heartbeat => "hb",
            Self::Offer => "offer",
            Self::Accept => "accept",
            Self::Announce => "announce",
            Self::Maintenance => "maintenance",
            Self::Lists => "lists",
        }
    }

    /// The fields of the verbs that kevy-elect does not know.
    const MAINTENANCE: usize = 13;
    const LISTS: usize = 15;

    /// The number of fields in kevy-elect's frame, the verb included.
    pub(super) const fn plain(self) -> usize {
        match self {
            Self::Heartbeat => 5,
            Self::Offer | Self::Announce => 4,
            Self::Accept => 3,
            Self::Maintenance => Self::MAINTENANCE,
            Self::Lists => Self::LISTS,
        }
    }

    /// The number of fields with the extension of this version.
    pub(super) const fn extended(self) -> usize {
        match self {
            Self::Heartbeat => 15,
            Self::Offer | Self::Announce => 7,
            Self::Accept => 5,
            Self::Maintenance => Self::MAINTENANCE,
            Self::Lists => Self::LISTS,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().chars().try_for_each(|letter| write!(f, "{}", letter.to_ascii_uppercase()))
    }
}

pub(super) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Replica => "replica",
        Role::Candidate => "candidate",
    }
}

/// The role with exactly this name.
pub(super) fn role_named(said: &[u8]) -> Option<Role> {
    [Role::Primary, Role::Replica, Role::Candidate]
        .into_iter()
        .find(|role| said == role_name(*role).as_bytes())
}

pub(super) const fn availability_digit(availability: Availability) -> u8 {
    match availability {
        Availability::Busy => b'0',
        Availability::Free => b'1',
        Availability::Waiting => b'2',
        Availability::Ineligible => b'3',
        Availability::BusyAside => b'4',
        Availability::FreeAside => b'5',
        Availability::Leaving => b'6',
        Availability::Loading => b'7',
    }
}

/// The availability with this digit.
pub(super) const fn availability_named(said: &[u8]) -> Option<Availability> {
    match said {
        b"0" => Some(Availability::Busy),
        b"1" => Some(Availability::Free),
        b"2" => Some(Availability::Waiting),
        b"3" => Some(Availability::Ineligible),
        b"4" => Some(Availability::BusyAside),
        b"5" => Some(Availability::FreeAside),
        b"6" => Some(Availability::Leaving),
        b"7" => Some(Availability::Loading),
        _ => None,
    }
}
