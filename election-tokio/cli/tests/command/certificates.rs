//! Certificates that a start refuses: the exit code, the cause, and the remedy.

use super::{
    members::{IDS, Members, NAME, refused, said},
    world::below,
};
use election_tokio::tls::certificate_name;
use rcgen::{CertificateParams, CustomExtension, Issuer, KeyPair, SanType};
use rustix::process::geteuid;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

/// Puts a certificate of the cluster's authority for n1 there, and whatever is wrong with it.
fn signed(members: &Members, change: impl FnOnce(&mut CertificateParams)) {
    let read = |name: &str| {
        fs::read_to_string(members.world.path().join("authority").join(name)).expect("our own")
    };
    let key = KeyPair::from_pem(&read("authority.key")).expect("a key");
    let issuer = Issuer::from_ca_cert_pem(&read("authority.pem"), key).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    let uri = certificate_name(&NAME, "n1");
    params.subject_alt_names = vec![SanType::URI(uri.as_str().try_into().expect("a URI"))];
    change(&mut params);
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    let folder = members.folder("n1");
    fs::write(folder.join("certificate.pem"), certificate.pem()).expect("a file of our own");
    fs::write(folder.join("key.pem"), key.serialize_pem()).expect("a file of our own");
}

/// Puts another file in the place of one: that of another member, or one that is named whole.
fn copy(members: &Members, name: &str, from: &str) {
    let folder = members.folder(from);
    let from = if folder.is_dir() { folder.join(name) } else { folder };
    fs::copy(from, members.folder("n1").join(name)).expect("a file of our own");
}

fn read(members: &Members, path: &str) -> String {
    fs::read_to_string(members.world.path().join(path)).expect("a file of our own")
}

fn change(members: &Members, name: &str, change: impl FnOnce(String) -> String) {
    write(members, name, &change(read(members, &format!("n1/{name}"))));
}

/// An extension that nobody knows and nobody may overlook.
fn critical() -> CustomExtension {
    let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
    extension.set_criticality(true);
    extension
}

fn write(members: &Members, name: &str, text: &str) {
    fs::write(members.folder("n1").join(name), text).expect("a file of our own");
}

fn remove(members: &Members, name: &str) {
    fs::remove_file(members.folder("n1").join(name)).expect("a file of our own");
}

fn edit(members: &Members, from: &str, to: &str) {
    members.edit("n1", |text| {
        assert!(text.contains(from), "no {from:?} in {text}");
        text.replacen(from, to, 1)
    });
}

/// A key that TLS knows and this command does not.
const ED448: &str = "\
-----BEGIN PRIVATE KEY-----\n\
MEcCAQAwBQYDK2VxBDsEOWhDkbsBQdsCIz7THTUC9d6GCGPesOaehr8VUto0ZHUN\n\
y/AwOmMui3bCXHagnRc6VWtE7x/n76IygQ==\n\
-----END PRIVATE KEY-----\n
";
type Break = fn(&Members);

/// What is done to n1's files, and what is said of it.
const BROKEN: [(Break, &[&str]); 15] = [
    (
        |it| copy(it, "key.pem", "n2"),
        &["key does not belong to its certificate", "name the matching key"],
    ),
    (
        |it| {
            copy(it, "certificate.pem", "authority/authority.pem");
            copy(it, "key.pem", "authority/authority.key");
        },
        &["its certificate is an authority's own", "add-key"],
    ),
    (
        |it| change(it, "certificate.pem", |text| read(it, "n1/authority.pem") + &text),
        &["is not first in its file", "put it before"],
    ),
    (|it| write(it, "key.pem", ED448), &["key type is not supported", "use ECDSA"]),
    (
        |it| signed(it, |params| params.custom_extensions.push(critical())),
        &["own certificate: ", "an unknown critical extension", "issue one without it"],
    ),
    (
        |it| edit(it, "\"authority.pem\"", "[\"authority.pem\", \"other.pem\"]"),
        &["(`authority`)", "write one path", "one file can contain several certificates"],
    ),
    (
        |it| edit(it, "id = \"n2\"\n", "id = \"n2\"\naccepted = \"a1:b2\"\n"),
        &["(`accepted`)", "write a list in square brackets"],
    ),
    (|it| remove(it, "key.pem"), &["key.pem", "No such file", "create the file"]),
    (
        |it| write(it, "key.pem", "hello"),
        &["key.pem contains no readable private key", "a PEM file"],
    ),
    (|it| edit(it, "key = \"key.pem\"\n", ""), &["`key` is missing in [tls]", "write key = "]),
    (|it| edit(it, "id = \"n2\"\n", "id = \"n2\"\naccepted = [\"a1:b2\"]\n"), {
        &["line", "64 hexadecimal digits", "openssl x509"]
    }),
    (
        |it| edit(it, "id = \"n1\"\n", "id = \"n1\"\naccepted = []\n"),
        &["is not on the list of accepted certificates of n1", "add it"],
    ),
    (
        |it| {
            let text = "authority = \"authority.pem\"\ncertificate = \"certificate.pem\"\nkey = \
                        \"key.pem\"\n";
            edit(it, &format!("[tls]\n{text}"), "");
            edit(it, "id = \"n2\"\n", "id = \"n2\"\naccepted = []\n");
        },
        &["`accepted` needs certificates", "[tls]"],
    ),
    (
        |it| edit(it, "\ndown_after", "\ninsecure = true\ndown_after"),
        &["`insecure` is for clusters without certificates", "remove it"],
    ),
    (|it| edit(it, "[tls]\n", "[tls]\nca = \"x\"\n"), &["(`ca`)", "unknown key", "certificate"]),
];

#[test]
fn a_start_and_a_check_refuse_certificates_that_cannot_be_used() {
    let members = Members::certified();
    let folder = members.folder("n1");
    let names = ["authority.pem", "certificate.pem", "key.pem", "cluster.toml"];
    let good = names.map(|name| fs::read(folder.join(name)).expect("a file of our own"));
    for (place, (breaks, words)) in BROKEN.iter().enumerate() {
        breaks(&members);
        println!("{place}: {words:?}");
        refused(&members.ask("run", "n1", &["--try", "true"]), 125, words);
        refused(&checked(&members), 125, words);
        for (name, good) in names.iter().zip(&good) {
            fs::write(folder.join(name), good).expect("a file of our own");
        }
    }
    said(&checked(&members));
}

/// Without a name on the command line, a check looks for the member whose certificate is there.
#[test]
fn check_without_a_name_reports_a_nameless_certificate() {
    let members = Members::certified();
    signed(&members, |params| params.subject_alt_names.clear());
    let mut check = members.bare(&["cluster", "check"]);
    let words =
        ["names no member of this cluster; it names nobody", "add-key", "correct `election`"];
    refused(&members.world.output(check.arg(members.file_of("n1"))), 125, &words);
}

fn checked(members: &Members) -> std::process::Output {
    let mut check = members.bare(&["cluster", "check", "--node", "n1"]);
    members.world.output(check.arg(members.file_of("n1")))
}

/// Root reads everything, unless that is taken from it.
#[test]
fn a_key_that_may_not_be_read_is_named() {
    let members = Members::certified();
    let key = members.folder("n1").join("key.pem");
    fs::set_permissions(&key, Permissions::from_mode(0o000)).expect("a file of our own");
    let run = members.command("run", "n1", &["--try", "true"]);
    let mut bounded = Command::new(if geteuid().is_root() { "setpriv" } else { "env" });
    if geteuid().is_root() {
        bounded.arg("--bounding-set=-dac_override,-dac_read_search");
    }
    let words =
        ["key.pem cannot be read", "Permission denied", "give the user of this process access"];
    refused(&members.world.output(&mut below(bounded, &run)), 125, &words);
}

/// Whatever a name may hold, a certificate names it, and no other.
#[test]
fn names_of_all_kinds_stand_in_certificates() {
    let members = Members::certified();
    let (name, ids) = ("Größe 1/2 %41", ["a/b", "a%2Fb", "n~3"]);
    for (node, id) in IDS.iter().zip(ids) {
        members.edit(node, |text| {
            let text = text.replace(&format!("{:?}", *NAME), &format!("{name:?}"));
            IDS.iter().zip(ids).fold(text, |text, (node, id)| {
                text.replace(&format!("id = \"{node}\""), &format!("id = {id:?}"))
            })
        });
        let mut add =
            members.bare(&["cluster", "add-key", id, "--force", "--out", node, "--cluster"]);
        said(&members.world.output(add.arg(members.file_of(node))));
        let mut check = members.bare(&["cluster", "check"]);
        let told = said(&members.world.output(check.arg(members.file_of(node))));
        assert!(told.contains(&format!("  {id} at ")) && told.contains(name), "{told}");
        assert_eq!(told.matches("whose certificate is here").count(), 1, "{told}");
    }
}
