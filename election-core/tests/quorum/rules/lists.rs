//! Members whose files list other members.
//!
//! Rule: Lists of members.

use super::*;
use election_core::{
    Incarnation, NodeId, Step,
    quorum::{Action, Connection, Quorum},
};

#[test]
fn who_is_barred_by_its_own_ballot_keeps_nobody_from_voting() {
    for (availability, votes) in [(Ineligible, true), (Waiting, false), (Free, false)] {
        let mut hand = Hand::booted(3, A);
        hand.hear(B, Beat { list: Some(1), availability, ..replica(5) });
        hand.offer(C, 6, offset(0));
        assert_eq!(!hand.votes().is_empty(), votes, "{availability:?}");
        let differs = Alert::MembersDiffer { node: id(B) };
        assert_eq!(hand.alerts(), [&differs], "it is told either way");
        assert!(hand.quorum.status(at(hand.now)).odd.contains(B));
        assert!(hand.quorum.peer_status(B, at(hand.now)).unwrap().heard.unwrap().differs);
        let mut hand = Hand::booted(3, A);
        hand.hear(B, Beat { list: Some(1), availability, ..replica(5) });
        hand.hear(C, replica(5));
        let waits = hand.quorum.status(at(hand.now)).hindrance == Some(Hindrance::ListDiffers(B));
        assert_eq!((!hand.offers().is_empty(), waits), (votes, !votes), "{availability:?}");
        let status = hand.quorum.status(at(hand.now));
        assert_eq!((status.odd.contains(C), status.odd.count()), (false, 1));
    }
}

#[test]
fn a_member_that_its_ballot_bars_says_so() {
    // A member of three wrote the ballot, and the file lists five.
    let mut hand = Hand::new(config(5, A), &Restored::Ballot(ballot(3, 5, None)));
    let odd = |hand: &Hand| hand.quorum.status(at(hand.now)).odd;
    let said = |hand: &mut Hand| hand.next_heartbeat().extension.unwrap().availability;
    assert_eq!(said(&mut hand), Ineligible);
    hand.run_to(BOOTED + 6_000);
    assert_eq!(said(&mut hand), Ineligible);
    assert!(odd(&hand).contains(A));
    // So a new member does not learn from it what was promised: it has promised that to others.
    let mut hand = Hand::new(config(3, A).new_peers(true), &Restored::Ballot(ballot(5, 5, None)));
    assert_eq!(said(&mut hand), Waiting, "it will vote, and the others have to reckon with it");
    assert_eq!(odd(&hand).count(), 0);
}

/// Nodes with files of their own, between which every frame arrives at once. Each dials those that
/// its file lists, and lets in nobody else.
struct World {
    nodes: Vec<(NodeId, Quorum)>,
    now: u64,
    /// From which node to which.
    frames: Vec<(NodeId, NodeId, Message)>,
}

/// A file, and the list that the ballot names, if there is a ballot.
type Start<'a> = (&'a str, &'a str, Option<&'a str>);

fn file(me: &str, list: &str) -> Config {
    let id = |letter: char| NodeId::new(&letter.to_string()).unwrap();
    let address = Label::new("10.0.0.1:6004").unwrap();
    Config::builder(NodeId::new(me).unwrap(), list.chars().map(id), address).build().unwrap()
}

impl World {
    fn of(starts: &[Start<'_>]) -> Self {
        let nodes = (1_u128..).zip(starts).map(|(life, (me, list, voted))| {
            let restored = voted.map_or(Restored::Nothing, |voted| {
                let members = file(voted.get(..1).unwrap(), voted).members().clone();
                let (members, lists) = (members.fingerprint(), members.first_lists());
                Restored::Ballot(Ballot { members, lists, ..ballot(3, 5, None) })
            });
            let life = Incarnation::new(uuid::Uuid::from_u128(life));
            let config = file(me, list);
            let node = Quorum::new(config, life, &restored, Some(Position::default()), 1);
            (NodeId::new(me).unwrap(), node)
        });
        Self { nodes: nodes.collect(), now: 1_000, frames: Vec::new() }
    }

    fn step(&mut self, place: usize, mut input: Input<Event>) {
        loop {
            let (me, node) = &mut self.nodes[place];
            let Step { action, wake_at, .. } = node.step(at(self.now), input);
            let members = node.config().members().clone();
            input = match action {
                Some(Action::Save(ballot)) => Input::Event(Event::Saved(ballot.promised)),
                Some(Action::Send { to, message }) => {
                    let addressed = |peer: &Peer| match to {
                        Audience::All => true,
                        Audience::One(one) => one == *peer,
                    };
                    for peer in members.others().filter(addressed) {
                        let to = members.id(peer).unwrap().clone();
                        self.frames.push((me.clone(), to, message.clone()));
                    }
                    Input::Tick
                }
                None if wake_at.is_some_and(|wake_at| wake_at <= at(self.now)) => Input::Tick,
                None => return,
            };
        }
    }

    /// Lets half a minute pass. Returns who has led, and asserts that two never did at once.
    fn run(mut self) -> String {
        let mut led = std::collections::BTreeSet::new();
        for _ in 0..3_000 {
            self.now += 10;
            for place in 0..self.nodes.len() {
                self.step(place, Input::Tick);
            }
            while let Some((from, to, message)) = self.frames.pop() {
                let Some(place) = self.nodes.iter().position(|(id, _)| *id == to) else { continue };
                let members = self.nodes[place].1.config().members();
                let Some(from) = members.find(from.as_str()) else { continue };
                let connection = Connection(1);
                let event = Event::Received { from, connection, message };
                self.step(place, Input::Event(event));
            }
            let leaders = self.nodes.iter().filter(|(_, node)| node.is_leader(at(self.now)));
            let leaders: Vec<_> = leaders.map(|(id, _)| id.to_string()).collect();
            assert!(leaders.len() < 2, "{leaders:?} lead at once");
            led.extend(leaders);
        }
        led.into_iter().collect()
    }
}

/// Who leads within half a minute of these starts.
fn leads(starts: &[Start<'_>]) -> String {
    World::of(starts).run()
}

#[test]
fn a_first_start_with_different_lists_elects_nobody() {
    let (old, new) = ("123", "345");
    assert_eq!(leads(&[("1", old, None), ("2", old, None), ("3", old, None)]), "1");
    let two_of_each = [("1", old, None), ("2", old, None), ("3", new, None), ("4", new, None)];
    assert_eq!(leads(&two_of_each), "");
    assert_eq!(leads(&[("1", old, None), ("2", old, None), ("3", "1234", None)]), "");
}

#[test]
fn members_whose_ballots_confirm_their_file_elect() {
    let (old, own) = ("123", Some("123"));
    for wrong in ["1234", "134", "13", "345"] {
        assert_eq!(leads(&[("1", old, own), ("2", old, own), ("3", wrong, own)]), "1", "{wrong}");
    }
    // They alone have to be a majority of the list.
    assert_eq!(leads(&[("1", old, own), ("2", "1234", own), ("3", "1234", own)]), "");
}

#[test]
fn two_lists_that_share_a_member_never_lead_at_once() {
    let (old, new, own) = ("123", "345", Some("123"));
    let mut starts = vec![("1", old, own), ("2", old, own), ("3", new, own), ("4", new, None)];
    assert_eq!(leads(&starts), "1");
    // Three has voted by the old list: nobody learns from it what the new one has promised.
    starts.push(("5", new, None));
    assert_eq!(leads(&starts), "1");
}

#[test]
fn a_list_that_an_operator_has_confirmed_is_waited_for() {
    // Two members of five were told that they are three. All should have been stopped before: both
    // lists have a majority that votes by it.
    let (old, new) = ("12345", "123");
    let mut starts = vec![("1", new, Some(new)), ("2", new, Some(new))];
    assert_eq!(leads(&starts), "1");
    starts.extend(["3", "4", "5"].map(|id| (id, old, Some(old))));
    assert_eq!(leads(&starts), "");
}

#[test]
fn a_new_list_is_confirmed_on_each_member() {
    let (old, new) = (Some("123"), "12345");
    let starts = ["1", "2", "3", "4", "5"].map(|id| (id, new, old.filter(|_| id < "4")));
    assert_eq!(leads(&starts), "", "all were stopped, and nobody has confirmed it");
}

#[test]
fn a_ballot_with_the_given_list_changes_no_setting() {
    let given = config(3, A).build().unwrap();
    let hand = Hand::new(config(3, A), &Restored::Ballot(ballot(3, 5, None)));
    assert_eq!(hand.quorum.config(), &given);
}
