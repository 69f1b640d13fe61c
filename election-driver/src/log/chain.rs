//! An error in one line.

use std::error::Error;

/// An error with its causes, each named once: many errors repeat their cause.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let words = deeper.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = deeper.source();
    }
    text
}

/// The `Debug` of errors is their text with its causes: a `main` that returns an error shows its `Debug`,
/// and an `unwrap` does.
macro_rules! shown {
    ($($error:ty),+ $(,)?) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::log::chain(self))
            }
        }
    )+};
}
pub(crate) use shown;

#[cfg(test)]
mod tests {
    use crate::{NotElected, StoreError, WorkError};
    use election_core::lease::Failure;
    use std::{convert::Infallible, error::Error, sync::Arc};

    /// Rust prints the `Debug` of an error that `main` returns.
    #[test]
    fn main_shows_the_text_of_an_error_with_its_causes() {
        let shown = |error: Box<dyn Error>| format!("{error:?}");
        let error = || StoreError::new(Failure::Fatal, "no table; create it").with_source("e.db");
        assert_eq!(shown(error().into()), "no table; create it: e.db");
        let failed: WorkError<Infallible> = NotElected::Unusable(Arc::new(error())).into();
        assert_eq!(shown(failed.into()), "the store cannot be used: no table; create it");
    }
}
