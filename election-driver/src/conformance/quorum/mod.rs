//! Three nodes over real TCP, with ballots on a real disk.

pub mod builder;
pub mod elections;
pub mod following;
pub mod halting;
pub mod links;
pub mod starts;
pub mod strangers;
pub mod work;

use super::{
    database::OnNothing,
    harness::{CLUSTER, free_port},
    suite::list,
    tasks::{Task, spawn},
};
use crate::{Cluster, ClusterBuilder, Handle, Member, Network, Node, Status};
use election_core::{Epoch, NodeId, quorum::Position};
use futures_lite::future::or;
use std::{path::PathBuf, time::Duration};

/// When a silent peer counts as down; short, and long enough for a busy machine.
const DOWN_AFTER: Duration = Duration::from_secs(2);
pub(super) const IDS: [&str; 3] = ["n1", "n2", "n3"];

/// Addresses on the loopback interface that nobody listens at, and a directory.
pub struct Place {
    directory: tempfile::TempDir,
    addresses: Vec<String>,
}

impl Place {
    /// Room for so many nodes.
    ///
    /// # Panics
    /// If there is no free port.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let addresses = (0..nodes).map(|_| format!("127.0.0.1:{}", free_port())).collect();
        Self { directory: tempfile::tempdir().expect("a temporary directory"), addresses }
    }

    /// The address of a node.
    #[must_use]
    pub fn address(&self, place: usize) -> &str {
        &self.addresses[place]
    }

    /// The file of a node's ballot.
    #[must_use]
    pub fn ballot(&self, place: usize) -> PathBuf {
        self.directory.path().join(format!("ballot-{place}"))
    }

    /// A node `n1`, `n2`… of the cluster that has all of them.
    ///
    /// # Panics
    /// If it cannot be built.
    #[must_use]
    pub fn cluster<R: Network + Default>(&self, place: usize, position: Position) -> Cluster<R> {
        self.cluster_with(place, position, DOWN_AFTER)
    }

    fn cluster_with<R: Network + Default>(
        &self,
        place: usize,
        position: Position,
        down_after: Duration,
    ) -> Cluster<R> {
        let builder = self.builder(place).down_after(down_after).position(position);
        builder.build().expect("a valid cluster")
    }

    /// The same, as far as it is the same for all nodes.
    pub(super) fn builder<R: Network + Default>(&self, place: usize) -> ClusterBuilder<R> {
        self.routed(place, |other| self.address(other).to_owned())
    }

    /// The same for a node that finds the others elsewhere.
    pub(super) fn routed<R: Network + Default>(
        &self,
        place: usize,
        address: impl Fn(usize) -> String,
    ) -> ClusterBuilder<R> {
        let members = (0..self.addresses.len())
            .fold(Cluster::builder(CLUSTER), |builder, other| {
                builder.member(format!("n{}", other + 1), address(other))
            });
        members.node(format!("n{}", place + 1)).ballot(self.ballot(place)).down_after(DOWN_AFTER)
    }
}

pub(super) async fn trio<R: Network + Default>(positions: [u64; 3]) -> (Place, Vec<Member<R>>) {
    let place = Place::new(3);
    let mut members = Vec::new();
    for (nth, offset) in positions.into_iter().enumerate() {
        let position = Position { history: 1, offset };
        members.push(place.cluster(nth, position).start().await.expect("a node"));
    }
    (place, members)
}

/// A trio whose nodes are tasks, so that they can be killed: see [`Task::abort`].
pub(super) async fn mortals<R: Network + Default>(
    place: &Place,
) -> (Vec<Member<R>>, Vec<Task<()>>) {
    let (mut members, mut tasks) = (Vec::new(), Vec::new());
    for (member, node) in opened(place).await {
        members.push(member);
        tasks.push(spawn::<R, _>(node));
    }
    (members, tasks)
}

/// A trio that nobody drives yet.
pub(super) async fn opened<R: Network + Default>(place: &Place) -> Vec<(Member<R>, Node)> {
    let mut opened = Vec::new();
    for nth in 0..3 {
        opened.push(place.cluster(nth, Position::default()).open().await.expect("a node"));
    }
    opened
}

/// Waits until a member leads under this epoch still, this long after what it trusts in now.
pub(super) async fn leads_on<R: Network>(leader: &Member<R>, epoch: Epoch, longer: Duration) {
    let tenure = leader.handle().status().tenure.expect("it leads");
    let enough = tenure.until + longer;
    let later = |status: &Status| status.tenure.as_ref().is_none_or(|own| own.until > enough);
    let now = leader.handle().watch().until(later).await.tenure.expect("it leads on");
    assert_eq!(now.term.epoch, epoch, "leadership has moved");
}

pub(super) async fn shut_down<R: Network>(members: &[Member<R>]) {
    for member in members {
        member.handle().shutdown().await;
    }
}

/// The place of the member that leads first, and its epoch.
pub(super) async fn first<R: Network>(members: &[Member<R>]) -> (usize, Epoch) {
    let elected = |place: usize| async move {
        let lease = members[place].handle().elected().await.expect("a node");
        (place, lease.epoch())
    };
    match members.len() {
        2 => or(elected(0), elected(1)).await,
        _ => or(or(elected(0), elected(1)), elected(2)).await,
    }
}

pub(super) async fn followed<R: Network>(handle: &Handle<R>, after: Epoch) -> (NodeId, Epoch) {
    let newer = |status: &Status| status.leader.as_ref().is_some_and(|it| it.term.epoch > after);
    let status = handle.watch().until(newer).await;
    let term = status.leader.expect("somebody leads").term;
    (term.leader, term.epoch)
}

list! { $ __conformance_quorum in quorum:
    builder {
        every_error_names_its_cause_its_place_and_the_remedy: nothing;
        an_address_that_leads_others_astray_is_worth_a_warning: nothing;
    }
    elections {
        elects_follows_and_fails_over: nothing;
        hands_over_and_shuts_down: nothing;
        who_leaves_says_so: nothing;
        the_newest_data_win: nothing;
        pauses_and_resumes: nothing;
        an_unfit_member_steps_down_and_comes_back: nothing;
        names_and_both_families: nothing;
    }
    following {
        a_follower_is_told_of_its_primary: nothing;
    }
    halting {
        a_handover_that_comes_too_late_says_why: nothing;
        a_blocked_node_is_overdue: nothing;
    }
    links {
        a_member_reconnects: nothing;
        a_slow_member_costs_nobody_leadership: nothing;
        a_deaf_member_costs_nobody_leadership: nothing;
    }
    starts {
        what_has_shut_down_can_start_again_at_once: nothing;
        a_shutdown_closes_all_sockets: nothing;
        a_pause_ends_with_its_node: nothing;
        a_ballot_that_is_kept_is_refused: nothing;
        a_port_that_is_taken_is_refused: nothing;
        who_was_killed_does_not_vote_twice: nothing;
    }
    strangers {
        nonsense_costs_its_own_connection: nothing;
        nonsense_in_a_members_name_costs_its_own_connection: nothing;
        half_a_frame_costs_its_own_connection: nothing;
    }
    work {
        dropping_a_node_ends_leadership_at_once: nothing;
        cancelled_work_leaves_the_member_leading: nothing;
        work_that_panics_gives_leadership_up: nothing;
    }
}
