//! Elections in an object store with conditional writes: S3, Google Cloud Storage, Azure, as the crate
//! `object_store` reaches them.
//!
//! ```sh
//! cargo run -p election-tokio --example object_store
//! ```
//!
//! It runs on that crate's store in memory, and **has never been tried against a cloud**. There, let the
//! client repeat no request by itself (`RetryConfig { max_retries: 0, .. }`), and count the costs: a leader
//! writes its object once in an interval, and each follower reads it once. An `ETag` may be a hash of what
//! is written. That will do, for the value that says who leads is never the same twice.

use election_tokio::{Election, Register, RegisterStore, StoreError, core::lease::Failure};
use object_store::{
    Error, ObjectStore, ObjectStoreExt as _, PutMode, UpdateVersion, memory::InMemory, path::Path,
};
use std::{fmt::Display, sync::Arc};

#[derive(Clone)]
pub(crate) struct ObjectRegister(pub(crate) Arc<dyn ObjectStore>);

/// The key's parts, of which none may be empty.
fn path(key: &str) -> Path {
    let part = |part: &str| if part.is_empty() { "%".to_owned() } else { part.replace('%', "%%") };
    key.split('/').map(part).collect()
}

fn failed(kind: Failure, error: impl Display) -> StoreError {
    StoreError::new(kind, error.to_string())
}

impl Register for ObjectRegister {
    type Version = UpdateVersion;

    async fn read(&mut self, key: &str) -> Result<Option<(String, UpdateVersion)>, StoreError> {
        let transient = |error| failed(Failure::Transient, error);
        let found = match self.0.get(&path(key)).await {
            Err(Error::NotFound { .. }) => return Ok(None),
            found => found.map_err(transient)?,
        };
        let (e_tag, version) = (found.meta.e_tag.clone(), found.meta.version.clone());
        let value = String::from_utf8(found.bytes().await.map_err(transient)?.into());
        let value = value.map_err(|error| failed(Failure::Fatal, error))?;
        Ok(Some((value, UpdateVersion { e_tag, version })))
    }

    async fn write(
        &mut self,
        key: &str,
        value: &str,
        expected: Option<&UpdateVersion>,
    ) -> Result<Option<UpdateVersion>, StoreError> {
        let mode = expected.cloned().map_or(PutMode::Create, PutMode::Update);
        match self.0.put_opts(&path(key), value.to_owned().into(), mode.into()).await {
            Ok(written) => Ok(Some(written.into())),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(None),
            Err(error) => Err(failed(Failure::Ambiguous, error)),
        }
    }
}

#[tokio::main]
#[allow(dead_code)] // as part of a test
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let register = ObjectRegister(Arc::new(InMemory::new()));
    let elector = |node: &str| {
        let store = RegisterStore::new(register.clone());
        Election::builder("reports").node(node).store(store).build()
    };
    let (alice, bob) = (elector("alice")?.start(), elector("bob")?.start());
    println!("alice leads under epoch {}", alice.elected().await?.epoch());
    alice.shutdown().await;
    println!("bob leads under epoch {}", bob.elected().await?.epoch());
    Ok(())
}
