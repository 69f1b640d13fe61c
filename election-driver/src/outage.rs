//! When to log that a database does not answer: once it is more than a hiccup, then ever more
//! rarely while it lasts, and once more when it is over.
//!
//! This module has no clock and writes nothing, so a test of hours of trouble takes no time.

use election_core::Timestamp;
use std::{fmt, time::Duration};

/// The pause between the first message and the next. It doubles up to [`LONGEST`].
const FIRST_PAUSE: Duration = Duration::from_secs(2 * 60);
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// Trouble that returns this soon after the last outage is logged only once it has lasted as long
/// as a lease: a database that fails every other question must not fill the log.
const CALM: Duration = Duration::from_secs(5 * 60);

/// The questions of one kind that failed in a row.
#[derive(Debug)]
pub(crate) struct Outage {
    hiccup: Duration,
    long: Duration,
    ongoing: Option<Ongoing>,
    /// When the last outage that was logged ended.
    over: Option<Timestamp>,
}

#[derive(Debug)]
struct Ongoing {
    since: Timestamp,
    failures: u64,
    /// Whether the latest failure was fatal.
    fatal: bool,
    told: Option<Told>,
}

#[derive(Debug)]
struct Told {
    at: Timestamp,
    pause: Duration,
    fatal: bool,
}

/// How a failure bears on whether it is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gravity {
    /// Happens all the time. It matters only if nothing else happens.
    Usual,
    /// May be over in a moment.
    Passing,
    /// Lasts until somebody fixes something.
    Fatal,
}

/// What to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Begins,
    Lasts,
    Over,
}

/// A message to log, and how long the outage has lasted by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) news: News,
    pub(crate) lasts: Duration,
    pub(crate) failures: u64,
}

impl Outage {
    /// An outage that ends within `hiccup` is not logged. [`Gravity::Usual`] failures are logged
    /// only once nothing else has happened for `long`.
    pub(crate) fn new(hiccup: Duration, long: Duration) -> Self {
        Self { hiccup, long, ongoing: None, over: None }
    }

    /// Of a database whose statements have this long, under this ttl.
    pub(crate) fn of_database(attempt_timeout: Duration, ttl: Duration) -> Self {
        let hiccup = (attempt_timeout / 2).max((ttl / 2).min(Duration::from_secs(1)));
        Self::new(hiccup, ttl)
    }

    /// The same outage as before, under other limits.
    #[cfg(feature = "_sql")]
    pub(crate) fn continuing(self, earlier: Option<Self>) -> Self {
        let Some(Self { ongoing, over, .. }) = earlier else { return self };
        Self { ongoing, over, ..self }
    }

    /// A question that was asked at `asked` has failed.
    pub(crate) fn failed(
        &mut self,
        asked: Timestamp,
        now: Timestamp,
        gravity: Gravity,
    ) -> Option<Word> {
        let calm = self.over.is_none_or(|over| now.since(over) >= CALM);
        let ongoing = self.ongoing.get_or_insert(Ongoing::since(asked));
        ongoing.failures += 1;
        let (lasts, failures) = (now.since(ongoing.since), ongoing.failures);
        let fatal = gravity == Gravity::Fatal;
        ongoing.fatal = fatal;
        let news = match &mut ongoing.told {
            None => {
                let usual = gravity == Gravity::Usual;
                let patience = if usual || !calm { self.long } else { self.hiccup };
                if lasts < patience {
                    return None;
                }
                ongoing.told = Some(Told { at: now, pause: FIRST_PAUSE, fatal });
                News::Begins
            }
            Some(told) if now.since(told.at) >= told.pause => {
                *told = Told { at: now, pause: (told.pause * 2).min(LONGEST), fatal };
                News::Lasts
            }
            // Somebody has to fix something, and could not know that before.
            Some(told) if fatal && !told.fatal => {
                told.fatal = true;
                News::Lasts
            }
            Some(_) => return None,
        };
        Some(Word { news, lasts, failures })
    }

    /// A question was answered.
    pub(crate) fn answered(&mut self, now: Timestamp) -> Option<Word> {
        let Ongoing { since, failures, told, .. } = self.ongoing.take()?;
        told?;
        self.over = Some(now);
        Some(Word { news: News::Over, lasts: now.since(since), failures })
    }

    /// The outage has cost something, so it is logged at once, unless it was logged already.
    pub(crate) fn costs(&mut self, now: Timestamp) -> Option<Word> {
        let ongoing = self.ongoing.as_mut().filter(|ongoing| ongoing.told.is_none())?;
        ongoing.told = Some(Told { at: now, pause: FIRST_PAUSE, fatal: ongoing.fatal });
        let (lasts, failures) = (now.since(ongoing.since), ongoing.failures);
        Some(Word { news: News::Begins, lasts, failures })
    }

    /// Drops an outage that has not been logged: something else explains it.
    pub(crate) fn forget(&mut self) {
        self.ongoing.take_if(|ongoing| ongoing.told.is_none());
    }

    pub(crate) fn is_ongoing(&self) -> bool {
        self.ongoing.is_some()
    }
}

impl Ongoing {
    fn since(since: Timestamp) -> Self {
        Self { since, failures: 0, fatal: false, told: None }
    }
}

/// A duration as people say it.
pub(crate) struct HumanDuration(pub(crate) Duration);

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match seconds {
            ..9.95 => write!(f, "{seconds:.1} s"),
            ..119.5 => write!(f, "{seconds:.0} s"),
            ..7_170.0 => write!(f, "{:.0} min", seconds / 60.0),
            _ => write!(f, "{:.0} h", seconds / 3_600.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HICCUP: Duration = Duration::from_millis(1_250);
    const LONG: Duration = Duration::from_secs(15);
    const NOTHING: [u64; 0] = [];

    fn outage() -> Outage {
        Outage::new(HICCUP, LONG)
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// When failures at these times, in milliseconds, led to a message. The questions fail at once.
    fn said(outage: &mut Outage, times: impl Iterator<Item = u64>, gravity: Gravity) -> Vec<u64> {
        let told = |time: &u64| outage.failed(at(*time), at(*time), gravity).is_some();
        times.filter(told).collect()
    }

    #[test]
    fn only_what_was_not_told_is_forgotten() {
        let mut outage = outage();
        said(&mut outage, 0..1, Gravity::Passing);
        outage.forget();
        assert!(!outage.is_ongoing());
        assert_eq!(said(&mut outage, [5_000, 7_000].into_iter(), Gravity::Passing), [7_000]);
        outage.forget();
        assert_eq!(outage.answered(at(8_000)).map(|word| word.news), Some(News::Over));
    }

    #[cfg(feature = "_sql")]
    #[test]
    fn other_limits_end_no_outage() {
        let mut before = outage();
        assert_eq!(said(&mut before, [0, 2_000].into_iter(), Gravity::Passing), [2_000]);
        let mut outage = Outage::new(HICCUP / 2, LONG).continuing(Some(before));
        assert_eq!(outage.answered(at(3_000)).map(|word| word.news), Some(News::Over));
        let mut outage = Outage::new(HICCUP, LONG).continuing(Some(outage));
        assert_eq!(said(&mut outage, [4_000, 6_000].into_iter(), Gravity::Passing), NOTHING);
    }

    #[test]
    fn a_hiccup_is_not_told() {
        let mut outage = outage();
        for round in 0..1_000 {
            let start = round * 10_000;
            assert_eq!(said(&mut outage, start..start + 1_000, Gravity::Passing), NOTHING);
            assert_eq!(outage.answered(at(start + 1_200)), None);
        }
    }

    /// One that hangs is worth a word after half of its time, and none is before a short while.
    #[test]
    fn a_hiccup_lasts_half_a_statement_or_half_a_ttl() {
        let hiccup = |attempt, ttl| {
            let millis = Duration::from_millis;
            Outage::of_database(millis(attempt), millis(ttl)).hiccup.as_millis()
        };
        assert_eq!(hiccup(5_000, 30_000), 2_500, "half of a statement's time");
        assert_eq!(hiccup(1_000, 30_000), 1_000, "a second");
        assert_eq!(hiccup(200, 1_200), 600, "half of a ttl that is below two seconds");
    }

    /// The whole log of a day without a database that is asked every second.
    #[test]
    fn what_lasts_is_told_ever_more_rarely() {
        let mut outage = outage();
        let day = 24 * 3_600_u64;
        let told = said(&mut outage, (0..day).map(|second| second * 1_000), Gravity::Passing);
        let minutes: Vec<u64> = told.iter().map(|millis| millis / 60_000).collect();
        assert_eq!(minutes[..6], [0, 2, 6, 14, 30, 62], "{minutes:?}");
        assert!(minutes[6..].windows(2).all(|pair| pair[1] - pair[0] == 60), "{minutes:?}");
        assert_eq!(told[0], 2_000);
        assert_eq!(minutes.len(), 28);
        let over = outage.answered(at(day * 1_000)).expect("a word");
        let lasts = Duration::from_secs(day);
        assert_eq!(over, Word { news: News::Over, lasts, failures: day });
        assert_eq!(outage.answered(at(day * 1_000)), None, "said twice");
    }

    #[test]
    fn a_question_that_hung_tells_at_once() {
        let mut outage = outage();
        let word = outage.failed(at(5_000), at(7_500), Gravity::Passing).expect("a word");
        assert_eq!((word.news, word.lasts), (News::Begins, Duration::from_millis(2_500)));
    }

    /// A reader who waits for a passing failure could not know that this one does not pass.
    #[test]
    fn what_somebody_has_to_mend_is_told_once_more() {
        let mut outage = outage();
        let seconds = |from: u64, to: u64| (from..to).map(|second| second * 1_000);
        assert_eq!(said(&mut outage, seconds(0, 50), Gravity::Passing), [2_000]);
        assert_eq!(said(&mut outage, seconds(50, 80), Gravity::Fatal), [50_000]);
        assert_eq!(said(&mut outage, seconds(80, 100), Gravity::Passing), NOTHING);
        assert_eq!(said(&mut outage, seconds(100, 120), Gravity::Fatal), NOTHING);
        outage.answered(at(120_000));
        assert_eq!(said(&mut outage, seconds(600, 650), Gravity::Fatal), [602_000]);
    }

    #[test]
    fn contention_is_told_only_if_nothing_else_happens() {
        let mut outage = outage();
        for round in 0..100 {
            let start = round * 20_000;
            assert_eq!(said(&mut outage, start..start + 14_000, Gravity::Usual), NOTHING);
            assert_eq!(outage.answered(at(start + 14_500)), None);
        }
        let start = 10_000_000;
        let told = said(&mut outage, (start..start + 60_000).step_by(1_000), Gravity::Usual);
        assert_eq!(told, [start + 15_000]);
    }

    /// Half of all questions fail, each after two and a half seconds.
    #[test]
    fn what_comes_and_goes_does_not_fill_the_log() {
        let mut outage = outage();
        let mut words = 0;
        for round in 0..360 {
            let start = round * 10_000;
            words += usize::from(
                outage.failed(at(start), at(start + 2_500), Gravity::Passing).is_some(),
            );
            words += usize::from(outage.answered(at(start + 2_600)).is_some());
        }
        assert!(words <= 2 * 12, "{words} lines in an hour");
        assert!(words >= 2 * 11, "{words} lines in an hour: it is never mentioned again");
    }

    #[test]
    fn what_costs_something_is_told_at_once_and_when_it_is_over() {
        let mut outage = outage();
        assert_eq!(outage.costs(at(0)), None, "there was none");
        assert_eq!(outage.answered(at(1)), None, "there was none");
        assert_eq!(said(&mut outage, 10..20, Gravity::Usual), NOTHING);
        said(&mut outage, 19..20, Gravity::Fatal);
        let lasts = Duration::from_millis(10);
        let word = Word { news: News::Begins, lasts, failures: 11 };
        assert_eq!(outage.costs(at(20)), Some(word));
        assert_eq!(outage.costs(at(21)), None, "said twice");
        assert_eq!(said(&mut outage, 20..30_000, Gravity::Fatal), NOTHING);
        assert_eq!(outage.answered(at(30_000)).map(|word| word.news), Some(News::Over));
    }

    #[test]
    fn times_are_spoken_in_few_digits() {
        for (millis, text) in [
            (0, "0.0 s"),
            (6_600, "6.6 s"),
            (9_960, "10 s"),
            (48_200, "48 s"),
            (120_000, "2 min"),
            (3_600_000, "60 min"),
            (7_200_000, "2 h"),
            (86_400_000, "24 h"),
        ] {
            assert_eq!(HumanDuration(Duration::from_millis(millis)).to_string(), text);
        }
    }
}
