//! Which connection is closed when there are too many.
//!
//! A stranger decides how many connections it makes, and not from how many networks. So whoever has
//! most of them loses one, the oldest; and a member's own address is left alone as long as it has no
//! more than a member needs.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv6Addr},
};

/// How many connections a member may have begun at one time: the last one may not have ended yet.
const OF_ONE: usize = 4;

/// What counts as one source: an address of IPv4, or a network of IPv6, in which anybody has as many
/// addresses as they like.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source(IpAddr);

impl Source {
    pub(super) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(six) => {
                let [a, b, c, d, ..] = six.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
            four @ IpAddr::V4(_) => four,
        })
    }
}

/// The place of the one that has to go among these, the oldest first; `members` are the addresses of
/// members, as far as they are known.
pub(super) fn to_evict(all: &[IpAddr], members: &[IpAddr]) -> Option<usize> {
    let (mut own, mut shares) = (BTreeMap::new(), BTreeMap::new());
    for address in all {
        *own.entry(address.to_canonical()).or_insert(0_usize) += 1;
        *shares.entry(Source::of(*address)).or_insert(0_usize) += 1;
    }
    let members: BTreeSet<_> = members.iter().map(IpAddr::to_canonical).collect();
    let is_spared = |address: &IpAddr| {
        let address = address.to_canonical();
        members.contains(&address) && own.get(&address).is_none_or(|count| *count <= OF_ONE)
    };
    let share = |address: &IpAddr| shares.get(&Source::of(*address)).copied();
    let most = all.iter().filter(|it| !is_spared(it)).filter_map(share).max();
    let has_most = |it: &IpAddr| !is_spared(it) && share(it) == most;
    // If all are spared, the oldest.
    all.iter().position(has_most).or((!all.is_empty()).then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[track_caller]
    fn loses(all: &[&str], members: &[&str], place: usize) {
        assert_eq!(to_evict(&addresses(all), &addresses(members)), Some(place), "{all:?}");
    }

    #[test]
    fn whoever_has_most_loses_the_oldest() {
        loses(&["10.0.0.1", "10.0.0.2", "10.0.0.2"], &[], 1);
        loses(&["10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.3", "10.0.0.3"], &[], 1);
        loses(&["10.0.0.1", "10.0.0.2"], &[], 0);
        loses(&["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.2"], &[], 1);
        assert_eq!(to_evict(&[], &[]), None);
    }

    /// One host has a whole network of them.
    #[test]
    fn addresses_of_one_network_are_one_source() {
        loses(&["10.0.0.1", "2001:db8::1", "2001:db8::2"], &[], 1);
        loses(&["10.0.0.1", "2001:db8:0:1::1", "2001:db8:0:2::2"], &[], 0);
    }

    #[test]
    fn members_are_spared_while_they_need_no_more_than_members_do() {
        loses(&["10.0.0.1", "10.0.0.2"], &["10.0.0.1"], 1);
        loses(&["10.0.0.1", "10.0.0.1", "10.0.0.2"], &["10.0.0.1"], 2);
        loses(&["::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2"], &["10.0.0.1"], 2);
        // In the network of who floods, too.
        loses(&["2001:db8::1", "2001:db8::2", "2001:db8::3"], &["2001:db8::1"], 1);
        let flood = ["10.0.0.9", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1"];
        loses(&flood, &["10.0.0.1"], 1);
        loses(&flood[..5], &["10.0.0.1"], 0);
        loses(&["10.0.0.1", "10.0.0.2"], &["10.0.0.1", "10.0.0.2"], 0);
    }
}
