//! Whether the members of a URL belong together: a member that has become a cluster of its own is to be found
//! before somebody is elected in it.

use super::{
    asker::Asker,
    dial::{Elsewhere, Final, Trouble, in_time},
    wire::Question,
};
use crate::Network;
use std::{
    future::{Future, poll_fn},
    sync::atomic::AtomicBool,
    task::Poll,
    time::Duration,
};

/// Asks every member, each by an asker. Until a majority has answered in this time, nobody is believed.
pub(super) async fn compare<N: Network>(
    runtime: &N,
    all: Vec<Asker<N>>,
    share: Duration,
    question: Question<'_>,
) -> Result<(), Trouble> {
    let (majority, mut answers, mut troubles) = (all.len() / 2 + 1, 0, Vec::new());
    let ask = |(at, mut one): (usize, Asker<N>)| {
        let silence = format!("{}: {}", one.dialer.endpoint(at), one.silence(share));
        let asking = Box::pin(async move {
            let asked = one.ask(at, share, &question, |_| Ok(()), &AtomicBool::new(false)).await;
            let endpoint = one.dialer.endpoint(at);
            asked.map_err(|trouble| match trouble {
                Final(error) => Final(error.in_context(&endpoint)),
                Elsewhere(why) => Elsewhere(format!("{endpoint}: {why}")),
            })
        });
        (silence, asking)
    };
    let mut asked: Vec<_> = all.into_iter().enumerate().map(ask).collect();
    let each = poll_fn(|cx| {
        let mut refused = Ok(());
        asked.retain_mut(|(_, one)| match one.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(Ok(())) => {
                answers += 1;
                false
            }
            Poll::Ready(Err(Elsewhere(why))) => {
                troubles.push(why);
                false
            }
            Poll::Ready(Err(Final(error))) => {
                refused = Err(Final(error));
                false
            }
        });
        match refused {
            Ok(()) if !asked.is_empty() => Poll::Pending,
            ended => Poll::Ready(ended),
        }
    });
    in_time(runtime, share, each).await.unwrap_or(Ok(()))?;
    if answers >= majority {
        return Ok(());
    }
    troubles.extend(asked.into_iter().map(|(silence, _)| silence));
    Err(Elsewhere(troubles.join("; ")))
}
