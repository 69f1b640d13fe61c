//! The clock is tokio's while that is paused, and the machine's otherwise.
#![cfg(feature = "test-util")]

use election_tokio::{Runtime as _, Tokio, now};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_paused_clock_is_followed_to_the_nanosecond() {
    let (begin, hour) = (Tokio.now(), Duration::from_secs(3_600));
    assert_eq!(Tokio.now(), begin, "it stands still");
    tokio::time::sleep(hour).await;
    assert_eq!(Tokio.now(), begin + hour);
    tokio::time::resume();
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert!(Tokio.now() > begin + hour, "it goes on from there");
}

#[tokio::test]
async fn a_clock_that_runs_is_the_machines() {
    for _ in 0..1_000 {
        let before = now();
        let between = Tokio.now();
        assert!(before <= between && between <= now());
    }
}
