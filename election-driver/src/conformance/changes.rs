//! What a waiting candidate sees of a release.

use super::sqlite::*;
use crate::Handle;
use futures_lite::future::or;

/// Passes leadership to and fro by resigning, each time to the waiting candidate.
async fn pass<R: Runtime>(a: &Handle<R>, b: &Handle<R>, moves: usize) {
    let either = or(async { a.elected().await.map(|_| (a, b)) }, async {
        b.elected().await.map(|_| (b, a))
    });
    let (mut leader, mut other) = either.await.unwrap();
    for _ in 0..moves {
        followed(other).await;
        leader.resign().await.unwrap();
        other.elected().await.unwrap();
        (leader, other) = (other, leader);
    }
}

/// A follower learns of every release from the file: the poll that would find it comes long after
/// the test has given up.
pub async fn every_release_reaches_the_follower<R: Runtime + Default>(place: InFile<R>) {
    let (a, b) = (place.start("a", LONG), place.start("b", LONG));
    pass(&a, &b, 40).await;
    a.shutdown().await;
    b.shutdown().await;
}
