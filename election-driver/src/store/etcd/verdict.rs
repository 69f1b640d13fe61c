//! What an answer means for the call, judged by etcd's own words. Whatever is not known here leaves open
//! whether a write was made.

use super::wire::{short, text};
use crate::StoreErrorCode;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Done(Value),
    /// It was not executed, and another endpoint may do it.
    Elsewhere(String),
    /// It was not executed, for want of a token that is valid.
    Login(String),
    /// It was not executed, and will not be until an operator has acted.
    Refused(String, Option<StoreErrorCode>),
    /// It may have been executed.
    Unclear(String),
}

/// Of etcd itself: it has lost its majority.
const NO_LEADER: &str = "etcdserver: no leader";

/// Said before a request is proposed to the others, or when it has been dropped.
const NOT_EXECUTED: [&str; 4] = [
    "etcdserver: rpc not supported for learner",
    "etcdserver: not capable",
    "etcdserver: too many requests",
    "raft proposal dropped",
];

/// Said when the token is checked, which is before the request takes effect.
const LOGIN: [&str; 4] = [
    "etcdserver: invalid auth token",
    "etcdserver: user name is empty",
    "etcdserver: revision of auth store is old",
    "auth: revision in header is old", // as it was once called
];

/// Refusals, and what to do.
const REFUSED: [(&str, &str, Option<StoreErrorCode>); 4] = [
    (
        "etcdserver: permission denied",
        "let a role of the user read and write the keys of the elections: etcdctl role \
         grant-permission ROLE readwrite PREFIX/ --prefix",
        None,
    ),
    (
        "etcdserver: authentication failed, invalid user ID or password",
        "correct user and password in the URL, or create the user: etcdctl user add USER",
        Some(StoreErrorCode::Login),
    ),
    ("etcdserver: request is too large", "raise --max-request-bytes", None),
    ("etcdserver: corrupt cluster", "restore the member that etcdctl alarm list names", None),
];

/// Said of a write that crosses the quota, too, which is executed all the same.
const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";

/// What etcd has against a request. In some versions it stands in `error`, and of a watch below that.
fn reason(answer: &Value) -> Option<&str> {
    let below = || text(answer.get("error")?, "message");
    text(answer, "message").or_else(|| text(answer, "error")).or_else(below)
}

pub(super) fn judge(status: u16, body: &[u8]) -> Verdict {
    let answer = serde_json::from_slice::<Value>(body).ok();
    if status == 200 {
        let object = answer.filter(Value::is_object);
        return object.map_or_else(
            || Verdict::Unclear("its answer is not JSON; check what listens there".to_owned()),
            Verdict::Done,
        );
    }
    let Some(said) = answer.as_ref().and_then(reason) else {
        let hint = match status {
            404 | 405 => {
                "; it is no etcd of 3.4 or newer, or its JSON gateway is off \
                          (--enable-grpc-gateway)"
            }
            400 if body.starts_with(b"CommonName of client") => {
                "; etcd's gateway accepts no client certificate with a common name while \
                 authentication is enabled: use one without, and USER:PASSWORD@ in the URL"
            }
            400 => "; etcd may want TLS here: write etcds:// in the URL",
            421 => "; add the host to etcd's --host-whitelist, or write etcds:// in the URL",
            _ => "",
        };
        return Verdict::Unclear(format!("it answers with HTTP status {status}{hint}"));
    };
    if said == NO_LEADER {
        return Verdict::Elsewhere(format!("{said}; start members of etcd until most of them run"));
    }
    if NOT_EXECUTED.contains(&said) {
        return Verdict::Elsewhere(said.to_owned());
    }
    if said == NO_SPACE {
        return Verdict::Unclear(format!(
            "{said}; raise --quota-backend-bytes, or compact and defragment, then run etcdctl alarm \
             disarm"
        ));
    }
    if LOGIN.contains(&said) {
        return Verdict::Login(said.to_owned());
    }
    match REFUSED.iter().find(|(reason, ..)| *reason == said) {
        Some((_, remedy, code)) => Verdict::Refused(format!("{said}; {remedy}"), *code),
        None => Verdict::Unclear(short(said)),
    }
}

/// Whether a user was given to a cluster that wants none.
pub(super) fn wants_no_login(body: &[u8]) -> bool {
    let answer = serde_json::from_slice::<Value>(body).ok();
    answer.as_ref().and_then(reason) == Some("etcdserver: authentication is not enabled")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_judged_by_what_etcd_says() {
        #[derive(Debug, PartialEq)]
        enum Kind {
            Elsewhere,
            Login,
            Refused,
            Unclear,
        }
        for (status, said, expected) in [
            (503, "etcdserver: no leader", Kind::Elsewhere),
            (503, "etcdserver: rpc not supported for learner", Kind::Elsewhere),
            (503, "etcdserver: not capable", Kind::Elsewhere),
            (429, "etcdserver: too many requests", Kind::Elsewhere),
            (500, "raft proposal dropped", Kind::Elsewhere),
            (401, "etcdserver: invalid auth token", Kind::Login),
            (400, "etcdserver: user name is empty", Kind::Login),
            (400, "etcdserver: revision of auth store is old", Kind::Login),
            (403, "etcdserver: permission denied", Kind::Refused),
            (400, "etcdserver: authentication failed, invalid user ID or password", Kind::Refused),
            (429, "etcdserver: mvcc: database space exceeded", Kind::Unclear),
            (400, "etcdserver: request is too large", Kind::Refused),
            (503, "etcdserver: request timed out", Kind::Unclear),
            (
                503,
                "etcdserver: request timed out, possibly due to previous leader failure",
                Kind::Unclear,
            ),
            (503, "etcdserver: leader changed", Kind::Unclear),
            (503, "etcdserver: server stopped", Kind::Unclear),
            (503, "perhaps etcdserver: no leader", Kind::Unclear),
            (504, "context deadline exceeded", Kind::Unclear),
        ] {
            for body in [
                json!({ "error": said, "message": said, "code": 2 }),
                json!({ "error": said }),
                json!({ "message": said, "code": 2 }),
                json!({ "error": { "grpc_code": 2, "message": said } }),
            ] {
                let verdict = judge(status, body.to_string().as_bytes());
                let (kind, why) = match verdict {
                    Verdict::Elsewhere(why) => (Kind::Elsewhere, why),
                    Verdict::Login(why) => (Kind::Login, why),
                    Verdict::Refused(why, _) => (Kind::Refused, why),
                    Verdict::Unclear(why) => (Kind::Unclear, why),
                    Verdict::Done(answer) => panic!("{answer}"),
                };
                assert_eq!(kind, expected, "{body}");
                assert!(
                    why.contains(said) && (kind != Kind::Refused || why.contains("; ")),
                    "{why}"
                );
            }
        }
    }

    #[test]
    fn an_answer_that_is_none_leaves_all_open() {
        assert_eq!(judge(200, b"{}"), Verdict::Done(json!({})));
        for (status, body, words) in [
            (200, "", "not JSON"),
            (200, "[]", "not JSON"),
            (200, "<html>", "not JSON"),
            (404, "Not Found", "--enable-grpc-gateway"),
            (400, "Client sent an HTTP request to an HTTPS server.", "TLS"),
            (400, "CommonName of client sending a request", "certificate with a common name"),
            (421, "", "--host-whitelist"),
            (502, "{}", "status 502"),
            (503, r#"{"message":7}"#, "status 503"),
            (503, r#"{"message":"a\nb"}"#, "a\\nb"),
        ] {
            let Verdict::Unclear(why) = judge(status, body.as_bytes()) else { panic!("{body}") };
            assert!(why.contains(words), "{body}: {why}");
        }
    }
}
