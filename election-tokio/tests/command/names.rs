//! A member whose own name means nothing: it cannot know where to listen.

use super::members::{Members, refused, said};

#[test]
fn a_name_that_is_not_found_is_told_with_where_else_to_listen() {
    let members = Members::certified();
    let own = members.address(0).to_owned();
    let port = own.rsplit_once(':').expect("a port").1;
    members.edit("n1", |text| text.replace(&own, &format!("n1.invalid:{port}")));
    let output = members.ask("run", "n1", &["--try", "true"]);
    let number = format!("`listen` at a number, 0.0.0.0:{port}");
    let named = format!("cannot listen at n1.invalid:{port}");
    refused(&output, 125, &[&named, "mend the name service", &number]);
    // With that the name is the others' affair.
    let member = members.world.start(members.run("n1", &["--listen", &own], ""));
    member.says("event=joined");
    said(&members.ask("status", "n1", &[]));
}
