//! From a file to one of its members.

use super::{contents::ClusterFile, error::ClusterFileError};
use crate::{
    Network,
    quorum::cluster::{Cluster, ClusterBuilder},
};
use election_core::Epoch;
use std::path::Path;

impl<R: Network + Default> Cluster<R> {
    /// Begins the member `node` of the cluster that a TOML file describes: the file that the command
    /// `election` reads, too, the same on all members. It says who the members are, when a silent one
    /// counts as down, and how they prove who they are. What only this process knows is set
    /// on the builder: the ballot, the position of its data, and perhaps
    /// [`listen`](ClusterBuilder::listen) or [`announce`](ClusterBuilder::announce).
    ///
    /// ```no_run
    /// # use election_driver::{Cluster, Network};
    /// # async fn example<R: Network + Default>() -> Result<(), Box<dyn std::error::Error>> {
    /// let member = Cluster::<R>::from_file("cluster.toml", "n1")?
    ///     .ballot("/var/lib/orders/n1.ballot")
    ///     .without_data()
    ///     .build()?
    ///     .start()
    ///     .await?;
    /// let lease = member.handle().elected().await?;
    /// println!("primary under epoch {}", lease.epoch());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```toml
    /// election = "orders"
    /// down-after = "3s"
    ///
    /// [tls] # unless all members are on the loopback interface
    /// authority = "authority.pem"
    /// certificate = "certificate.pem"
    /// key = "key.pem"
    ///
    /// [[member]]
    /// id = "n1"
    /// address = "10.0.0.1:7400"
    /// announce = "10.0.0.1:8080"
    ///
    /// [[member]]
    /// id = "n2"
    /// address = "10.0.0.2:7400"
    ///
    /// [[member]]
    /// id = "w1"
    /// address = "10.0.0.3:7400"
    /// witness = true
    /// ```
    ///
    /// | key | is that of |
    /// | --- | --- |
    /// | `election` | [`builder`](Self::builder) |
    /// | `down-after`, `min-epoch`, `shards` | [`down_after`](ClusterBuilder::down_after), [`min_epoch`](ClusterBuilder::min_epoch), [`shards`](ClusterBuilder::shards) |
    /// | `preferred`, `fail-back` | [`preferred_primary`](ClusterBuilder::preferred_primary), [`fail_back`](election_core::quorum::ConfigBuilder::fail_back) |
    /// | `generation` | [`generation`](election_core::quorum::ConfigBuilder::generation): how often the list of members was changed |
    /// | `insecure = true` | [`insecure`](ClusterBuilder::insecure) |
    /// | `[tls]`: `authority`, `certificate`, `key` | `Tls::files`, with the feature `tls`; the paths are relative to the file |
    /// | `[[member]]`: `id`, `address` | [`member`](ClusterBuilder::member), or [`witness`](ClusterBuilder::witness) with `witness = true` |
    /// | `announce` of a member | [`announce`](ClusterBuilder::announce), in this member's own process |
    /// | `accepted = ["sha256:…"]` of a member | `Credentials::accept` |
    ///
    /// `election cluster init` writes such files, with certificates.
    ///
    /// While the member runs, the file is read again every five seconds, and so are the certificates:
    /// other addresses of members, other certificates and other lists of accepted ones are taken up (as by
    /// [`set_addresses`](crate::Member::set_addresses), which a later reading overrides). A file whose
    /// `generation` is higher by one than that of the list in force, and that lists one member more or less,
    /// asks for this change: the primary proposes it
    /// ([`change_members`](crate::Member::change_members)). Everything else needs a restart. A file that cannot
    /// be used, or lists other members otherwise, changes nothing and is logged.
    ///
    /// # Errors
    /// If the file cannot be read, or a part is unknown, wrong or missing; the error names the line and
    /// the column. What is wrong with names, addresses and timing is told by
    /// [`build`](ClusterBuilder::build), with its place in the file
    /// ([`ClusterError::InFile`](crate::ClusterError::InFile)).
    pub fn from_file(
        path: impl AsRef<Path>,
        node: impl Into<String>,
    ) -> Result<ClusterBuilder<R>, ClusterFileError> {
        let path = path.as_ref();
        ClusterFile::read(&path.display().to_string(), path)?.builder(R::default(), node)
    }
}

impl ClusterFile {
    /// Begins this member of the cluster.
    ///
    /// # Errors
    /// If what the file says of certificates is not whole.
    pub fn builder<R: Network>(
        &self,
        runtime: R,
        node: impl Into<String>,
    ) -> Result<ClusterBuilder<R>, ClusterFileError> {
        let (contents, node) = (&self.contents, node.into());
        let mut builder = Cluster::builder_on(runtime, &*self.election);
        for member in &self.members {
            builder = match member.is_witness {
                true => builder.witness(&member.id, &member.address),
                false => builder.member(&member.id, &member.address),
            };
        }
        let own = self.members.iter().find(|member| member.id == node);
        if let Some(announce) = own.and_then(|own| own.announce.as_ref()) {
            builder = builder.announce(announce);
        }
        if let Some(span) = contents.down_after.as_ref().map(|span| span.get_ref().0) {
            builder = builder.down_after(span);
        }
        if let Some(preferred) = &contents.preferred {
            builder = builder.preferred_primary(preferred.get_ref());
        }
        if let Some(span) = contents.fail_back.as_ref().map(|span| span.get_ref().0) {
            builder = builder.config(move |config| config.fail_back(span));
        }
        if let Some(epoch) = &contents.min_epoch {
            builder = builder.min_epoch(Epoch::new(*epoch.get_ref()));
        }
        if let Some(shards) = &contents.shards {
            builder = builder.shards(*shards.get_ref());
        }
        let generation = self.generation;
        builder = builder.config(move |config| config.generation(generation));
        if contents.insecure {
            builder = builder.insecure();
        }
        let mut builder = self.prove(builder)?.node(node);
        builder.file = Some(Box::new(self.clone()));
        Ok(builder)
    }

    /// Gives a member its certificates, if the file names them.
    fn prove<R: Network>(
        &self,
        builder: ClusterBuilder<R>,
    ) -> Result<ClusterBuilder<R>, ClusterFileError> {
        let mut entries = self.contents.member.iter();
        let listed = entries.find(|entry| entry.get_ref().accepted.is_some());
        match (&self.contents.tls, listed) {
            (None, None) => Ok(builder),
            (None, Some(entry)) => Err(self.document.wrong(
                entry.span().start,
                "`accepted` needs certificates; add a section [tls], or remove it",
            )),
            #[cfg(feature = "tls")]
            (Some(_), _) => Ok(builder.tls(self.proof()?)),
            #[cfg(not(feature = "tls"))]
            (Some(tls), _) => Err(self.document.wrong(
                tls.span().start,
                "this program was built without encrypted connections; enable the feature `tls`",
            )),
        }
    }
}
