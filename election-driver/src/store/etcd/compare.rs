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

/// Asks every member, each by an asker. If fewer than half answer in this time, it is to be tried again.
pub(super) async fn compare<N: Network>(
    runtime: N,
    all: Vec<Asker<N>>,
    share: Duration,
    question: Question<'_>,
) -> Result<(), Trouble> {
    let (half, mut answers) = (all.len().div_ceil(2), 0);
    let ask = |(at, mut one): (usize, Asker<N>)| {
        Box::pin(async move {
            let asked = one.ask(at, share, &question, |_| Ok(()), &AtomicBool::new(false)).await;
            asked.map_err(|trouble| match trouble {
                Final(error) => Final(error.in_context(&one.dialer.endpoint(at))),
                elsewhere @ Elsewhere(_) => elsewhere,
            })
        })
    };
    let mut asked: Vec<_> = all.into_iter().enumerate().map(ask).collect();
    let each = poll_fn(|cx| {
        let mut refused = Ok(());
        asked.retain_mut(|one| match one.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(Err(Final(error))) => {
                refused = Err(Final(error));
                false
            }
            Poll::Ready(answer) => {
                answers += usize::from(answer.is_ok());
                false
            }
        });
        match refused {
            Ok(()) if !asked.is_empty() => Poll::Pending,
            ended => Poll::Ready(ended),
        }
    });
    in_time(&runtime, share, each).await.unwrap_or(Ok(()))?;
    (answers >= half).then_some(()).ok_or_else(|| Elsewhere("too few members answer".to_owned()))
}
