//! Members that speak TLS only.

use crate::{on::OnNothing, places::register};
use election_core::lease::Failure;
use election_driver::Register as _;
use election_testing::Etcd;
use election_tokio::EtcdRegister;

/// A register with these files.
fn with(cluster: &Etcd, host: &str, files: &[(&str, &str)]) -> EtcdRegister {
    let file = |name| cluster.directory().join(name).display().to_string().replace('/', "%2F");
    let files: Vec<_> = files.iter().map(|(key, name)| format!("{key}={}", file(name))).collect();
    register(&format!("etcds://{host}:{}/x?{}", cluster.port(0), files.join("&")))
}

const OWN: [(&str, &str); 3] = [("ca", "ca.pem"), ("cert", "server.pem"), ("key", "server.key")];

async fn certificates_are_shown_and_demanded(_: OnNothing) {
    let cluster = Etcd::start_encrypted();
    let mut own = with(&cluster, "127.0.0.1", &OWN);
    let version = own.write("key", "value", None).await.unwrap();
    assert!(version.is_some() && own.read("key").await.unwrap().is_some());
    let mut changes = own.watch("key", std::sync::Arc::new(|_| Box::pin(std::future::pending())));
    let told = futures_lite::StreamExt::next(&mut changes).await;
    assert_eq!(told, Some(election_tokio::Notice::Listening));

    let port = cluster.port(0).to_string();
    for (host, files, kind, words) in [
        ("127.0.0.1", &OWN[..1], Failure::Transient, "cert=FILE"),
        ("localhost", &OWN, Failure::Transient, "ca=FILE"),
        ("127.0.0.1", &[("ca", "server.key")], Failure::Fatal, "server.key"),
        ("127.0.0.1", &[("ca", "none.pem")], Failure::Fatal, "none.pem"),
    ] {
        let mut refused = with(&cluster, host, files);
        for error in [
            refused.read("key").await.unwrap_err(),
            refused.write("key", "x", version.as_ref()).await.unwrap_err(),
        ] {
            let said = error.to_string();
            println!("{said}");
            assert_eq!(error.kind, kind, "{said}");
            assert!(said.contains(&port) && said.contains(words), "{said}");
        }
    }
}

tests! {
    certificates_are_shown_and_demanded: by_itself;
}
