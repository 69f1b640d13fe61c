//! The entry point: from a list of members to a running one.

use super::{address::Address, member::Member, node::Node, start::StartError};
use crate::{Network, log};
use election_core::{
    Candidate, Incarnation, InvalidName, Label, Namespace, NodeId,
    lease::Registration,
    quorum::{Config, ConfigBuilder, ConfigError, Members, Position, Warning},
};
use std::{os::unix::ffi::OsStrExt as _, path::PathBuf, time::Duration};
use thiserror::Error;
use uuid::Uuid;

/// One node of a cluster, in which a majority of fixed nodes decides over TCP who leads: validated,
/// not yet started.
///
/// A running node is a [`Member`]; its [`Handle`](crate::Handle) is the same as a lease's, so what an
/// application does with leadership does not depend on how it is decided.
///
/// # What it is not
///
/// * **It moves no data.** It elects a primary among nodes that replicate by other means, and compares
///   how far they have come ([`Member::set_position`]).
/// * **It is not Raft.** There is no log. A primary that was replaced may have writes that nobody else
///   has; they are lost when it follows the new primary. Acknowledge a write when a majority has it,
///   and none of the acknowledged is lost; fence by the epoch.
/// * **The members are a list that does not change.** Another list means that all nodes are stopped.
/// * **It has no authentication yet.** Whoever reaches a port can vote in a member's name. So a
///   cluster outside the loopback interface has to say that it is
///   [`insecure`](ClusterBuilder::insecure): let only members reach the ports.
/// * **In a cluster with nodes of kevy-elect**, at most one primary acts only as far as their protocol
///   permits: two have been seen to act for half a second when a primary of kevy-elect is cut off, and
///   for seconds when a node of kevy-elect connects two that do not hear each other. Upgrade all.
pub struct Cluster<R: Network> {
    pub(super) runtime: R,
    pub(super) registration: Registration,
    pub(super) config: Config,
    /// Of each member, by its place.
    pub(super) addresses: Vec<Address>,
    /// The addresses to listen at.
    pub(super) listen: Vec<Address>,
    pub(super) ballot: PathBuf,
    pub(super) position: Option<Position>,
}

/// Collects what a [`Cluster`] needs.
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
    position: Option<Option<Position>>,
    settings: Vec<Setting>,
}

/// How long a file's name may be on Linux, in bytes.
const LONGEST_NAME: usize = 255;

type Setting = Box<dyn FnOnce(ConfigBuilder) -> ConfigBuilder + Send>;

/// Why a node of a cluster cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The list of members or the timing does not add up.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A name cannot be used.
    #[error("{what}: {why}")]
    Name {
        /// Which name.
        what: String,
        /// What is wrong with it.
        why: InvalidName,
    },
    /// The id of a member is longer than any name may be, and than an id may be
    /// ([`Config::MAX_ID`]).
    #[error("member {id:?}…: the id has {bytes} bytes; use at most {most}", most = Config::MAX_ID)]
    LongId {
        /// Its beginning.
        id: String,
        /// How long it is.
        bytes: usize,
    },
    /// An address cannot be used.
    #[error("{what}, {address:?}: {why}")]
    Address {
        /// Whose address.
        what: String,
        /// The address.
        address: String,
        /// What is wrong with it, and the remedy.
        why: &'static str,
    },
    /// The file for the ballot cannot be one.
    #[error("the ballot {path:?}: {why}")]
    Ballot {
        /// The path.
        path: PathBuf,
        /// What is wrong with it, and the remedy.
        why: &'static str,
    },
    /// Two members have one address.
    #[error("{one} and {other} have the same address, {address}; each member needs its own")]
    SameAddress {
        /// A member.
        one: String,
        /// Another.
        other: String,
        /// Their address.
        address: String,
    },
    /// It was not said which of the members this process is.
    #[error("which of the members is this process? Name it with `node`")]
    NoNode,
    /// No file for the ballot was named.
    #[error("no file for the ballot: name one with `ballot`, on a disk that outlives the process")]
    NoBallot,
    /// It was not said how far the data of this node have come.
    #[error(
        "how far have this node's data come? Say `position`, `position_later` if they have to be \
         read first, or `without_data`"
    )]
    NoPosition,
    /// Anybody on the network could vote.
    #[error(
        "{member} is at {address}, which is not on the loopback interface, and peers prove nothing: \
         whoever reaches a port can vote. Let only members reach the ports, and say `insecure`"
    )]
    Exposed {
        /// A member.
        member: String,
        /// Its address.
        address: String,
    },
    /// The ports of the shards are not there.
    #[error("{}", shards_refused(*.shards, *.port))]
    Shards {
        /// How many were asked for.
        shards: u16,
        /// The first port.
        port: u16,
    },
}

impl<R: Network + Default> Cluster<R> {
    /// Begins a node of the cluster with this name. The name stands in logs and metrics, and is the
    /// election's name for leader work.
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
            position: None,
            settings: Vec::new(),
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

    /// Opens the ballot and the ports, and starts the node in a task of its own.
    ///
    /// # Errors
    /// If the ballot cannot be kept or a port cannot be opened. A ballot that cannot be *read* is no
    /// error: the node follows, never votes, and says so.
    pub async fn start(self) -> Result<Member<R>, StartError> {
        let runtime = self.runtime.clone();
        let (member, node) = self.open().await?;
        runtime.spawn(node);
        Ok(member)
    }

    /// Like [`start`](Self::start), with the node as a future for the caller's own executor.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn open(self) -> Result<(Member<R>, Node), StartError> {
        super::start::open(self).await
    }
}

impl<R: Network> ClusterBuilder<R> {
    /// Adds a member and the address, `host:port`, at which the others reach it. The same list on
    /// every node, in any order; three or five are usual. A name is looked up at every connection.
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
    /// followers find it ([`Member::primary`]). Unless set, this member's own address, which is that of
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

    /// Permits addresses that others can reach. Peers prove nothing yet: let only members reach the
    /// ports, by a firewall or a private network.
    pub fn insecure(mut self) -> Self {
        self.insecure = true;
        self
    }

    /// How far this node's data have come at the start; [`Member::set_position`] reports more.
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
    /// [`ConfigBuilder::new_peers`].
    pub fn down_after(self, span: Duration) -> Self {
        self.config(move |config| config.down_after(span))
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

    /// Checks everything. Nothing is opened yet.
    ///
    /// # Errors
    /// If a name, an address, the list or the timing cannot be used, or something was left out.
    pub fn build(self) -> Result<Cluster<R>, ClusterError> {
        let named = |what: String| move |why| ClusterError::Name { what, why };
        let namespace =
            Namespace::new(&self.name).map_err(named("name of the cluster".to_owned()))?;
        let me = node(self.node.as_deref().ok_or(ClusterError::NoNode)?)?;
        let ids = self.members.iter().map(|(id, _)| node(id)).collect::<Result<Vec<_>, _>>()?;
        // Before their addresses: who repeats a member repeats its address, too.
        let twice = ids.iter().enumerate().find(|(place, id)| ids[..*place].contains(id));
        if let Some((_, id)) = twice {
            return Err(ConfigError::DuplicateId(id.clone()).into());
        }
        let witnesses = self.witnesses.iter().map(|id| node(id)).collect::<Result<Vec<_>, _>>()?;
        let known = self.addresses()?;
        let own = ids.iter().position(|id| *id == me);
        let own = own.map(|place| &known[place]).ok_or(ConfigError::NotAMember(me.clone()))?;
        let exposed = self.exposed(&known);
        let announce = self.announce.clone().unwrap_or_else(|| own.to_string());
        let label =
            Label::new(&announce).map_err(named(format!("address to announce, {announce:?}")))?;
        let mut config = Config::builder(me.clone(), ids.clone(), label.clone())
            .witnesses(witnesses)
            .loopback(exposed.is_none());
        if let Some(preferred) = &self.preferred {
            let what = format!("preferred primary {preferred:?}");
            config = config.preferred_primary(NodeId::new(preferred).map_err(named(what))?);
        }
        let config = self.settings.into_iter().fold(config, |config, set| set(config)).build()?;
        if let Some(exposed) = exposed.filter(|_| !self.insecure) {
            return Err(exposed);
        }
        let listen = listen(self.listen.as_deref(), own, self.shards)?;
        let addresses = by_place(config.members(), &ids, known);
        let candidate = Candidate { id: me, incarnation: Incarnation::new(Uuid::new_v4()) };
        let registration = Registration { namespace, candidate, label: Some(label) };
        log::span(&registration).in_scope(|| {
            for warning in config.warnings() {
                tracing::warn!(event = "warning", "{warning}");
            }
            if let Some(why) = misleads(&announce, &addresses) {
                tracing::warn!(
                    event = "warning",
                    "the others are told to find this node at {announce}, {why}"
                );
            }
        });
        Ok(Cluster {
            runtime: self.runtime,
            registration,
            config,
            addresses,
            listen,
            ballot: ballot(self.ballot)?,
            position: self.position.ok_or(ClusterError::NoPosition)?,
        })
    }

    /// The addresses in the order of the list.
    fn addresses(&self) -> Result<Vec<Address>, ClusterError> {
        let mut known: Vec<Address> = Vec::with_capacity(self.members.len());
        for (id, text) in &self.members {
            let address = parsed(format!("address of {id}"), text)?;
            if let Some(same) = known.iter().position(|other| other.is_same(&address)) {
                return Err(ClusterError::SameAddress {
                    one: self.members[same].0.clone(),
                    other: id.clone(),
                    address: text.clone(),
                });
            }
            known.push(address);
        }
        Ok(known)
    }

    /// An address that others than this machine can reach.
    fn exposed(&self, known: &[Address]) -> Option<ClusterError> {
        let listens = self.listen.as_deref().and_then(|text| Address::parse(text).ok());
        let node = self.node.as_deref().unwrap_or_default();
        let members = self.members.iter().map(|(id, _)| id.as_str()).zip(known);
        let mut all = members.chain(listens.as_ref().map(|address| (node, address)));
        all.find(|(_, address)| !address.is_loopback()).map(|(member, address)| {
            ClusterError::Exposed { member: member.to_owned(), address: address.to_string() }
        })
    }
}

/// A member's id. The limit for a name is not what an id has to keep.
fn node(id: &str) -> Result<NodeId, ClusterError> {
    let named = |why| ClusterError::Name { what: format!("member {id:?}"), why };
    let too_long = |_| ClusterError::LongId { id: id.chars().take(32).collect(), bytes: id.len() };
    NodeId::new(id).map_err(|why| match why {
        InvalidName::TooLong(_) => too_long(why),
        why => named(why),
    })
}

/// A path that a file can have. Whether it can be written shows when it is opened.
fn ballot(path: Option<PathBuf>) -> Result<PathBuf, ClusterError> {
    let path = path.filter(|path| !path.as_os_str().is_empty()).ok_or(ClusterError::NoBallot)?;
    let bytes = path.as_os_str().as_bytes();
    let name = path.file_name().map_or(0, |name| name.len() + ".lock".len());
    let why = match () {
        () if bytes.contains(&0) => "it holds a NUL character, which no path can; leave it out",
        () if name > LONGEST_NAME => {
            "with .lock its name is longer than the 255 bytes that file systems permit; shorten it"
        }
        () => return Ok(path),
    };
    Err(ClusterError::Ballot { path, why })
}

fn shards_refused(shards: u16, port: u16) -> String {
    let most = 65_536 - u32::from(port);
    match shards {
        0 => "0 shards would leave no port to listen at; use 1, or leave that out".to_owned(),
        _ => format!(
            "{shards} shards from port {port} on would need port {last}, and the last is 65535; use \
             at most {most}, or a lower port",
            last = u32::from(port) + u32::from(shards) - 1
        ),
    }
}

fn parsed(what: String, text: &str) -> Result<Address, ClusterError> {
    Address::parse(text).map_err(|why| ClusterError::Address {
        what,
        address: text.to_owned(),
        why,
    })
}

/// Why others would not find this node at what it announces. What is no address is the
/// application's own affair.
fn misleads(announced: &str, members: &[Address]) -> Option<&'static str> {
    let address = Address::parse(announced).ok()?;
    let number = address.number().map(|number| number.ip());
    if number.is_some_and(|number| number.is_unspecified()) {
        return Some("which is no address to connect to; announce one of this machine's own");
    }
    let beyond = members.iter().any(|member| !member.is_loopback());
    (beyond && address.is_loopback()).then_some(
        "which is their own machine to each of them; announce an address that all of them reach",
    )
}

fn listen(chosen: Option<&str>, own: &Address, shards: u16) -> Result<Vec<Address>, ClusterError> {
    let base = match chosen {
        Some(text) => parsed("address to listen at".to_owned(), text)?,
        None => own.clone(),
    };
    let all: Option<Vec<_>> = (0..shards).map(|shard| base.shard(shard)).collect();
    let refused = ClusterError::Shards { shards, port: base.port };
    all.filter(|all| !all.is_empty()).ok_or(refused)
}

/// Sorts the addresses as the members are.
fn by_place(members: &Members, ids: &[NodeId], known: Vec<Address>) -> Vec<Address> {
    let mut placed: Vec<_> = ids.iter().map(|id| members.find(id.as_str())).zip(known).collect();
    placed.sort_by_key(|(peer, _)| *peer);
    placed.into_iter().map(|(_, address)| address).collect()
}
