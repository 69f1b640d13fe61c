use super::*;
use std::{cell::Cell, time::Duration};

#[test]
fn the_clock_goes_forward() {
    let earlier = now();
    assert!(earlier.as_nanos() > 0 || cfg!(not(target_os = "linux")));
    assert!(now() >= earlier);
}

/// Trust is measured by both: one that stood still would leave the other without its check.
#[test]
fn both_clocks_of_the_machine_go() {
    let (boot, raw) = (System.boot(), System.raw());
    while System.boot() < boot + MILLISECOND {
        std::hint::spin_loop();
    }
    assert!(System.raw() > raw, "{raw} still");
}

/// A machine whose clocks a test drives. Every reading takes a little time, and now and then the
/// process is preempted in the middle of one.
#[derive(Default)]
struct Machine {
    boot: Cell<u64>,
    raw: Cell<u64>,
    readings: Cell<u64>,
}

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
/// How much chrony may slew a clock, either way, in parts per million.
const SLEW: u64 = 83_333;

impl Machine {
    /// This much time passes by the hardware; the other clock is slewed.
    fn passes(&self, raw: u64, slew_ppm: i64) {
        let slewed = i64::try_from(raw).unwrap() * (1_000_000 + slew_ppm) / 1_000_000;
        self.raw.set(self.raw.get() + raw);
        self.boot.set(self.boot.get() + u64::try_from(slewed).unwrap());
    }

    fn sleeps(&self, nanos: u64) {
        self.boot.set(self.boot.get() + nanos);
    }

    fn reading(&self) {
        let nth = self.readings.get() + 1;
        self.readings.set(nth);
        self.passes(if nth % 1_001 == 0 { MILLISECOND } else { 20 }, 0);
    }
}

impl Clocks for Machine {
    fn boot(&self) -> u64 {
        self.reading();
        self.boot.get()
    }

    fn raw(&self) -> u64 {
        self.reading();
        self.raw.get()
    }
}

/// How much time passes by `now` while `what` is done.
fn passed(pace: &Pace, machine: &Machine, what: impl FnOnce()) -> u64 {
    let before = pace.now(machine);
    what();
    u64::try_from(pace.now(machine).since(before).as_nanos()).unwrap()
}

/// What one look at the clocks may miss.
const UNSEEN: u64 = MILLISECOND / 4;

#[test]
fn a_clock_that_is_slewed_slow_does_not_slow_trust_down() {
    let (pace, machine) = (Pace::new(), Machine::default());
    machine.passes(5 * SECOND, 0);
    let slow = -i64::try_from(SLEW).unwrap();
    for _ in 0..1_000 {
        let passed = passed(&pace, &machine, || machine.passes(13 * MILLISECOND, slow));
        assert!(passed + UNSEEN >= 13 * MILLISECOND, "{passed} ns of 13 ms");
    }
    let at_once = passed(&pace, &machine, || machine.passes(15 * SECOND, slow));
    assert!(at_once + UNSEEN >= 15 * SECOND, "unread for a whole lease: {at_once} ns");
}

/// The pair that was read in the meantime is too far apart: it is read again.
#[test]
fn whoever_is_preempted_between_two_readings_measures_no_less() {
    for readings in 1..=8 {
        let (pace, machine) = (Pace::new(), Machine::default());
        let (slow, since) = (-i64::try_from(SLEW).unwrap(), machine.raw.get());
        let passed = passed(&pace, &machine, || {
            machine.passes(13 * MILLISECOND, slow);
            machine.readings.set(1_001 - readings);
        });
        let truly = machine.raw.get() - since;
        assert!(truly >= 14 * MILLISECOND || readings > 5, "it was preempted: {truly} ns");
        assert!(passed + UNSEEN >= truly, "{passed} ns of {truly}, {readings}");
    }
}

#[test]
fn a_clock_that_is_slewed_fast_is_believed() {
    let (pace, machine) = (Pace::new(), Machine::default());
    let passed = passed(&pace, &machine, || machine.passes(12 * SECOND, 83_333));
    assert!(passed >= 12_999 * MILLISECOND, "{passed} ns of 13 s");
}

/// To and fro, many times within one lease: the faster clock counts at every moment.
#[test]
fn a_clock_slewed_both_ways_never_lags_the_faster_one() {
    let (pace, machine) = (Pace::new(), Machine::default());
    let mut due = 0;
    let passed = passed(&pace, &machine, || {
        for _ in 0..100 {
            for slew in [83_333, -83_333] {
                for _ in 0..20 {
                    machine.passes(5 * MILLISECOND, slew);
                    due += 5 * MILLISECOND * (1_000_000 + u64::try_from(slew).unwrap_or(0));
                    pace.now(&machine);
                }
            }
        }
    });
    assert!(passed + 200 * UNSEEN >= due / 1_000_000, "{passed} ns of {due}");
}

#[test]
fn time_asleep_counts() {
    let (pace, machine) = (Pace::new(), Machine::default());
    let passed = passed(&pace, &machine, || machine.sleeps(3_600 * SECOND));
    assert!(passed >= 3_600 * SECOND, "{passed}");
    // Later time is measured as before.
    let after = self::passed(&pace, &machine, || machine.passes(SECOND, -83_333));
    assert!(after + UNSEEN >= SECOND, "{after}");
}

/// A million readings of clocks that agree: the reading errors do not add up.
#[test]
fn looking_often_does_not_make_it_run() {
    let (pace, machine) = (Pace::new(), Machine::default());
    let truly = machine.boot.get();
    let passed = passed(&pace, &machine, || {
        for _ in 0..1_000_000 {
            machine.passes(3_000, 0);
            pace.now(&machine);
        }
    });
    let truly = machine.boot.get() - truly;
    assert!(passed <= truly + MILLISECOND, "{passed} ns of {truly}");
}

/// A job's guard, started long after its elector, with other things done meanwhile, and stopped
/// while the clock is slewed: its time is over when the elector's is.
#[test]
fn what_has_passed_here_has_passed_there() {
    let (pace, machine) = (Pace::new(), Machine::default());
    machine.passes(100 * SECOND, 0);
    let instant = Timestamp::from_nanos(60 * SECOND);
    let there = Deadline::of(instant, &pace, &machine).on(&pace, &machine);
    assert!(there <= instant && there >= instant - Duration::from_millis(2), "{there:?}");
}

#[test]
fn another_process_knows_a_deadline() {
    let machine = Machine::default();
    let elector = Pace::new();
    elector.now(&machine);
    machine.passes(1_000 * SECOND, -83_333);
    let stop_by = elector.now(&machine) + Duration::from_secs(15);
    let told = Deadline::of(stop_by, &elector, &machine).to_string();
    machine.passes(10 * SECOND, -83_333);
    let guard = Pace::new();
    let here = told.parse::<Deadline>().unwrap().on(&guard, &machine);
    let left = u64::try_from(here.since(guard.now(&machine)).as_nanos()).unwrap();
    assert!(left <= 5 * SECOND, "{left} ns are left of 5 s");
    assert!(left + 2 * MILLISECOND + UNSEEN >= 5 * SECOND, "{left} ns are left of 5 s");
    machine.sleeps(6 * SECOND);
    assert!(guard.now(&machine) >= here, "asleep, too");
    // What was over, or passed on the way, is over there as well.
    let over = Deadline::of(elector.now(&machine) - Duration::from_secs(1), &elector, &machine);
    assert!(over.on(&guard, &machine) < guard.now(&machine));
    let soon = Deadline::of(elector.now(&machine) + Duration::from_secs(5), &elector, &machine);
    machine.sleeps(6 * SECOND);
    assert!(soon.on(&guard, &machine) < guard.now(&machine));
}

#[test]
fn a_deadline_in_shared_memory_is_the_same() {
    let deadline = Deadline { boot: 0x0102_0304_0506_0708, raw: u64::MAX - 7 };
    assert_eq!(Deadline::from_bytes(deadline.to_bytes()), deadline);
    let instant = now() + Duration::from_secs(3_600);
    let here = Deadline::at(instant).here();
    assert!(here >= now() + Duration::from_secs(3_500) && here <= instant + Duration::from_secs(1));
}

#[test]
fn what_is_no_deadline_is_refused() {
    for text in ["", "1", "1:", ":1", "1:x", "-1:1", "1:1:1"] {
        assert!(text.parse::<Deadline>().is_err(), "{text:?}");
    }
}
