use super::*;
use proptest::prelude::*;

fn postgres(url: &str) -> Vec<String> {
    of_postgres(url).unwrap_or_else(|error| panic!("{url}: {error}")).urls
}

#[track_caller]
fn refused(url: &str, words: &str) {
    let errors = match url.split_once(':') {
        Some(("mysql", _)) => vec![of_mysql(url).err()],
        _ if url.contains("both://") => {
            let with = |scheme: &str| url.replacen("both", scheme, 1);
            vec![of_postgres(&with("postgres")).err(), of_mysql(&with("mysql")).err()]
        }
        _ => vec![of_postgres(url).err()],
    };
    for error in errors {
        let error = error.unwrap_or_else(|| panic!("{url} is taken"));
        assert_eq!(error.kind, Failure::Fatal);
        assert!(error.to_string().contains(words), "{url}: {error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{url}: {error:?}");
    }
}

#[test]
fn each_host_has_the_rest_of_the_url() {
    for (url, each) in [
        ("postgres://h/d", &["postgres://h/d"][..]),
        ("postgres:///d?host=/run/pg", &["postgres:///d?host=/run/pg"]),
        ("postgres://me:a,b@h/d", &["postgres://me:a,b@h/d"]),
        ("postgres://a:1,b:2/d", &["postgres://a:1/d", "postgres://b:2/d"]),
        ("postgres://a,b", &["postgres://a", "postgres://b"]),
        (
            "postgres://me:p%2Cw@a:1,b,[::1]:3/d?sslmode=disable",
            &[
                "postgres://me:p%2Cw@a:1/d?sslmode=disable",
                "postgres://me:p%2Cw@b/d?sslmode=disable",
                "postgres://me:p%2Cw@[::1]:3/d?sslmode=disable",
            ],
        ),
        ("postgres://a,b/d?port=7", &["postgres://a/d?port=7", "postgres://b/d?port=7"]),
        (
            "postgres:///d?host=a,b&port=1,2&user=me",
            &["postgres:///d?user=me&host=a&port=1", "postgres:///d?user=me&host=b&port=2"],
        ),
        (
            "postgres://me@/d?host=/run/a,%2Frun%2Fb&port=7",
            &[
                "postgres://me@localhost/d?host=%2Frun%2Fa&port=7",
                "postgres://me@localhost/d?host=%2Frun%2Fb&port=7",
            ],
        ),
        ("postgres://me:pw@/d?host=/run/pg", &["postgres://me:pw@localhost/d?host=/run/pg"]),
        ("postgres://me@/d?a=b", &["postgres://me@/d?a=b"]),
        ("postgres:///d?host=a,b", &["postgres:///d?host=a", "postgres:///d?host=b"]),
        ("postgres:///d?host=c&host=a,b", &["postgres:///d?host=a", "postgres:///d?host=b"]),
        ("postgres:///d?host=a,b&host=c", &["postgres:///d?host=a,b&host=c"]),
        ("postgres://%2Frun%2Fa,b/d", &["postgres://%2Frun%2Fa/d", "postgres://b/d"]),
    ] {
        assert_eq!(postgres(url), each, "{url}");
    }
    let each = of_mysql("mysql://me:pw@a:3306,b/d?charset=utf8").unwrap().urls;
    assert_eq!(each, ["mysql://me:pw@a:3306/d?charset=utf8", "mysql://me:pw@b/d?charset=utf8"]);
    assert_eq!(of_mysql("mysql://h/d?socket=/a,b").unwrap().urls, ["mysql://h/d?socket=/a,b"]);
}

#[test]
fn the_target_is_taken_out_of_the_url() {
    for (url, target, each) in [
        ("postgres://a,b/d", None, "postgres://a/d"),
        ("postgres://a,b/d?target_session_attrs=any", Some(Target::Any), "postgres://a/d"),
        (
            "postgres://a,b/d?sslmode=disable&target_session_attrs=primary",
            Some(Target::Primary),
            "postgres://a/d?sslmode=disable",
        ),
        (
            "postgres://a/d?target_session_attrs=any&target_session_attrs=primary",
            Some(Target::Primary),
            "postgres://a/d",
        ),
        (
            "postgres://a/d?target_session_attrs=read-write",
            Some(Target::ReadWrite),
            "postgres://a/d",
        ),
    ] {
        let hosts = of_postgres(url).unwrap();
        assert_eq!((hosts.target, &*hosts.urls[0]), (target, each), "{url}");
    }
    for other in ["standby", "prefer-standby", "read-only", "hunter2", ""] {
        refused(&format!("postgres://a,b/d?target_session_attrs={other}"), "write read-write");
    }
    refused("postgres://h/d?target_session_attrs=standby", "target_session_attrs=standby");
    refused(
        "postgres://h/d?target_session_attrs=bogus",
        "target_session_attrs has an unknown value",
    );
}

#[test]
fn a_list_that_is_wrong_names_the_remedy() {
    let many = vec!["a"; 17].join(",");
    for (url, words) in [
        ("both://me:hunter2@a,,b/d", "host 2 of the list is empty"),
        ("both://me:hunter2@,b/d", "host 1 of the list is empty"),
        ("both://me:hunter2@a,/d", "host 2 of the list is empty"),
        ("both://me:hunter2@a,:5432/d", "host 2 of the list is empty"),
        ("both://me:hunter2@a:b,c/d", "the port of host 1 is not a number"),
        ("both://me:hunter2@a:,c/d", "the port of host 1 is not a number"),
        ("both://me:hunter2@a,c:0/d", "the port of host 2 is not a number"),
        ("both://me:hunter2@a,c:65536/d", "the port of host 2 is not a number"),
        ("both://me:hunter2@a,c:+1/d", "the port of host 2 is not a number"),
        ("both://me:hunter2@a,::1/d", "an IPv6 address needs brackets"),
        ("both://me:hunter2@a,[::1/d", "bracket of host 2 is not closed"),
        ("both://me:hunter2@a,[::1]5/d", "bracket of host 2 is not closed"),
        ("both://me:hun,ter2@a,b/d", "a comma as %2C"),
        ("both://me:hunter2,x@a,b/d", "a comma as %2C"),
        ("both://me:hunter2@a,me:hunter2@b/d", "before the first host"),
        ("both://me:hunter2,b/d", "a comma as %2C"),
        ("both://me:1,hunter2/x@h/d", "/ as %2F"),
        ("both://me:1,hunter2?x@h/d", "? as %3F"),
        ("both://me:1,hunter2?x=y@h/d", "? as %3F"),
        ("both://me:1,hunter2#x@h/d", "# as %23"),
        (&format!("both://me:hunter2@{many}/d"), "17 hosts; name 16 at most"),
        ("mysql://a,b/d?socket=/run/my.sock", "a socket leads to one server"),
        ("postgres://a,b/d?host=c,d", "list them once"),
        ("postgres://a,b/d?port=1,2", "write each after its host"),
        ("postgres://a,b/d?hostaddr=10.0.0.1", "hostaddr takes one host"),
        ("postgres:///d?host=a,b,c&port=1,2", "3 hosts and 2 ports"),
        ("postgres:///d?host=a,,c", "host 2 of the list is empty"),
        ("postgres:///d?host=a,b&port=1,x", "the port of host 2 is not a number"),
        (&format!("postgres:///d?host={many}"), "17 hosts; name 16 at most"),
    ] {
        refused(url, words);
    }
}

/// Whatever stands in the URL, and wherever its password ends by mistake.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[ -~]{0,6}",
        Just(",".to_owned()),
        Just("@".to_owned()),
        Just("a:5432,b".to_owned()),
        Just("[::1]:5".to_owned()),
        Just("?host=a,b&port=1,2".to_owned()),
        Just("&target_session_attrs=any".to_owned()),
        Just("/".to_owned()),
    ];
    (prop_oneof!["postgres://", "mysql://", ""], proptest::collection::vec(part, 0..10))
        .prop_map(|(scheme, parts)| scheme + &parts.concat())
}

proptest! {
    #[test]
    fn nothing_panics(url in texts()) {
        for hosts in [of_postgres(&url), of_mysql(&url)].into_iter().flatten() {
            prop_assert!((1..=MOST).contains(&hosts.urls.len()));
        }
        let _ = crate::PgStore::connect(&url);
        let _ = crate::MySqlStore::connect(&url);
    }

    /// No error holds it, nor what the store says of where it looks.
    #[test]
    fn no_password_is_shown(
        before in "[a-z0-9,:@/?#=&\\[\\]]{0,5}",
        after in "[a-z0-9,:@/?#=&\\[\\]]{0,5}",
        hosts in prop_oneof!["a,b", "a:1,b:2", "a,", "a:x,b", "h,[::1]:2"],
    ) {
        let rest = format!("me:{before}hunter2{after}@{hosts}/d?sslmode=disable");
        let said = match crate::PgStore::connect(&format!("postgres://{rest}")) {
            Ok(store) => format!("{} {}", store.place(), store.transport()),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!said.contains("hunter2"), "{rest}: {said}");
        let said = match crate::MySqlStore::connect(&format!("mysql://{rest}")) {
            Ok(store) => format!("{} {}", store.place(), store.transport()),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!said.contains("hunter2"), "{rest}: {said}");
    }

    /// A password that is encoded arrives as it was meant, whatever it is made of.
    #[test]
    fn an_encoded_password_may_be_anything(password in "\\PC{1,12}") {
        let encoded: String =
            password.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let urls = postgres(&format!("postgres://me:{encoded}@a:1,b:2/d"));
        prop_assert_eq!(urls, [
            format!("postgres://me:{encoded}@a:1/d"),
            format!("postgres://me:{encoded}@b:2/d"),
        ]);
    }
}
