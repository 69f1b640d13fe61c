//! Keys, authorities and lists of accepted certificates that change while members run.

use super::{
    files::{IS_PIPE, pipe},
    members::{DOWN_AFTER, IDS, Members, replace, said},
    process::{alive, eventually},
    world::{Candidate, Note},
};
use std::{fs, time::Instant};

/// How often a member has said this.
fn times(member: &Candidate, words: &str) -> usize {
    member.messages().matches(words).count()
}

/// Changes a member's files, and waits until it has taken them up.
#[track_caller]
fn takes_up(member: &Candidate, change: impl FnOnce()) {
    const WORDS: &str = "new certificates are in use";
    let before = times(member, WORDS);
    change();
    eventually("other certificates", || (times(member, WORDS) > before).then_some(()));
}

/// The first job goes on, and nobody has started another.
#[track_caller]
fn still_runs(members: &Members, job: &Note) {
    assert!(alive(job.pid));
    assert_eq!(members.world.notes("start").len(), 1);
    members.world.assert_exclusive();
}

#[test]
fn a_member_with_an_unlisted_key_stays_out_until_it_is_listed() {
    let members = Members::certified();
    let (all, job, first) = members.led();
    let [out, other] = [(first + 1) % 3, (first + 2) % 3];
    let spare = members.world.path().join("spare");
    let mut add = members.bare(&["cluster", "add-key", IDS[out], "--out", "spare", "--cluster"]);
    let told = said(&members.world.output(add.arg(members.file_of(IDS[out]))));
    let (_, after) = told.split_once("accepted certificates: ").expect("a fingerprint");
    let listed = after.lines().next().expect("a line");
    // What the others accept of a member is in their copies of the cluster's file.
    for place in [first, other] {
        takes_up(&all[place], || {
            let id = format!("id = {:?}\n", IDS[out]);
            let accepted = format!("{id}accepted = [{listed:?}]\n");
            members.edit(IDS[place], |text| text.replace(&id, &accepted));
        });
    }
    let began = Instant::now();
    for place in [first, other] {
        members.until("silence", IDS[place], |status| {
            let peers = status["peers"].as_array().expect("peers");
            let peer = peers.iter().find(|peer| peer["node"] == IDS[out]).expect("a peer");
            peer["connected"] == false && peer["heard"]["fresh"] == false
        });
        all[place].says(&format!("is not on the list of accepted certificates of {}", IDS[out]));
    }
    assert!(began.elapsed() < 2 * DOWN_AFTER, "{:?}", began.elapsed());
    all[out].says("does not accept our certificate");
    still_runs(&members, &job);
    // With the key that is on the list it is back, without a restart.
    takes_up(&all[out], || {
        for name in ["key.pem", "certificate.pem"] {
            let text = fs::read_to_string(spare.join(name)).expect("a file of our own");
            replace(&members.folder(IDS[out]).join(name), &text);
        }
    });
    IDS.iter().for_each(|node| members.settled(node));
    still_runs(&members, &job);
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
    // What is no file is not waited for.
    let cases = cases.map(Some).into_iter().chain([None]);
    for (nth, text) in cases.enumerate() {
        let words = match text {
            Some(text) => {
                assert_ne!(text, good);
                members.edit(IDS[first], |_| text);
                "no longer describes the running cluster"
            }
            None => {
                let file = members.file_of(IDS[first]);
                fs::rename(&file, file.with_extension("kept")).expect("a file of our own");
                pipe(&file);
                IS_PIPE
            }
        };
        let told = || (times(member, "event=certificates_refused") > nth).then_some(());
        eventually("a refusal", told);
        member.says(words);
        member.says(
            "the cluster file cannot be used, and the previous addresses and certificates stay",
        );
        let mended = || (times(member, "the certificates can be read again") > nth).then_some(());
        replace(&members.file_of(IDS[first]), &good);
        eventually("an end of it", mended);
    }
    still_runs(&members, &job);
}
