//! Time or allocations of a piece of work, whichever this build measures.

use std::time::Duration;

/// The measurements of one operation since the watch was last read.
///
/// A measurement is short, so that most are not interrupted, and the median ignores the others.
#[derive(Default)]
pub(crate) struct Watch {
    spent: Duration,
    nanos: Vec<f64>,
    allocations: u64,
    operations: u64,
    pub(crate) frames: u64,
}

impl Watch {
    /// Measures `work`, which performs this many operations.
    #[cfg(not(feature = "count"))]
    pub(crate) fn measure(&mut self, operations: u64, work: impl FnOnce()) {
        let began = std::time::Instant::now();
        section(work);
        let spent = began.elapsed();
        self.spent += spent;
        self.nanos.push(spent.as_nanos() as f64 / operations as f64);
        self.operations += operations;
    }

    /// Measures `work`, which performs this many operations.
    #[cfg(feature = "count")]
    pub(crate) fn measure(&mut self, operations: u64, work: impl FnOnce()) {
        self.allocations += allocation_counter::measure(work).count_total;
        self.operations += operations;
    }

    pub(crate) fn spent(&self) -> Duration {
        self.spent
    }

    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Nanoseconds per operation: the median.
    pub(crate) fn nanos(&mut self) -> f64 {
        median(&mut self.nanos)
    }

    /// Allocations per operation.
    pub(crate) fn allocations(&self) -> f64 {
        self.allocations as f64 / self.operations as f64
    }

    /// Frames per operation.
    pub(crate) fn frames(&self) -> f64 {
        self.frames as f64 / self.operations as f64
    }
}

/// What is measured, under one name that a profiler can be told: it collects in here only.
#[cfg(not(feature = "count"))]
#[inline(never)]
fn section(work: impl FnOnce()) {
    work();
}

/// The median of these figures; zero if there are none.
pub(crate) fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
