//! Keys, authorities and lists of accepted certificates that change while members run.

use super::{
    members::{DOWN_AFTER, IDS, Members, leads, replace, said},
    process::{alive, eventually, within},
    world::{Candidate, Note},
};
use std::{fs, path::Path, time::Instant};

/// How often a member has said this.
fn times(member: &Candidate, words: &str) -> usize {
    member.messages().matches(words).count()
}

/// Changes a member's files, and waits until it has taken them up.
#[track_caller]
fn takes_up(member: &Candidate, change: impl FnOnce()) {
    const WORDS: &str = "other certificates are in use";
    let before = times(member, WORDS);
    change();
    eventually("other certificates", || (times(member, WORDS) > before).then_some(()));
}

/// A new key for a member, signed by the authority in this folder. Its fingerprint.
#[track_caller]
fn add_key(members: &Members, node: &str, authority: &Path, out: &Path) -> String {
    let mut add = members.bare(&["cluster", "add-key", node, "--force", "--cluster"]);
    add.arg(members.file_of(node)).arg("--authority").arg(authority).arg("--out").arg(out);
    let told = said(&members.world.output(&mut add));
    let (_, after) = told.split_once("accepted certificates: ").expect("a fingerprint");
    after.lines().next().expect("a line").to_owned()
}

/// The first job goes on, and nobody has started another.
#[track_caller]
fn still_runs(members: &Members, job: &Note) {
    assert!(alive(job.pid));
    assert_eq!(members.world.notes("start").len(), 1);
    members.world.assert_exclusive();
}

#[test]
fn keys_and_then_the_authority_are_replaced_while_one_job_runs() {
    let members = Members::certified();
    let (mut all, job, first) = members.led();
    let old = members.world.path().join("authority");
    members.init(&["--out", "next"]);
    let new = members.world.path().join("next/authority");
    let each = |all: &[Candidate], change: &dyn Fn(&str)| {
        for (member, node) in all.iter().zip(IDS) {
            takes_up(member, || change(node));
            members.settled(node);
            still_runs(&members, &job);
        }
    };
    let trusts = |node: &str, authorities: &[&Path]| {
        let read = |folder: &&Path| fs::read_to_string(folder.join("authority.pem"));
        let all: String = authorities.iter().map(read).map(|text| text.expect("our own")).collect();
        replace(&members.folder(node).join("authority.pem"), &all);
    };
    each(&all, &|node| drop(add_key(&members, node, &old, &members.folder(node))));
    each(&all, &|node| trusts(node, &[&old, &new]));
    each(&all, &|node| drop(add_key(&members, node, &new, &members.folder(node))));
    each(&all, &|node| trusts(node, &[&new]));
    let status = members.status(IDS[first]);
    assert_eq!(status["epoch"], job.epoch, "{status}");
    for member in &all {
        assert_eq!(times(member, "certificates_refused"), 0, "{}", member.messages());
    }
    // And a start finds all as it should be.
    let follower = (first + 1) % 3;
    all[follower].kill();
    all[follower] = members.start(IDS[follower], "");
    all[follower].says(&format!("following leader={}", IDS[first]));
    still_runs(&members, &job);
}

/// What the others accept of a member is in their copies of the cluster's file.
fn accepts(members: &Members, all: &[Candidate], of: usize, list: Option<&str>) {
    for place in (0..3).filter(|place| *place != of) {
        takes_up(&all[place], || {
            members.edit(IDS[place], |text| {
                let lines = text.lines().filter(|line| !line.starts_with("accepted"));
                let text: String = lines.map(|line| format!("{line}\n")).collect();
                let id = format!("id = {:?}\n", IDS[of]);
                let Some(list) = list else { return text };
                text.replace(&id, &format!("{id}accepted = [{list:?}]\n"))
            });
        });
    }
}

#[test]
fn a_member_with_an_unlisted_key_stays_out_until_it_is_listed() {
    let members = Members::certified();
    let (mut all, job, first) = members.led();
    let [out, other] = [(first + 1) % 3, (first + 2) % 3];
    let authority = members.world.path().join("authority");
    let spare = members.world.path().join("spare");
    let fingerprint = add_key(&members, IDS[out], &authority, &spare);
    let is_silent = |status: &serde_json::Value| {
        let peers = status["peers"].as_array().expect("peers");
        let peer = peers.iter().find(|peer| peer["node"] == IDS[out]).expect("a peer");
        peer["connected"] == false && peer["heard"]["fresh"] == false
    };
    accepts(&members, &all, out, Some(&fingerprint));
    let listed = Instant::now();
    for place in [first, other] {
        members.until("silence", IDS[place], is_silent);
        all[place].says(&format!("is not on the list of those accepted of {}", IDS[out]));
    }
    let took = listed.elapsed();
    println!("silent {took:?} after the lists were taken up, down_after {DOWN_AFTER:?}");
    assert!(took < 2 * DOWN_AFTER, "{took:?}");
    all[out].says("does not accept this member's certificate");
    still_runs(&members, &job);
    // Two are left, and the one that is out has no vote.
    all[first].kill();
    let elected = within(3 * DOWN_AFTER, || members.world.notes("start").len() > 1);
    assert!(!elected, "{:?}", members.world.notes("start"));
    // With the key that is on the list it is back, without a restart.
    takes_up(&all[out], || {
        for name in ["key.pem", "certificate.pem"] {
            let text = fs::read_to_string(spare.join(name)).expect("a file of our own");
            replace(&members.folder(IDS[out]).join(name), &text);
        }
    });
    let next = members.world.start_after(job.epoch);
    assert!([out, other].contains(&leads(&all, &next)));
    // Off once more, while it may lead; a list that is gone permits any certificate again.
    all[first] = members.start(IDS[first], "");
    all[first].says(&format!("following leader={}", IDS[leads(&all, &next)]));
    let another = add_key(&members, IDS[out], &authority, &members.world.path().join("another"));
    accepts(&members, &all, out, Some(&another));
    for place in [first, other] {
        members.until("silence", IDS[place], is_silent);
    }
    accepts(&members, &all, out, None);
    for node in IDS {
        members.settled(node);
    }
    members.world.assert_exclusive();
}

/// A list that is cut short or misspelt lets nobody in who had been taken off it.
#[test]
fn a_file_of_other_members_lifts_no_ban() {
    let members = Members::certified();
    let (all, job, first) = members.led();
    let member = &all[first];
    let other = IDS[(first + 1) % 3];
    let good = fs::read_to_string(members.file_of(IDS[first])).expect("a file of our own");
    let (begins, _) = good.match_indices("[[member]]").nth(1).expect("a second member");
    let untrusting = good.find("[tls]").expect("a section");
    let (untrusted, _) = good.match_indices("[[member]]").next().expect("a member");
    let cases = [
        good[..begins].to_owned(),
        good.replace(&format!("id = {other:?}"), "id = \"n9\""),
        good.replacen("election = \"", "election = \"x", 1),
        good[..untrusting].to_owned() + &good[untrusted..],
    ];
    for (nth, text) in cases.into_iter().enumerate() {
        assert_ne!(text, good);
        members.edit(IDS[first], |_| text);
        let told = || (times(member, "event=certificates_refused") > nth).then_some(());
        eventually("a refusal", told);
        member.says("not about the cluster that runs here any more");
        let mended = || (times(member, "the certificates can be read again") > nth).then_some(());
        members.edit(IDS[first], |_| good.clone());
        eventually("an end of it", mended);
    }
    still_runs(&members, &job);
}
