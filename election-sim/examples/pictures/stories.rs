//! What each picture shows of its scenario.

use super::{
    draw::{Drawing, Look},
    run::Run,
};
use election_sim::LineKind;
use std::time::Duration;

const LEASE: &[&str] = &["database row", "process a", "process b"];
const ROW: usize = 0;
const A: usize = 1;
const B: usize = 2;

/// A leader loses its database.
pub(super) fn takeover(run: &Run) -> Result<Drawing, String> {
    let (begin, cut, lost, stopped) =
        (run.elected(0)?, run.fault()?, run.lost(0)?, run.stopped(0)?);
    let renewed = run.last(0, LineKind::Wrote, "row: held")?;
    let (expired, succeeded, to) = (run.expiry(renewed), run.elected(1)?, Duration::from_secs(26));
    Ok(Drawing {
        title: "How leadership passes on",
        from: Duration::ZERO,
        to,
        step: 5,
        scale: 25.0,
        lanes: LEASE,
        bars: vec![
            (A, cut, to, Look::Cut, ""),
            (ROW, begin, expired, Look::ForA, "leased to a"),
            (ROW, succeeded, to, Look::ForB, "leased to b"),
            (A, begin, lost, Look::LedByA, "believes that it leads"),
            (A, lost, stopped, Look::Stops, ""),
            (B, succeeded, to, Look::LedByB, "leads"),
        ],
        marks: vec![
            (renewed, "last renewal: leased for 15 s"),
            (cut, "a loses the database"),
            (lost, "belief ends, work is told to stop"),
            (stopped, "hard stop: what still runs is killed"),
            (expired, "the lease runs out, b takes over"),
        ],
    })
}

/// A renewal is answered late, and is the last.
pub(super) fn slow_answer(run: &Run) -> Result<Drawing, String> {
    let (begin, lost, stopped) = (run.elected(0)?, run.lost(0)?, run.stopped(0)?);
    let (asked, cut) = (run.first(0, LineKind::Asked, "renew")?, run.fault()?);
    let renewed = run.last(0, LineKind::Wrote, "row: held")?;
    let answered = run.first(0, LineKind::Answered, "renew")?;
    let (expired, succeeded, to) = (run.expiry(renewed), run.elected(1)?, Duration::from_secs(24));
    let late = answered - asked;
    Ok(Drawing {
        title: "A slow answer: trust counts from when the renewal was asked",
        from: Duration::ZERO,
        to,
        step: 4,
        scale: 16.0,
        lanes: &["database row", "process a", "", "process b"],
        bars: vec![
            (A, cut, to, Look::Cut, ""),
            (ROW, begin, expired, Look::ForA, "leased to a"),
            (ROW, succeeded, to, Look::ForB, ""),
            (A, begin, lost, Look::LedByA, "leads"),
            (A, lost, stopped, Look::Stops, ""),
            (2, answered, stopped + late, Look::WouldBe, ""),
            (3, succeeded, to, Look::LedByB, "leads"),
        ],
        marks: vec![
            (asked, "a asks for a renewal"),
            (answered, "the answer; then a is cut off"),
            (lost, "belief ends, work is told to stop"),
            (stopped, "hard stop"),
            (expired, "the lease runs out, b takes over"),
            (stopped + late, "hard stop, if counted from the answer"),
        ],
    })
}

/// A leader leaves in order.
pub(super) fn drain(run: &Run) -> Result<Drawing, String> {
    let (begin, lost, stopped) = (run.elected(0)?, run.lost(0)?, run.stopped(0)?);
    let released = run.first(0, LineKind::Wrote, "row: vacant")?;
    let (taken, succeeded) = (run.first(1, LineKind::Wrote, "row: held")?, run.elected(1)?);
    let to = Duration::from_secs(10);
    Ok(Drawing {
        title: "A leader leaves: the next one waits for its work",
        from: Duration::from_secs(6),
        to,
        step: 1,
        scale: 95.0,
        lanes: LEASE,
        bars: vec![
            (ROW, begin, released, Look::ForA, "leased to a"),
            (ROW, taken, to, Look::ForB, "leased to b"),
            (A, begin, lost, Look::LedByA, "leads"),
            (A, lost, stopped, Look::Stops, ""),
            (B, succeeded, to, Look::LedByB, "leads"),
        ],
        marks: vec![
            (lost, "belief ends, work is told to stop"),
            (stopped, "the work has stopped"),
            (released, "the lease is released"),
            (succeeded, "b is notified, and leads"),
        ],
    })
}

/// A primary is cut off from its voters.
pub(super) fn cluster(run: &Run) -> Result<Drawing, String> {
    let (begin, cut, lost) = (run.elected(0)?, run.fault()?, run.lost(0)?);
    let free = |node| run.last(node, LineKind::Change, "vacant");
    let (succeeded, follows) = (run.elected(1)?, run.first(2, LineKind::Change, "follows b")?);
    let to = Duration::from_secs(19);
    Ok(Drawing {
        title: "A silent primary: support ends, and the next epoch begins",
        from: Duration::from_secs(6),
        to,
        step: 2,
        scale: 30.0,
        lanes: &["node a", "node b", "node c"],
        bars: vec![
            (0, cut, to, Look::Cut, ""),
            (0, begin, lost, Look::LedByA, "leads, epoch 1"),
            (1, begin, free(1)?, Look::ForA, "supports a"),
            (1, succeeded, to, Look::LedByB, "leads, epoch 2"),
            (2, begin, free(2)?, Look::ForA, "supports a"),
            (2, follows, to, Look::ForB, "supports b"),
        ],
        marks: vec![
            (cut, "a is cut off from b and c"),
            (lost, "a's belief ends, its work stops"),
            (free(1)?, "support of a ends; c votes for b"),
        ],
    })
}
