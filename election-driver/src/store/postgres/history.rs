//! `?history=none`, for servers that cannot tell whether they were promoted.

use crate::StoreError;
use election_core::lease::Failure;

const NAME: &str = "history";

/// The URL without that word, and whether the server may be asked.
pub(super) fn taken_from(url: &str) -> Result<(String, bool), StoreError> {
    let Some((place, query)) = url.split_once('?') else { return Ok((url.to_owned(), true)) };
    let (mut tells, mut rest) = (true, Vec::new());
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (name, value) {
            (NAME, "none") => tells = false,
            (NAME, _) => {
                let context = format!(
                    "the URL says `{NAME}={value}`; leave it out where the server tells whether it was \
                     promoted (PostgreSQL), or say `{NAME}=none` where it cannot"
                );
                return Err(StoreError::new(Failure::Fatal, context));
            }
            _ => rest.push(pair),
        }
    }
    let query = rest.join("&");
    let url = if query.is_empty() { place.to_owned() } else { format!("{place}?{query}") };
    Ok((url, tells))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_word_is_taken() {
        for (url, expected, tells) in [
            ("postgres://h/d", "postgres://h/d", true),
            ("postgres://h/d?history=none", "postgres://h/d", false),
            ("postgres://h/d?a=b&history=none&c=d", "postgres://h/d?a=b&c=d", false),
            ("postgres://h/d?sslmode=disable", "postgres://h/d?sslmode=disable", true),
            ("postgres://h/history=none", "postgres://h/history=none", true),
        ] {
            assert_eq!(taken_from(url).unwrap(), (expected.to_owned(), tells), "{url}");
        }
    }

    #[test]
    fn another_value_is_refused_with_the_remedy() {
        for url in ["postgres://h/d?history=off", "postgres://h/d?history"] {
            let error = taken_from(url).unwrap_err().to_string();
            assert!(error.contains("history=none"), "{error}");
        }
    }
}
