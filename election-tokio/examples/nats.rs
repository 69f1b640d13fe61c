//! Elections in NATS: a register over a bucket of `JetStream`'s key-value store.
//!
//! ```sh
//! nats-server --jetstream &
//! cargo run -p election-tokio --example nats -- nats://127.0.0.1:4222 reports alice
//! ```
//!
//! What a register has to promise, and what NATS says to it: reads and writes are the business of the
//! leader of the bucket's stream, which writes only if the key's revision is the expected one. Revisions
//! count for the whole bucket, so none comes twice. But a server acknowledges what it has not yet flushed
//! to its disk: set `sync_interval: always`, or a power failure can elect a second leader.

use async_nats::{
    ConnectOptions,
    jetstream::{
        self,
        kv::{CreateErrorKind, Operation, Store, UpdateErrorKind, Watch},
        stream,
    },
};
use election_tokio::{
    Election, Notice, Notifications, Pause, Register, RegisterStore, StoreError,
    core::lease::Failure,
};
use futures_lite::{StreamExt as _, future::or, stream::unfold};
use std::{error::Error, fmt::Display, time::Duration};

#[derive(Clone)]
pub(crate) struct NatsRegister(Store);

impl NatsRegister {
    /// The register in this bucket, which is made if there is none.
    ///
    /// # Errors
    /// If no server answers, or none has `JetStream`.
    pub(crate) async fn connect(url: &str, bucket: &str) -> Result<Self, async_nats::Error> {
        // A call has to end well before the lease does.
        let options = ConnectOptions::new().request_timeout(Some(Duration::from_secs(2)));
        let mut context = jetstream::new(options.connect(url).await?);
        context.set_timeout(Duration::from_secs(2));
        // What a bucket is made of. `num_replicas` is 3 or 5 in a cluster.
        let config = stream::Config {
            name: format!("KV_{bucket}"),
            subjects: vec![format!("$KV.{bucket}.>")],
            max_messages_per_subject: 1,
            ..stream::Config::default()
        };
        context.get_or_create_stream(config).await?;
        Ok(Self(context.get_key_value(bucket).await?))
    }
}

fn failed(kind: Failure, error: impl Display) -> StoreError {
    StoreError::new(kind, error.to_string())
}

/// A key may have no other characters than these, `=` and `.`.
fn encoded(key: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte);
    let encode = |byte: u8| match byte {
        plain if is_plain(plain) => char::from(plain).to_string(),
        other => format!("={other:02X}"),
    };
    key.bytes().map(encode).collect()
}

impl Register for NatsRegister {
    type Version = u64;

    async fn read(&mut self, key: &str) -> Result<Option<(String, u64)>, StoreError> {
        let entry = self.0.entry(encoded(key)).await;
        let entry = entry.map_err(|error| failed(Failure::Transient, error))?;
        // A key that was deleted has an entry that says so.
        let put = entry.filter(|entry| entry.operation == Operation::Put);
        let Some(entry) = put else { return Ok(None) };
        let value = String::from_utf8(entry.value.to_vec());
        let value = value.map_err(|error| failed(Failure::Fatal, error))?;
        Ok(Some((value, entry.revision)))
    }

    async fn write(
        &mut self,
        key: &str,
        value: &str,
        expected: Option<&u64>,
    ) -> Result<Option<u64>, StoreError> {
        let (key, value) = (encoded(key), value.to_owned().into());
        let Some(expected) = expected else {
            return match self.0.create(key, value).await {
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(None),
                made => made.map(Some).map_err(|error| failed(Failure::Ambiguous, error)),
            };
        };
        match self.0.update(key, value, *expected).await {
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(None),
            made => made.map(Some).map_err(|error| failed(Failure::Ambiguous, error)),
        }
    }

    fn watch(&mut self, key: &str, pause: Pause) -> Notifications {
        let (store, key) = (self.0.clone(), encoded(key));
        let notices = unfold(None::<(Watch, bool)>, move |watch| {
            let (store, key, pause) = (store.clone(), key.clone(), pause.clone());
            async move {
                Some(match watch {
                    None => match store.watch(&key).await {
                        Ok(watch) => (Notice::Listening, Some((watch, true))),
                        Err(error) => {
                            pause(Duration::from_secs(1)).await;
                            (Notice::NotListening(error.to_string()), None)
                        }
                    },
                    // Something may have changed before it listened.
                    Some((watch, true)) => (Notice::Wake, Some((watch, false))),
                    Some((mut watch, false)) => {
                        let silence = async {
                            pause(Duration::from_secs(10)).await;
                            None
                        };
                        match or(watch.next(), silence).await {
                            Some(Ok(_)) => (Notice::Wake, Some((watch, false))),
                            Some(Err(error)) => (Notice::NotListening(error.to_string()), None),
                            // Perhaps the server has restarted: watching again finds out.
                            None => (Notice::Wake, None),
                        }
                    }
                })
            }
        });
        Box::pin(notices)
    }
}

#[tokio::main]
#[allow(dead_code)] // as part of a test
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(name), Some(node)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: nats URL NAME NODE".into());
    };
    let store = RegisterStore::new(NatsRegister::connect(&url, "elections").await?);
    let elector = Election::builder(&name).node(&node).store(store).build()?.start();
    let lease = elector.elected().await?;
    println!("{node} leads under epoch {}", lease.epoch());
    println!("{node} leads no more: {}", lease.ended().await);
    elector.shutdown().await;
    Ok(())
}
