//! etcd as a register, by its JSON gateway: HTTP/1.1 on the runtime's own sockets.
//!
//! ```text
//!   EtcdRegister ─▶ Client ─▶ Asker ─▶ Dialer ─▶ Link    a connection, on which hyper speaks
//!        │           │         ├────▶ Logins             one token for all clones
//!        │           │         └────▶ Verdict            what an answer means for the call
//!        │           └─ compare                          whether all members are of one cluster
//!        └─ Watch ─▶ a Client of its own, and Lines that never end
//! ```
//!
//! A write is asked once. The connection that it goes over has answered a read before, so most of what
//! can be wrong with an endpoint is found out while another may still be tried.

mod asker;
mod client;
mod compare;
mod dial;
mod encryption;
mod fence;
mod identity;
mod lines;
mod link;
mod login;
mod url;
mod verdict;
mod watch;
mod wire;

pub use fence::EtcdFence;

use super::{Notifications, Pause, Register, StoreError, register::name};
use crate::Network;
use client::Client;
use election_core::{
    Epoch,
    lease::{Config, Registration},
    register::Key,
};
use std::time::Duration;
use url::Url;
use wire::Question;

/// How long a call may take, unless its caller gives it up before.
const LIMIT: Duration = Duration::from_secs(10);

/// A [`Register`] in etcd, 3.4 or newer: the keys of a cluster of one or more members.
///
/// It speaks to the JSON gateway that every member has at its client port. Whichever member answers is
/// used until it does not; then comes the next of the URL. Clones have connections of their own, and
/// agree on which cluster they belong to.
///
/// With authentication, the user needs a role that may read and write the keys of its elections:
/// `etcdctl role grant-permission ROLE readwrite PREFIX/ --prefix`.
pub struct EtcdRegister<N: Network> {
    client: Client<N>,
    prefix: String,
}

impl<N: Network> Clone for EtcdRegister<N> {
    fn clone(&self) -> Self {
        Self { client: self.client.again(), prefix: self.prefix.clone() }
    }
}

impl<N: Network + Default> EtcdRegister<N> {
    /// The register at `etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/PREFIX]`. Name every member;
    /// the port is 2379 unless it is given. Keys are `PREFIX/NAME/leader`, or `NAME/leader` without a
    /// prefix. Special characters of user, password and prefix are percent-encoded.
    ///
    /// Connections to `etcds://…?ca=FILE` are encrypted (feature `tls`): the members have certificates of
    /// the authority whose certificate is in the file. `&cert=FILE&key=FILE` present one of this process.
    /// All are in PEM, and read again for each connection.
    ///
    /// Nothing is connected before the first call.
    ///
    /// # Errors
    /// If the URL is malformed; the error says where, and repeats no part of it.
    pub fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_on(N::default(), url)
    }
}

impl<N: Network> EtcdRegister<N> {
    /// Like [`connect`](EtcdRegister::connect), on the given runtime.
    ///
    /// # Errors
    /// As there.
    pub fn connect_on(runtime: N, url: &str) -> Result<Self, StoreError> {
        let (url, prefix) = Url::parse(url)?;
        Ok(Self { client: Client::new(runtime, url, LIMIT), prefix })
    }

    /// Where it looks, in words: the members, and the prefix.
    #[must_use]
    pub fn place(&self) -> String {
        let members = self.client.endpoints();
        match &*self.prefix {
            "" => format!("etcd at {members}"),
            prefix => format!("etcd at {members}, below {prefix}/"),
        }
    }

    /// Whether somebody on the path could read a password: the URL has one, and names another machine
    /// without TLS.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.client.is_exposed()
    }

    /// How long a call may take, once the members have been compared; ten seconds unless set. Each endpoint has its share of it to answer, and all
    /// of the rest once it may be writing, for then no other may be asked. After calls in vain the shares
    /// grow. Within an elector it is 15/16 of the [`attempt_timeout`](Config::attempt_timeout).
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.client.limit = limit;
        self
    }

    /// What a transaction in this cluster compares, so that it is made only while this epoch is held:
    /// `register.fence(lease.registration(), lease.epoch())`. The epoch must be the one under which the
    /// work began.
    #[must_use]
    pub fn fence(&self, who: &Registration, epoch: Epoch) -> EtcdFence {
        EtcdFence::new(self.key(&name(&who.namespace, Key::Leader)), who, epoch)
    }

    fn key(&self, key: &str) -> String {
        match &*self.prefix {
            "" => key.to_owned(),
            prefix => format!("{prefix}/{key}"),
        }
    }
}

/// The revision of the whole store at which a key was written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtcdVersion(i64);

impl<N: Network> Register for EtcdRegister<N> {
    type Version = EtcdVersion;

    fn prepare(&mut self, config: &Config) {
        // Earlier than the elector, whose time-out names no endpoint.
        self.client.limit = config.attempt_timeout() / 16 * 15;
    }

    fn shown(&self, key: &str) -> String {
        format!("{:?} in etcd at {}", self.key(key), self.client.endpoints())
    }

    async fn read(&mut self, key: &str) -> Result<Option<(String, EtcdVersion)>, StoreError> {
        let key = self.key(key);
        let found = self.client.call(&Question::Read { key: &key }, wire::found).await?;
        Ok(found.map(|(value, revision)| (value, EtcdVersion(revision))))
    }

    async fn write(
        &mut self,
        key: &str,
        value: &str,
        expected: Option<&EtcdVersion>,
    ) -> Result<Option<EtcdVersion>, StoreError> {
        let key = self.key(key);
        // A key that does not exist has revision 0.
        let expected = expected.map_or(0, |version| version.0);
        let question = Question::Write { key: &key, value, expected };
        let written = self.client.call(&question, wire::written).await?;
        Ok(written.map(EtcdVersion))
    }

    fn watch(&mut self, key: &str, pause: Pause) -> Notifications {
        watch::watch(self.client.again(), self.key(key), pause)
    }
}
