//! A thread that makes ballots durable, so that a disk that takes seconds delays nothing else.
//!
//! It is a thread of its own and no task of the runtime: an application that has filled the
//! runtime's threads must not keep a node from voting.

use super::{ballot::BallotFile, observer::MemberObserver};
use async_channel::{Receiver, Sender};
use election_core::{Epoch, Timestamp, quorum::Ballot};
use futures_core::Stream as _;
use std::{
    io,
    pin::Pin,
    sync::{Arc, mpsc},
    task::{Context, Poll},
    thread,
    time::Duration,
};

/// What became of a save.
pub(super) struct Outcome {
    pub(super) epoch: Epoch,
    pub(super) result: io::Result<()>,
    /// How long it took, from the step that asked for it.
    pub(super) took: Duration,
}

/// Where ballots are kept.
pub(super) enum Keeper {
    File(BallotFile),
    Observer(Arc<dyn MemberObserver>),
}

/// Asks the thread to save, one ballot at a time.
pub(super) struct BallotWriter {
    /// Until it closes.
    save: Option<Box<dyn Fn(Ballot) + Send>>,
    done: Pin<Box<Receiver<io::Result<()>>>>,
    saving: Option<(Epoch, Timestamp)>,
}

impl BallotWriter {
    pub(super) fn new(keeper: Keeper) -> io::Result<Self> {
        let (outcomes, done) = async_channel::unbounded();
        let save: Box<dyn Fn(Ballot) + Send> = match keeper {
            Keeper::File(file) => {
                let (requests, ballots) = mpsc::channel();
                thread::Builder::new().name("election-ballot".to_owned()).spawn(move || {
                    keep(&file, &ballots, &outcomes);
                    // Before the outcomes end: who hears of that may lock the file.
                    drop(file);
                })?;
                Box::new(move |ballot| drop(requests.send(ballot)))
            }
            Keeper::Observer(observer) => {
                let saved = move |result| drop(outcomes.try_send(result));
                observer.keeps_ballots(Box::new(saved))
            }
        };
        Ok(Self { save: Some(save), done: Box::pin(done), saving: None })
    }

    pub(super) fn save(&mut self, ballot: Ballot, now: Timestamp) {
        self.saving = Some((ballot.promised, now));
        if let Some(save) = &self.save {
            save(ballot);
        }
    }

    /// Since when the disk has been busy with a ballot.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.saving.map(|(_, since)| since)
    }

    pub(super) fn poll_saved(&mut self, cx: &mut Context<'_>, now: Timestamp) -> Poll<Outcome> {
        let Some((epoch, since)) = self.saving else { return Poll::Pending };
        let result = match std::task::ready!(self.done.as_mut().poll_next(cx)) {
            Some(result) => result,
            None => Err(io::Error::other("the thread that writes the ballot has ended")),
        };
        self.saving = None;
        Poll::Ready(Outcome { epoch, result, took: now.since(since) })
    }

    /// Completes once the thread has ended and the file is free for another process. A save that is
    /// under way is waited for.
    pub(super) async fn close(mut self) {
        self.save = None;
        while self.done.recv().await.is_ok() {}
    }
}

fn keep(file: &BallotFile, ballots: &mpsc::Receiver<Ballot>, outcomes: &Sender<io::Result<()>>) {
    while let Ok(ballot) = ballots.recv() {
        if outcomes.send_blocking(file.save(&ballot)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use election_core::{
        Incarnation, NodeId,
        quorum::{Fingerprint, Maintenance, Position, Restored},
    };
    use futures_lite::future::{block_on, poll_fn};
    use uuid::Uuid;

    fn ballot(promised: u64) -> Ballot {
        Ballot {
            promised: Epoch::new(promised),
            voted_for: None,
            incarnation: Incarnation::new(Uuid::from_u128(7)),
            members: Fingerprint::new(9),
            lists: crate::quorum::fake::members("a").first_lists(),
            floor: Position::default(),
            maintenance: Maintenance::default(),
            pause: None,
        }
    }

    #[test]
    fn closing_waits_for_a_save_that_is_under_way() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ballot");
        let open = || BallotFile::open(&path, NodeId::new("n1").unwrap());
        let at = |millis| Timestamp::ZERO + Duration::from_millis(millis);
        let mut writer = BallotWriter::new(Keeper::File(open().unwrap())).unwrap();
        assert_eq!(writer.since(), None);
        writer.save(ballot(3), at(1));
        assert_eq!(writer.since(), Some(at(1)));
        let outcome = block_on(poll_fn(|cx| writer.poll_saved(cx, at(5))));
        assert!(outcome.result.is_ok());
        assert_eq!((outcome.epoch, outcome.took), (Epoch::new(3), Duration::from_millis(4)));
        assert_eq!(writer.since(), None);
        writer.save(ballot(4), at(6));
        block_on(writer.close());
        let next = open().expect("the file is free");
        assert_eq!(next.read().0, Restored::Ballot(ballot(4)));
    }
}
