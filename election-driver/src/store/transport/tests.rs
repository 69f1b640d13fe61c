use super::*;

fn shown(url: &str) -> String {
    let transport = match url.split_once(':') {
        Some(("postgres", _)) => postgres(url).map(|options| of_postgres(&options)),
        _ => mysql(url).map(|options| of_mysql(&options)),
    };
    transport.map_or_else(|error| error.to_string(), |transport| transport.to_string())
}

#[test]
fn connections_leaving_the_machine_are_verified_by_default() {
    let if_offered = "TLS if the server offers it, otherwise in plain text";
    for (address, way) in [
        ("db.example:1", "db.example:1, TLS verified"),
        ("me:pw@db.example:1", "db.example:1, TLS verified"),
        ("10.0.0.1:1", "10.0.0.1:1, TLS verified"),
        ("[2001:db8::1]:1", "[2001:db8::1]:1, TLS verified"),
        ("[::ffff:127.0.0.1]:1", "[::ffff:7f00:1]:1, TLS verified"),
        ("0.0.0.0:1", "0.0.0.0:1, TLS verified"),
        ("128.0.0.1:1", "128.0.0.1:1, TLS verified"),
        ("127.1:1", "127.1:1, TLS verified"),
        ("localhost.example:1", "localhost.example:1, TLS verified"),
        ("localhost:1", &format!("localhost:1, {if_offered} (loopback)")),
        ("LocalHost:1", &format!("LocalHost:1, {if_offered} (loopback)")),
        ("127.0.0.1:1", &format!("127.0.0.1:1, {if_offered} (loopback)")),
        ("127.255.0.9:1", &format!("127.255.0.9:1, {if_offered} (loopback)")),
        ("[::1]:1", &format!("[::1]:1, {if_offered} (loopback)")),
    ] {
        assert_eq!(shown(&format!("postgres://{address}/d")), format!("PostgreSQL at {way}"));
        assert_eq!(shown(&format!("mysql://{address}/d")), format!("MySQL at {way}"));
    }
    for (url, way) in [
        ("postgres://h:1/d?sslmode=disable", "PostgreSQL at h:1, in plain text"),
        ("postgres://h:1/d?sslmode=allow", "PostgreSQL at h:1, in plain text"),
        ("postgres://h:1/d?ssl-mode=prefer", &format!("PostgreSQL at h:1, {if_offered}")),
        ("postgres://h:1/d?sslmode=require", "PostgreSQL at h:1, TLS, the server not verified"),
        (
            "postgres://h:1/d?sslmode=verify-ca",
            "PostgreSQL at h:1, TLS verified but for the host name",
        ),
        (
            "postgres://127.0.0.1:1/d?sslrootcert=Cargo.toml",
            "PostgreSQL at 127.0.0.1:1, TLS verified (loopback)",
        ),
        ("postgres:///d?host=/run/pg", "PostgreSQL at /run/pg, unix socket"),
        ("postgres://%2Frun%2Fpg/d", "PostgreSQL at /run/pg, unix socket"),
        ("postgres://localhost:1/d?host=db", "PostgreSQL at db:1, TLS verified"),
        ("postgres://h:1/d?hostaddr=10.0.0.9", "PostgreSQL at 10.0.0.9:1, TLS verified"),
        ("mysql://h:1/d?ssl-mode=DISABLED", "MySQL at h:1, in plain text"),
        ("mysql://h:1/d?sslmode=required", "MySQL at h:1, TLS, the server not verified"),
        (
            "mysql://127.0.0.1:1/d?ssl-ca=Cargo.toml",
            "MySQL at 127.0.0.1:1, TLS verified (loopback)",
        ),
        ("mysql://h:1/d?socket=/run/my.sock", "MySQL at /run/my.sock, unix socket"),
    ] {
        assert_eq!(shown(url), way, "{url}");
    }
}

/// Any file that is there will do: here nobody reads it.
#[test]
fn an_authority_by_any_of_its_names_means_verified() {
    for (scheme, key) in [
        ("postgres", "sslrootcert"),
        ("postgres", "ssl-root-cert"),
        ("postgres", "ssl-ca"),
        ("mysql", "sslca"),
        ("mysql", "ssl-ca"),
    ] {
        let way = shown(&format!("{scheme}://127.0.0.1:1/d?{key}=Cargo.toml"));
        assert!(way.ends_with("TLS verified (loopback)"), "{key}: {way}");
    }
}

#[test]
fn exposed_is_what_somebody_on_the_way_could_read() {
    for (url, exposed) in [
        ("postgres://h/d", false),
        ("postgres://h/d?sslmode=verify-ca", false),
        ("postgres://h/d?sslmode=require", true),
        ("postgres://h/d?sslmode=prefer", true),
        ("postgres://h/d?sslmode=disable", true),
        ("postgres://localhost/d?sslmode=disable", false),
    ] {
        assert_eq!(of_postgres(&postgres(url).unwrap()).is_exposed(), exposed, "{url}");
    }
}

#[test]
fn without_encryption_a_network_needs_a_word() {
    let chosen = |url: &str| {
        let said = Said::by(&Url::parse(url).unwrap());
        let told = of_postgres(&PgConnectOptions::from_str(url).unwrap());
        said.choose(&told, false, "sslmode=disable").map(|_| ())
    };
    for refused in ["h/d", "h/d?sslmode=prefer", "127.0.0.1/d?sslrootcert=ca.pem"] {
        let error = chosen(&format!("postgres://{refused}")).unwrap_err().to_string();
        assert!(error.contains("feature `tls`"), "{error}");
        assert!(error.contains("`sslmode=disable`"), "{error}");
    }
    for taken in ["h/d?sslmode=disable", "127.0.0.1/d", "localhost/d?sslmode=prefer"] {
        chosen(&format!("postgres://{taken}")).unwrap();
    }
    // sqlx fails for want of encryption, or has it from elsewhere.
    chosen("postgres://h/d?sslmode=verify-full").unwrap();
}

/// The rest of such a password would pass for a path or a parameter, and be shown to others.
#[test]
fn passwords_with_a_meaning_in_urls_are_refused_with_the_remedy() {
    for password in ["12/hunter2", "12#hunter2", "12?hunter2", "12?a=b&hunter2"] {
        for scheme in ["postgres", "mysql"] {
            let said = shown(&format!("{scheme}://me:{password}@db.example/d"));
            assert!(said.contains("percent-encode"), "{password}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
    // What is left of it has no @ in its name, or none at all.
    for password in ["/hunter2?a=b", "/hunter2?", "12/hunter2?="] {
        for scheme in ["postgres", "mysql"] {
            let said = shown(&format!("{scheme}://me:{password}@db.example/d?sslmode=disable"));
            assert!(said.contains("percent-encode"), "{password}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
    assert!(shown("postgres://db.example/d?user=me@home").contains("at db.example"));
    assert!(shown("postgres://me:h%2Fu%40%23@db.example:1/d").contains("at db.example:1"));
    assert!(shown("postgres://me:h@nter2@db.example:1/d").contains("at db.example:1"));
}

/// In words of this program, not of the parser.
#[test]
fn what_is_no_url_is_told_with_what_to_write() {
    for (url, words) in [
        ("postgres://me@/d", "it names no host; write one"),
        ("mysql://me@:3306/d", "it names no host; write one"),
        ("postgres://h:no/d", "not a number from 0 to 65535"),
        ("mysql://[::1/d", "an IPv6 address needs brackets"),
        ("postgres://h h/d", "neither a name nor an address"),
    ] {
        let said = shown(url);
        assert!(said.contains("the URL is not valid: "), "{url}: {said}");
        assert!(said.contains(words), "{url}: {said}");
        for raw in ["empty host", "invalid port", "invalid IPv6", "domain"] {
            assert!(!said.contains(raw), "{url}: {said}");
        }
    }
}

#[test]
fn parameters_that_sqlx_does_not_know_do_not_reach_its_log() {
    let url =
        checked("postgres://h/d?pasword=hunter2&user=me%26&channel_binding=require", &["user"]);
    assert_eq!(url.unwrap().as_str(), "postgres://h/d?user=me%26");
    let url = "postgres://h/d?options[geqo]=off&option[geqo]=off";
    let url = checked(url, &["options", "options["]).unwrap();
    assert_eq!(
        url.query_pairs().map(|(key, _)| key.into_owned()).collect::<Vec<_>>(),
        ["options[geqo]"]
    );
}

/// It would be ignored, and the connection be less safe than was meant.
#[test]
fn a_misspelt_tls_parameter_is_refused_with_the_known_ones() {
    for (url, words) in [
        ("postgres://h/d?sslmod=disable", ["\"sslmod\"", "sslmode, ssl-mode, sslrootcert"]),
        ("mysql://h/d?ssl_mode=DISABLED", ["\"ssl_mode\"", "sslmode, ssl-mode, sslca, ssl-ca"]),
    ] {
        let said = shown(url);
        assert!(words.iter().all(|each| said.contains(each)), "{said}");
        assert!(!said.contains("charset") && !said.contains("dbname"), "{said}");
    }
}
