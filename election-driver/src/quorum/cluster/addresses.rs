//! Where the members of a cluster are reached, while it is built and while it runs.

use super::error::ClusterError;
use crate::quorum::address::Address;
use election_core::{InvalidName, NodeId};
use std::collections::BTreeMap;

/// The addresses of members, and of those who may become one.
pub(in crate::quorum) struct AddressList {
    /// By their ids.
    addresses: BTreeMap<String, Address>,
    /// Whether all must be on the loopback interface, because members prove nothing.
    loopback_only: bool,
}

impl AddressList {
    pub(in crate::quorum) fn new(
        addresses: BTreeMap<String, Address>,
        loopback_only: bool,
    ) -> Self {
        Self { addresses, loopback_only }
    }

    pub(in crate::quorum) fn of(&self, id: &NodeId) -> Option<&Address> {
        self.addresses.get(id.as_str())
    }

    /// Those of all members but this one.
    pub(in crate::quorum) fn but(&self, id: &NodeId) -> Vec<Address> {
        let others = self.addresses.iter().filter(|(known, _)| *known != id.as_str());
        others.map(|(_, address)| address.clone()).collect()
    }

    /// Takes up other addresses, of members and of those who may become one. Who is not named keeps an
    /// address if `stays` says so.
    ///
    /// # Errors
    /// If an address cannot be used. All stay as they are then.
    pub(in crate::quorum) fn change(
        &mut self,
        named: &[(String, String)],
        stays: impl Fn(&str) -> bool,
    ) -> Result<(), ClusterError> {
        let old = self.addresses.iter().filter(|(id, _)| stays(id));
        let mut texts: BTreeMap<_, _> =
            old.map(|(id, address)| (id.clone(), address.to_string())).collect();
        for (id, text) in named {
            node(id)?;
            texts.insert(id.clone(), text.clone());
        }
        let texts: Vec<_> = texts.into_iter().collect();
        let addresses = parsed(&texts)?;
        let exposed = exposed(texts.iter().map(|(id, _)| &**id).zip(&addresses));
        if let Some(exposed) = exposed.filter(|_| self.loopback_only) {
            return Err(exposed);
        }
        self.addresses = texts.into_iter().map(|(id, _)| id).zip(addresses).collect();
        Ok(())
    }
}

/// A member's id. The limit for a name is not what an id has to keep.
pub(super) fn node(id: &str) -> Result<NodeId, ClusterError> {
    let named = |why| ClusterError::Name { what: format!("member {id:?}"), why };
    let too_long = |_| ClusterError::LongId { id: id.chars().take(32).collect(), bytes: id.len() };
    NodeId::new(id).map_err(|why| match why {
        InvalidName::TooLong(_) => too_long(why),
        why => named(why),
    })
}

/// The addresses of members, each with its id.
pub(super) fn parsed(members: &[(String, String)]) -> Result<Vec<Address>, ClusterError> {
    let mut known: Vec<Address> = Vec::with_capacity(members.len());
    for (id, text) in members {
        let address = address(format!("address of {id}"), text)?;
        if let Some(same) = known.iter().position(|other| other.is_same(&address)) {
            let (one, other) = (members[same].0.clone(), id.clone());
            return Err(ClusterError::SameAddress { one, other, address: text.clone() });
        }
        known.push(address);
    }
    Ok(known)
}

/// An address.
pub(super) fn address(what: String, text: &str) -> Result<Address, ClusterError> {
    let address = text.to_owned();
    Address::parse(text).map_err(|why| ClusterError::Address { what, address, why })
}

/// An address that others than this machine can reach, of those that belong to these members.
pub(super) fn exposed<'a>(
    mut all: impl Iterator<Item = (&'a str, &'a Address)>,
) -> Option<ClusterError> {
    all.find(|(_, address)| !address.is_loopback()).map(|(member, address)| ClusterError::Exposed {
        member: member.to_owned(),
        address: address.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::fake::id;

    fn named(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(id, address)| ((*id).to_owned(), (*address).to_owned())).collect()
    }

    fn list(loopback_only: bool) -> AddressList {
        let all = [("a", "127.0.0.1:1"), ("b", "127.0.0.1:2"), ("c", "127.0.0.1:3")];
        let all = named(&all);
        let addresses = parsed(&all).unwrap();
        AddressList::new(all.into_iter().map(|(id, _)| id).zip(addresses).collect(), loopback_only)
    }

    #[test]
    fn members_can_exchange_their_addresses() {
        let mut list = list(true);
        let swapped = named(&[("c", "127.0.0.1:2"), ("b", "127.0.0.1:3")]);
        list.change(&swapped, |_| true).unwrap();
        let shown = |address: &Address| address.to_string();
        assert_eq!(
            ["b", "c"].map(|name| shown(list.of(&id(name)).unwrap())),
            ["127.0.0.1:3", "127.0.0.1:2"]
        );
        assert_eq!(
            list.but(&id("b")).iter().map(shown).collect::<Vec<_>>(),
            ["127.0.0.1:1", "127.0.0.1:2"]
        );
    }

    #[test]
    fn the_address_of_a_future_member_is_kept() {
        let mut list = list(true);
        let d = |port: u16| named(&[("d", &format!("127.0.0.1:{port}"))]);
        list.change(&d(4), |id| id != "d").unwrap();
        assert_eq!(list.of(&id("d")).unwrap().to_string(), "127.0.0.1:4");
        assert!(list.change(&d(1), |id| id != "d").is_err(), "it is another's");
        list.change(&[], |_| true).unwrap();
        assert!(list.of(&id("d")).is_some());
        list.change(&[], |id| id != "d").unwrap();
        assert!(list.of(&id("d")).is_none());
    }

    #[test]
    fn an_address_that_cannot_be_used_changes_nothing() {
        for (name, address, says) in [
            ("x\n", "127.0.0.1:9", "control character"),
            ("b", "127.0.0.1", "the port is missing"),
            ("b", "127.0.0.1:3", "b and c have the same address"),
            ("b", "10.0.0.2:2", "anybody who reaches a port can vote"),
        ] {
            let mut list = list(true);
            let all = named(&[("c", "127.0.0.1:3"), (name, address)]);
            let error = list.change(&all, |_| true);
            let error = error.map(drop).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert_eq!(list.of(&id("b")).unwrap().to_string(), "127.0.0.1:2");
        }
        let outside = named(&[("b", "10.0.0.2:2")]);
        assert!(list(false).change(&outside, |_| true).is_ok());
    }
}
