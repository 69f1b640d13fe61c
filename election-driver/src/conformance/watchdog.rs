//! Waits that never give their thread back: no timer of the same thread can end them, so they end the
//! process.

use futures_lite::future::{or, pending};
use std::{
    future::Future,
    io::Write as _,
    process,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// Long enough for a machine that is busy with something else.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// How often a check is asked whether it still gives its thread back.
const INTERVAL: Duration = Duration::from_secs(1);

/// What this future gives, if the thread that runs it comes back from it again and again.
///
/// A thread that is away for longer than [`PATIENCE`], which the waits of the harness themselves may
/// take, and half of that again, never comes: the process ends, and names the check.
pub(crate) async fn watched<T>(check: impl Future<Output = T>) -> T {
    watched_for(PATIENCE * 3 / 2, check).await
}

async fn watched_for<T>(patience: Duration, check: impl Future<Output = T>) -> T {
    let name = current();
    let (ask, asked) = async_channel::bounded(1);
    let (answer, answered) = mpsc::channel();
    thread::spawn(move || {
        while ask.send_blocking(()).is_ok() {
            if answered.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                end(&name, "the check", patience);
            }
            // Nothing more is said before the next question: this ends early if the check is over.
            let _ = answered.recv_timeout(INTERVAL);
        }
    });
    let answers = async {
        while asked.recv().await.is_ok() {
            let _ = answer.send(());
        }
        pending().await
    };
    or(check, answers).await
}

/// What this thread is called, which is what a test on it is called.
pub(crate) fn current() -> String {
    thread::current().name().unwrap_or("a test on a thread without a name").to_owned()
}

/// Ends the process, for a thread of it is lost. Whoever waits for the test learns at once which it was.
pub(crate) fn end(test: &str, what: &str, waited: Duration) -> ! {
    // Past the capture of a test's output, which is shown only after it has ended.
    let text = format!("\n{test}: blocked for {waited:?} without giving its thread back: {what}\n");
    let _ = std::io::stderr().write_all(text.as_bytes());
    process::exit(101)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_lite::future::{block_on, yield_now};
    use std::{
        env,
        process::{Command, Stdio},
        time::Instant,
    };

    const BLOCKED: &str = "ELECTION_TEST_BLOCKED";

    /// In a child: blocks, as a wait does that polls in vain and never returns.
    #[test]
    fn a_blocked_check_ends_the_process_and_is_named() {
        let moment = Duration::from_millis(200);
        if env::var_os(BLOCKED).is_some() {
            block_on(watched_for(moment, async {
                loop {
                    thread::park();
                }
            }));
        }
        let name = current();
        let child = Command::new(env::current_exe().expect("this binary"))
            .args(["--exact", &name])
            .env(BLOCKED, "")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("this binary once more");
        let output = child.wait_with_output().expect("its end");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(101), "{text}");
        assert!(text.contains(&name) && text.contains("blocked for 200ms"), "{text}");
    }

    /// Slow is not blocked: it is asked again and again, and answers.
    #[test]
    fn a_check_that_gives_its_thread_back_goes_on() {
        let (moment, began) = (Duration::from_millis(200), Instant::now());
        let slow = async {
            while began.elapsed() < moment * 3 + INTERVAL {
                yield_now().await;
            }
            7
        };
        assert_eq!(block_on(watched_for(moment, slow)), 7);
    }
}
