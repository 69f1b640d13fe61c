//! Whatever comes through the socket is a request, an answer, or an error; and what another version
//! has added is passed over.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, from_slice, to_string};

fn request() -> impl Strategy<Value = Request> {
    let span = any::<u64>();
    prop_oneof![
        Just(Request::Status),
        Just(Request::Observe),
        (any::<Option<String>>(), span)
            .prop_map(|(to, within_ms)| Request::Resign { to, within_ms }),
        (any::<Option<u64>>(), span)
            .prop_map(|(for_ms, within_ms)| Request::Pause { for_ms, within_ms }),
        span.prop_map(|within_ms| Request::Resume { within_ms }),
    ]
}

/// Bytes that are nearly a request.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let whole = request().prop_map(|request| serde_json::to_vec(&request).expect("JSON"));
    (whole, any::<prop::sample::Index>(), any::<Option<u8>>()).prop_map(
        |(mut bytes, place, byte)| {
            let place = place.index(bytes.len());
            match byte {
                Some(byte) => bytes[place] = byte,
                None => bytes.truncate(place),
            }
            bytes
        },
    )
}

/// What is read is written the same again.
fn is_read(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok(request) = from_slice::<Request>(bytes) {
        let text = to_string(&request).expect("JSON");
        let again: Request = from_slice(text.as_bytes()).expect("what was written");
        prop_assert_eq!(to_string(&again).expect("JSON"), text);
    }
    if let Err(error) = from_slice::<Answer>(bytes) {
        prop_assert!(!error.to_string().is_empty());
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_bytes_are_too_much(noise in any::<Vec<u8>>(), nearly in nearly()) {
        is_read(&noise)?;
        is_read(&nearly)?;
    }

    #[test]
    fn a_request_with_more_fields_is_the_same_request(request in request(), more in "x[a-z]{0,8}") {
        let text = to_string(&request).expect("JSON");
        let mut value: Value = from_slice(text.as_bytes()).expect("JSON");
        value[more] = Value::from(vec![1, 2]);
        let read: Request = serde_json::from_value(value).expect("the same request");
        prop_assert_eq!(to_string(&read).expect("JSON"), text);
    }
}
