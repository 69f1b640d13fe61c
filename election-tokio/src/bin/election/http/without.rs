//! A command that was built without HTTP says so when it is asked for it.

use super::address::Address;
use crate::exit::Failed;
use election_tokio::{Handle, Member, Starting};

/// There is none.
pub(crate) enum Http {}

impl Http {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn open(address: Address) -> Result<Self, Failed> {
        Err(Failed::new(format!(
            "--http {address}: this `election` was built without HTTP; build it with the feature \
             `cli-http`, too, or with `cli`"
        )))
    }

    pub(crate) fn starts(&self, _: Starting) {
        match *self {}
    }

    pub(crate) fn joined(&self, _: &Handle, _: Option<&Member>) {
        match *self {}
    }
}
