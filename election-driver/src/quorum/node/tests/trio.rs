//! Three nodes that have each other, in virtual time.

use super::*;

const IDS: [&str; 3] = ["a", "b", "c"];

struct Trio {
    network: FakeNetwork,
    _place: tempfile::TempDir,
    members: Vec<Member<FakeNetwork>>,
    nodes: Vec<Option<Node>>,
}

impl Trio {
    fn new() -> Self {
        let (network, place) = (FakeNetwork::new(), tempfile::tempdir().unwrap());
        let addresses = IDS.map(|_| free().to_string());
        let (mut members, mut nodes) = (Vec::new(), Vec::new());
        for me in IDS {
            let builder = Cluster::builder_on(network.clone(), "x").node(me);
            let builder = builder.ballot(place.path().join(me)).without_data();
            let all = IDS.iter().zip(&addresses);
            let builder = all.fold(builder, |it, (id, address)| it.member(*id, address));
            let cluster = builder.down_after(DOWN_AFTER).build().unwrap();
            let (member, node) = block_on(cluster.open()).unwrap();
            members.push(member);
            nodes.push(Some(node));
        }
        Self { network, _place: place, members, nodes }
    }

    /// Lets all nodes do what they can do now, their disks included.
    fn poll(&mut self) {
        let saves = |it: &Member<_>| it.status().hindrance == Some(Hindrance::Saves);
        for _ in 0..10 {
            for (member, slot) in self.members.iter().zip(&mut self.nodes) {
                let Some(node) = slot else { continue };
                let mut over = block_on(poll_once(&mut *node)).is_some();
                while !over && saves(member) {
                    std::thread::yield_now();
                    over = block_on(poll_once(&mut *node)).is_some();
                }
                if over {
                    *slot = None;
                }
            }
        }
    }

    /// Lets time pass until something is so.
    #[track_caller]
    fn until<T>(&mut self, find: impl Fn(&[Member<FakeNetwork>]) -> Option<T>) -> T {
        for _ in 0..10_000 {
            self.poll();
            if let Some(found) = find(&self.members) {
                return found;
            }
            self.network.pass();
        }
        panic!("that never happens");
    }

    /// Which member leads.
    #[track_caller]
    fn leader(&mut self) -> usize {
        self.until(|members| members.iter().position(|it| it.handle().is_leader()))
    }
}

#[test]
fn three_nodes_elect_one_and_the_others_follow_it() {
    let mut trio = Trio::new();
    assert!(!trio.members[0].handle().status().reached, "nobody has answered yet");
    let leader = trio.leader();
    let epoch = trio.members[leader].handle().lease().unwrap().epoch();
    trio.until(|members| {
        let follows = |it: &Member<FakeNetwork>| {
            let known = it.handle().leader();
            known.is_some_and(|term| term.epoch == epoch && term.leader == id(IDS[leader]))
        };
        members.iter().all(follows).then_some(())
    });
    assert!(trio.members.iter().all(|it| it.handle().status().reached));
    assert_eq!(trio.members.iter().filter(|it| it.handle().is_leader()).count(), 1);
}
