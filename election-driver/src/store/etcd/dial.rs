//! Connections to the endpoints of a URL: by name, by address, encrypted if it is to be.

#[cfg(feature = "tls")]
use super::encryption;
use super::{
    link::{Link, NoAnswer},
    url::Url,
};
use crate::{
    Network, StoreError, StoreErrorCode,
    quorum::{address::Address, lookup::Lookup, transport::Transport},
};
use election_core::lease::Failure;
use futures_lite::{
    future::or,
    io::{AsyncRead, AsyncWrite},
};
use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

pub(super) type Socket<N> = Transport<<N as Network>::Stream>;

/// Why an endpoint gave no answer.
pub(super) enum Trouble {
    /// The request was certainly not executed there. Another endpoint may do it.
    Elsewhere(String),
    /// No other endpoint may be asked.
    Final(StoreError),
}

pub(super) use Trouble::{Elsewhere, Final};

pub(super) struct Dialer<N: Network> {
    pub(super) url: Arc<Url>,
    pub(super) runtime: N,
    /// What the names of the endpoints mean, in their order.
    lookups: Vec<Lookup>,
}

impl<N: Network> Dialer<N> {
    pub(super) fn new(url: Arc<Url>, runtime: N) -> Self {
        let lookups = url.endpoints.iter().cloned().map(Lookup::new).collect();
        Self { url, runtime, lookups }
    }

    /// Another, to the same endpoints.
    pub(super) fn again(&self) -> Self {
        Self::new(self.url.clone(), self.runtime.clone())
    }

    /// How many endpoints there are.
    pub(super) fn count(&self) -> usize {
        self.lookups.len()
    }

    pub(super) fn endpoint(&self, at: usize) -> String {
        let endpoint = self.url.endpoints.get(at);
        endpoint.map_or_else(String::new, |endpoint| format!("etcd at {endpoint}"))
    }

    /// Connects to an endpoint, within about this time.
    pub(super) async fn open(
        &mut self,
        at: usize,
        share: Duration,
    ) -> Result<Link<Socket<N>>, Trouble> {
        let Some(lookup) = self.lookups.get_mut(at) else {
            return Err(Elsewhere("it is not listed".to_owned()));
        };
        let address = lookup.address().clone();
        let found = lookup.look_up(&self.runtime, share / 4).await;
        let found = found.map_err(|error| {
            Elsewhere(format!(
                "its name cannot be resolved: {error}; correct the URL, or check the name server"
            ))
        })?;
        let share = share / u32::try_from(2 * found.addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut why = "its name has no address".to_owned();
        // A name may mean several.
        let named = |number: SocketAddr| match address.number() {
            Some(_) => String::new(),
            None => format!("{number}: "),
        };
        for number in found.addresses {
            match in_time(&self.runtime, share, self.runtime.connect(number)).await {
                Some(Ok(stream)) => {
                    let socket = secured(&self.url, stream, &address).await?;
                    return Link::open(at, socket, address.to_string()).await.map_err(Elsewhere);
                }
                Some(Err(error)) => {
                    let named = named(number);
                    why = format!("{named}{error}; start etcd there, or correct the URL");
                }
                None => {
                    let named = named(number);
                    why = format!(
                        "{named}no connection is accepted; start etcd there, or open the firewall"
                    );
                }
            }
        }
        match found.stale {
            Some(error) => {
                Err(Elsewhere(format!("{why}; its name cannot be resolved now: {error}")))
            }
            None => Err(Elsewhere(why)),
        }
    }
}

/// The status and the body of an answer.
pub(super) async fn post<S>(
    link: &mut Link<S>,
    path: &str,
    token: &str,
    body: String,
) -> Result<(u16, Vec<u8>), NoAnswer>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let answer = link.post(path, token, body).await?;
    let status = answer.status().as_u16();
    let body = link.rest(answer.into_body()).await;
    Ok((status, body.map_err(|why| NoAnswer { was_sent: true, why })?))
}

/// The same connection, encrypted if it is to be.
async fn secured<S: AsyncRead + AsyncWrite + Unpin>(
    url: &Url,
    stream: S,
    address: &Address,
) -> Result<Transport<S>, Trouble> {
    #[cfg(feature = "tls")]
    if let Some(encryption) = &url.encryption {
        let connector = encryption.connector().await;
        let connector = connector.map_err(|why| Final(fatal(why, None)))?;
        let made = encryption::encrypted(&connector, address.host(), stream).await;
        return made.map_err(Elsewhere);
    }
    #[cfg(not(feature = "tls"))]
    let _ = (url, address);
    Ok(Transport::Plain(stream))
}

pub(super) fn fatal(why: String, code: Option<StoreErrorCode>) -> StoreError {
    StoreError { code, ..StoreError::new(Failure::Fatal, why) }
}

/// What comes of a future, unless it takes longer than this.
pub(super) async fn in_time<N: Network, T>(
    runtime: &N,
    limit: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    or(async { Some(future.await) }, async {
        runtime.sleep(limit).await;
        None
    })
    .await
}
