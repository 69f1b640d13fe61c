//! Notices of changes of a key, on a connection of their own that is opened again and again.

use super::{client::Client, dial::Socket, lines::Lines, wire::News};
use crate::{Network, Notice, Notifications, Pause};
use futures_lite::future::or;
use std::{collections::VecDeque, time::Duration};

/// The first pause before the next attempt; each is twice as long as the one before.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// How long a watch may tell nothing. A leader that renews is heard more often, and a server that stands
/// still is told from one that has nothing to tell by a watch that is begun anew.
const SILENCE: Duration = Duration::from_secs(30);

struct Watch<N: Network> {
    client: Client<N>,
    key: String,
    pause: Pause,
    lines: Option<Lines<Socket<N>>>,
    /// What is to be told.
    notices: VecDeque<Notice>,
    /// What was told last of whether it listens; `None` at first.
    listens: Option<bool>,
    /// What it waits before the next attempt.
    wait: Duration,
}

pub(super) fn watch<N: Network>(client: Client<N>, key: String, pause: Pause) -> Notifications {
    let wait = Duration::ZERO;
    let notices = VecDeque::new();
    let watch = Watch { client, key, pause, lines: None, notices, listens: None, wait };
    Box::pin(futures_lite::stream::unfold(watch, |mut watch| async {
        Some((watch.next().await, watch))
    }))
}

impl<N: Network> Watch<N> {
    async fn next(&mut self) -> Notice {
        loop {
            if let Some(notice) = self.notices.pop_front() {
                return notice;
            }
            let Some(mut lines) = self.lines.take() else {
                if !self.wait.is_zero() {
                    (self.pause)(self.wait).await;
                }
                match self.client.watch(&self.key).await {
                    Ok(lines) => self.lines = Some(lines),
                    Err(why) => self.lost(why),
                }
                continue;
            };
            let silent = async {
                (self.pause)(SILENCE).await;
                None
            };
            // If it has nothing to tell, it is begun anew, which is no news.
            let Some(news) = or(async { Some(lines.next().await) }, silent).await else {
                self.wait = Duration::ZERO;
                continue;
            };
            match news.and_then(|news| self.judge(news, lines.at)) {
                Ok(()) => self.lines = Some(lines),
                Err(why) => self.lost(format!("{}: {why}", lines.endpoint)),
            }
        }
    }

    fn judge(&mut self, news: News, at: usize) -> Result<(), String> {
        match news {
            News::Listens { cluster } => {
                self.client.asker.belongs(cluster)?;
                self.client.stay(at);
                if self.listens.replace(true) != Some(true) {
                    self.notices.push_back(Notice::Listening);
                }
                // Something may have changed before.
                self.notices.push_back(Notice::Wake);
            }
            News::Changed => {
                self.wait = Duration::ZERO;
                self.notices.push_back(Notice::Wake);
            }
            News::Nothing => {}
            News::Ends(why) => return Err(why),
        }
        Ok(())
    }

    fn lost(&mut self, why: String) {
        self.wait = (2 * self.wait).clamp(SHORTEST, LONGEST);
        if self.listens.replace(false) != Some(false) {
            self.notices.push_back(Notice::NotListening(why));
        }
    }
}
