//! Where the members of a cluster are reached, while it is built and while it runs.

use super::error::ClusterError;
use crate::quorum::address::Address;
use election_core::{
    InvalidName, NodeId,
    quorum::{ConfigError, Members, Peer},
};

/// The addresses of all members.
pub(in crate::quorum) struct AddressList {
    /// Of each member, by its place.
    addresses: Vec<Address>,
    /// Whether all must be on the loopback interface, because members prove nothing.
    loopback_only: bool,
}

impl AddressList {
    pub(in crate::quorum) fn new(addresses: Vec<Address>, loopback_only: bool) -> Self {
        Self { addresses, loopback_only }
    }

    /// All, in the order of the members.
    pub(in crate::quorum) fn as_slice(&self) -> &[Address] {
        &self.addresses
    }

    pub(in crate::quorum) fn of(&self, peer: Peer) -> &Address {
        &self.addresses[peer.index()]
    }

    /// Those of all members but this one.
    pub(in crate::quorum) fn but(&self, peer: Peer) -> Vec<Address> {
        let all = self.addresses.iter().enumerate();
        all.filter(|(place, _)| *place != peer.index())
            .map(|(_, address)| address.clone())
            .collect()
    }

    /// Takes up other addresses; members that are not named keep theirs.
    ///
    /// # Errors
    /// If one is no member, or its address cannot be used. All keep theirs then.
    pub(in crate::quorum) fn change(
        &mut self,
        members: &Members,
        named: &[(String, String)],
    ) -> Result<(), ClusterError> {
        let mut texts: Vec<_> = self.addresses.iter().map(Address::to_string).collect();
        for (id, text) in named {
            let peer = members.find(id).ok_or_else(|| not_a_member(id))?;
            texts[peer.index()].clone_from(text);
        }
        let ids = (0..).map(Peer::new).map_while(|peer| members.id(peer));
        let texts: Vec<_> = ids.map(ToString::to_string).zip(texts).collect();
        let addresses = parsed(&texts)?;
        let exposed = exposed(texts.iter().map(|(id, _)| &**id).zip(&addresses));
        if let Some(exposed) = exposed.filter(|_| self.loopback_only) {
            return Err(exposed);
        }
        self.addresses = addresses;
        Ok(())
    }
}

fn not_a_member(id: &str) -> ClusterError {
    match node(id) {
        Ok(id) => ConfigError::NotAMember(id).into(),
        Err(error) => error,
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
    use crate::quorum::fake::members;

    fn named(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(id, address)| ((*id).to_owned(), (*address).to_owned())).collect()
    }

    fn list(loopback_only: bool) -> AddressList {
        let all = [("a", "127.0.0.1:1"), ("b", "127.0.0.1:2"), ("c", "127.0.0.1:3")];
        AddressList::new(parsed(&named(&all)).unwrap(), loopback_only)
    }

    #[test]
    fn members_can_exchange_their_addresses() {
        let (members, mut list) = (members("a"), list(true));
        list.change(&members, &named(&[("c", "127.0.0.1:2"), ("b", "127.0.0.1:3")])).unwrap();
        let shown = |address: &Address| address.to_string();
        assert_eq!([1, 2].map(|at| shown(list.of(Peer::new(at)))), ["127.0.0.1:3", "127.0.0.1:2"]);
        assert_eq!(
            list.but(Peer::new(1)).iter().map(shown).collect::<Vec<_>>(),
            ["127.0.0.1:1", "127.0.0.1:2"]
        );
    }

    #[test]
    fn an_address_that_cannot_be_used_changes_nothing() {
        let members = members("a");
        for (id, address, says) in [
            ("x", "127.0.0.1:9", "x is not on the member list"),
            ("b", "127.0.0.1", "the port is missing"),
            ("b", "127.0.0.1:3", "b and c have the same address"),
            ("b", "10.0.0.2:2", "anybody who reaches a port can vote"),
        ] {
            let mut list = list(true);
            let error = list.change(&members, &named(&[("c", "127.0.0.1:3"), (id, address)]));
            let error = error.map(drop).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert_eq!(list.of(Peer::new(1)).to_string(), "127.0.0.1:2");
        }
        assert!(list(false).change(&members, &named(&[("b", "10.0.0.2:2")])).is_ok());
    }
}
