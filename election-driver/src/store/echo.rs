//! Notifications that come before what they tell of can be read.
//!
//! SQLite writes its log, which is what gets noticed, flushes it to the disk, and only then shows
//! it to readers. On a slow disk the look that follows a notification comes too early, and the
//! next one only with the next poll. So every notification is followed by further looks.

use super::Pause;
use crate::Notifications;
use election_core::lease::Event;
use futures_lite::{StreamExt as _, future::or, stream::unfold};
use std::time::Duration;

/// When to look again, each counted from the look before.
const ECHOES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

/// Repeats every wake-up after a while, unless another comes first.
pub(super) fn echoed(news: Notifications, pause: Pause) -> Notifications {
    Box::pin(unfold((news, pause, &ECHOES[..0]), |(mut news, pause, echoes)| async move {
        let next = async { Heard::News(news.next().await) };
        let heard = match echoes.split_first() {
            None => next.await,
            Some((wait, later)) => {
                let echo = async {
                    pause(*wait).await;
                    Heard::Echo(later)
                };
                or(next, echo).await
            }
        };
        match heard {
            Heard::Echo(later) => Some((Event::Wake, (news, pause, later))),
            Heard::News(Some(Event::Wake)) => Some((Event::Wake, (news, pause, &ECHOES[..]))),
            Heard::News(other) => other.map(|event| (event, (news, pause, echoes))),
        }
    }))
}

enum Heard {
    News(Option<Event>),
    Echo(&'static [Duration]),
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_lite::future::{block_on, poll_once};
    use std::sync::Arc;

    #[test]
    fn every_wake_up_is_followed_by_further_looks() {
        let (news, heard) = async_channel::unbounded();
        let (pauses, paused) = async_channel::unbounded();
        let (time, passes) = async_channel::unbounded::<()>();
        let pause: Pause = Arc::new(move |duration| {
            let passes = passes.clone();
            pauses.try_send(duration).unwrap();
            Box::pin(async move {
                let _ = passes.recv().await;
            })
        });
        let mut stream = echoed(Box::pin(heard), pause);
        block_on(async {
            assert!(poll_once(stream.next()).await.is_none(), "no news, no look");
            for _ in 0..2 {
                news.try_send(Event::Wake).unwrap();
                assert_eq!(stream.next().await, Some(Event::Wake));
                for echo in ECHOES {
                    assert!(poll_once(stream.next()).await.is_none(), "not before its time");
                    assert_eq!(paused.try_recv(), Ok(echo));
                    while paused.try_recv().is_ok() {}
                    time.try_send(()).unwrap();
                    assert_eq!(stream.next().await, Some(Event::Wake));
                    while paused.try_recv().is_ok() {}
                }
                assert!(poll_once(stream.next()).await.is_none(), "and then no more");
            }
            news.close();
            assert_eq!(stream.next().await, None);
        });
    }
}
