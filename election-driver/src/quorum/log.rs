//! What a node logs beyond what every elector does. Its events are in [`crate::guide::reference`].

use super::{
    address::Address, ballot::Unusable, disk, rate::Refusals, refusal::Refusal,
    unknown_leader::UnknownLeader,
};
#[cfg(feature = "tls")]
use super::{
    clock::unix_millis,
    tls::{CertificateStatus, CredentialsError, News},
};
use crate::{log, rate::Rate};
use election_core::{
    Change, Epoch, Loss, NodeId, Tenure, Timestamp,
    quorum::{Hindrance, MemberList, Members, Membership, Peer, Quorum},
};
use std::{
    collections::BTreeMap,
    io,
    mem::{Discriminant, discriminant},
    net::SocketAddr,
    path::Path,
    time::Duration,
};
use tracing::{debug, error, info, warn};

/// The epoch of the first election of all.
const FIRST: Epoch = Epoch::new(1);

/// What the log remembers so that it says each thing once.
pub(super) struct Log {
    members: Members,
    down_after: Duration,
    links: BTreeMap<NodeId, Reach>,
    /// Why this node was last said not to be ready.
    unready: Option<Discriminant<Hindrance>>,
    save_failed: bool,
    hangs: bool,
    refusals: Refusals,
    accept_failed: Rate,
    duplicate_ids: Rate,
    /// The leadership that ended last, and why; until its work has stopped.
    ending: Option<(Epoch, Loss)>,
}

#[derive(Default)]
struct Reach {
    /// Since when there has been no connection on which it has shown to be there.
    failing: Option<Timestamp>,
    told: bool,
}

impl Log {
    pub(super) fn new(members: Members, down_after: Duration) -> Self {
        Self {
            links: BTreeMap::new(),
            members,
            down_after,
            unready: None,
            save_failed: false,
            hangs: false,
            refusals: Refusals::default(),
            accept_failed: Rate::default(),
            duplicate_ids: Rate::default(),
            ending: None,
        }
    }

    /// The node goes by other lists of members; `before`, by these.
    pub(super) fn regrouped(&mut self, members: &Members, before: &Membership, now: &Membership) {
        self.members = members.clone();
        let named = |list: &MemberList| {
            let ids = list.voters.members().filter_map(|peer| members.id(peer));
            ids.map(NodeId::as_str).collect::<Vec<_>>().join(", ")
        };
        let list = now.established();
        if list != before.established() {
            let (generation, members) = (list.generation, named(list));
            info!(event = "members", generation, members, "the members are now {members}");
        }
        if let Some((epoch, next)) = now.accepted().filter(|_| now.accepted() != before.accepted())
        {
            let (epoch, generation, members) = (epoch.get(), next.generation, named(next));
            info!(
                event = "members_proposed",
                epoch,
                generation,
                members,
                "the primary of epoch {epoch} proposes the members {members}"
            );
        }
    }

    /// Nobody has said where the member is.
    pub(super) fn address_unknown(&self, peer: &NodeId) {
        let peer = peer.as_str();
        warn!(
            event = "address_unknown",
            peer,
            "{peer} is a member whose address this node does not know: add it to the cluster file \
             (or call `set_addresses`)"
        );
    }

    /// The ballot was opened.
    pub(super) fn opened(path: &Path, unusable: Option<&Unusable>) {
        if let Some(unusable) = unusable {
            let (path, cause) = (path.display(), unusable.to_string());
            error!(event = "ballot", cause, "{path}: {cause}");
        }
    }

    /// The node has taken a step.
    pub(super) fn stepped(&mut self, node: &Quorum, change: Option<&Change>) {
        let unknown = change.filter(|change| **change == Change::Vacant);
        let unknown = unknown.and_then(|_| UnknownLeader::of(node, Timestamp::ZERO, None));
        match (change, unknown) {
            (_, Some(cause)) => {
                info!(event = "leader_unknown", %cause, "the leader is unknown: {cause}");
            }
            (Some(change), None) => log::changed(change, None),
            (None, None) => {}
        }
        if let Some(Change::Elected(Tenure { term, .. })) = change {
            if term.epoch == FIRST {
                warn!(
                    event = "first_epoch",
                    "epochs start at 1, as in a new cluster: if this cluster has had a leader \
                     before, all its ballots are lost, and everything that has seen a higher epoch \
                     rejects this one; in that case set min_epoch (min-epoch in the cluster file) \
                     on every member, above the last epoch, and restart them"
                );
            }
        }
        self.readiness(node);
        if let Some(Change::Lost { term, reason, .. }) = change {
            self.ending = Some((term.epoch, *reason));
        }
        let Some((epoch, reason)) = self.ending.filter(|_| node.draining().is_none()) else {
            return;
        };
        self.ending = None;
        let epoch = epoch.get();
        match reason {
            Loss::Expired | Loss::Replaced => debug!(epoch, "leadership no longer held"),
            reason => info!(event = "released", epoch, %reason, "leadership released"),
        }
    }

    /// Tells that the node is ready, or what keeps it from that.
    fn readiness(&mut self, node: &Quorum) {
        let unready = node.unready();
        // What its disk does, and that it leaves, is told elsewhere.
        if matches!(unready, Some(Hindrance::Saves | Hindrance::Leaves)) {
            return;
        }
        let kind = unready.as_ref().map(discriminant);
        if std::mem::replace(&mut self.unready, kind) == kind {
            return;
        }
        match unready {
            Some(why) => {
                let cause = why.named(&self.members).to_string();
                info!(event = "unready", cause, "not ready: {cause}");
            }
            None => {
                info!(event = "ready", "ready: able to vote, and hears a majority");
            }
        }
    }

    fn name(&self, peer: Peer) -> &str {
        self.members.id(peer).map_or("?", NodeId::as_str)
    }

    /// The member has another address.
    pub(super) fn relocated(&self, peer: &NodeId, address: &Address) {
        let peer = peer.as_str();
        info!(
            event = "relocated",
            peer,
            %address,
            "the address of {peer} is now {address}; its previous address is tried as well until it \
             answers at the new one"
        );
    }

    /// Somebody has accepted a connection. That it is the member has still to be shown.
    pub(super) fn connected(&mut self, now: Timestamp, peer: &NodeId, address: &Address) {
        self.links.entry(peer.clone()).or_default().failing.get_or_insert(now);
        debug!(peer = peer.as_str(), %address, "connected");
    }

    /// The member has shown that it hears this node.
    pub(super) fn hears(&mut self, peer: &NodeId, address: &Address) {
        let reach = self.links.remove(peer).unwrap_or_default();
        let peer = peer.as_str();
        if reach.told {
            info!(event = "reachable", peer, %address, "{peer} is reachable again");
        } else {
            debug!(peer, %address, "reached");
        }
    }

    pub(super) fn disconnected(
        &mut self,
        now: Timestamp,
        since: Timestamp,
        peer: &NodeId,
        address: &Address,
        error: &io::Error,
    ) {
        let reach = self.links.entry(peer.clone()).or_default();
        let since = *reach.failing.get_or_insert(since);
        let is_news = !reach.told && now.since(since) >= self.down_after;
        reach.told |= is_news;
        let (peer, cause) = (peer.as_str(), error.to_string());
        if is_news {
            // Some causes name a remedy of their own.
            let remedy =
                if cause.contains(';') { "" } else { "; start it, or correct its address" };
            warn!(
                event = "unreachable",
                peer,
                %address,
                cause,
                "{peer} cannot be reached at {address}: {cause}{remedy}"
            );
        } else {
            debug!(peer, %address, cause, "no connection");
        }
    }

    pub(super) fn saved(&mut self, epoch: Epoch, result: &io::Result<()>, took: Duration) {
        let epoch = epoch.get();
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match result {
            Ok(()) if self.save_failed || self.hangs => {
                (self.save_failed, self.hangs) = (false, false);
                info!(event = "saved", epoch, took_ms, "the ballot is being written again");
            }
            Ok(()) => debug!(epoch, took_ms, "ballot saved"),
            Err(error) if self.save_failed => debug!(epoch, took_ms, "ballot not saved: {error}"),
            Err(error) => {
                self.save_failed = true;
                let (cause, said) = (error.to_string(), disk::not_saved(error));
                warn!(event = "save_failed", epoch, cause, "the ballot cannot be written: {said}");
            }
        }
    }

    pub(super) fn disk_hangs(&mut self, hangs: bool) {
        if hangs && !self.hangs {
            self.hangs = true;
            error!(
                event = "save_hangs",
                "the disk has not written the ballot for {:?}: this node is unfit to lead",
                self.down_after
            );
        }
    }

    pub(super) fn refused(&mut self, now: Timestamp, from: SocketAddr, error: &Refusal) {
        let reason = error.as_str();
        let Some(more) = self.refusals.count(now, reason, from.ip()) else {
            debug!(%from, reason, "refused: {error}");
            return;
        };
        let cause = error.to_string();
        warn!(event = "refused", %from, reason, cause, more, "refused a connection from {from}: {cause}");
    }

    pub(super) fn duplicate_id(&mut self, now: Timestamp, peer: Peer, from: SocketAddr) {
        if self.duplicate_ids.count(now).is_some() {
            let peer = self.name(peer);
            warn!(
                event = "duplicate_id",
                peer,
                %from,
                "a second process, at {from}, claims to be {peer} and is ignored, because the \
                 members reach {peer} elsewhere: stop it, or give it its own id"
            );
        }
    }

    pub(super) fn accept_failed(&mut self, now: Timestamp, error: &io::Error) {
        if self.accept_failed.count(now).is_some() {
            let cause = error.to_string();
            warn!(
                event = "accept_failed",
                cause, "cannot accept connections: {cause}; raise the open-file limit"
            );
        }
    }

    #[cfg(feature = "tls")]
    pub(super) fn keys(&mut self, news: &News, status: &CertificateStatus) {
        match news {
            News::Renewed { .. } => {
                let fingerprint = status.fingerprint.to_string();
                let ends = unix_millis(status.expiry.certificate).to_string();
                info!(
                    event = "certificates",
                    fingerprint,
                    ends,
                    "new certificates are in use; this member's own, {fingerprint}, expires at \
                     {ends}"
                );
            }
            News::Mended => info!(event = "certificates", "the certificates can be read again"),
            News::Refused(error) => {
                let cause = error.to_string();
                let what = match error {
                    CredentialsError::ClusterFile(_) => {
                        "the cluster file cannot be used, and the previous addresses and \
                         certificates stay in use"
                    }
                    _ => "the new certificates cannot be used, and the previous ones stay in use",
                };
                warn!(event = "certificates_refused", cause, "{what}: {cause}");
            }
        }
    }

    /// A certificate ends soon, or has ended.
    #[cfg(feature = "tls")]
    pub(super) fn expires(&mut self, what: &'static str, left: Duration) {
        let days = left.as_secs() / (24 * 3_600);
        let (whose, then, remedy) = match what {
            "authority" => (
                "the authority's certificate",
                "members still accept what it has signed, but other programs do not",
                "replace the authority",
            ),
            _ => ("this member's certificate", "no new connection can be made", "renew it"),
        };
        if left.is_zero() {
            error!(
                event = "certificate_expired",
                what, "{whose} has expired: {then}; {remedy} now"
            );
        } else {
            warn!(
                event = "certificate_expires",
                what, days, "{whose} expires in {days} days; {remedy}"
            );
        }
    }
}
