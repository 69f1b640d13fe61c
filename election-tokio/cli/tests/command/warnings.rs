//! What works as the files say it, but hardly as it is meant: said by a check, and at every start.

use super::members::{Members, NAME, said};
use election_tokio::tls::certificate_name;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType, date_time_ymd};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

fn checked(members: &Members) -> String {
    let mut check = members.bare(&["cluster", "check", "--node", "n1"]);
    said(&members.world.output(check.arg(members.file_of("n1"))))
}

#[test]
fn what_is_hardly_meant_is_said_by_a_check_and_at_a_start() {
    let members = Members::certified();
    assert!(!checked(&members).contains("warning"));
    let key = members.folder("n1").join("key.pem");
    fs::set_permissions(&key, Permissions::from_mode(0o640)).expect("a file of our own");
    members.edit("n1", |text| {
        let text = text.replace("id = \"n2\"\n", "id = \"n2\"\naccepted = []\n");
        text.replace(members.address(2), "0.0.0.0:7403")
    });
    let warnings = [
        "n3 is at 0.0.0.0:7403, which every machine takes for itself: write the address",
        "accepted certificates of n2 is empty, so nobody is accepted as n2: add the fingerprint",
        "key.pem: chmod 600",
    ];
    let told = checked(&members);
    for words in warnings {
        let found = told.lines().filter(|line| line.starts_with("warning: ")).collect::<Vec<_>>();
        assert!(found.iter().any(|line| line.contains(words)), "no {words:?} in {told}");
    }
    for command in ["run", "serve"] {
        let start = match command {
            "run" => members.run("n1", &[], ""),
            _ => members.command("serve", "n1", &["--http", "127.0.0.1:0"]),
        };
        let mut member = members.world.start(start);
        warnings.iter().for_each(|words| member.says(words));
        member.says("event=warning");
        member.kill();
    }
}

/// Members take it still, and other programs do not.
#[test]
fn an_authority_that_has_ended_is_not_said_to_end() {
    let members = Members::certified();
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let authority = params.self_signed(&key).expect("a certificate").pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    let uri = certificate_name(&NAME, "n1");
    params.subject_alt_names = vec![SanType::URI(uri.as_str().try_into().expect("a URI"))];
    let certificate = params.signed_by(&key, &issuer).expect("a certificate").pem();
    for (name, text) in [
        ("authority.pem", authority),
        ("certificate.pem", certificate),
        ("key.pem", key.serialize_pem()),
    ] {
        fs::write(members.folder("n1").join(name), text).expect("a file of our own");
    }
    let told = checked(&members);
    assert!(told.contains("\nauthority: has expired\n"), "{told}");
    assert!(told.contains("warning: the authority's certificate has expired: replace"), "{told}");
}

#[test]
fn a_check_says_which_certificates_are_accepted() {
    let members = Members::certified();
    let told = checked(&members);
    let own = told.lines().find(|line| line.starts_with("certificate: ")).expect("its own");
    let own = own.rsplit(' ').next().expect("a fingerprint");
    members.edit("n1", |text| {
        text.replace("id = \"n1\"\n", &format!("id = \"n1\"\naccepted = [{own:?}]\n"))
    });
    let told = checked(&members);
    let (_, after) = told.split_once(", whose certificate is here\n").expect("n1");
    assert!(after.starts_with(&format!("    accepted: {own}\n  n2 at ")), "{told}");
}

/// As a start would say it; once, until it is so anew.
#[test]
fn what_comes_to_be_hardly_meant_is_said_while_a_member_runs() {
    let members = Members::certified();
    let member = members.start("n1", "");
    members.status("n1");
    let key = members.folder("n1").join("key.pem");
    let others_read = |mode| {
        fs::set_permissions(&key, Permissions::from_mode(mode)).expect("a file of our own");
    };
    let words = "other users can read or write the key ";
    let times = || member.messages().matches(words).count();
    assert_eq!(times(), 0);
    others_read(0o602);
    member.says(words);
    members.edit("n1", |text| text.replace("id = \"n2\"\n", "id = \"n2\"\naccepted = []\n"));
    member.says("accepted certificates of n2 is empty, so nobody is accepted as n2");
    assert_eq!(times(), 1, "{}", member.messages());
}
