//! A member whose own name means nothing: it cannot know where to listen.

use super::{
    http::client,
    members::{Members, refused, said},
    tree::unshared,
    world::below,
};
use std::{fs, process::Command};

#[test]
fn a_name_that_is_not_found_is_told_with_where_else_to_listen() {
    let members = Members::certified();
    let own = members.address(0).to_owned();
    let port = own.rsplit_once(':').expect("a port").1;
    members.edit("n1", |text| text.replace(&own, &format!("n1.invalid:{port}")));
    let output = members.ask("run", "n1", &["--try", "true"]);
    let number = format!("`listen` at an IP address, such as 0.0.0.0:{port}");
    let named = format!("cannot listen at n1.invalid:{port}");
    refused(&output, 125, &[&named, "repair the name service", &number]);
    // With that the name is the others' affair.
    let member = members.world.start(members.run("n1", &["--listen", &own], ""));
    member.says("event=joined");
    said(&members.ask("status", "n1", &[]));
}

/// As after the start of a host, or of a pod that its name server does not know yet.
#[test]
fn a_name_that_is_found_later_is_waited_for() {
    let members = Members::with("insecure = true", ["", "", ""]);
    let own = members.address(0).to_owned();
    let (host, port) = own.rsplit_once(':').expect("a port");
    members.edit("n1", |text| text.replace(&own, &format!("n1.invalid:{port}")));
    let place = |name: &str| members.world.path().join(name);
    let (hosts, switch) = (place("hosts"), place("nsswitch.conf"));
    fs::write(&hosts, "127.0.0.1 localhost\n").expect("a file of our own");
    fs::write(&switch, "hosts: files\n").expect("a file of our own");
    let run = members.run("n1", &["--http", "127.77.0.1:0"], "");
    let mut inside = Command::new("sh");
    let script = "mount --bind \"$1\" /etc/hosts; mount --bind \"$2\" /etc/nsswitch.conf; shift 2; \
                  exec \"$@\"";
    inside.args(["-euc", script, "sh"]).args([&hosts, &switch]);
    let inside = below(inside, &run);
    let member = members.world.start(unshared(&members.world, &["-m"], &inside));
    member.says(&format!("this member has not started yet: it cannot listen at n1.invalid:{port}"));
    member.says("repair the name service");
    for path in ["/leader", "/readyz"] {
        let said = client::get(client::port(&member), path);
        let words = "has not joined the election yet: it is ";
        assert!(said.status == 503 && said.body.contains(words), "{said:?}");
    }
    fs::write(&hosts, format!("{host} n1.invalid\n")).expect("a file of our own");
    member.says("event=joined");
    let messages = member.messages();
    assert_eq!(messages.matches("event=waiting").count(), 1, "{messages}");
}
