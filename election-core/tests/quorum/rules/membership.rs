//! How the list of members changes.
//!
//! Rule: Changes of the list.

mod steps;
mod walk;

use super::*;
use crate::net::{Net, add, id as name, remove};
use election_core::quorum::{ChangeRefusal, Fingerprint, Membership};

/// Whether all of these nodes have recorded this generation.
fn have(net: &Net, names: &[&str], generation: u64) -> bool {
    net.generations(names).iter().all(|it| *it == generation)
}

#[test]
fn one_node_grows_to_three_and_shrinks_under_one_leadership() {
    let mut net = Net::of(&["b"]).with("c", &["b", "c"]).with("a", &["a", "b", "c"]);
    assert_eq!(net.lead(), "b");
    let tenure = net.quorum("b").tenure(at(net.now)).unwrap().term;
    for (member, all, generation) in [("c", &["b", "c"][..], 1), ("a", &["a", "b", "c"], 2)] {
        let node = net.node(member);
        net.start(node);
        net.change(&add(member));
        assert!(
            net.wait(10_000, |net| have(net, all, generation)),
            "{member}: {:?}",
            net.generations(all)
        );
        assert_eq!(net.leaders(), ["b"]);
    }
    net.change(&remove("c"));
    assert!(net.wait(1_000, |net| have(net, &["a", "b"], 3)));
    assert_eq!(net.quorum("b").config().members().count(), 2);
    assert!(net.wait(1_000, |net| net.quorum("c").unready() == Some(Hindrance::NotAMember)));
    net.change(&remove("a"));
    assert!(net.wait(1_000, |net| have(net, &["b"], 4)));
    net.run(20_000);
    assert_eq!(net.quorum("b").tenure(at(net.now)).unwrap().term, tenure, "one leadership");
}

#[test]
fn a_primary_that_removes_itself_hands_over() {
    let mut net = Net::of(&["a", "b", "c"]);
    assert_eq!(net.lead(), "a");
    net.change(&remove("a"));
    assert!(net.wait(2_000, |net| net.leaders().is_empty()));
    let recorded = net.generations(&["b", "c"]).iter().filter(|it| **it == 1).count();
    assert_eq!(recorded, 2, "a majority can elect without it");
    assert!(net.wait(100, |net| net.leaders() == ["b"]), "{}", net.told());
    net.run(20_000);
    assert_eq!(
        (net.leaders(), net.quorum("a").unready()),
        (vec!["b"], Some(Hindrance::NotAMember))
    );
}

/// Until it hands over, it leads on, and what it has is no copy of a member.
#[test]
fn a_primary_that_is_no_member_does_not_count_its_own_data() {
    let mut net = Net::of(&["a", "b", "c"]);
    assert_eq!(net.lead(), "a");
    net.change(&remove("a"));
    let copies = |net: &Net| net.quorum("a").copies(Position::default()).data_nodes;
    assert_eq!(copies(&net), 3);
    assert!(net.wait(2_000, |net| have(net, &["a"], 1)));
    assert_eq!((net.leaders(), copies(&net)), (vec!["a"], 0), "nobody has said to be on the list");
    assert!(net.wait(2_000, |net| copies(net) == 2));
}

#[test]
fn a_primary_that_was_alone_stops_without_its_new_members() {
    let mut net = Net::of(&["a"]).with("b", &["a", "b"]).with("c", &["a", "b", "c"]);
    for (member, generation) in [("b", 1), ("c", 2)] {
        net.start(net.node(member));
        net.change(&add(member));
        assert!(net.wait(10_000, |net| have(net, &["a", member], generation)), "{member}");
    }
    assert_eq!(net.leaders(), ["a"]);
    net.isolate(0);
    // By the first list, in which it was alone, it trusted for ever.
    assert!(net.wait(5_000, |net| net.leaders().is_empty()), "a leads on");
    assert_eq!(net.lead(), "b");
}

#[test]
fn a_primary_that_goes_on_with_its_own_removal_makes_room() {
    let mut net = Net::of(&["a", "b", "c", "d"]);
    assert_eq!(net.lead(), "a");
    net.cut.extend([(1, 0), (2, 0), (3, 0)]);
    net.change(&remove("b"));
    net.run(1_000);
    net.kill(0);
    assert_eq!(net.lead(), "b");
    assert!(net.wait(5_000, |net| have(net, &["b", "c", "d"], 1)));
    assert!(net.wait(2_000, another_than_b), "{:?}", net.leaders());
    net.run(20_000);
    assert!(another_than_b(&net));
}

fn another_than_b(net: &Net) -> bool {
    matches!(net.leaders()[..], [leader] if leader != "b")
}

#[test]
fn a_primary_that_removes_itself_in_a_pause_names_another() {
    let mut net = Net::of(&["a", "b", "c", "d", "e"]);
    assert_eq!(net.lead(), "a");
    net.isolate(4);
    net.cut.extend([(1, 0), (2, 0), (3, 0)]);
    net.change(&remove("b"));
    net.run(1_000);
    net.kill(0);
    assert_eq!(net.lead(), "b");
    net.order(1, Input::Event(Event::Pause(None)));
    net.run(1_000);
    net.cut.clear();
    assert!(net.wait(5_000, |net| have(net, &["c", "d", "e"], 1)));
    assert!(net.wait(10_000, another_than_b), "{}", net.told());
}

#[test]
fn a_new_member_that_is_not_there_costs_nothing() {
    let mut net = Net::of(&["a", "b", "c"]);
    let leader = net.lead();
    net.change(&add("d"));
    net.run(30_000);
    assert_eq!((net.leaders(), net.generations(&["a", "b", "c"])), (vec![leader], vec![0, 0, 0]));
    assert_eq!(net.quorum(leader).change_members(&add("e")), Err(ChangeRefusal::UnderWay));
}

#[test]
fn the_next_primary_goes_on_with_what_a_voter_has_accepted() {
    let mut net = Net::of(&["a", "b", "c"]).with("d", &["a", "b", "c", "d"]);
    assert_eq!(net.lead(), "a");
    let d = net.node("d");
    net.change(&add("d"));
    net.run(1_000);
    let accepted = |net: &Net, name: &str| net.quorum(name).lists().accepted().is_some();
    assert!(accepted(&net, "b") && accepted(&net, "c") && net.generations(&["a"]) == [0]);
    net.kill(0);
    assert_eq!(net.lead(), "b");
    assert_eq!(net.quorum("b").change_members(&remove("c")), Err(ChangeRefusal::UnderWay));
    net.start(d);
    assert!(net.wait(10_000, |net| have(net, &["b", "c", "d"], 1)));
    net.start(0);
    assert!(net.wait(10_000, |net| have(net, &["a", "b", "c", "d"], 1)), "a is told");
}

#[test]
fn a_list_outlives_the_restart_of_everybody() {
    let mut net = Net::of(&["b", "c", "d"]).with("a", &["a", "b", "c", "d"]);
    net.lead();
    let a = net.node("a");
    net.start(a);
    net.change(&add("a"));
    assert!(net.wait(10_000, |net| have(net, &["a", "b", "c", "d"], 1)));
    assert_eq!(net.quorum("a").config().members().me(), D, "the first free place");
    (0..4).for_each(|node| net.kill(node));

    (0..4).for_each(|node| net.start(node));
    assert_eq!(net.lead(), "a", "the lowest id wins, whatever its place");
    assert!(have(&net, &["a", "b", "c", "d"], 1));
}

#[test]
fn a_member_that_was_away_is_told_what_it_has_missed() {
    let mut net = Net::of(&["a", "b", "c", "d", "e"]);
    assert_eq!(net.lead(), "a");
    net.kill(4);
    for (member, generation) in [("c", 1), ("d", 2)] {
        net.change(&remove(member));
        assert!(net.wait(2_000, |net| have(net, &["a", "b"], generation)), "{member}");
    }
    net.start(4);
    assert!(net.wait(5_000, |net| have(net, &["a", "b", "e"], 2)));
    net.kill(0);
    assert_eq!(net.lead(), "b", "with e's vote");
}

#[test]
fn who_was_removed_while_away_elects_nobody() {
    let mut net = Net::of(&["a", "b", "c", "d"]);
    assert_eq!(net.lead(), "a");
    for (removed, generation) in [("d", 1), ("c", 2)] {
        net.isolate(net.node(removed));
        net.change(&remove(removed));
        assert!(net.wait(5_000, |net| have(net, &["a", "b"], generation)), "{removed}");
    }
    net.cut.clear();
    net.isolate(0);
    net.run(40_000);
    // b, c and d are a majority of the first list. b knows that it no longer counts.
    assert_eq!(net.leaders(), [] as [&str; 0]);
    net.cut.clear();
    net.lead();
}

#[test]
fn a_wiped_member_learns_the_lists_before_it_votes() {
    let mut net = Net::of(&["a", "b", "c", "d"]);
    assert_eq!(net.lead(), "a");
    net.change(&remove("d"));
    assert!(net.wait(2_000, |net| have(net, &["a", "b", "c"], 1)));
    net.kill(2);
    net.nodes[2].disk = None;
    net.start(2);
    assert!(net.wait(20_000, |net| have(net, &["c"], 1)), "its file still has d");
    assert!(net.wait(20_000, |net| net.nodes[2].disk.is_some()), "and it knows its promises");
    net.kill(0);
    assert_eq!(net.lead(), "b", "with c's vote");
}

#[test]
fn a_change_is_refused_with_the_reason() {
    let mut net = Net::of(&["a", "b", "c"]);
    assert_eq!(net.lead(), "a");
    let ask = |net: &Net, node: &str, change| net.quorum(node).change_members(&change);
    assert_eq!(ask(&net, "b", add("d")), Err(ChangeRefusal::NotLeading));
    assert_eq!(ask(&net, "a", add("b")), Err(ChangeRefusal::Unchanged(name("b"))));
    assert_eq!(ask(&net, "a", remove("d")), Err(ChangeRefusal::Unchanged(name("d"))));
    let long = "x".repeat(33);
    assert_eq!(ask(&net, "a", add(&long)), Err(ChangeRefusal::TooLong(name(&long))));
    // Until a majority has recorded the last change.
    net.cut.extend([(0, 1), (0, 2)]);
    net.change(&remove("c"));
    net.run(400);
    net.cut.clear();
    let a = |net: &Net| net.generations(&["a"]) == [1];
    assert!(net.wait(3_000, a));
    assert_eq!(ask(&net, "a", add("d")), Err(ChangeRefusal::NotSettled));
    assert!(net.wait(1_000, |net| ask(net, "a", add("d")).is_ok()));
}

#[test]
fn a_member_that_was_proposed_in_vain_leaves_its_place() {
    let lists = Net::of(&["a", "b"]).quorum("a").lists().clone();
    let places = |lists: &Membership| lists.ids().iter().flatten().count();
    let first = lists.propose(epoch(1), &add("c")).unwrap();
    let second = first.propose(epoch(2), &add("d")).unwrap();
    assert_eq!((places(&first), places(&second)), (3, 3));
    assert_eq!(second.ids()[2], Some(name("d")));
    assert_eq!(second.propose(epoch(3), &remove("c")), None, "it never was a member");
    assert_eq!(first.propose(epoch(3), &add("c")).unwrap().ids(), first.ids());
    // A member that has left keeps its place until the list changes again.
    let left = lists.propose(epoch(1), &remove("b")).unwrap().establish().unwrap();
    let back = left.propose(epoch(2), &add("b")).unwrap();
    assert_eq!(back.ids(), lists.ids());
    let other = left.propose(epoch(2), &add("e")).unwrap().establish().unwrap();
    let last = other.propose(epoch(3), &add("f")).unwrap();
    assert_eq!(last.ids(), [Some(name("a")), Some(name("f")), Some(name("e"))]);
    // Nobody is left who could lead, or the frame would be too long.
    let witness = election_core::quorum::MemberChange::Add { id: name("w"), witness: true };
    let alone = Net::of(&["a"]).quorum("a").lists().clone();
    let pair = alone.propose(epoch(1), &witness).unwrap().establish().unwrap();
    assert_eq!(pair.propose(epoch(2), &remove("a")), None);
    let mut long = alone;
    for nth in 0.. {
        let next = long.propose(epoch(1), &add(&format!("{nth:029}")));
        let Some(next) = next else { break };
        long = next.establish().unwrap();
    }
    assert_eq!(long.established().voters.count(), 1 + 19, "29 bytes and a separator each");
}

/// Two clusters may have come to the same members in the same places.
#[test]
fn a_later_list_is_told_apart_by_the_first_of_its_cluster() {
    let net = Net::of(&["a", "b"]);
    let members = net.quorum("a").config().members();
    let lists = members.first_lists().propose(epoch(1), &add("c")).unwrap().establish().unwrap();
    let (now, before) = (*lists.established(), lists.parent().copied());
    let other = Membership::new(lists.ids().to_vec(), Fingerprint::new(1), now, before, None);
    assert_ne!(members.fingerprint_of(&lists), members.fingerprint_of(&other.unwrap()));
}
