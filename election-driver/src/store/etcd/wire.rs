//! The questions and answers of etcd's JSON gateway. Keys and values are Base64, numbers of 64 bits are
//! strings, and whatever is zero or empty is left out.

use super::identity::Header;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// What a call asks.
#[derive(Clone, Copy)]
pub(super) enum Question<'a> {
    Read { key: &'a str },
    Write { key: &'a str, value: &'a str, expected: i64 },
}

impl<'a> Question<'a> {
    pub(super) fn is_write(&self) -> bool {
        matches!(self, Self::Write { .. })
    }

    /// A read of the same key.
    pub(super) fn read(&self) -> Self {
        let (Self::Read { key } | Self::Write { key, .. }) = *self;
        Self::Read { key }
    }

    pub(super) fn key(&self) -> &'a str {
        let (Self::Read { key } | Self::Write { key, .. }) = *self;
        key
    }

    pub(super) fn path(&self) -> &'static str {
        match self {
            Self::Read { .. } => "/v3/kv/range",
            Self::Write { .. } => "/v3/kv/txn",
        }
    }

    pub(super) fn body(&self) -> String {
        let body = match self {
            Self::Read { key } => json!({ "key": encoded(key) }),
            Self::Write { key, value, expected } => {
                let key = encoded(key);
                json!({
                    "compare": [{
                        "key": key,
                        "target": "MOD",
                        "result": "EQUAL",
                        "mod_revision": expected.to_string(),
                    }],
                    "success": [{ "request_put": { "key": key, "value": encoded(value) } }],
                })
            }
        };
        body.to_string()
    }
}

pub(super) const AUTHENTICATE: &str = "/v3/auth/authenticate";

pub(super) fn authenticate(user: &str, password: &str) -> String {
    json!({ "name": user, "password": password }).to_string()
}

pub(super) const WATCH: &str = "/v3/watch";

/// From now on.
pub(super) fn watch(key: &str) -> String {
    json!({ "create_request": { "key": encoded(key) } }).to_string()
}

fn encoded(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

/// What an answer of a register's call means, or why it means nothing.
pub(super) type Reading<T> = fn(&Value) -> Result<T, String>;

/// The value of a key, and its version.
pub(super) fn found(answer: &Value) -> Result<Option<(String, i64)>, String> {
    let Some(entry) = answer.get("kvs").and_then(|entries| entries.get(0)) else { return Ok(None) };
    let version = number(entry, "mod_revision").filter(|version| *version > 0);
    let version = version.ok_or("it has a value without a revision")?;
    let value = text(entry, "value").unwrap_or_default();
    let value = BASE64_STANDARD.decode(value).map_err(|_| "its value is not Base64")?;
    let value = String::from_utf8(value).map_err(|_| {
        "the value is not text: another program uses the key; give the elections another prefix, or \
         another name"
    })?;
    Ok(Some((value, version)))
}

/// The version that was written, if one was.
pub(super) fn written(answer: &Value) -> Result<Option<i64>, String> {
    if answer.get("succeeded").and_then(Value::as_bool) != Some(true) {
        return Ok(None);
    }
    Ok(Some(header(answer)?.revision))
}

/// # Errors
/// If it is malformed, or there is none.
pub(super) fn header(answer: &Value) -> Result<Header, String> {
    let read = || {
        let header = answer.get("header")?;
        let cluster = text(header, "cluster_id")?.parse().ok()?;
        Some(Header { cluster, revision: number(header, "revision")? })
    };
    read().ok_or_else(|| "its answer has no header".to_owned())
}

/// What comes of a watch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// From here on, it tells of each change.
    Listens {
        cluster: u64,
    },
    Changed,
    Nothing,
    /// It tells of nothing more.
    Ends(String),
}

/// # Errors
/// If it is malformed.
pub(super) fn news(line: &[u8]) -> Result<News, String> {
    let line: Value =
        serde_json::from_slice(line).map_err(|_| "a line of the watch is not JSON")?;
    if let Some(error) = line.get("error") {
        return Ok(News::Ends(short(text(error, "message").unwrap_or("it gives no reason"))));
    }
    let result = line.get("result").ok_or("a line of the watch has no result")?;
    let is = |field| result.get(field).and_then(Value::as_bool) == Some(true);
    if is("canceled") {
        let reason = text(result, "cancel_reason").filter(|reason| !reason.is_empty());
        let compacted = || match number(result, "compact_revision") {
            Some(_) => "the revisions since then were compacted",
            None => "it gives no reason",
        };
        return Ok(News::Ends(short(reason.unwrap_or_else(compacted))));
    }
    if is("created") {
        return Ok(News::Listens { cluster: header(result)?.cluster });
    }
    let events = result.get("events").and_then(Value::as_array);
    Ok(if events.is_some_and(|events| !events.is_empty()) { News::Changed } else { News::Nothing })
}

pub(super) fn text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get(field)?.as_str()
}

/// What comes from outside goes into a log: one line, and not a long one.
pub(super) fn short(said: &str) -> String {
    said.chars().take(300).flat_map(char::escape_debug).collect()
}

fn number(object: &Value, field: &str) -> Option<i64> {
    text(object, field)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_never_trusted() {
        let entry = |value: &str| json!({ "kvs": [{ "mod_revision": "7", "value": value }] });
        assert_eq!(found(&json!({})), Ok(None));
        assert_eq!(found(&entry("YQ==")), Ok(Some(("a".to_owned(), 7))));
        assert_eq!(
            found(&json!({ "kvs": [{ "mod_revision": "7" }] })),
            Ok(Some((String::new(), 7)))
        );
        for (answer, words) in [
            (json!({ "kvs": [{}] }), "without a revision"),
            (json!({ "kvs": [{ "mod_revision": "0" }] }), "without a revision"),
            (json!({ "kvs": [{ "mod_revision": 7 }] }), "without a revision"),
            (entry("!"), "not Base64"),
            (entry("/w=="), "not text"),
        ] {
            assert!(found(&answer).unwrap_err().contains(words), "{answer}");
        }
        let head = json!({ "cluster_id": "18446744073709551615", "revision": "9" });
        assert_eq!(
            header(&json!({ "header": head })),
            Ok(Header { cluster: u64::MAX, revision: 9 })
        );
        assert_eq!(written(&json!({ "header": head, "succeeded": true })), Ok(Some(9)));
        assert_eq!(written(&json!({ "header": head })), Ok(None));
        for answer in [
            json!({}),
            json!([]),
            json!({ "succeeded": true }),
            json!({ "header": { "cluster_id": "-1" } }),
        ] {
            header(&answer).unwrap_err();
        }
        written(&json!({ "succeeded": true })).unwrap_err();
    }

    #[test]
    fn news_of_a_watch_are_told_apart() {
        let listens = br#"{"result":{"header":{"cluster_id":"5","revision":"3"},"created":true}}"#;
        assert_eq!(news(listens), Ok(News::Listens { cluster: 5 }));
        let changed = br#"{"result":{"header":{},"events":[{"kv":{"key":"YQ=="}}]}}"#;
        assert_eq!(news(changed), Ok(News::Changed));
        assert_eq!(news(br#"{"result":{"header":{}}}"#), Ok(News::Nothing));
        for (line, words) in [
            (r#"{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}"#, "no leader"),
            (r#"{"result":{"created":true,"canceled":true,"cancel_reason":"denied"}}"#, "denied"),
            (r#"{"result":{"canceled":true,"compact_revision":"9"}}"#, "compacted"),
            (r#"{"result":{"canceled":true}}"#, "no reason"),
            (r#"{"error":{"message":"a\nb"}}"#, "a\\nb"),
        ] {
            let Ok(News::Ends(why)) = news(line.as_bytes()) else { panic!("{line}") };
            assert!(why.contains(words), "{line}: {why}");
        }
        for line in ["", "{", "[]", "{}", r#"{"result":{"created":true}}"#] {
            news(line.as_bytes()).unwrap_err();
        }
    }
}
