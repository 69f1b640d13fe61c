//! The credentials in use, and the thread that reads them again.
//!
//! It is a thread of its own: a file may lie on a disk or a network that hangs, and an application's
//! own source may take its time. Whatever is wrong with new credentials, the last ones stay in use.

use super::{
    credentials::{Credentials, CredentialsError, Tls},
    expiry::Expiry,
    fingerprint::Fingerprint,
    identity::Identity,
    name::MemberName,
};
use crate::quorum::starting::StartError;
use async_channel::{Receiver, Sender};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

/// How often credentials are read again if nobody asks.
const INTERVAL: Duration = Duration::from_secs(5);
/// The least time between two readings, however many strangers fail at a handshake.
const LEAST: Duration = Duration::from_secs(1);

/// What a running member proves itself with, and by what it recheck the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateStatus {
    /// Which certificate this member has.
    pub fingerprint: Fingerprint,
    /// Until when it and the authority's are valid.
    pub expiry: Expiry,
    /// The members of which only certain certificates are accepted, and which; by their ids.
    pub accepted: Vec<(String, Vec<Fingerprint>)>,
    /// Why those that were read last are not in use.
    pub refused: Option<CredentialsError>,
}

/// What has become of the credentials.
#[derive(Debug)]
pub(in crate::quorum) enum News {
    /// Others are in use. Whether connections have to be judged anew.
    Renewed { recheck: bool },
    /// They cannot be used; the last ones stay.
    Refused(CredentialsError),
    /// They were the same as before, after they could not be used.
    Mended,
}

/// The credentials in use. Cheap to clone.
#[derive(Clone)]
pub(in crate::quorum) struct Keyring {
    slot: Arc<Slot>,
    asked: mpsc::SyncSender<()>,
    news: Receiver<News>,
}

/// What the thread leaves for those who ask.
struct Slot(Mutex<Current>);

struct Current {
    identity: Arc<Identity>,
    /// Why the last reading was of no use.
    refused: Option<CredentialsError>,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Current> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keyring {
    /// Reads and checks the credentials, and starts to read them again and again, until the last clone
    /// is dropped. May block.
    pub(in crate::quorum) fn open(source: Tls, own: MemberName) -> Result<Self, StartError> {
        let credentials = source.read()?;
        let identity = Arc::new(Identity::new(&own, &credentials)?);
        let slot = Arc::new(Slot(Mutex::new(Current { identity, refused: None })));
        let (asked, requests) = mpsc::sync_channel(1);
        let (sender, news) = async_channel::unbounded();
        let mut reader = Reader { source, own, credentials, slot: slot.clone(), news: sender };
        let run = move || {
            // Nobody waits for the end of this thread.
            let ends = mpsc::RecvTimeoutError::Disconnected;
            while requests.recv_timeout(INTERVAL) != Err(ends) {
                reader.look();
                thread::sleep(LEAST);
            }
        };
        let thread = thread::Builder::new().name("election-keys".to_owned()).spawn(run);
        thread.map_err(StartError::Thread)?;
        Ok(Self { slot, asked, news })
    }

    /// What becomes of them.
    pub(in crate::quorum) fn news(&self) -> Receiver<News> {
        self.news.clone()
    }

    pub(in crate::quorum) fn current(&self) -> Arc<Identity> {
        self.slot.lock().identity.clone()
    }

    /// A handshake has failed: perhaps there are other credentials.
    pub(in crate::quorum) fn ask(&self) {
        let _ = self.asked.try_send(());
    }

    pub(in crate::quorum) fn status(&self) -> CertificateStatus {
        let current = self.slot.lock();
        CertificateStatus {
            fingerprint: current.identity.fingerprint(),
            expiry: current.identity.expiry(),
            accepted: current.identity.accepted(),
            refused: current.refused.clone(),
        }
    }
}

struct Reader {
    source: Tls,
    own: MemberName,
    credentials: Credentials,
    slot: Arc<Slot>,
    news: Sender<News>,
}

impl Reader {
    fn look(&mut self) {
        let read = self.source.read();
        let is_same = read.as_ref().is_ok_and(|read| *read == self.credentials);
        let news = match read {
            Ok(_) if is_same => self.slot.lock().refused.take().map(|_| News::Mended),
            read => self.take(read),
        };
        if let Some(news) = news {
            let _ = self.news.try_send(news);
        }
    }

    fn take(&mut self, read: Result<Credentials, CredentialsError>) -> Option<News> {
        let known = self.slot.lock().identity.expiry();
        let built = read.and_then(|read| {
            let identity = match read.chain == self.credentials.chain {
                true => Identity::renewed(&self.own, &read, known)?,
                false => Identity::new(&self.own, &read)?,
            };
            Ok((identity, read))
        });
        let mut current = self.slot.lock();
        match built {
            Ok((identity, credentials)) => {
                let known = std::mem::replace(&mut self.credentials, credentials);
                let recheck = known.authority != self.credentials.authority
                    || known.accepted != self.credentials.accepted;
                *current = Current { identity: Arc::new(identity), refused: None };
                Some(News::Renewed { recheck })
            }
            Err(error) => {
                let known = current.refused.replace(error.clone());
                (known.as_ref() != Some(&error)).then_some(News::Refused(error))
            }
        }
    }
}
