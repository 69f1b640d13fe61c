//! Put into every rewritten crate: which mutant is on, and which branches were taken.
//!
//! `MUTANT=N` turns mutant N on. `MUTANT_FUEL=N` ends the process after N functions and rounds, so
//! that a mutant that never comes to an end is found out by counting and not by a clock.
//! `MUTANT_LOG=FILE` writes down every switch and branch when it is first met, and how many were.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::{
    cell::RefCell,
    fs::File,
    io::Write as _,
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// The exit code of a process that has run out of fuel.
const OUT_OF_FUEL: i32 = 97;

/// The mutant that is on; [`NONE`] before the environment was read, and without one.
static ACTIVE: AtomicU32 = AtomicU32::new(NONE);
const NONE: u32 = u32::MAX;
/// What else is of interest: [`UNREAD`] until the environment was read.
static MODE: AtomicU32 = AtomicU32::new(UNREAD);
const UNREAD: u32 = 1;
const FUEL: u32 = 2;
const LOG: u32 = 4;
const WATCH: u32 = 8;
/// In this mode the environment is still to be read, or everything is written down.
const NOTED: u32 = UNREAD | LOG;

static BURNT: AtomicU64 = AtomicU64::new(0);
static TANK: AtomicU64 = AtomicU64::new(u64::MAX);
static FILE: Mutex<Option<File>> = Mutex::new(None);

#[cold]
fn read() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        let mut mode = 0;
        if let Some(fuel) = number("MUTANT_FUEL") {
            TANK.store(fuel, Relaxed);
            mode |= FUEL;
        }
        if let Some(path) = std::env::var_os("MUTANT_LOG") {
            let file = File::options().append(true).create(true).open(path).expect("MUTANT_LOG");
            *FILE.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
            mode |= LOG;
        }
        if let Some(id) = number("MUTANT").and_then(|id| u32::try_from(id).ok()) {
            ACTIVE.store(id, Relaxed);
        }
        #[allow(deprecated, reason = "its new name, `try_update`, is younger than Rust 1.85")]
    let _ = MODE.fetch_update(Relaxed, Relaxed, |known| Some((known & WATCH) | mode));
    });
}

static MET: [AtomicBool; MUTANTS] = [const { AtomicBool::new(false) }; MUTANTS];
static TAKEN: [AtomicBool; BRANCHES.len()] = [const { AtomicBool::new(false) }; BRANCHES.len()];

thread_local! {
    /// The branches that this thread has taken since the last [`take`].
    static HITS: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

/// Whether this mutant is on.
#[inline(always)]
pub(crate) fn on(id: u32) -> bool {
    if MODE.load(Relaxed) & NOTED != 0 {
        note(&MET[id as usize], 'm', id);
    }
    ACTIVE.load(Relaxed) == id
}

/// This branch is taken.
#[inline(always)]
pub(crate) fn hit(branch: u32) {
    if MODE.load(Relaxed) & (NOTED | WATCH) != 0 {
        taken(branch);
    }
}

/// This function or round of a loop begins.
#[inline(always)]
pub(crate) fn enter(branch: u32) {
    if MODE.load(Relaxed) != 0 {
        hit(branch);
        burn();
    }
}

#[cold]
fn note(met: &AtomicBool, kind: char, id: u32) {
    read();
    if MODE.load(Relaxed) & LOG != 0 && !met.load(Relaxed) && !met.swap(true, Relaxed) {
        write(kind, u64::from(id));
    }
}

#[cold]
fn taken(branch: u32) {
    note(&TAKEN[branch as usize], 'b', branch);
    if MODE.load(Relaxed) & WATCH != 0 {
        HITS.with_borrow_mut(|hits| {
            hits.resize(BRANCHES.len(), false);
            hits[branch as usize] = true;
        });
    }
}

#[inline(never)]
fn burn() {
    let mode = MODE.load(Relaxed);
    if mode & (FUEL | LOG) == 0 {
        return;
    }
    // Two threads may lose a round between them; nobody counts on one.
    let rounds = BURNT.load(Relaxed) + 1;
    BURNT.store(rounds, Relaxed);
    if rounds > TANK.load(Relaxed) {
        std::process::exit(OUT_OF_FUEL);
    }
    if mode & LOG != 0 && rounds.is_power_of_two() {
        write('n', rounds);
    }
}

fn write(kind: char, value: u64) {
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = file.as_mut() {
        file.write_all(format!("{kind}{value}\n").as_bytes()).expect("MUTANT_LOG");
    }
}

/// Which branches this thread has taken since the last call, by their place in [`BRANCHES`]. From
/// the first call on, threads note them.
pub fn take() -> Vec<bool> {
    MODE.fetch_or(WATCH, Relaxed);
    let mut taken = HITS.take();
    taken.resize(BRANCHES.len(), false);
    taken
}

/// Both ways to choose between two values.
pub(crate) fn min<T: Ord>(id: u32, a: T, b: T) -> T {
    if on(id) { Ord::max(a, b) } else { Ord::min(a, b) }
}

pub(crate) fn max<T: Ord>(id: u32, a: T, b: T) -> T {
    if on(id) { Ord::min(a, b) } else { Ord::max(a, b) }
}

/// What a question mark may find instead.
pub(crate) fn question<T>(id: u32, branch: u32, found: Option<T>) -> Option<T> {
    if found.is_none() {
        hit(branch);
    }
    if on(id) { None } else { found }
}

/// A named constant, and its neighbours.
pub(crate) trait Near: Sized {
    fn more(self) -> Self;
    fn less(self) -> Self;
}

macro_rules! near {
    ($($number:ty)*) => {$(
        impl Near for $number {
            fn more(self) -> Self {
                self.wrapping_add(1)
            }
            fn less(self) -> Self {
                self.wrapping_sub(1)
            }
        }
    )*};
}

near!(u8 u16 u32 u64 u128 usize i32 i64);

impl Near for Duration {
    fn more(self) -> Self {
        self.saturating_add(Self::from_nanos(1))
    }
    fn less(self) -> Self {
        self.saturating_sub(Self::from_nanos(1))
    }
}
