//! The proof that the core needs no std.
//!
//! `#![no_std]` in a library proves little: one dependency with a default feature brings std back,
//! and nobody notices until an embedded user does. This program brings its own panic handler. So if
//! anything below links std, there are two handlers and the build fails (E0152). It also leads one
//! term from attempt to release, because the linker drops code that is never called. Its exit code
//! says how far it came: 0 is all the way.
//!
//! The allocator is the only place in the repository with `unsafe` code.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::{format, string::String};
use core::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    hint::black_box,
    panic::PanicInfo,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use election_core::{
    Candidate, Change, Epoch, Incarnation, Input, NodeId, Protocol, Timestamp,
    lease::{Action, Answer, Config, Event, Lease, Query, Ticket},
};
use uuid::Uuid;

/// The C library's start-up code calls this. The program uses nothing else of that library but
/// `abort` and the functions that the compiler itself calls to copy memory.
#[unsafe(no_mangle)]
extern "C" fn main(_argc: i32, _argv: *const *const u8) -> i32 {
    match lead_one_term() {
        Ok(()) => 0,
        Err(stage) => stage,
    }
}

fn lead_one_term() -> Result<(), i32> {
    let id = NodeId::new(black_box("proof")).map_err(|_| 1)?;
    let candidate = Candidate { id, incarnation: Incarnation::new(Uuid::from_u128(black_box(1))) };
    let config = Config::builder().build().map_err(|_| 2)?;
    let (ttl, interval) = (config.ttl(), config.interval() + config.jitter());
    let mut lease = Lease::new(config, candidate, black_box(42));
    let mut now = Timestamp::ZERO + Duration::from_secs(1);

    let epoch = Epoch::new(black_box(7));
    let (ticket, query) = asked(&mut lease, now, Input::Tick).ok_or(3)?;
    let Query::Attempt { .. } = query else { return Err(4) };
    let step = lease.step(now, answer(ticket, Answer::Won { epoch, remaining: ttl }));
    let Some(Change::Elected(tenure)) = step.change else { return Err(5) };
    if let Some(Action::Query { ticket, query: Query::Register { .. }, .. }) = step.action {
        let _listed = lease.step(now, answer(ticket, Answer::Listed));
    }

    now = now + interval;
    let (ticket, query) = asked(&mut lease, now, Input::Tick).ok_or(6)?;
    let Query::Renew { .. } = query else { return Err(7) };
    let renewed = Answer::Renewed { remaining: ttl, resign_requested: false };
    let _renewed = lease.step(now, answer(ticket, renewed));
    if lease.tenure(now).is_none_or(|longer| longer.until <= tenure.until) {
        return Err(8);
    }

    let step = lease.step(now, Input::Withdraw);
    let Some(Change::Lost { term, .. }) = step.change else { return Err(9) };
    let told: String = format!("{term} {:?}", lease.config().warnings().count());
    if black_box(told) != "proof (epoch 7) 0" || lease.is_leader(now) {
        return Err(10);
    }
    let (ticket, query) = asked(&mut lease, now, Input::Stopped(epoch)).ok_or(11)?;
    let Query::Resign { .. } = query else { return Err(12) };
    let last = asked(&mut lease, now, answer(ticket, Answer::Released));
    if let Some((ticket, Query::Unregister)) = last {
        let _unlisted = lease.step(now, answer(ticket, Answer::Listed));
    }
    if lease.is_finished() { Ok(()) } else { Err(13) }
}

fn asked(lease: &mut Lease, now: Timestamp, input: Input<Event>) -> Option<(Ticket, Query)> {
    let step = lease.step(now, input);
    step.action.map(|Action::Query { ticket, query, .. }| (ticket, query))
}

fn answer(ticket: Ticket, answer: Answer) -> Input<Event> {
    Input::Event(Event::Answer { ticket, result: Ok(answer) })
}

#[link(name = "c")]
unsafe extern "C" {
    safe fn abort() -> !;
}

#[panic_handler]
fn panicked(_: &PanicInfo<'_>) -> ! {
    abort()
}

/// The compiler's `alloc` was built to unwind and names these two. With `panic = "abort"` nothing
/// ever calls them.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> ! {
    abort()
}

#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    abort()
}

/// Hands out pieces of one block and never takes one back: the program ends before that matters.
struct Bump {
    block: UnsafeCell<[u8; BLOCK]>,
    used: AtomicUsize,
}

const BLOCK: usize = 64 * 1024;

#[global_allocator]
static ALLOCATOR: Bump = Bump { block: UnsafeCell::new([0; BLOCK]), used: AtomicUsize::new(0) };

// SAFETY: `alloc` alone touches the block, and hands out every byte of it at most once, because
// `used` only grows and grows atomically.
unsafe impl Sync for Bump {}

// SAFETY: a piece is aligned as its layout asks, lies within the block (null otherwise), overlaps
// no other piece and is never taken back.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Claims room for the worst misalignment with the piece.
        let claim = layout.size().saturating_add(layout.align() - 1);
        #[allow(deprecated, reason = "its new name, `try_update`, is younger than Rust 1.85")]
        let claimed = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(claim).filter(|end| *end <= BLOCK)
        });
        let Ok(start) = claimed else { return core::ptr::null_mut() };
        // SAFETY: `start` was below the block's end, as was `start + claim`, which the piece does
        // not exceed once aligned.
        unsafe {
            let piece = self.block.get().cast::<u8>().add(start);
            piece.add(piece.align_offset(layout.align()))
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
