//! Links between members that break, delay, and lead to somebody who does not read.

use crate::on::OnNothing;
use election_core::Epoch;
use election_driver::{
    Status,
    conformance::cluster::{DOWN_AFTER, Place, first, leads_on, shut_down},
};
use election_testing::{LinkState, Proxy};
use election_tokio::{Member, Tokio};
use std::time::Duration;

/// A trio of which one follower is behind links of its own: one to each of the others, and one from
/// each.
struct Remote {
    _place: Place,
    members: Vec<Member>,
    leads: usize,
    remote: usize,
    epoch: Epoch,
    inward: Vec<Proxy>,
    outward: Vec<Proxy>,
    /// Between the other two.
    _others: Vec<Proxy>,
}

impl Remote {
    async fn new() -> Self {
        let place = Place::new(3);
        let port = |nth| -> u16 {
            let (_, port) = place.address(nth).rsplit_once(':').expect("a port");
            port.parse().expect("a number")
        };
        // Whoever follows is behind them, so there is one for each way.
        let (mut links, mut members) = (Vec::new(), Vec::new());
        for own in 0..3 {
            let ways: Vec<_> = (0..3).map(|other| Proxy::to(port(other))).collect();
            let cluster = place.routed::<Tokio>(own, |other| match other == own {
                true => place.address(own).to_owned(),
                false => format!("127.0.0.1:{}", ways[other].port()),
            });
            let cluster = cluster.without_data().build().expect("a valid cluster");
            members.push(cluster.start().await.expect("a node"));
            links.push(ways);
        }
        let (leads, epoch) = first(&members).await;
        let remote = (leads + 1) % 3;
        let (mut inward, mut outward, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (from, ways) in links.into_iter().enumerate() {
            for (to, link) in ways.into_iter().enumerate().filter(|(to, _)| *to != from) {
                match (from == remote, to == remote) {
                    (true, _) => outward.push(link),
                    (_, true) => inward.push(link),
                    _ => others.push(link),
                }
            }
        }
        let this =
            Self { _place: place, members, leads, remote, epoch, inward, outward, _others: others };
        this.connected(true).await;
        this
    }

    fn leader(&self) -> &Member {
        &self.members[self.leads]
    }

    fn remote(&self) -> &Member {
        &self.members[self.remote]
    }

    fn links(&self) -> impl Iterator<Item = &Proxy> {
        self.inward.iter().chain(&self.outward)
    }

    /// Waits until every member is connected to every other, or until the remote one is to none.
    async fn connected(&self, is_connected: bool) {
        // The kernel accepts a connection for a link, which takes it up, or refuses it, when its
        // thread has a turn. Until then a member holds one that the link knows nothing of.
        let carries = || self.links().all(|link| link.connections() > 0);
        let holds = || match is_connected {
            true => {
                let each = |it: &Member| it.peers().iter().all(|peer| peer.connected);
                carries() && self.members.iter().all(each)
            }
            false => self.remote().peers().iter().all(|peer| !peer.connected),
        };
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The remote member has the leader that there has been all the time.
    async fn ends_as_it_began(self) {
        let known = |status: &Status| {
            status.leader.as_ref().is_some_and(|leader| leader.term.epoch >= self.epoch)
        };
        let term = self.remote().handle().watch().until(known).await.leader.expect("it runs").term;
        assert_eq!(term.epoch, self.epoch, "leadership has moved");
        leads_on(self.leader(), self.epoch, Duration::ZERO).await;
        shut_down(&self.members).await;
    }
}

/// Links that were cut are made again, as soon as that is possible.
async fn a_member_reconnects(_: OnNothing) {
    let remote = Remote::new().await;
    let before: Vec<_> = remote.links().map(Proxy::made).collect();
    remote.links().for_each(|link| link.set_refusing(true));
    remote.links().for_each(Proxy::cut);
    remote.connected(false).await;
    leads_on(remote.leader(), remote.epoch, DOWN_AFTER).await;
    remote.links().for_each(|link| link.set_refusing(false));
    remote.connected(true).await;
    for (link, before) in remote.links().zip(before) {
        assert!(link.made() > before, "a new connection over each");
    }
    remote.ends_as_it_began().await;
}

/// Everything that a member says and hears comes late. It follows all the same.
async fn a_slow_member_costs_nobody_leadership(_: OnNothing) {
    let remote = Remote::new().await;
    let slow = LinkState::Slow(DOWN_AFTER / 10);
    remote.links().for_each(|link| link.set(slow, slow));
    leads_on(remote.leader(), remote.epoch, DOWN_AFTER * 2).await;
    assert!(remote.remote().follows(remote.epoch), "late is not never");
    remote.ends_as_it_began().await;
}

/// A member that reads nothing hears of no leader, and can still ask for votes.
async fn a_deaf_member_costs_nobody_leadership(_: OnNothing) {
    let remote = Remote::new().await;
    remote.inward.iter().for_each(|link| link.set(LinkState::Stalled, LinkState::Open));
    let forgets = |status: &Status| status.leader.is_none();
    remote.remote().handle().watch().until(forgets).await;
    leads_on(remote.leader(), remote.epoch, DOWN_AFTER * 2).await;
    remote.inward.iter().for_each(|link| link.set_whole(true));
    remote.ends_as_it_began().await;
}

tests! {
    a_member_reconnects: by_itself;
    a_slow_member_costs_nobody_leadership: by_itself;
    a_deaf_member_costs_nobody_leadership: by_itself;
}
