//! How often the log says what strangers can bring about as often as they like.

use super::admission::Source;
use crate::rate::Rate;
use election_core::Timestamp;
use std::{collections::BTreeMap, net::IpAddr};

/// From how many sources, each with its reason, refusals are told apart within that time.
const SOURCES: usize = 32;

/// Connections that were closed: each source is told of by itself, so that one that knocks without end
/// does not hide another. When there are too many sources, the rest share a line.
#[derive(Default)]
pub(super) struct Refusals {
    sources: BTreeMap<(&'static str, Source), Rate>,
    rest: BTreeMap<&'static str, Rate>,
}

impl Refusals {
    /// How many were not told before this one; `None` if this one is not to be told either.
    pub(super) fn count(
        &mut self,
        now: Timestamp,
        reason: &'static str,
        from: IpAddr,
    ) -> Option<u64> {
        let source = (reason, Source::of(from));
        if !self.sources.contains_key(&source) && self.sources.len() >= SOURCES {
            self.forget(now);
        }
        if self.sources.contains_key(&source) || self.sources.len() < SOURCES {
            return self.sources.entry(source).or_default().count(now);
        }
        self.rest.entry(reason).or_default().count(now)
    }

    /// Leaves what is over; what it has not told is told with the rest.
    fn forget(&mut self, now: Timestamp) {
        let rest = &mut self.rest;
        self.sources.retain(|(reason, _), rate| {
            let is_over = rate.is_over(now);
            if is_over {
                rest.entry(reason).or_default().untold += rate.untold;
            }
            !is_over
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_secs(seconds)
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn a_source_does_not_hide_another() {
        let mut refusals = Refusals::default();
        assert_eq!(refusals.count(at(0), "tls", address(1)), Some(0));
        assert_eq!(refusals.count(at(1), "tls", address(1)), None);
        assert_eq!(refusals.count(at(2), "tls", address(2)), Some(0));
        assert_eq!(refusals.count(at(3), "not_tls", address(1)), Some(0));
        assert_eq!(refusals.count(at(59), "tls", address(1)), None);
        assert_eq!(refusals.count(at(60), "tls", address(1)), Some(2));
    }

    #[test]
    fn sources_without_number_are_told_of_together_and_forgotten() {
        let mut refusals = Refusals::default();
        let each = |refusals: &mut Refusals, seconds| {
            let told =
                (0..=u8::MAX).filter_map(|it| refusals.count(at(seconds), "tls", address(it)));
            told.collect::<Vec<_>>()
        };
        assert_eq!(each(&mut refusals, 0), vec![0; SOURCES + 1]);
        assert!(each(&mut refusals, 1).is_empty());
        let all = refusals.sources.len() + refusals.rest.len();
        assert_eq!(all, SOURCES + 1);
        // After a minute others have their turn, and nothing that was not told is lost.
        let told = each(&mut refusals, 61);
        assert_eq!(told.len(), SOURCES + 1);
        let sources = u64::from(u8::MAX) + 1;
        assert_eq!(told.iter().sum::<u64>(), 2 * sources - (SOURCES as u64 + 1));
        assert_eq!(refusals.sources.len() + refusals.rest.len(), all);
    }
}
