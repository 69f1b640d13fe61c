//! Endpoints that are no etcd, or break off: servers of the test's own.

use crate::{on::OnNothing, places::register};
use election_core::lease::Failure;
use election_driver::{Register as _, Runtime as _};
use election_tokio::{Notice, Tokio};
use futures_lite::StreamExt as _;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What a server has been asked, by path.
type Asked = Arc<Mutex<Vec<String>>>;

const HEADER: &str = r#""header":{"cluster_id":"7","revision":"3"}"#;

/// What comes only after [`LATENESS`].
const LATE: &str = "late ";
const LATENESS: Duration = Duration::from_millis(1_500);

fn http(status: u16, body: &str) -> String {
    format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A server that gives this answer to each path; none for an empty one, and then it hangs up.
async fn server(answer: fn(&str) -> String) -> (u16, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Asked::default();
    let log = asked.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(stream, log.clone(), answer));
        }
    });
    (port, asked)
}

async fn serve(mut stream: TcpStream, log: Asked, answer: fn(&str) -> String) {
    let mut read = Vec::new();
    while stream.read_buf(&mut read).await.is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() < length.unwrap().parse().unwrap() {
            continue;
        }
        read.clear();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        log.lock().unwrap().push(path.clone());
        match answer(&path) {
            none if none.is_empty() => return,
            hang if hang == "hang" => std::future::pending().await,
            late if late.starts_with(LATE) => {
                tokio::time::sleep(LATENESS).await; // its disk is slow
                stream.write_all(&late.as_bytes()[LATE.len()..]).await.unwrap();
            }
            answer => stream.write_all(answer.as_bytes()).await.unwrap(),
        }
    }
}

fn reads(path: &str) -> Option<String> {
    (path == "/v3/kv/range").then(|| http(200, &format!("{{{HEADER}}}")))
}

fn asked_for_writes(asked: &Asked) -> usize {
    asked.lock().unwrap().iter().filter(|path| *path == "/v3/kv/txn").count()
}

async fn a_write_without_an_answer_is_not_repeated(_: OnNothing) {
    for answer in [
        |path: &str| reads(path).unwrap_or_default(),
        |path: &str| reads(path).unwrap_or("hang".to_owned()),
        |path: &str| reads(path).unwrap_or(http(200, "{}")),
        |path: &str| reads(path).unwrap_or(http(200, "not JSON")),
        |path: &str| {
            reads(path).unwrap_or(http(503, r#"{"message":"etcdserver: request timed out"}"#))
        },
        |path: &str| {
            reads(path).unwrap_or("HTTP/1.1 200 x\r\ncontent-length: 9\r\n\r\n{".to_owned())
        },
    ] {
        let servers = [server(answer).await, server(answer).await];
        let [one, other] = servers.each_ref().map(|(port, _)| format!("127.0.0.1:{port}"));
        let mut register = register(&format!("etcd://{one},{other}"));
        register = register.timeout(Duration::from_secs(3));
        let error = register.write("key", "value", None).await.unwrap_err();
        assert_eq!(error.kind, Failure::Ambiguous, "{error}");
        assert!(error.to_string().contains(&one), "{error}");
        let asked: usize = servers.iter().map(|(_, asked)| asked_for_writes(asked)).sum();
        assert_eq!(asked, 1, "{error}");
        assert!(register.read("key").await.unwrap().is_none(), "it is of use all the same");
    }
}

async fn a_write_that_is_refused_goes_to_the_next(_: OnNothing) {
    for refusal in [
        |path: &str| reads(path).unwrap_or(http(503, r#"{"message":"etcdserver: no leader"}"#)),
        |_: &str| http(503, r#"{"error":"etcdserver: rpc not supported for learner"}"#),
        |_: &str| http(404, "Not Found"),
        |_: &str| "hang".to_owned(),
        |_: &str| String::new(),
        |_: &str| "no HTTP\r\n\r\n".to_owned(),
    ] {
        let (one, _) = server(refusal).await;
        let takes = |path: &str| {
            reads(path).unwrap_or(http(200, &format!("{{{HEADER},\"succeeded\":true}}")))
        };
        let (other, asked) = server(takes).await;
        let (third, _) = server(|path: &str| reads(path).unwrap()).await;
        let hosts = [one, other, third].map(|port| format!("127.0.0.1:{port}"));
        let mut register = register(&format!("etcd://{}", hosts.join(",")));
        register = register.timeout(Duration::from_secs(3));
        assert!(register.write("key", "value", None).await.unwrap().is_some());
        assert_eq!(asked_for_writes(&asked), 1);
    }
}

/// Nobody else may be asked any more.
async fn a_write_under_way_has_the_whole_time(_: OnNothing) {
    let slow = |path: &str| {
        let written = http(200, &format!("{{{HEADER},\"succeeded\":true}}"));
        reads(path).unwrap_or(LATE.to_owned() + &written)
    };
    let (port, asked) = server(slow).await;
    let mut register = register(&format!("etcd://127.0.0.1:{port}"));
    register = register.timeout(LATENESS * 2 - Duration::from_millis(1));
    assert!(register.write("key", "value", None).await.unwrap().is_some());
    assert_eq!(asked_for_writes(&asked), 1);
}

/// At first each has a quarter of the time.
async fn endpoints_that_are_slow_are_reached_in_the_end(_: OnNothing) {
    let slow = |path: &str| {
        let watches = http(200, &format!("{{\"result\":{{{HEADER},\"created\":true}}}}\n"));
        LATE.to_owned() + &reads(path).unwrap_or(watches)
    };
    let mut hosts = Vec::new();
    for _ in 0..3 {
        hosts.push(format!("127.0.0.1:{}", server(slow).await.0));
    }
    let mut register = register(&format!("etcd://{}", hosts.join(",")));
    register = register.timeout(LATENESS * 2);
    let first = register.read("key").await.unwrap_err();
    assert!(first.to_string().contains("no answer in 7"), "{first}");
    let mut calls = 1;
    while register.read("key").await.is_err() {
        calls += 1;
        assert!(calls < 9, "never reached");
    }
    register.read("key").await.expect("the connection that has answered");
    let mut notices = register.watch("key", Arc::new(|time| Box::pin(Tokio.sleep(time))));
    while notices.next().await != Some(Notice::Listening) {}
}

/// What is silent when the members are compared is not asked again while others answer.
async fn members_are_compared_once(_: OnNothing) {
    let answers = |path: &str| reads(path).unwrap();
    let (one, _) = server(answers).await;
    let (other, _) = server(answers).await;
    let (silent, asked) = server(|_: &str| "hang".to_owned()).await;
    let hosts = [one, other, silent].map(|port| format!("127.0.0.1:{port}"));
    let mut register = register(&format!("etcd://{}", hosts.join(",")));
    register = register.timeout(Duration::from_secs(2));
    for _ in 0..3 {
        register.read("key").await.unwrap();
    }
    assert_eq!(asked.lock().unwrap().len(), 1);
}

/// A connection that has answered is kept, and a new one is tried by a read first.
async fn writes_go_over_the_connection_that_is_kept(_: OnNothing) {
    let takes =
        |path: &str| reads(path).unwrap_or(http(200, &format!("{{{HEADER},\"succeeded\":true}}")));
    let (port, asked) = server(takes).await;
    let mut register = register(&format!("etcd://127.0.0.1:{port}"));
    for _ in 0..2 {
        assert!(register.write("key", "value", None).await.unwrap().is_some());
    }
    assert_eq!(*asked.lock().unwrap(), ["/v3/kv/range", "/v3/kv/txn", "/v3/kv/txn"]);
}

/// Clones that begin together wait for one login.
async fn clones_log_in_once(_: OnNothing) {
    let answers = |path: &str| {
        let token = || LATE.to_owned() + &http(200, &format!("{{{HEADER},\"token\":\"t\"}}"));
        reads(path).unwrap_or_else(token)
    };
    let (port, asked) = server(answers).await;
    let mut one = register(&format!("etcd://me:secret@127.0.0.1:{port}")).timeout(LATENESS * 4);
    let mut other = one.clone();
    let (first, second) = tokio::join!(one.read("key"), other.read("key"));
    assert!(first.unwrap().is_none() && second.unwrap().is_none());
    let logins = asked.lock().unwrap().iter().filter(|path| path.contains("auth")).count();
    assert_eq!(logins, 1);
}

async fn an_answer_that_is_none_names_its_endpoint(_: OnNothing) {
    for (answer, words) in [
        ((|_: &str| http(200, "[]")) as fn(&str) -> String, "not JSON"),
        (|_: &str| http(200, "{}"), "no header"),
        (|_: &str| http(200, &" ".repeat((1 << 20) + 1)), "longer than 1 MiB"),
        (|_: &str| http(404, "Not Found"), "--enable-grpc-gateway"),
        (|_: &str| http(400, "Client sent an HTTP request to an HTTPS server."), "TLS"),
        (|_: &str| http(200, "{").replace(": 1", ": 9"), "no answer"),
        (|_: &str| "hang".to_owned(), "no answer"),
        (|_: &str| "SSH-2.0-x\r\n".to_owned(), "check what listens there"),
    ] {
        let (port, _) = server(answer).await;
        let mut register = register(&format!("etcd://127.0.0.1:{port}"));
        register = register.timeout(Duration::from_secs(3));
        let error = register.read("key").await.unwrap_err();
        assert_eq!(error.kind, Failure::Transient, "{error}");
        let said = error.to_string();
        assert!(said.contains(&format!("127.0.0.1:{port}")) && said.contains(words), "{said}");
    }
}

tests! {
    a_write_under_way_has_the_whole_time: by_itself;
    a_write_without_an_answer_is_not_repeated: by_itself;
    a_write_that_is_refused_goes_to_the_next: by_itself;
    an_answer_that_is_none_names_its_endpoint: by_itself;
    endpoints_that_are_slow_are_reached_in_the_end: by_itself;
    members_are_compared_once: by_itself;
    writes_go_over_the_connection_that_is_kept: by_itself;
    clones_log_in_once: by_itself;
}
