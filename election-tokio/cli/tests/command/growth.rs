//! Members that come and go while the others run.

use super::{
    members::{IDS, Members, refused, said},
    process::alive,
    world::Candidate,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{fs, process::Command};

/// Members whose file changes.
struct Growing {
    members: Members,
    /// Who has the file.
    ids: Vec<&'static str>,
}

impl Growing {
    fn new() -> Self {
        Self { members: Members::certified(), ids: IDS.to_vec() }
    }

    /// `election cluster COMMAND`, on the file of n2.
    fn change(&self, command: &str, arguments: &[&str]) -> Command {
        let mut change = self.members.bare(&["cluster", command]);
        change.arg("--cluster").arg(self.members.file_of("n2")).args(arguments);
        change
    }

    /// Lists a new member, whose folder gets its key.
    fn add(&self, id: &str, address: &str) -> Command {
        let (kept, out) = (self.members.folder("authority"), self.members.folder(id));
        let mut add = self.change("add", &[&format!("{id}={address}")]);
        add.arg("--authority").arg(kept).arg("--out").arg(out);
        add
    }

    /// Gives every member the file of n2.
    fn distribute(&self) {
        let text = fs::read_to_string(self.members.file_of("n2")).expect("a file of our own");
        self.ids.iter().for_each(|id| self.members.edit(id, |_| text.clone()));
    }

    /// Waits until all of these members have recorded this list, and nothing else is under way.
    #[track_caller]
    fn hold(&self, ids: &[&str], generation: u64) {
        for id in ids {
            self.members.until("another list", id, |status| {
                let list = &status["members"];
                list["ids"] == json!(ids)
                    && list["generation"] == generation
                    && list["settled"] == true
                    && list["proposed"] == Value::Null
                    && list["filed"] == Value::Null
            });
        }
    }

    /// A member joins.
    fn grow(&mut self, id: &'static str, address: &str) -> Candidate {
        said(&self.members.world.output(&mut self.add(id, address)));
        self.ids.push(id);
        self.distribute();
        self.members.start(id, "")
    }

    /// A member leaves.
    fn shrink(&mut self, id: &str) {
        said(&self.members.world.output(&mut self.change("remove", &[id])));
        self.distribute();
        self.ids.retain(|known| *known != id);
    }
}

/// Three addresses that nobody has, beside those of the members.
fn free(members: &Members, nth: u16) -> String {
    let (host, port) = members.address(0).rsplit_once(':').expect("a port");
    format!("{host}:{}", port.parse::<u16>().expect("a port") + 4 + nth)
}

#[test]
fn a_cluster_grows_and_shrinks_under_one_leadership() {
    let mut growing = Growing::new();
    let (_all, job, _) = growing.members.led();
    let [fourth, fifth] = [0, 1].map(|nth| free(&growing.members, nth));
    let n4 = growing.grow("n4", &fourth);
    // Until it holds, there is no other change.
    let early = growing.members.world.output(&mut growing.add("n5", &fifth));
    refused(&early, 125, &["nothing was written"]);
    growing.hold(&["n1", "n2", "n3", "n4"], 1);
    let n5 = growing.grow("n5", &fifth);
    growing.hold(&["n1", "n2", "n3", "n4", "n5"], 2);
    for (id, mut process, rest, generation) in
        [("n4", n4, &["n1", "n2", "n3", "n5"][..], 3), ("n5", n5, &["n1", "n2", "n3"][..], 4)]
    {
        growing.shrink(id);
        growing.hold(rest, generation);
        process.says("the list of members in force does not have it");
        // It answers until it is stopped, and does not say that nobody leads.
        growing.members.until("no word on who leads", id, |status| {
            let why = status["unknown"].as_str().unwrap_or_default();
            why.contains("this node is no member")
        });
        process.send(Signal::TERM);
        process.exit();
    }
    assert!(alive(job.pid));
    assert_eq!(growing.members.world.notes("start").len(), 1, "one leadership");
}

#[test]
fn a_leader_that_is_removed_hands_over_and_ends_its_job() {
    let mut growing = Growing::new();
    let (all, job, first) = growing.members.led();
    let rest: Vec<_> = IDS.iter().copied().filter(|id| *id != IDS[first]).collect();
    growing.shrink(IDS[first]);
    growing.hold(&rest, 1);
    let next = growing.members.world.start_after(job.epoch);
    assert!(all.iter().any(|each| each.pid() == next.elector));
    assert!(!alive(job.pid));
    all[first].says("not ready: the list of members in force does not have it");
    // It knows the list in force, and goes on to answer.
    growing.members.until("the next leader", IDS[first], |status| status["leader"].is_string());
}

#[test]
fn a_new_member_takes_the_address_of_a_removed_one() {
    let mut growing = Growing::new();
    let (mut all, job, first) = growing.members.led();
    let dead = (first + 1) % 3;
    all[dead].kill();
    growing.shrink(IDS[dead]);
    let rest: Vec<_> = IDS.iter().copied().filter(|id| *id != IDS[dead]).collect();
    growing.hold(&rest, 1);
    let address = growing.members.address(dead).to_owned();
    let _n4 = growing.grow("n4", &address);
    growing.hold(&[&rest[..], &["n4"]].concat(), 2);
    assert!(alive(job.pid));
}

#[test]
fn a_file_with_which_no_member_could_start_is_not_written() {
    let growing = Growing::new();
    let members = &growing.members;
    let file = members.file_of("n2");
    let refuses = |text: &str, command: &mut Command, words: &[&str]| {
        fs::write(&file, text).expect("a file of our own");
        refused(&members.world.output(command), 125, words);
        assert_eq!(fs::read_to_string(&file).expect("a file of our own"), text, "{words:?}");
    };
    let good = fs::read_to_string(&file).expect("a file of our own");
    let prefers = good.replacen('\n', "\npreferred = \"n3\"\n", 1);
    let nothing = "nothing was written";
    refuses(&prefers, &mut growing.change("remove", &["n3"]), &["(`preferred`)", nothing]);
    let inline = "election = 'e'\ninsecure = true\nmember = [{ id = 'n1', address = 'a:1' }]\n";
    refuses(inline, &mut growing.add("n4", "b:1"), &["below a line [[member]]", nothing]);
    refuses(inline, &mut growing.change("remove", &["n1"]), &["is the only member"]);
    refuses(&good, &mut growing.change("remove", &["n9"]), &["name one of n1, n2, n3"]);
    let taken = format!("n4={}", members.address(0));
    refuses(&good, &mut growing.change("add", &[&taken]), &["have the same address", nothing]);
}

#[test]
fn members_killed_at_every_step_complete_the_change() {
    let mut growing = Growing::new();
    let (mut all, _, first) = growing.members.led();
    let fourth = free(&growing.members, 0);
    // The primary proposes n4, which nobody has started, and dies.
    said(&growing.members.world.output(&mut growing.add("n4", &fourth)));
    growing.ids.push("n4");
    growing.distribute();
    let other = IDS[(first + 1) % 3];
    growing.members.until("a proposal", other, |status| {
        status["members"]["proposed"] == json!(["n1", "n2", "n3", "n4"])
    });
    all[first].kill();
    let led = |status: &Value| status["leader"].is_string() && status["leader"] != IDS[first];
    growing.members.until("another leader", other, led);
    let mut n4 = growing.members.start("n4", "");
    n4.says("one of 4 members");
    n4.kill();
    let _n4 = growing.members.start("n4", "");
    all[first] = growing.members.start(IDS[first], "");
    growing.hold(&["n1", "n2", "n3", "n4"], 1);
    // All at once, in the middle of the next change.
    growing.shrink("n1");
    all.iter_mut().for_each(Candidate::kill);
    let _rest = ["n2", "n3"].map(|id| growing.members.start(id, ""));
    growing.hold(&["n2", "n3", "n4"], 2);
}

#[test]
fn a_file_that_is_no_next_step_is_told_and_changes_nothing() {
    let mut growing = Growing::new();
    let (all, job, first) = growing.members.led();
    let [fourth, fifth] = [0, 1].map(|nth| free(&growing.members, nth));
    let member = |id: &str, at: &str| format!("\n[[member]]\nid = {id:?}\naddress = {at:?}\n");
    let listed = |generation: u64, more: &str| {
        let text = format!("\ngeneration = {generation}\n");
        growing.members.edit(IDS[first], |old| old.replacen('\n', &text, 1) + more);
    };
    let good = fs::read_to_string(growing.members.file_of(IDS[first])).expect("a file of our own");
    let two = member("n4", &fourth) + &member("n5", &fifth);
    for (generation, more, words) in [
        (1, two, "members change one at a time; list only one more, or one less"),
        (2, member("n4", &fourth), "set generation = 1 to change the members, one at a time"),
    ] {
        listed(generation, &more);
        all[first].says(words);
        let filed = |status: &Value| status["members"]["filed"].is_string();
        growing.members.until("a word on the file", IDS[first], filed);
        growing.members.edit(IDS[first], |_| good.clone());
    }
    growing.hold(&IDS, 0);
    // What is no longer true of the file is asked before anything is written.
    growing.ids.clear();
    growing.members.edit("n2", |text| text.replacen('\n', "\ngeneration = 7\n", 1));
    let strange = growing.members.world.output(&mut growing.change("remove", &["n3"]));
    refused(&strange, 125, &["it is of generation 7", "nothing was written"]);
    assert!(alive(job.pid));
}
