//! How the list of members changes: by one member at a time, proposed by a primary, and in force once
//! majorities of the old list and of the new one have accepted it.
//!
//! What a node is given at its start is only the first list. From then on elections go by the list that
//! the ballots call *established*. A primary proposes the next one in its epoch. Whoever accepts it
//! records that first, and says so in every heartbeat and vote. So a later primary knows of it, and goes on
//! with it instead of proposing another: the election is the first phase of a consensus, and the
//! acceptances are the second.
//!
//! While a list is only proposed, the established one rules. So a new member that cannot be reached
//! costs nothing.

use crate::{
    Change, Epoch, Loss,
    quorum::{
        config::Config,
        machine::Quorum,
        membership::{MemberChange, Membership, Outline},
        message::{Action, Audience, Availability, Message},
        places::{Fingerprint, MemberList, Peer, PeerSet},
        refusal::ChangeRefusal,
        state::{
            peers::{Mask, View, bit},
            timers::Timer,
            voter::Eligibility,
        },
    },
};

/// A proposal of this primary that it has itself recorded.
struct Proposal {
    epoch: Epoch,
    list: MemberList,
    fingerprint: Fingerprint,
}

impl Quorum {
    /// Why this node would not change the list of members now, by [`Event::ChangeMembers`]. If it
    /// would, the change holds as soon as [`lists`](Self::lists) says so; if the node loses its
    /// leadership before, the next primary goes on with it, unless nobody that elected that one had
    /// heard of it.
    ///
    /// # Errors
    /// The reason, with the remedy.
    ///
    /// [`Event::ChangeMembers`]: super::super::Event::ChangeMembers
    pub fn change_members(&self, change: &MemberChange) -> Result<(), ChangeRefusal> {
        let members = self.config.members();
        let lead = self.leadership.lead().filter(|_| members.is_voter(self.me));
        let Some(lead) = lead else { return Err(ChangeRefusal::NotLeading) };
        if self.lists.are_changing() || self.lists.newest_accepted().is_some() {
            return Err(ChangeRefusal::UnderWay);
        }
        if !self.is_settled() {
            return Err(ChangeRefusal::NotSettled);
        }
        let is_old = |view: &View| view.was_heard() && !view.is_extended();
        let old = members.others().find(|peer| self.peers.get(*peer).is_some_and(is_old));
        if let Some(old) = old.and_then(|old| self.name(old)) {
            return Err(ChangeRefusal::OldProtocol(old));
        }
        let known = match change {
            MemberChange::Add { id, .. } => (id, false),
            MemberChange::Remove(id) => (id, true),
        };
        if members.find(known.0.as_str()).is_some_and(|peer| members.is_voter(peer)) != known.1 {
            return Err(ChangeRefusal::Unchanged(known.0.clone()));
        }
        if known.0.as_str().len() > Config::MAX_ID {
            return Err(ChangeRefusal::TooLong(known.0.clone()));
        }
        let next = self.lists.recorded().propose(lead.epoch, change);
        next.map(drop).ok_or(ChangeRefusal::NoRoom)
    }

    /// Whether a majority of the members has recorded that they are the members, as far as this node
    /// knows: then they can elect without the primary that has changed the list, and it can change again.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.lists.recorded().established.is_majority(self.recorded_by())
    }

    /// Proposes a list, if nothing is against it.
    pub(crate) fn propose_members(&mut self, change: &MemberChange) {
        if self.change_members(change).is_err() {
            return;
        }
        let epoch = self.leadership.epoch().unwrap_or_default();
        if let Some(next) = self.lists.recorded().propose(epoch, change) {
            self.record_lists(next);
        }
    }

    fn record_lists(&mut self, lists: Membership) {
        self.lists.proposed_at = self.data.position();
        self.lists.record(lists);
        self.voter.renew();
    }

    /// Goes on with a proposal: makes it this primary's own, or establishes it.
    pub(crate) fn tend_lists(&mut self) {
        let Some(lead) = self.leadership.lead() else { return };
        if self.lists.are_changing() || self.candidacy.is_some() {
            return;
        }
        let epoch = lead.epoch;
        match self.proposal() {
            Some(proposal) if proposal.epoch == epoch => {
                if self.is_established(&proposal) {
                    let next = self.lists.recorded().establish();
                    next.into_iter().for_each(|next| self.record_lists(next));
                }
            }
            _ => {
                let recorded = self.lists.recorded();
                let newest = self.lists.newest_accepted();
                let next = newest.and_then(|newest| recorded.accepting(newest, epoch));
                next.into_iter().for_each(|next| self.record_lists(next));
            }
        }
    }

    fn proposal(&self) -> Option<Proposal> {
        let (epoch, list) = self.lists.recorded().accepted?;
        let outline = self.config.members().outline(self.lists.recorded());
        Some(Proposal { epoch, list, fingerprint: outline.accepted?.1 })
    }

    /// Whether majorities of both lists have accepted a proposal of this primary and support it now.
    /// A member counts when it has all data from before, so that what the old list has acknowledged is
    /// in a majority of the new one; and a new member has to be there.
    fn is_established(&self, proposal: &Proposal) -> bool {
        let accepted = self.accepted_by(proposal);
        let old = &self.lists.recorded().established;
        let new = &proposal.list;
        let joins = new.changed_from(old).intersection(new.voters);
        let others = new.voters.without(self.me);
        let needed = new.quorum() - usize::from(new.voters.contains(self.me));
        let window = self.config.timing.window.saturating_sub(self.stamps.ahead);
        let trusted = self.trust.newest_of(others.bits(), needed).after(window);
        old.is_majority(accepted)
            && new.is_majority(accepted)
            && joins.intersection(accepted) == joins
            && self.now < trusted.before(self.config.timing.grace)
    }

    fn accepted_by(&self, proposal: &Proposal) -> PeerSet {
        let said = Some((proposal.epoch, proposal.fingerprint));
        let has = |view: &View| {
            let has_data = view.availability != Availability::Loading
                && view.position >= self.lists.proposed_at;
            view.lists.accepted == said && !view.differs && has_data
        };
        self.those(has)
    }

    /// Who has recorded the established list, this node included.
    fn recorded_by(&self) -> PeerSet {
        self.those(|view| view.list == Some(self.fingerprint))
    }

    /// This node, and the peers of which that is so.
    fn those(&self, is_so: impl Fn(&View) -> bool) -> PeerSet {
        let others = self.config.members().others();
        let others = others.filter(|peer| self.peers.get(*peer).is_some_and(&is_so));
        others.fold(PeerSet::default().with(self.me), PeerSet::with)
    }

    /// A peer tells which lists it has recorded.
    pub(crate) fn lists_told(&mut self, from: Peer, told: &Membership) -> Option<Change> {
        let theirs = self.config.members().clone();
        let theirs = theirs.with_list(told.ids.clone(), told.origin, told.established);
        // With another `down_after`, or another name of the cluster, the peer states another one.
        if self.peers.get(from)?.list != Some(theirs.fingerprint()) {
            return None;
        }
        if theirs.fingerprint() == self.fingerprint {
            self.acceptance_told(from, told);
            return None;
        }
        let own = self.lists.recorded();
        let is_later = told.established.generation > own.established.generation;
        let id = self.config.members().id(self.me)?;
        let place = told.find(id);
        let is_given = own.established.generation == 0 && self.boot.learns_promises();
        if !is_given && (told.origin != own.origin || !is_later) {
            return None;
        }
        if self.boot.learns_promises() {
            // What it was given is only where to look: the cluster has gone on.
            self.join(place?, told);
            return None;
        }
        if !told.established.voters.contains(place.unwrap_or(Peer::NOBODY)) {
            self.lists.removed = true;
        } else if place == Some(self.me) && !self.lists.are_changing() {
            self.lists.removed = false;
            self.record_lists(told.without_proposal());
        }
        self.end_candidacy();
        self.end_belief(Loss::Replaced, None, None)
    }

    /// A peer with the same list tells which one it has accepted to follow it.
    fn acceptance_told(&mut self, from: Peer, told: &Membership) {
        let Some((epoch, list)) = told.accepted else { return };
        // A list that was proposed in place of one with this node has nothing to do with it.
        if self.config.members().id(self.me).and_then(|id| told.find(id)) != Some(self.me) {
            return;
        }
        if self.candidacy.is_some() || !self.boot.permits_support() {
            self.lists.learn(told);
            return;
        }
        let leads = self.following.as_ref().is_some_and(|known| {
            (known.primary, known.epoch, known.disputed) == (from, epoch, false)
        });
        let (promised, voted_for) = (self.voter.promised, self.voter.voted_for);
        let is_known = self.lists.recorded().accepted == Some((epoch, list));
        let may = self.voter.eligibility == Eligibility::Eligible && !self.lists.are_changing();
        if !leads || epoch < promised || is_known || !may {
            return;
        }
        // Accepting binds the vote, too: the list may move on within this epoch, and its majorities
        // with it.
        let vote = voted_for.filter(|_| epoch == promised).or(Some(from));
        let Some(next) = self.lists.recorded().accepting(told, epoch) else { return };
        if self.voter.bind(epoch, vote) {
            self.lists.record(next);
        }
    }

    /// A node without a ballot takes the lists of a cluster for its own. It records them with the first
    /// ballot, when it knows its promises.
    fn join(&mut self, me: Peer, told: &Membership) {
        let members = self.config.members().clone();
        self.config
            .go_by(members.with_list(told.ids.clone(), told.origin, told.established).at(me));
        self.me = me;
        self.peers.forget_all();
        self.forget_primary();
        self.go_by(Membership { accepted: None, ..told.clone() });
        self.lists.learn(told);
        self.be_patient();
    }

    /// A node that knows its promises now has accepted, for all it knows, what it has heard of.
    pub(crate) fn accept_what_was_learned(&mut self) {
        let Some(newest) = self.lists.learned.take() else { return };
        let epoch = newest.accepted.map_or(Epoch::NONE, |(epoch, _)| epoch);
        if let Some(next) = self.lists.recorded().accepting(&newest, epoch) {
            self.lists.record(next);
            self.voter.renew();
        }
    }

    /// The lists on the disk count from now on.
    pub(crate) fn go_by(&mut self, lists: Membership) -> Option<Change> {
        let changes = self.lists.recorded().established != lists.established;
        let before = self.config.members().clone();
        let members = before.clone();
        let members = members.with_list(lists.ids.clone(), lists.origin, lists.established);
        let stays = |peer: &Peer| members.id(*peer).is_some_and(|id| before.id(*peer) == Some(id));
        let kept = members.others().filter(stays).fold(bit(self.me), |all, peer| all | bit(peer));
        self.peers.keep(members.places(), kept);
        self.trust.go_by(&members, kept);
        self.voter.spend_vote_unless(kept, self.me);
        if self.following.as_ref().is_some_and(|known| kept & bit(known.primary) == 0) {
            self.forget_primary();
        }
        self.boot.go_by(&members, lists.lists());
        (self.majority, self.fingerprint) = (members.quorum(), members.fingerprint());
        self.config.go_by(members);
        self.lists.count_by(lists);
        let own = self.fingerprint;
        for view in &mut self.peers.0 {
            view.differs = view.list.is_some_and(|list| list != own);
        }
        if changes {
            self.lists.learned = None;
            self.end_candidacy();
        }
        self.timers.set(Timer::Heartbeat, self.now);
        if changes { self.lead_by_new_list() } else { None }
    }

    /// A heartbeat tells all which lists this node has recorded. Whoever has older ones, or has not
    /// accepted what this node has, gets them.
    pub(crate) fn remind_of_lists(&mut self) {
        let outline = self.config.members().outline(self.lists.recorded());
        let is_first = outline.generation == 0 && outline.accepted.is_none();
        if is_first || !self.boot.permits_support() {
            return;
        }
        let accepted = |outline: &Outline| outline.accepted.map(|(epoch, _)| epoch);
        let lacks = |view: &View| match view.differs {
            true => view.lists.generation <= outline.generation,
            false => accepted(&view.lists) < accepted(&outline),
        };
        let to = |peer: &Peer| {
            let view = self.peers.get(*peer);
            view.is_some_and(|view| view.is_extended() && view.is_heard(self.now) && lacks(view))
        };
        let behind: Mask =
            self.config.members().others().filter(to).fold(0, |all, peer| all | bit(peer));
        self.lists.owe(behind);
    }

    /// Sends a vote, behind the list that this voter has accepted, if the candidate does not know it.
    pub(crate) fn grant(&mut self, candidate: Peer) {
        let outline = self.config.members().outline(self.lists.recorded());
        let known = self.peers.get(candidate).and_then(|view| view.lists.accepted);
        if outline.accepted.is_some() && known != outline.accepted {
            self.lists.owe(bit(candidate));
        }
        self.outbox.accept(candidate);
    }

    /// The lists for the next peer that is to get them.
    pub(crate) fn send_lists(&mut self, first: Option<Peer>) -> Option<Action> {
        let to = match first {
            Some(peer) => Some(peer).filter(|peer| self.lists.take_owed_to(*peer)),
            None => self.lists.take_owed(),
        }?;
        let (epoch, stamp) = (self.voter.promised, Some(self.stamps.next(self.now)));
        let lists = self.lists.recorded().clone().into();
        Some(Action::Send {
            to: Audience::One(to),
            message: Message::Lists { epoch, lists, stamp },
        })
    }
}
