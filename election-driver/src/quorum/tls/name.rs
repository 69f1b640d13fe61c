//! How a certificate names a member.

use election_core::{Namespace, NodeId};

/// The name of a member in its certificate, a URI among its alternative names:
/// `election://CLUSTER/MEMBER`. Every byte of the two names that is neither a letter, a digit nor one
/// of `-._~` is written as `%` and two upper-case hexadecimal digits.
#[must_use]
pub fn certificate_name(cluster: &str, member: &str) -> String {
    let mut name = String::from("election://");
    for (place, part) in [cluster, member].into_iter().enumerate() {
        if place > 0 {
            name.push('/');
        }
        for byte in part.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    name.push(char::from(byte));
                }
                byte => name.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    name
}

/// The member of this cluster with that [`certificate_name`], if it is one.
pub(super) fn named(cluster: &str, uri: &str) -> Option<NodeId> {
    let (_, last) = uri.rsplit_once('/')?;
    let mut rest = last.bytes();
    let mut id = Vec::new();
    while let Some(byte) = rest.next() {
        id.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    let id = NodeId::new(std::str::from_utf8(&id).ok()?).ok()?;
    // A member has one name.
    (certificate_name(cluster, id.as_str()) == uri).then_some(id)
}

/// Which member of which cluster this is.
#[derive(Clone, Debug)]
pub(in crate::quorum) struct MemberName {
    pub(in crate::quorum) cluster: Namespace,
    pub(in crate::quorum) id: NodeId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_so_that_no_two_are_alike() {
        for (cluster, id, name) in [
            ("orders", "n1", "election://orders/n1"),
            ("a/b", "c", "election://a%2Fb/c"),
            ("a", "b/c%", "election://a/b%2Fc%25"),
            ("ä", "N 1", "election://%C3%A4/N%201"),
        ] {
            assert_eq!(certificate_name(cluster, id), name);
            assert_eq!(named(cluster, name).unwrap().as_str(), id);
            assert_eq!(named("other", name), None);
        }
        for odd in
            ["n1", "election://a/", "election://a/%6E1", "election://a/%", "election://a/%zz"]
        {
            assert_eq!(named("a", odd), None, "{odd}");
        }
    }
}
