//! The entry point: from a list of members to a running one.

mod addresses;
mod build;
mod error;

pub(super) use addresses::AddressList;
pub use error::ClusterError;

#[cfg(feature = "cluster-file")]
use super::file::contents::ClusterFile;
#[cfg(feature = "tls")]
use super::tls::{CredentialsError, Expiry, Identity, MemberName};
use super::{address::Address, security::Proof, starting::Starting};
use crate::Network;
use election_core::{
    Epoch,
    lease::Registration,
    quorum::{Config, ConfigBuilder, Position, Warning},
};
use std::{path::PathBuf, time::Duration};

/// One node of a cluster, in which a majority of nodes decides over TCP who leads: validated,
/// not yet started.
///
/// A running node is a [`Member`](super::Member); its [`Handle`](crate::Handle) is the same as a lease's, so what an
/// application does with leadership does not depend on how it is decided.
///
/// ```no_run
/// # use election_driver::{Cluster, Network};
/// # async fn example<R: Network + Default>() -> Result<(), Box<dyn std::error::Error>> {
/// let cluster = Cluster::<R>::builder("orders")
///     .member("n1", "127.0.0.1:7401")
///     .member("n2", "127.0.0.1:7402")
///     .member("n3", "127.0.0.1:7403")
///     .node("n1") // which of them this process is
///     .ballot("/var/lib/orders/n1.ballot")
///     .without_data()
///     .build()?;
/// let member = cluster.start().await?;
/// let lease = member.handle().elected().await?;
/// println!("primary under epoch {}", lease.epoch());
/// # Ok(())
/// # }
/// ```
///
/// # What it is not
///
/// * **It moves no data.** It elects a primary among nodes that replicate by other means, and compares
///   how far they have come ([`Member::set_position`](super::Member::set_position)).
/// * **It is not Raft.** There is no log. A primary that was replaced may have writes that nobody else
///   has; they are lost when it follows the new primary. Acknowledge a write when a majority has it,
///   and none of the acknowledged is lost; fence by the epoch.
/// * **The members are a list, not whoever comes.** It changes by one at a time
///   ([`Member::change_members`](super::Member::change_members)); the list in force is in the ballots.
/// * **It is open without certificates.** Whoever reaches a port can vote in a member's name then. So
///   a cluster outside the loopback interface has certificates (`ClusterBuilder::tls`, feature `tls`),
///   or has to say that it is [`insecure`](ClusterBuilder::insecure): let only members reach the ports.
/// * **In a cluster with nodes of kevy-elect**, at most one primary acts only as far as their protocol
///   permits: two have been seen to act for half a second when a primary of kevy-elect is cut off, and
///   for seconds when a node of kevy-elect connects two that do not hear each other. Upgrade all.
pub struct Cluster<R: Network> {
    pub(super) runtime: R,
    pub(super) registration: Registration,
    pub(super) config: Config,
    pub(super) addresses: AddressList,
    /// The addresses to listen at.
    pub(super) listen: Vec<Address>,
    pub(super) ballot: PathBuf,
    pub(super) position: Option<Position>,
    pub(super) proof: Proof,
    pub(super) starting: Starting,
    /// What describes it, and is read again while it runs.
    #[cfg(feature = "cluster-file")]
    pub(super) file: Option<Box<ClusterFile>>,
}

/// Collects what a [`Cluster`] needs: the members, which of them this is, its ballot, and how far its
/// data have come.
///
/// ```no_run
/// # use election_driver::{Cluster, ClusterError, Network};
/// # use std::time::Duration;
/// # fn example<R: Network + Default>() -> Result<(), ClusterError> {
/// let cluster = Cluster::<R>::builder("orders")
///     .member("n1", "10.0.0.1:7400")
///     .member("n2", "10.0.0.2:7400")
///     .witness("w1", "10.0.0.3:7400") // a third vote, without data
///     .node("n1")
///     .listen("0.0.0.0:7400")
///     .announce("10.0.0.1:8080") // where this node's service answers while it leads
///     .ballot("/var/lib/orders/n1.ballot")
///     .position_later() // the data are read first: `Member::set_position`
///     .preferred_primary("n1")
///     .down_after(Duration::from_secs(3)) // the same on all
///     .insecure() // or certificates, by `tls`
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing happens before `build`"]
pub struct ClusterBuilder<R> {
    runtime: R,
    name: String,
    node: Option<String>,
    members: Vec<(String, String)>,
    witnesses: Vec<String>,
    preferred: Option<String>,
    ballot: Option<PathBuf>,
    listen: Option<String>,
    announce: Option<String>,
    shards: u16,
    insecure: bool,
    proof: Proof,
    position: Option<Option<Position>>,
    settings: Vec<Setting>,
    #[cfg(feature = "cluster-file")]
    pub(super) file: Option<Box<ClusterFile>>,
}

type Setting = Box<dyn FnOnce(ConfigBuilder) -> ConfigBuilder + Send>;

impl<R: Network + Default> Cluster<R> {
    /// Begins a node of the cluster with this name. The name stands in logs and metrics, and is the
    /// election's name for leader work. The same on all members: one with another name gets no vote and
    /// gives none, and the others say so. Two clusters need addresses of their own.
    pub fn builder(name: impl Into<String>) -> ClusterBuilder<R> {
        Self::builder_on(R::default(), name)
    }
}

impl<R: Network> Cluster<R> {
    /// Like [`builder`](Self::builder), on the given runtime.
    pub fn builder_on(runtime: R, name: impl Into<String>) -> ClusterBuilder<R> {
        ClusterBuilder {
            runtime,
            name: name.into(),
            node: None,
            members: Vec::new(),
            witnesses: Vec::new(),
            preferred: None,
            ballot: None,
            listen: None,
            announce: None,
            shards: 1,
            insecure: false,
            proof: Proof::Nothing,
            position: None,
            settings: Vec::new(),
            #[cfg(feature = "cluster-file")]
            file: None,
        }
    }

    /// The members and the timing.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Settings that work, but perhaps not as expected.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> + use<R> {
        self.config.warnings()
    }

    /// How far a start of this node has come, for who does not want to wait without a word.
    #[must_use]
    pub fn starting(&self) -> Starting {
        self.starting.clone()
    }

    /// Reads the certificates and checks them as a start does; until when they are valid, or `None`
    /// without any. Connects to nobody. May block.
    ///
    /// # Errors
    /// If they cannot be read, do not fit together, or are not this member's.
    #[cfg(feature = "tls")]
    pub fn check_certificates(&self) -> Result<Option<Expiry>, CredentialsError> {
        let Proof::Tls(source) = &self.proof else { return Ok(None) };
        let Registration { namespace, candidate, .. } = &self.registration;
        let own = MemberName { cluster: namespace.clone(), id: candidate.id.clone() };
        Identity::new(&own, &source.read()?).map(|identity| Some(identity.expiry()))
    }
}

impl<R: Network> ClusterBuilder<R> {
    /// Adds a member and the address, `host:port`, at which the others reach it. The same list on
    /// every node, in any order; three or five are usual. A name is looked up for every attempt to
    /// connect; while no name server answers, its last addresses are tried.
    pub fn member(mut self, id: impl Into<String>, address: impl Into<String>) -> Self {
        self.members.push((id.into(), address.into()));
        self
    }

    /// Adds a member that votes, has no data and never leads; see
    /// [`ConfigBuilder::witnesses`] for what it protects.
    pub fn witness(mut self, id: impl Into<String>, address: impl Into<String>) -> Self {
        let id = id.into();
        self.witnesses.push(id.clone());
        self.member(id, address)
    }

    /// Which member this process is.
    pub fn node(mut self, id: impl Into<String>) -> Self {
        self.node = Some(id.into());
        self
    }

    /// The file in which this node keeps what it has promised. It must outlive the process and the
    /// machine's restarts; the directory is created if only that is missing. Beside it are a file
    /// `.lock` and, for moments, a file `.new`.
    ///
    /// Never put an older ballot back, not even from a backup: an epoch could be given twice. If a
    /// ballot is lost or damaged, remove it with the node stopped, and start it while the others run.
    /// Mount its directory, not the file.
    pub fn ballot(mut self, path: impl Into<PathBuf>) -> Self {
        self.ballot = Some(path.into());
        self
    }

    /// Where to listen, `host:port`, if not at this member's own address: `0.0.0.0:7400` behind a
    /// translated address, for instance.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = Some(address.into());
        self
    }

    /// What the others are told when this node leads: the address of its service, where clients or
    /// followers find it ([`Member::primary`](super::Member::primary)). Unless set, this member's own address, which is that of
    /// the election: no service answers there. An address that means another machine to each of its
    /// readers (`0.0.0.0`, or the loopback interface in a cluster beyond it) is worth a warning in the
    /// log.
    pub fn announce(mut self, address: impl Into<String>) -> Self {
        self.announce = Some(address.into());
        self
    }

    /// How many ports to listen at, from this member's own on; one unless set. kevy-elect's nodes
    /// listen at one for each shard. All count the same; peers use the first.
    pub fn shards(mut self, shards: u16) -> Self {
        self.shards = shards;
        self
    }

    /// Permits addresses that others can reach, without certificates: kevy-elect's nodes have none. Peers
    /// prove nothing then: let only members reach the ports, by a firewall or a private network.
    pub fn insecure(mut self) -> Self {
        self.insecure = true;
        self
    }

    /// Proves to the other members who this is, and demands the same of them: mutual TLS 1.3. Each
    /// member has a certificate that names it (see [`certificate_name`](crate::tls::certificate_name)),
    /// signed by an authority that signs for this cluster. All members have certificates, or none.
    ///
    /// Certificates have an end, by the clock of each machine: one that is wrong by more than that
    /// refuses the others.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: crate::tls::Tls) -> Self {
        self.proof = Proof::Tls(tls);
        self
    }

    /// How far this node's data have come at the start; [`Member::set_position`](super::Member::set_position) reports more.
    pub fn position(mut self, position: Position) -> Self {
        self.position = Some(Some(position));
        self
    }

    /// The position is reported later, once the data have been read. Until then this node neither
    /// votes nor campaigns.
    pub fn position_later(mut self) -> Self {
        self.position = Some(None);
        self
    }

    /// There are no data to compare: any member may lead at any time.
    pub fn without_data(self) -> Self {
        self.position(Position::default())
    }

    /// How long a silent peer counts as alive, and so about how long a crashed primary is missed;
    /// 5 s unless set. Every other span follows from it. The same on every node: nodes with different
    /// ones do not vote. To change it, stop all nodes, and start each once with
    /// [`ConfigBuilder::new_peers`](election_core::quorum::ConfigBuilder::new_peers).
    pub fn down_after(self, span: Duration) -> Self {
        self.config(move |config| config.down_after(span))
    }

    /// The lowest epoch that this member may win; see
    /// [`ConfigBuilder::min_epoch`](election_core::quorum::ConfigBuilder::min_epoch).
    pub fn min_epoch(self, epoch: Epoch) -> Self {
        self.config(move |config| config.min_epoch(epoch))
    }

    /// The member that is elected among candidates with equal data.
    pub fn preferred_primary(mut self, id: impl Into<String>) -> Self {
        self.preferred = Some(id.into());
        self
    }

    /// Any other settings of the protocol.
    pub fn config(
        mut self,
        set: impl FnOnce(ConfigBuilder) -> ConfigBuilder + Send + 'static,
    ) -> Self {
        self.settings.push(Box::new(set));
        self
    }
}
